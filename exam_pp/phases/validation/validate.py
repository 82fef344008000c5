"""Validation of files of all formats: choice of the checks, and their findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from exam_pp.errors import DataError
from exam_pp.formats.base import FORMATS, all_formats, format_of
from exam_pp.phases.validation.bank_file import check_bank
from exam_pp.phases.validation.by_reading import check_by_reading
from exam_pp.phases.validation.checks import Findings
from exam_pp.phases.validation.edits_file import check_edits
from exam_pp.phases.validation.graded_file import check_graded
from exam_pp.phases.validation.trec_files import check_qrels, check_runs
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import is_read_once, read_lines
from exam_pp.test_bank import TestBank

Banks = Mapping[Path, TestBank]

_CHECKS: Mapping[str, Callable[[Path, Findings, Banks], str]] = {
    "graded": lambda path, findings, banks: check_graded(path, findings, list(banks.values())),
    "bank": lambda path, findings, _banks: check_bank(path, findings),
    "edits": check_edits,
    "run": lambda path, findings, _banks: check_runs(path, findings),
    "qrels": lambda path, findings, _banks: check_qrels(path, findings),
}
"""Format to its checks; files of all other formats are checked by reading them."""


def checkable_formats() -> list[str]:
    """Return the names of the formats that can be checked."""
    return [form.name for form in all_formats() if form.records or form.name in _CHECKS]


def validate(
    files: Sequence[Path], *, kind: str | None = None, banks: Sequence[Path] = (), limit: int = 0
) -> Findings:
    """Check the format and consistency of files.

    Args:
        files: Files of any format that :func:`checkable_formats` lists, or folders of runs.
        kind: Name of the format of all files; None to detect it by the content of each file.
        banks: Test banks that graded files and edits files are compared with.
        limit: Maximum number of findings to keep per check and file; 0 keeps all.

    Returns:
        The findings; an invalid line does not stop the check of the following lines.

    Raises:
        ExamError: A bank cannot be read. Problems of ``files`` are findings.
    """
    known = {path: read_bank(path) for path in banks}
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
                contents = _CHECKS[form.name](path, findings, known)
            else:
                contents = check_by_reading(path, form, findings)
        except DataError as error:
            findings.add("unreadable", str(path), error.line, error.field or "", error.problem)
        finally:
            findings.checked(str(path), format_name, contents)
    return findings
