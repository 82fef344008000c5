"""Export test banks in the formats of other tools, and as spreadsheets."""

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
"""Formats that `exam-pp bank` calls by shorter names."""


def export_bank(bank: Path, form: ExportFormat, output: Path) -> list[str]:
    """Write a bank in another tool's format; returns what to tell people, with what the format leaves out.

    Raises :class:`~exam_pp.errors.ExamError`, also for questions in nuggetizer's format.
    """
    check_output(output, [bank])
    read = read_bank(bank)
    if form == "nuggetizer":
        read.require_kind("nugget", "The format of AutoNuggetizer")
    dropped = DroppedFields()
    write = FORMATS.get(FORMAT_NAMES.get(form, form)).write
    assert write is not None, "every format of banks is written"
    write(read.lines, Target(output, dropped, [bank]))
    entries = sum(len(line.items) for line in read.lines)
    return [f"{counted(len(read.queries), 'query')}, {counted(entries, 'entry')}.", *dropped.lines()]
