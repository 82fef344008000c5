"""Fixtures of the tests of reliability."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _with_manifests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs have manifests, as those of users."""
    monkeypatch.setenv("EXAM_PP_MANIFEST", "1")
