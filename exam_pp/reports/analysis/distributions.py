"""Report of the distributions of scores: a table, box plots, and bars of the share of questions answered."""

from __future__ import annotations

from collections.abc import Sequence

from exam_pp.metrics.uncertainty import GAFFKE
from exam_pp.phases.analysis.distributions import Distributions, SystemDistribution
from exam_pp.rendering.document import Cell, Paragraph, Picture, Report, Table
from exam_pp.rendering.pictures.boxes import Box, box_plot, share_bars
from exam_pp.results import ANSWERED

COLUMNS = (
    "measure", "system", "queries", "missing", "mean", "low", "high", "lowest", "lower quartile", "median",
    "upper quartile", "highest",
)  # fmt: skip


def distributions_report(result: Distributions, *, decimals: int = 3) -> Report:
    """A table with a row for each measure and system, and a picture of each measure for HTML."""
    table = Table(COLUMNS, [_cells(row) for row in result.rows], decimals=decimals)
    notes = [
        f"low and high: {_interval(result)} of the mean, by {GAFFKE}, if the range of the measure is known.",
        *result.notes,
    ]
    return Report(
        "Distributions of scores",
        [table, *distribution_pictures(result), *map(Paragraph, notes)],
        result.provenance,
    )


def distribution_pictures(result: Distributions) -> list[Picture]:
    """A box plot of each measure; bars of the means for the share of questions answered."""
    return [
        share_bars(_boxes(rows), "share of questions", "Questions answered", _interval(result))
        if measure == ANSWERED
        else box_plot(_boxes(rows), measure, f"Distribution of {measure}", _interval(result))
        for measure, rows in result.measures.items()
    ]


def _boxes(rows: Sequence[SystemDistribution]) -> list[Box]:
    """The rows as boxes of a picture."""
    return [
        Box(
            row.system,
            row.distribution.mean,
            row.interval and row.interval.low,
            row.interval and row.interval.high,
            (row.distribution.lower_quartile, row.distribution.median, row.distribution.upper_quartile),
            row.distribution.whiskers,
            row.distribution.outliers,
        )
        for row in rows
    ]


def _interval(result: Distributions) -> str:
    return f"{100 * result.confidence:.4g} % intervals"


def _cells(row: SystemDistribution) -> list[Cell]:
    numbers, (low, high) = row.distribution, row.interval or (None, None)
    return [
        row.measure, row.system, numbers.count, row.missing, numbers.mean, low, high, numbers.low,
        numbers.lower_quartile, numbers.median, numbers.upper_quartile, numbers.high,
    ]  # fmt: skip
