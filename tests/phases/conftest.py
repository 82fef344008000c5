"""Fixtures of the tests of phases."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from exam_pp.llm.backends import BACKENDS
from exam_pp.llm.fake import FakeLLM


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeLLM], None]:
    """Makes a scripted model the one that ``--model fake`` loads."""

    def use(llm: FakeLLM) -> None:
        BACKENDS.get("fake")
        monkeypatch.setitem(BACKENDS._values, "fake", lambda options: llm)

    return use
