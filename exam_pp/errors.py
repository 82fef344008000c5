"""Errors that users can solve.

Their class hierarchy::

    ExamError                  base class; exit code 1, a message of one or two sentences
    ├── UnknownNameError       a prompt, model, report ... of that name does not exist ("did you mean ...?")
    ├── MissingExtraError      an optional package is not installed
    ├── DataError              a file has invalid content (file, line, field)
    │   ├── CorruptFileError   the compressed data of a file is truncated or damaged
    │   └── ProblemsError      several lines of a file are invalid
    ├── OutputError            an output cannot be written, or is also an input
    ├── SelectionError         a filter matches no grades, or several sets of grades
    ├── QueryError             a SQL statement is invalid or not allowed
    ├── ModelError             a model cannot be loaded or does not support the request
    ├── ProcessGroupError      another process of the process group has ended
    └── StoppedError           SIGTERM was received (exit code 143)

Any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


class ExamError(Exception):
    """Base class of exceptions for problems that the user can solve.

    ``str(error)`` is a message of one or two sentences.
    """

    exit_code = 1


class UnknownNameError(ExamError):
    """A name is not registered."""


class MissingExtraError(ExamError):
    """A feature needs an optional package that is not installed."""

    def __init__(self, feature: str, extra: str, otherwise: str = "") -> None:
        super().__init__(
            f"{feature} needs the packages of the extra {extra!r}: in a checkout of exam_pp, run "
            f"pip install '.[{extra}]'{otherwise}."
        )


class DataError(ExamError):
    """A file has invalid content.

    ``str(error)`` is ``file, line N, field: problem``; unknown parts are omitted.
    """

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, field: str | None = None
    ) -> None:
        self.file, self.line, self.field = file, line, field
        self.problem = message
        where = [part for part in (file, f"line {line}" if line is not None else None, field) if part]
        super().__init__(f"{', '.join(where)}: {message}" if where else message)


class CorruptFileError(DataError):
    """The compressed data of a file is truncated or damaged."""


MOST_LISTED = 20
"""Largest number of problems of a file in a message."""


class ProblemsError(DataError):
    """Several lines of a file are invalid.

    ``errors`` are the problems of single lines, and ``line``, ``field`` and ``problem`` those of the first.
    ``str(error)`` has a line for each of the first twenty, then the number of the others. Lines with the same
    problem are one.
    """

    def __init__(self, errors: Sequence[DataError], total: int, repairable: int, *, file: str) -> None:
        first = errors[0]
        super().__init__(first.problem, file=file, line=first.line, field=first.field)
        self.errors = errors
        self.total = total
        self.repairable = repairable

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """The lines of the message."""
        alike: dict[tuple[str, str | None], list[DataError]] = {}
        for error in self.errors:
            alike.setdefault((error.problem, error.field if error.line else None), []).append(error)
        kinds = list(alike.values())[:MOST_LISTED]
        if len(alike) > 1 or self.total > len(self.errors):
            yield f"{self.file} has {self.total} problems:"
        yield from map(_in_one_sentence, kinds)
        if rest := self.total - sum(map(len, kinds)):
            yield f"The other {rest} problems are not listed."
        if self.repairable:
            yield f"--repair of `exam-pp import` and `exam-pp bank import` drops {self.repairable} of them."


def _in_one_sentence(errors: Sequence[DataError]) -> str:
    """The message for the same problem of several lines or records: the first, and where the others are."""
    first, *others = errors
    if not others:
        return str(first)
    where = [f"line {error.line}" if error.line else str(error.field) for error in others]
    return (
        f"{first} The same is in {', '.join(where[:5])}{', ...' if where[5:] else ''} ({len(errors)} in all)."
    )


class OutputError(ExamError):
    """An output cannot be written, or is also an input."""


class SelectionError(ExamError):
    """A filter matches no grades, queries or systems, or several sets of grades."""


class QueryError(ExamError):
    """A SQL statement is invalid or not allowed."""


class ModelError(ExamError):
    """A model cannot be loaded or does not support the request."""


class WaitingError(ExamError):
    """The requests of a grading are in batch files and have no replies yet."""

    exit_code = 3


class ProcessGroupError(ExamError):
    """Another process of the process group has ended; grades that were written are kept."""


class StoppedError(ExamError):
    """SIGTERM was received, usually from a batch scheduler; the same command resumes the work."""

    exit_code = 143


def sentence(error: Any) -> str:
    """Return the message of a pydantic error as the end of a sentence that starts with the field's name."""
    if error["type"] == "missing":
        return "is missing."
    if error["type"] == "json_invalid":
        return f"is not valid JSON ({error['ctx']['error']})."
    if error["type"] == "model_type":
        return "is not an object."
    message = error["msg"].removeprefix("Value error, ")
    return f"{message[:1].lower()}{message[1:]}."
