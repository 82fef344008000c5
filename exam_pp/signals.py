"""Handling of SIGTERM: finish the current batch, keep its replies, and stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from exam_pp.errors import StoppedError

_KEPT = "all replies so far are kept; repeat the command to continue."
_STOPPED = f"stopped by SIGTERM: {_KEPT}"


class StopRequest:
    """The request to stop this process.

    Outside :meth:`after_batches`, SIGTERM stops it at once. Inside, the first SIGTERM waits for the end of
    the batch, because its replies are expensive; a second one does not.
    """

    def __init__(self) -> None:
        self._requested = False
        self._in_batch = False

    def check(self) -> None:
        """Raise :class:`StoppedError` if a stop was requested."""
        if self._requested:
            raise StoppedError(_STOPPED)

    @contextmanager
    def after_batches(self) -> Iterator[None]:
        """Inside this block, a stop waits for the next :meth:`check`."""
        self._in_batch = True
        try:
            yield
        finally:
            self._in_batch = False

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Inside this block, a stop does not wait for the end of a batch: a server may take minutes."""
        before, self._in_batch = self._in_batch, False
        try:
            self.check()
            yield
        finally:
            self._in_batch = before

    @contextmanager
    def on_sigterm(self) -> Iterator[None]:
        """Inside this block, SIGTERM requests a stop; outside the main thread the block has no effect.

        Ctrl-C ends the block at once, with a message that all replies are kept.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGTERM, self._handle)
        try:
            yield
        except KeyboardInterrupt as error:
            raise KeyboardInterrupt(f"interrupted: {_KEPT}") from error
        finally:
            signal.signal(signal.SIGTERM, before)
            self._requested = False

    def _handle(self, _signal: int, _frame: object) -> None:
        again, self._requested = self._requested, True
        if again or not self._in_batch:
            self.check()


STOP = StopRequest()
"""The stop request of this process: a singleton, because signals are sent to a process."""
