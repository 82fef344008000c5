"""Validate: whether files are in their format and make sense, with the lines where they do not."""

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
from exam_pp.store.files import is_stream, read_lines
from exam_pp.test_bank import TestBank

Banks = Mapping[Path, TestBank]

_CHECKS: Mapping[str, Callable[[Path, Findings, Banks], str]] = {
    "graded": lambda path, findings, banks: check_graded(path, findings, list(banks.values())),
    "bank": lambda path, findings, _banks: check_bank(path, findings),
    "edits": check_edits,
    "run": lambda path, findings, _banks: check_runs(path, findings),
    "qrels": lambda path, findings, _banks: check_qrels(path, findings),
}
"""The checks of a format; a file of another one is checked by reading it."""


def kinds() -> list[str]:
    """The formats whose files can be checked."""
    return [form.name for form in all_formats() if form.records or form.name in _CHECKS]


def validate(
    files: Sequence[Path], *, kind: str | None = None, banks: Sequence[Path] = (), limit: int = 0
) -> Findings:
    """Check files of any kind and collect what is wrong; a bad line never hides the next one.

    ``kind`` is told by each file's content unless it is given. ``banks`` are what graded files and edits are
    compared with. ``limit`` findings of every check are kept (0: all). Raises
    :class:`~exam_pp.errors.ExamError` for banks that cannot be read; problems of the files are findings.
    """
    known = {path: read_bank(path) for path in banks}
    findings = Findings(limit)
    for path in files:
        shown = kind or "?"
        contents = ""
        try:
            if kind is None and not (path.is_dir() or is_stream(path)) and not any(read_lines(path)):
                findings.add("empty", str(path), None, "", "holds nothing")
                continue
            form = FORMATS.get(kind) if kind else format_of(path)
            shown = form.name
            if form.name in _CHECKS:
                contents = _CHECKS[form.name](path, findings, known)
            else:
                contents = check_by_reading(path, form, findings)
        except DataError as error:
            findings.add("unreadable", str(path), error.line, error.field or "", error.problem)
        finally:
            findings.checked(str(path), shown, contents)
    return findings
