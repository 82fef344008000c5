"""Validate: files of any format, by reading them past every record that cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from exam_pp.errors import CorruptFileError, DataError, ExamError
from exam_pp.formats.base import Format
from exam_pp.phases.validation.checks import Findings
from exam_pp.store.files import is_stream, read_bytes, read_lines, without_lines
from exam_pp.store.parsing import sentence
from exam_pp.store.passages.raw_json import repeated_key
from exam_pp.wording import counted

_MOST_BAD_LINES = 100
"""After so many lines that cannot be read, a file is given up."""


def check_by_reading(path: Path, form: Format, findings: Findings) -> str:
    """Check a file by reading its records; returns what it holds, in words."""
    assert form.records is not None, "only formats with records are kinds of files"
    check_repeated_keys(path, findings)
    return counted(len(read_around_errors(path, form.records, findings, form.name)), form.noun)


def read_around_errors(
    path: Path, read: Callable[[Path], Iterable[Any]], findings: Findings, kind: str
) -> list[Any]:
    """What a reader gives of a file without its bad lines, each of which is a finding.

    Readers stop at the first bad line, so the file is read again without it.
    """
    bad: set[int] = set()
    while True:
        try:
            with without_lines(path, bad):
                return list(read(path))
        except DataError as error:
            corrupt = isinstance(error, CorruptFileError)
            if corrupt or not (error.line is None and bad):  # "holds no ...": because all lines were bad
                check = "unreadable" if corrupt else "format"
                findings.add(check, str(path), error.line, error.field or "", error.problem)
            if error.line is None or error.line in bad or is_stream(path):
                return []
            if len(bad) == _MOST_BAD_LINES:
                words = f"has more than {_MOST_BAD_LINES} such lines; what follows was not checked"
                findings.add("unreadable", str(path), error.line, "", words)
                return []
            bad.add(error.line)
        except ExamError as error:
            findings.add("format", str(path), None, "", f"as {kind}: {error}")
            return []


def note_problems(error: ValidationError, path: Path, line: int | None, findings: Findings) -> None:
    """Note every problem of a JSON value with its field; positions in lists count from 1."""
    for problem in error.errors(include_url=False, include_input=False):
        names = [part for part in problem["loc"] if part not in ("question", "nugget")]
        place = ".".join(str(part + 1 if isinstance(part, int) else part) for part in names)
        findings.add("format", str(path), line, place, sentence(problem))


def check_repeated_keys(path: Path, findings: Findings) -> None:
    """Note JSON objects with a key twice, of which readers see the last alone.

    What is no JSON is passed over, and a stream, which cannot be read a second time.
    """
    if is_stream(path):
        return

    def note(line: int | None, value: bytes) -> bool:
        try:
            twice = repeated_key(value)
        except (ValueError, RecursionError):
            return False
        if twice is not None:
            words = f"the key {twice!r} stands twice in one object"
            findings.add("duplicate-key", str(path), line, "", words)
        return True

    lines = read_lines(path)
    first = next(lines, (0, b""))
    if first[1][:1] not in (b"{", b"["):
        return
    if note(*first) or not note(None, bytes(read_bytes(path))):  # one document of many lines, or JSON lines
        for number, value in lines:
            note(number, value)
