"""The fixtures of tests/phases."""

from tests.phases.conftest import backend

__all__ = ["backend"]
