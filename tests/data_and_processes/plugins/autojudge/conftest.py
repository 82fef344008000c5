"""The fixtures of tests/plugins/autojudge."""

from tests.plugins.autojudge.conftest import _no_cache, auto_judge, autojudge, demo, endpoint

__all__ = ["_no_cache", "auto_judge", "autojudge", "demo", "endpoint"]
