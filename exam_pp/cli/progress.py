"""Progress on standard error: a bar on a terminal, otherwise a log line every 30 seconds."""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from exam_pp.cli.options import log_summary
from exam_pp.signals import STOP

log = logging.getLogger(__name__)

Advance = Callable[[int, int | None], None]
"""Called with the number of steps done since the last call and, once it is known, the total."""

_LOG_EVERY_SECONDS = 30.0
_SPEED_SECONDS = 60.0


class HasLines(Protocol):
    """The summary of a run."""

    def lines(self) -> Iterator[str]:
        """The lines of the summary."""


def asking(title: str, unit: str, ask: Callable[[Advance], HasLines]) -> None:
    """Run work that asks a model, with its progress, and log its summary; SIGTERM waits for a batch."""
    with STOP.on_sigterm(), progress(title, unit) as advance:
        summary = ask(advance)
    log_summary(summary.lines())


@contextmanager
def progress(title: str, unit: str) -> Iterator[Advance]:
    """A function that shows steps per second and the remaining time."""
    if not logging.getLogger().isEnabledFor(logging.INFO):
        yield lambda _steps, _total: None
    elif sys.stderr.isatty():
        yield from _bar(title, unit)
    else:
        yield _Lines(title, unit).advance


def _bar(title: str, unit: str) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=False) as bar:
        task = bar.add_task(title, total=None, rate="")

        def advance(steps: int, total: int | None) -> None:
            speed = bar.tasks[0].speed
            rate = f"{speed:.1f} {unit}/s" if speed else ""
            bar.update(task, advance=steps, rate=rate, total=total)

        yield advance


class Pace:
    """The steps done, their total, and the speed of the last :data:`_SPEED_SECONDS`.

    The speed begins with the first finished steps: the time in which models are loaded does not count, and
    long prompts, which come first, soon no longer do.
    """

    def __init__(self) -> None:
        self.done = 0
        self.total: int | None = None
        self._marks: deque[tuple[float, int]] = deque()
        """Times, at least a second apart, and the steps done until then."""

    def add(self, steps: int, total: int | None) -> None:
        """Count steps; those that come with the total are of an earlier run."""
        self.done += steps
        now = time.monotonic()
        if total is not None:
            self.total = total
            self._marks.clear()
        elif steps and (not self._marks or now - self._marks[-1][0] >= 1):
            self._marks.append((now, self.done))
        while len(self._marks) > 1 and now - self._marks[1][0] >= _SPEED_SECONDS:
            self._marks.popleft()
        if self.total and self.done > self.total:  # Repeated requests are not known beforehand.
            self.total = self.done

    @property
    def rate(self) -> float | None:
        """Steps per second; None if it is unknown."""
        if not self._marks:
            return None
        start, before = self._marks[0]
        return (self.done - before) / max(time.monotonic() - start, 1e-9) or None

    @property
    def seconds_left(self) -> float | None:
        """The estimated time of the remaining steps; None if it is unknown."""
        rate = self.rate
        return (self.total - self.done) / rate if self.total and rate else None


class _Lines:
    """Progress as a log line every :data:`_LOG_EVERY_SECONDS`."""

    def __init__(self, title: str, unit: str) -> None:
        self._title, self._unit = title, unit
        self._pace = Pace()
        self._last = time.monotonic()

    def advance(self, steps: int, total: int | None) -> None:
        pace = self._pace
        pace.add(steps, total)
        now = time.monotonic()
        if now - self._last < _LOG_EVERY_SECONDS:
            return
        self._last = now
        total_text = f" of {pace.total}" if pace.total else ""
        left = "" if pace.seconds_left is None else f", {pace.seconds_left / 60:.1f} min left"
        speed = f", {pace.rate:.1f}/s{left}" if pace.rate else ""
        log.info("%s: %d%s %s%s", self._title, pace.done, total_text, self._unit, speed)
