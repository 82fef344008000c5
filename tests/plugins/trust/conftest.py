"""The scripted model of the tests of phases."""

from tests.phases.conftest import backend

__all__ = ["backend"]
