"""Table of the differences between two test banks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exam_pp.phases.banks.compare import EntryDifference
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.wording import counted


def diff_report(old: Path, new: Path, differences: Sequence[EntryDifference]) -> Report:
    """A table of the differences; without differences, a sentence."""
    if not differences:
        return Report("", [Paragraph(f"The entries of {old} and {new} are the same.")])
    rows: list[list[Cell]] = [[d.query_id, d.change, d.before, d.after, d.entry_id] for d in differences]
    title = f"{counted(len(differences), 'difference')} between {old} and {new}"
    return Report(title, [Table(("query_id", "change", "before", "after", "entry_id"), rows)])
