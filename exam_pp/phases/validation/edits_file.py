"""Checks of edits files, alone and against the edited banks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from exam_pp.edits import Edits
from exam_pp.errors import DataError
from exam_pp.phases.validation.by_reading import add_problems, check_duplicate_keys
from exam_pp.phases.validation.checks import Findings
from exam_pp.store.banks.edits import file_sha256, read_edits
from exam_pp.test_bank import TestBank
from exam_pp.wording import counted


def check_edits(path: Path, findings: Findings, banks: Mapping[Path, TestBank]) -> str:
    """Check an edits file, with ``banks`` also that it belongs to one of them; returns a summary."""
    file = str(path)
    check_duplicate_keys(path, findings)
    try:
        edits = read_edits(path)
    except DataError as error:
        if isinstance(error.__cause__, ValidationError):
            add_problems(error.__cause__, path, None, findings)
        else:
            findings.add("format", file, error.line, error.field or "", error.problem)
        return "edits"
    if banks:
        _check_edited_banks(edits, file, findings, banks)
    changes = counted(len(edits.bank), "change of a bank", "changes of a bank")
    labels = f"{counted(len(edits.supports), 'label')} of citations, " if edits.supports else ""
    return f"{counted(len(edits.ratings), 'rating')}, {labels}{changes}"


def _check_edited_banks(edits: Edits, file: str, findings: Findings, banks: Mapping[Path, TestBank]) -> None:
    if edits.bank_sha256 is not None and edits.bank_sha256 not in {file_sha256(path) for path in banks}:
        findings.add(
            "other-file",
            file,
            None,
            "bank_sha256",
            "is not the digest of this bank; the edits are for another version",
        )
    known = {(q.query_id, key) for bank in banks.values() for q in bank for key in q.entries}
    for number, rating in enumerate(edits.ratings, 1):
        if (rating.query_id, rating.entry_id) not in known:
            problem = f"{rating.entry_id} is not an entry of the query {rating.query_id}"
            findings.add("unknown-entry", file, None, f"ratings.{number}", problem)
    for number, edit in enumerate(edits.bank, 1):
        if edit.op == "reword" and edit.entry_id is not None:
            known.add((edit.query_id, edit.entry_id))
        elif edit.entry_id is not None and (edit.query_id, edit.entry_id) not in known:
            problem = f"{edit.entry_id} is not an entry of the query {edit.query_id}"
            findings.add("unknown-entry", file, None, f"bank.{number}", problem)
