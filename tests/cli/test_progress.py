"""Log lines of progress, if standard error is no terminal."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pytest

from exam_pp.cli import progress as module
from exam_pp.cli.progress import progress


@dataclass
class Clock:
    seconds: float = 0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.mark.parametrize(
    ("start", "loading", "batches", "first", "last"),
    [
        (0, 100, [(10, 1.0)] * 31, "10 of 1000 prompts", "310 of 1000 prompts, 10.0/s, 1.1 min left"),
        (500, 0, [(10, 1.0)] * 31, *["800 of 1000 prompts, 10.0/s, 0.3 min left"] * 2),
        (
            0, 0, [(2, 20.0)] * 10 + [(5, 0.5)] * 180,
            "4 of 1000 prompts, 0.1/s, 166.0 min left", "920 of 1000 prompts, 10.0/s, 0.1 min left",
        ),
    ],
    ids=["loading does not count", "nor do prompts of an earlier run", "long prompts are soon forgotten"],
)  # fmt: skip
def test_lines_of_the_log(
    start: int, loading: float, batches: list[tuple[int, float]], first: str, last: str, clock: Clock,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    with caplog.at_level(logging.INFO), progress("Grading", "prompts") as advance:
        advance(start, 1000)
        clock.seconds += loading
        for size, seconds in batches:
            clock.seconds += seconds
            advance(size, None)
    assert (caplog.messages[0], caplog.messages[-1]) == (f"Grading: {first}", f"Grading: {last}")


def test_nothing_is_shown_with_quiet(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), progress("Grading", "prompts") as advance:
        clock.seconds = 60
        advance(10, 100)
    assert not caplog.messages
