"""SIGTERM during a batch, outside of it, and twice."""

from __future__ import annotations

import os
import signal

import pytest

from exam_pp.errors import StoppedError
from exam_pp.signals import StopRequest


def send(reached: list[str], mark: str) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    reached.append(mark)


def test_sigterm_waits_for_the_end_of_a_batch_but_a_second_one_does_not() -> None:
    stop, reached = StopRequest(), list[str]()
    with stop.on_sigterm(), stop.after_batches():
        send(reached, "first")
        with pytest.raises(StoppedError, match="repeat the command"):
            send(reached, "second")
    assert reached == ["first"]


def test_sigterm_outside_a_batch_stops_at_once_and_the_request_ends() -> None:
    stop, reached = StopRequest(), list[str]()
    with stop.on_sigterm(), pytest.raises(StoppedError):
        send(reached, "first")
    assert reached == []
    stop.check()
