"""The fixtures of tests/autojudge."""

from tests.autojudge.conftest import _no_cache, auto_judge, autojudge, demo, endpoint

__all__ = ["_no_cache", "auto_judge", "autojudge", "demo", "endpoint"]
