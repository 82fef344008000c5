"""Export of test banks to spreadsheets and the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from exam_pp.formats.base import FORMATS, Target
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import check_output
from exam_pp.wording import counted

ExportFormat = Literal["csv", "nuggetizer", "autojudge"]

FORMAT_NAMES = {"csv": "bank-csv", "autojudge": "autojudge-bank"}
"""Short names of formats in `exam-pp bank` to the names in the registry."""


def export_bank(bank: Path, form: ExportFormat, output: Path, *, bom: bool = False) -> list[str]:
    """Write a bank in another format, and return the lines of the summary with the dropped fields.

    ``bom`` writes CSV with a byte order mark. Raises :class:`~exam_pp.errors.ExamError`, also for questions
    in the format of AutoNuggetizer.
    """
    check_output(output, [bank])
    test_bank = read_bank(bank)
    if form == "nuggetizer":
        test_bank.require_kind("nugget", "The format of AutoNuggetizer")
    dropped = DroppedFields()
    write = FORMATS.get(FORMAT_NAMES.get(form, form)).write
    assert write is not None, "all formats of banks have a writer"
    write(test_bank.lines, Target(output, dropped, [bank], bom=bom))
    entries = sum(len(line.items) for line in test_bank.lines)
    return [
        f"Wrote {counted(len(test_bank.queries), 'query')}, {counted(entries, 'entry')}.",
        *dropped.lines(),
    ]
