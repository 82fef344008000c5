"""Progress of a run as a JSON file for dashboards (``--status FILE``)."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from exam_pp.cli.progress import Advance, Pace
from exam_pp.errors import ExamError, OutputError, StoppedError

log = logging.getLogger(__name__)

_EVERY_SECONDS = 5.0


@contextmanager
def status(path: Path | None, title: str, unit: str) -> Iterator[Advance]:
    """A function that counts steps, as for a progress bar, and keeps the file up to date (None: no file).

    ``state`` is ``running``, ``done``, ``stopped`` (SIGTERM or interrupted) or ``failed``. ``rate`` is in
    units per second. Numbers are null while they are unknown.
    """
    if path is None:
        yield lambda _steps, _total: None
        return
    file = _Status(path, title, unit)
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


class _Status:
    """The counts of a run and the file that holds them."""

    def __init__(self, path: Path, title: str, unit: str) -> None:
        self._path = path
        self._names = {"task": title, "unit": unit}
        self._pace = Pace()
        self._start = self._last = time.monotonic()
        self._fails = False
        self.write("running")

    def advance(self, steps: int, total: int | None) -> None:
        """Count steps, and write the file if there is a total, or if it is older than five seconds."""
        self._pace.add(steps, total)
        now = time.monotonic()
        if total is not None or now - self._last >= _EVERY_SECONDS:
            self._last = now
            self.write("running")

    def write(self, state: str, **more: str) -> None:
        """Replace the file; the run continues if that fails."""
        from exam_pp.store.files import write_text

        pace = self._pace
        values = {
            "state": state,
            **self._names,
            "done": pace.done,
            "total": pace.total,
            "rate": pace.rate and round(pace.rate, 2),
            "eta_seconds": pace.seconds_left and round(pace.seconds_left, 1),
            "elapsed_seconds": round(time.monotonic() - self._start, 1),
            "updated": datetime.now(UTC).isoformat(timespec="seconds"),
            **more,
        }
        try:
            write_text(self._path, json.dumps(values) + "\n")
        except OutputError as problem:
            if not self._fails:
                log.warning("The status file cannot be updated: %s", problem)
            self._fails = True
