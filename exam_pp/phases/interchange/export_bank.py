"""Export: test banks for spreadsheets and other tools."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from exam_pp.phases.interchange.bank_formats import ConvertedBank
from exam_pp.phases.interchange.formats import banks as _registered  # noqa: F401 - its formats are looked up by name
from exam_pp.phases.interchange.formats.base import FORMATS, Target
from exam_pp.phases.interchange.losses import Losses
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import check_output

ExportFormat = Literal["csv", "nuggetizer", "autojudge"]

_NAMES: Mapping[ExportFormat, str] = {
    "csv": "bank-csv",
    "nuggetizer": "nuggetizer",
    "autojudge": "autojudge-bank",
}


def export_bank(bank: Path, form: ExportFormat, output: Path) -> list[str]:
    """Write a bank in another tool's format; returns what to tell people, with what the format leaves out.

    Raises :class:`~exam_pp.errors.ExamError`, also for questions in nuggetizer's format.
    """
    check_output(output, [bank])
    read = read_bank(bank)
    if form == "nuggetizer":
        read.require_kind("nugget", "The format of AutoNuggetizer")
    losses = Losses()
    write = FORMATS.get(_NAMES[form]).write
    assert write is not None, "every format of banks is written"
    write(read.lines, Target(output, losses, [bank]))
    done = ConvertedBank(len(read.queries), sum(len(line.items) for line in read.lines))
    return [*done.lines(), *losses.lines()]
