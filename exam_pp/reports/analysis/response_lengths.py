"""Report of scores against response lengths: a table and a figure."""

from __future__ import annotations

from exam_pp.phases.analysis.response_lengths import LengthComparison
from exam_pp.rendering import plots
from exam_pp.rendering.document import Cell, Paragraph, Picture, Report, Table
from exam_pp.rendering.pictures.points import Point, scatter

TITLE = "Score against response length"
_SIZE = (7.0, 4.5)


def length_report(result: LengthComparison, *, decimals: int = 3) -> Report:
    """A table with a row for every system, the shortest response first, and a scatter plot."""
    rows: list[list[Cell]] = [
        [system, length, score, "yes" if system in result.front else ""]
        for system, (length, score) in sorted(result.points.items(), key=lambda item: (item[1][0], item[0]))
    ]
    table = Table(["system", "words", result.metric, "Pareto front"], rows, decimals=decimals)
    note = "words: mean number of words in the passages within the cutoff, over all queries of the file."
    return Report(TITLE, [table, Paragraph(note), length_picture(result)], result.provenance)


def length_figure(result: LengthComparison) -> plots.Drawing:
    """A scatter plot of the systems with the Pareto front."""
    return plots.against_length(result.points, result.front, result.metric), _SIZE


def length_picture(result: LengthComparison) -> Picture:
    """The same plot for HTML pages."""
    points = [Point(name, *point, name in result.front) for name, point in result.points.items()]
    return scatter(
        points,
        "words (mean over queries)",
        result.metric,
        TITLE,
        mark="systems on the Pareto front",
        connected=True,
    )
