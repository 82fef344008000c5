"""Validate: whether files are in their format and make sense, with the lines where they do not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exam_pp.errors import DataError
from exam_pp.phases.validation.checks import Findings
from exam_pp.phases.validation.graded_file import check_graded
from exam_pp.phases.validation.inputs import (
    check_bank,
    check_by_reading,
    check_edits,
    check_qrels,
    check_runs,
    named_banks,
)
from exam_pp.store.files import is_stream, read_lines
from exam_pp.store.interchange.kinds import FileKind, kind_of


def validate(
    files: Sequence[Path], *, kind: FileKind | None = None, banks: Sequence[Path] = (), limit: int = 0
) -> Findings:
    """Check files of any kind and collect what is wrong; a bad line never hides the next one.

    ``kind`` is told by each file's content unless it is given. ``banks`` are what graded files and edits are
    compared with. ``limit`` findings of every check are kept (0: all). Raises
    :class:`~exam_pp.errors.ExamError` for banks that cannot be read; problems of the files are findings.
    """
    known = named_banks(banks)
    findings = Findings(limit)
    for path in files:
        shown: str = kind or "?"
        contents = ""
        try:
            if kind is None and not (path.is_dir() or is_stream(path)) and not any(read_lines(path)):
                findings.add("empty", str(path), None, "", "holds nothing")
                continue
            found = kind or kind_of(path)
            shown = found
            match found:
                case "graded":
                    contents = check_graded(path, findings, list(known.values()))
                case "bank":
                    contents = check_bank(path, findings)
                case "edits":
                    contents = check_edits(path, findings, known)
                case "run":
                    contents = check_runs(path, findings)
                case "qrels":
                    contents = check_qrels(path, findings)
                case _:
                    contents = check_by_reading(path, found, findings)
        except DataError as error:
            findings.add("unreadable", str(path), error.line, error.field or "", error.words)
        finally:
            findings.checked(str(path), shown, contents)
    return findings
