"""Validation of files of all formats: choice of the checks, and their findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from exam_pp.errors import DataError
from exam_pp.formats.base import FORMATS, all_formats, format_of
from exam_pp.phases.validation.bank_file import check_bank
from exam_pp.phases.validation.by_reading import check_by_reading
from exam_pp.phases.validation.checks import Findings
from exam_pp.phases.validation.edits_file import check_edits
from exam_pp.phases.validation.games_file import Answers, check_games, read_answers
from exam_pp.phases.validation.graded_file import check_graded
from exam_pp.phases.validation.trec_files import check_qrels, check_runs
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import is_read_once, read_lines
from exam_pp.test_bank import TestBank


class _Known(NamedTuple):
    """The files that others are compared with."""

    banks: Mapping[Path, TestBank]
    answers: Answers | None


_CHECKS: Mapping[str, Callable[[Path, Findings, _Known], str]] = {
    "graded": lambda path, findings, known: check_graded(path, findings, list(known.banks.values())),
    "games": lambda path, findings, known: check_games(path, findings, known.answers),
    "bank": lambda path, findings, _known: check_bank(path, findings),
    "edits": lambda path, findings, known: check_edits(path, findings, known.banks),
    "run": lambda path, findings, _known: check_runs(path, findings),
    "qrels": lambda path, findings, _known: check_qrels(path, findings),
}
"""Format to its checks; files of all other formats are checked by reading them."""


def checkable_formats() -> list[str]:
    """Return the names of the formats that can be checked."""
    return [form.name for form in all_formats() if form.records or form.name in _CHECKS]


def validate(
    files: Sequence[Path],
    *,
    kind: str | None = None,
    banks: Sequence[Path] = (),
    passages: Path | None = None,
    limit: int = 0,
) -> Findings:
    """Check the format and consistency of files.

    Args:
        files: Files of any format that :func:`checkable_formats` lists, or folders of runs.
        kind: Name of the format of all files; None to detect it by the content of each file.
        banks: Test banks that graded files and edits files are compared with.
        passages: Passages file with the answers that games files are compared with.
        limit: Maximum number of findings to keep per check and file; 0 keeps all.

    Returns:
        The findings; an invalid line does not stop the check of the following lines.

    Raises:
        ExamError: A bank or a passages file cannot be read. Problems of ``files`` are findings.
    """
    known = _Known(
        {path: read_bank(path) for path in banks}, None if passages is None else read_answers(passages)
    )
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
