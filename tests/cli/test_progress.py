"""Log lines of progress, if standard error is no terminal."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pytest

from exam_pp.cli import progress as module
from exam_pp.cli.progress import Advance, progress


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


def work(clock: Clock, advance: Advance, seconds: float, batches: int, size: int = 10) -> None:
    """Finish batches, each in some seconds."""
    for _ in range(batches):
        clock.seconds += seconds
        advance(size, None)


def test_loading_does_not_count(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), progress("Grading", "prompts") as advance:
        advance(0, 1000)
        clock.seconds = 100  # the model is loaded
        work(clock, advance, 1, 31)
    assert caplog.messages == [
        "Grading: 10 of 1000 prompts",
        "Grading: 310 of 1000 prompts, 10.0/s, 1.1 min left",
    ]


def test_the_speed_of_long_prompts_is_soon_forgotten(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), progress("Grading", "prompts") as advance:
        advance(0, 10_000)
        work(clock, advance, 20, 10)
        work(clock, advance, 0.5, 180)
    assert caplog.messages[4] == "Grading: 100 of 10000 prompts, 0.5/s, 330.0 min left"
    assert caplog.messages[-1] == "Grading: 1900 of 10000 prompts, 20.0/s, 6.8 min left"


def test_steps_of_an_earlier_run_do_not_count(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), progress("Grading", "prompts") as advance:
        advance(500, 1000)
        work(clock, advance, 1, 31)
    assert caplog.messages == ["Grading: 800 of 1000 prompts, 10.0/s, 0.3 min left"]


def test_nothing_is_shown_with_quiet(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), progress("Grading", "prompts") as advance:
        work(clock, advance, 60, 5)
    assert not caplog.messages
