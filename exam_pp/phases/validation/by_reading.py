"""Checks of files by reading all records, including those after an invalid line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from exam_pp.duplicate_keys import duplicate_key
from exam_pp.errors import CorruptFileError, DataError, ExamError
from exam_pp.formats.base import Format
from exam_pp.phases.validation.checks import Findings
from exam_pp.store.files import is_read_once, read_bytes, read_lines, without_lines
from exam_pp.wording import counted

_MOST_BAD_LINES = 100
"""After this many invalid lines the check of a file stops."""


def check_by_reading(path: Path, form: Format, findings: Findings) -> str:
    """Check a file by reading its records; returns a summary of its contents."""
    assert form.records is not None, "validate accepts only formats with records"
    check_duplicate_keys(path, findings)
    return counted(len(read_around_errors(path, form.records, findings, form.name)), form.noun)


def read_around_errors(
    path: Path, read: Callable[[Path], Iterable[Any]], findings: Findings, format_name: str
) -> list[Any]:
    """Return the records of a file without its invalid lines, each of which becomes a finding.

    A reader stops at the first invalid line, so the file is read again without it.
    """
    bad: set[int] = set()
    while True:
        try:
            with without_lines(path, bad):
                return list(read(path))
        except DataError as error:
            corrupt = isinstance(error, CorruptFileError)
            # Without its invalid lines a file may be empty; that error is not a further finding.
            if corrupt or not (error.line is None and bad):
                check = "unreadable" if corrupt else "format"
                findings.add(check, str(path), error.line, error.field or "", error.problem)
            if error.line is None or error.line in bad or is_read_once(path):
                return []
            if len(bad) == _MOST_BAD_LINES:
                problem = f"has more than {_MOST_BAD_LINES} invalid lines; later lines are not checked"
                findings.add("unreadable", str(path), error.line, "", problem)
                return []
            bad.add(error.line)
        except ExamError as error:
            findings.add("format", str(path), None, "", f"cannot be read as {format_name}: {error}")
            return []


def check_duplicate_keys(path: Path, findings: Findings) -> None:
    """Add a finding for each JSON object with a duplicate key; readers use the last value.

    Skips values that are not JSON, and streams, because they cannot be read twice.
    """
    if is_read_once(path):
        return

    def check(line: int | None, value: bytes) -> bool:
        try:
            key = duplicate_key(value)
        except (ValueError, RecursionError):
            return False
        if key is not None:
            findings.add("duplicate-key", str(path), line, "", f"has the key {key!r} twice in one object")
        return True

    lines = read_lines(path)
    first = next(lines, (0, b""))
    if first[1][:1] not in (b"{", b"["):
        return
    if check(*first) or not check(None, bytes(read_bytes(path))):  # a JSON document, or JSON lines
        for number, value in lines:
            check(number, value)
