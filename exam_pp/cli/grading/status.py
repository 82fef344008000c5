"""Progress of a run as a JSON file for dashboards (``--status FILE``)."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exam_pp.errors import ExamError, OutputError, StoppedError

if TYPE_CHECKING:
    from exam_pp.phases.grading.grade import PairCounts

log = logging.getLogger(__name__)

_EVERY_SECONDS = 5.0


@contextmanager
def status(path: Path | None, title: str, unit: str) -> Iterator[Status]:
    """A context manager that writes the progress into a file (None: nowhere) and keeps it up to date.

    ``state`` is ``running``, ``done``, ``stopped`` (SIGTERM or interrupted) or ``failed``. ``done`` includes
    the ``from_journal`` units with a reply of an earlier run; ``graded_before`` units are in the file already
    and are not in ``total``. All counts, ``rate`` (units per second in this run) and ``eta_seconds`` are null
    while they are unknown.
    """
    file = Status(path, title, unit)
    file.write("running", first=True)
    try:
        yield file
    except (StoppedError, KeyboardInterrupt):
        file.write("stopped")
        raise
    except BaseException as error:
        # Only the message of an ExamError is written for users. Other errors are in the log.
        file.write("failed", error=str(error) if isinstance(error, ExamError) else type(error).__name__)
        raise
    file.write("done")


class Status:
    """The counts of a run and the file that holds them."""

    def __init__(self, path: Path | None, title: str, unit: str) -> None:
        self._path, self._title, self._unit = path, title, unit
        self._done = 0
        self._total: int | None = None
        self._counts: PairCounts | None = None
        self._begun: tuple[float, int] | None = None
        self._start = self._last = time.monotonic()
        self._fails = False

    def start(self, counts: PairCounts) -> None:
        """Write the counts before the first request."""
        self._counts, self._total, self._done = counts, counts.total, counts.from_journal
        self._begun = (time.monotonic(), counts.from_journal)
        self.write("running")

    def advance(self, steps: int, total: int | None) -> None:
        """Count steps, and write the file if it is older than five seconds."""
        self._total = self._total if total is None else total
        now = time.monotonic()
        # Without counts, the first steps come from an earlier run or have no known start.
        if steps and self._begun is None:
            self._begun = (now, steps)
        self._done += steps
        if now - self._last >= _EVERY_SECONDS:
            self._last = now
            self.write("running")

    def write(self, state: str, *, first: bool = False, error: str | None = None) -> None:
        """Replace the file. Raise OutputError only for the first write; later the run continues."""
        from exam_pp.store.files import write_text

        if self._path is None:
            return
        try:
            write_text(self._path, json.dumps(self._values(state, error)) + "\n")
        except OutputError as problem:
            if first:
                raise
            if not self._fails:
                log.warning("The status file cannot be updated: %s", problem)
            self._fails = True

    def _values(self, state: str, error: str | None) -> dict[str, Any]:
        now = time.monotonic()
        counts = self._counts
        since, before = self._begun or (now, 0)
        rate = (self._done - before) / (now - since) if now > since and self._done > before else None
        left = None if self._total is None else max(0, self._total - self._done)
        values = {
            "state": state,
            "task": self._title,
            "unit": self._unit,
            "done": None if self._begun is None and state != "done" else self._done,
            "total": self._total,
            "from_journal": counts and counts.from_journal,
            "graded_before": counts and counts.graded_before,
            "rate": rate and round(rate, 2),
            "eta_seconds": 0.0
            if state == "done"
            else round(left / rate, 1)
            if rate and left is not None
            else None,
            "elapsed_seconds": round(now - self._start, 1),
            "updated": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        return values | ({"error": error} if error else {})
