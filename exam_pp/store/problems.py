"""Problems of the lines of a file: all of them in one error, repaired, or collected for a report.

A reader notes the problem of a line, goes on without this line, and checks the problems at its end::

    problems = Problems(path)
    for number, line in read_lines(path):
        try:
            yield parsed(line)
        except DataError as error:
            problems.add(error)
    problems.check()
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from exam_pp.errors import DataError, ProblemsError
from exam_pp.store.files import read_text
from exam_pp.text.wording import counted

NOT_BY_LINE = (
    "is one JSON value over several lines, but must have a record on each line, as `jq -c . FILE` or "
    "`jq -c '.[]' FILE` writes it."
)
MOST_KEPT = 100
"""Further problems of a file are only counted."""

Repair = Literal["repeated", "without text"]
"""Lines that can be dropped: repetitions of earlier lines, and lines without a text."""


@dataclass
class Repairs:
    """The lines that readers dropped inside :func:`repairing`, as messages without repetitions."""

    dropped: dict[Repair, dict[str, None]] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """The lines of a summary: counts, and the first three lines that were dropped."""
        for repair, messages in self.dropped.items():
            what = {"repeated": "repeated line", "without text": "line"}[repair]
            without = " without a text" if repair == "without text" else "; the first of them is kept"
            yield f"--repair dropped {counted(len(messages), what)}{without}:"
            first = list(messages)[:3]
            yield from (f"  {message}" for message in first)
            if len(messages) > len(first):
                yield f"  and {len(messages) - len(first)} more"


_repairs: ContextVar[Repairs | None] = ContextVar("repairs", default=None)
_collected: ContextVar[list[DataError] | None] = ContextVar("collected", default=None)


@contextmanager
def repairing(*, enabled: bool = True) -> Iterator[Repairs]:
    """Let readers drop repeated lines and lines without a text inside the block, instead of an error."""
    repairs = Repairs()
    token = _repairs.set(repairs if enabled else None)
    try:
        yield repairs
    finally:
        _repairs.reset(token)


def is_repairing() -> bool:
    """Whether readers drop lines instead of raising errors."""
    return _repairs.get() is not None


@contextmanager
def collecting() -> Iterator[list[DataError]]:
    """Let readers go on without invalid lines inside the block; their problems are in the list."""
    collected: list[DataError] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


class Problems:
    """The problems of a file, in the order of its lines."""

    def __init__(self, path: str | Path) -> None:
        self._path = path
        self._errors: list[DataError] = []
        self._total = self._repairable = 0

    def add(self, error: DataError, repair: Repair | None = None) -> None:
        """Note a problem; ``repair`` is what :func:`repairing` makes of it."""
        repairs = _repairs.get()
        if repairs is not None and repair is not None:
            repairs.dropped.setdefault(repair, {})[str(error)] = None
            return
        self._total += 1
        self._repairable += repair is not None
        if len(self._errors) < MOST_KEPT:
            self._errors.append(error)

    def check(self) -> None:
        """Raise the only problem, or all of them in one :class:`ProblemsError`."""
        if not self._errors:
            return
        self._errors.sort(key=lambda error: error.line or 0)
        if self._total > 1 and self._errors[0].line:
            with suppress(DataError, ValueError, RecursionError):
                json.loads(read_text(self._path))  # a single value
                self._errors, self._total = [DataError(NOT_BY_LINE, file=str(self._path))], 1
        collected = _collected.get()
        if collected is not None:
            collected += self._errors
            if self._total > len(self._errors):
                problem = f"has more than {MOST_KEPT} invalid lines; later lines are not checked."
                collected.append(DataError(problem, file=str(self._path), line=self._errors[-1].line))
        elif self._total == 1:
            raise self._errors[0]
        else:
            raise ProblemsError(self._errors, self._total, self._repairable, file=str(self._path))
