"""SIGTERM, as schedulers send it before they kill: the batch at hand is finished and kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from exam_pp.errors import StoppedError

_KEPT = "what was answered is kept; start the same command again to continue."
_SENTENCE = f"stopped by SIGTERM: {_KEPT}"


class StopRequest:
    """Whether the process was asked to stop. Outside of a batch the request stops it at once."""

    def __init__(self) -> None:
        self._requested = False
        self._in_batch = False

    def check(self) -> None:
        """Raise :class:`StoppedError` if a stop was requested."""
        if self._requested:
            raise StoppedError(_SENTENCE)

    @contextmanager
    def after_batches(self) -> Iterator[None]:
        """Inside this block a stop waits for the next :meth:`check`."""
        self._in_batch = True
        try:
            yield
        finally:
            self._in_batch = False

    @contextmanager
    def on_sigterm(self) -> Iterator[None]:
        """Inside this block SIGTERM requests a stop (in the main thread; elsewhere nothing changes).

        Ctrl-C ends it at once, and the exception says that nothing is lost.
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
        self._requested = True
        if not self._in_batch:
            self.check()


STOP = StopRequest()
"""The one of this process: signals are a matter of the whole process."""
