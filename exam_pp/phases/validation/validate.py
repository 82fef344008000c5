"""Validation of files of all formats: choice of the checks, and their findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from exam_pp.errors import DataError
from exam_pp.formats.base import FORMATS, all_formats, format_of
from exam_pp.phases.validation.by_reading import check_by_reading
from exam_pp.phases.validation.checks import Findings
from exam_pp.phases.validation.graded_file import check_graded
from exam_pp.phases.validation.trec_files import check_runs
from exam_pp.store.files import is_read_once, read_lines

_CHECKS: Mapping[str, Callable[[Path, Findings], str]] = {"graded": check_graded, "run": check_runs}
"""Format to its checks; files of all other formats are checked by reading them."""


def checkable_formats() -> list[str]:
    """Return the names of the formats that can be checked."""
    return [form.name for form in all_formats() if form.records or form.name in _CHECKS]


def validate(files: Sequence[Path], *, kind: str | None = None, limit: int = 0) -> Findings:
    """Check the format and consistency of files.

    ``kind``: Name of the format of all files; None to detect it by the content of each file. Returns the
    findings; an invalid line does not stop the check of the following lines.
    """
    findings = Findings(limit)
    for path in files:
        format_name = kind or "?"
        contents = ""
        try:
            if kind is None and not (path.is_dir() or is_read_once(path)) and not any(read_lines(path)):
                findings.add("empty", str(path), None, "", "is empty")
                continue
            form = FORMATS.get(kind) if kind else format_of(path)
            format_name = form.name
            if form.name in _CHECKS:
                contents = _CHECKS[form.name](path, findings)
            else:
                contents = check_by_reading(path, form, findings)
        except DataError as error:
            findings.add("unreadable", str(path), error.line, error.field or "", error.problem)
        finally:
            findings.checked(str(path), format_name, contents)
    return findings
