"""Scores against response lengths: a table and a figure."""

from __future__ import annotations

from exam_pp.phases.analysis.response_lengths import LengthComparison
from exam_pp.rendering import plots
from exam_pp.rendering.document import Cell, Paragraph, Report, Table

TITLE = "Score against response length"
_SIZE = (7.0, 4.5)


def length_report(found: LengthComparison, *, decimals: int = 3) -> Report:
    """One row a system, the shortest response first."""
    rows: list[list[Cell]] = [
        [system, length, score, "yes" if system in found.front else ""]
        for system, (length, score) in sorted(found.points.items(), key=lambda item: (item[1][0], item[0]))
    ]
    table = Table(["system", "words", found.metric, "Pareto front"], rows, decimals=decimals)
    note = "Words: of the passages within the cutoff that the file holds, mean over all queries of the file."
    return Report(TITLE, [table, Paragraph(note)])


def length_figure(found: LengthComparison) -> plots.Drawing:
    """A point a system, with the Pareto front."""
    return plots.against_length(found.points, found.front, found.metric), _SIZE
