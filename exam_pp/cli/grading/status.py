"""Progress of a run as a JSON file for dashboards (``--status FILE``)."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from exam_pp.cli.progress import Advance
from exam_pp.errors import ExamError, OutputError, StoppedError

log = logging.getLogger(__name__)

_EVERY_SECONDS = 5.0


@contextmanager
def status(path: Path | None, title: str, unit: str) -> Iterator[Advance]:
    """A context manager with a function that counts steps and keeps the file up to date.

    ``state`` is ``running``, ``done``, ``stopped`` (SIGTERM or interrupted) or ``failed``; ``total``,
    ``rate`` (units per second in this run) and ``eta_seconds`` are null while they are unknown.
    """
    if path is None:
        yield lambda _steps, _total: None
        return
    file = _StatusFile(path, title, unit)
    file.write("running", first=True)
    try:
        yield file.advance
    except (StoppedError, KeyboardInterrupt):
        file.write("stopped")
        raise
    except BaseException as error:
        # Only the message of an ExamError is written for users. Other errors are in the log.
        file.write("failed", error=str(error) if isinstance(error, ExamError) else type(error).__name__)
        raise
    file.write("done")


class _StatusFile:
    def __init__(self, path: Path, title: str, unit: str) -> None:
        self._path, self._title, self._unit = path, title, unit
        self._done = 0
        self._total: int | None = None
        self._begun: tuple[float, int] | None = None
        self._start = self._last = time.monotonic()
        self._fails = False

    def advance(self, steps: int, total: int | None) -> None:
        self._total = self._total if total is None else total
        now = time.monotonic()
        # The first steps come from an earlier run or have no known start, so the rate leaves them out.
        if steps and self._begun is None:
            self._begun = (now, steps)
        self._done += steps
        if now - self._last >= _EVERY_SECONDS:
            self._last = now
            self.write("running")

    def write(self, state: str, *, first: bool = False, error: str | None = None) -> None:
        """Replace the file. Raise OutputError only for the first write; later the run continues."""
        from exam_pp.store.files import write_text

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
        since, before = self._begun or (now, 0)
        rate = (self._done - before) / (now - since) if now > since and self._done > before else None
        left = None if self._total is None else max(0, self._total - self._done)
        values = {
            "state": state,
            "task": self._title,
            "unit": self._unit,
            "done": self._done,
            "total": self._total,
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
