"""SIGTERM during a batch, outside of it, and twice."""

from __future__ import annotations

import os
import signal

import pytest

from exam_pp.errors import StoppedError
from exam_pp.signals import StopRequest


def test_sigterm_waits_for_the_end_of_a_batch_but_a_second_one_does_not() -> None:
    stop = StopRequest()
    reached = []
    with pytest.raises(StoppedError, match="repeat the command"), stop.on_sigterm(), stop.after_batches():
        os.kill(os.getpid(), signal.SIGTERM)
        reached.append("first")
        os.kill(os.getpid(), signal.SIGTERM)
        reached.append("second")
    assert reached == ["first"]


def test_sigterm_outside_a_batch_stops_at_once() -> None:
    stop = StopRequest()
    with pytest.raises(StoppedError), stop.on_sigterm():
        os.kill(os.getpid(), signal.SIGTERM)
        pytest.fail("the signal was not heard")
    stop.check()  # the request ends with the block
