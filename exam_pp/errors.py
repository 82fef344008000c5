"""Errors that users can solve.

Their class hierarchy::

    ExamError                 exit code 1, one sentence: what, where, what to do
    ├── UnknownNameError      no prompt, model, report ... of that name ("did you mean ...?")
    ├── MissingExtraError     an optional package is not installed
    ├── DataError             a file says something we cannot use (file, line, field)
    │   └── CorruptFileError  its compressed data is cut off or damaged
    ├── OutputError           an output cannot be written, or is also an input
    ├── SelectionError        a filter matches no grades, or several sets of them
    ├── QueryError            SQL that cannot be run, or may not
    ├── ModelError            a model cannot be loaded or does not fit the request
    ├── ProcessGroupError     another process of a grading has ended
    └── StoppedError          SIGTERM came (exit code 143)

Anything else that is raised is a bug and keeps its traceback.
"""

from __future__ import annotations


class ExamError(Exception):
    """A problem that the user can solve; its text is one sentence for the terminal."""

    exit_code = 1


class UnknownNameError(ExamError):
    """A name that no registry entry has."""


class MissingExtraError(ExamError):
    """A feature needs an optional dependency."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional package: pip install 'exam_pp[{extra}]'.")


class DataError(ExamError):
    """A file holds something that we cannot use.

    ``str(error)`` starts with ``file, line N, field:`` as far as they are known; ``problem`` is the rest.
    """

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, field: str | None = None
    ) -> None:
        self.file, self.line, self.field = file, line, field
        self.problem = message
        where = [part for part in (file, f"line {line}" if line is not None else None, field) if part]
        super().__init__(f"{', '.join(where)}: {message}" if where else message)


class CorruptFileError(DataError):
    """The compressed data of a file is cut off or damaged."""


class OutputError(ExamError):
    """An output path cannot be written."""


class SelectionError(ExamError):
    """The grade filter matches nothing, or more than one set of grades."""


class QueryError(ExamError):
    """A SQL statement that cannot be run, or that may not be run."""


class ModelError(ExamError):
    """A model cannot be loaded, or cannot do what is asked of it."""


class ProcessGroupError(ExamError):
    """Another process of a grading by several has gone; nothing is lost."""


class StoppedError(ExamError):
    """The scheduler asked to stop; the same command continues."""

    exit_code = 143
