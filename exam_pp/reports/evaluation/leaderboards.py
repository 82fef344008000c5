"""Leaderboards as tables and figures, for people and for scripts; scores of single queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from exam_pp.metrics.leaderboard import Standing, standings
from exam_pp.phases.evaluation.leaderboards import Standings
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.evaluation.uncertainty import SystemUncertainty
from exam_pp.rendering import plots
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.reports.evaluation.uncertainty import uncertainty_cells, uncertainty_columns
from exam_pp.results import ALL_QUERIES
from exam_pp.wording import counted

SCRIPT_DECIMALS = 6
"""Tables that are read back must not tie systems by rounding."""


class ExtraColumn(NamedTuple):
    """A last column of a leaderboard, with a note on it that comes first and others that come last."""

    name: str
    cells: Mapping[str, Cell]
    first_notes: tuple[str, ...] = ()
    last_notes: tuple[str, ...] = ()


def leaderboard_report(
    board: Standings, title: str, *, formatted: bool = True, extra: ExtraColumn | None = None
) -> Report:
    """One row a system, best first by the first metric; the overall system comes last.

    For people, a cell is ``mean ± standard error`` with three decimals. Otherwise a metric has two
    columns of numbers, its name and ``<name> stderr``. Intervals, ranks, letters and bounds follow the
    metric that they are about, where the leaderboard has them. A column ``queries`` is added where systems
    were scored on different numbers of them.
    """
    counts = board.queries
    uneven = len(set(counts.values())) > 1
    doubts = board.uncertainty
    columns = ["system", *metric_columns(board, formatted=formatted), *(["queries"] if uneven else [])]
    rows: list[list[Cell]] = []
    for system in board.systems:
        cells: list[Cell] = [system]
        for metric in board.metrics:
            row = board.rows.get((system, metric))
            cells += [_readable(row)] if formatted else [row and row.mean, row and row.stderr]
            cells += uncertainty_cells(doubts, system, metric, formatted=formatted)
        rows.append([*cells, counts[system]] if uneven else cells)
    number = max(counts.values(), default=0)
    notes = [f"Means over {counted(number, 'query')} ± standard error."] if number else []
    notes += [*doubts.notes, *board.notes]
    if extra is not None:
        columns.append(extra.name)
        rows = [[*cells, extra.cells.get(system)] for cells, system in zip(rows, board.systems, strict=True)]
        notes = [*extra.first_notes, *notes, *extra.last_notes]
    table = Table(columns, rows, decimals=SCRIPT_DECIMALS)
    return Report(title, [table, *map(Paragraph, notes)])


def metric_columns(board: Standings, *, formatted: bool) -> list[str]:
    """Names of the columns of all metrics, each with those of its uncertainty."""
    columns = []
    for metric in board.metrics:
        columns += [metric] if formatted else [metric, f"{metric} stderr"]
        columns += uncertainty_columns(board.uncertainty, metric, formatted=formatted)
    return columns


def _readable(row: Standing | None) -> str:
    if row is None:
        return ""
    return f"{row.mean:.3f}" if row.stderr is None else f"{row.mean:.3f} ± {row.stderr:.3f}"


def leaderboard_figure(board: Standings) -> plots.Drawing:
    """The first metric with its intervals, where there are any."""
    metric = board.metrics[0]
    rows = [row for row in board.rows.values() if row.metric == metric]
    bars = []
    for row in sorted(rows, key=lambda row: (-row.mean, row.system)):
        doubt = board.uncertainty.systems.get((row.system, metric), SystemUncertainty())
        bars.append(plots.Bar(row.system, row.mean, doubt.low, doubt.high))
    if all(bar.low is None for bar in bars):
        return plots.leaderboard(bars, metric)
    asked = board.statistics
    what = "queries" if asked.intervals == "queries" else "queries and entries"
    label = f"{metric}\n{100 * asked.confidence:g} % intervals (bootstrap over {what})"
    return plots.leaderboard(bars, label)


def per_query_report(evaluation: Evaluation, title: str) -> Report:
    """One row for every system, query and metric, then the mean as query ``all``."""
    means = standings(evaluation.scores)
    groups: dict[tuple[str, str], list[list[Cell]]] = {(row.system, row.metric): [] for row in means}
    for score in evaluation.scores:
        if score.query_id != ALL_QUERIES:
            groups[score.system, score.metric].append([*score])
    for row in means:
        groups[row.system, row.metric].append([row.system, ALL_QUERIES, row.metric, row.mean])
    rows = [row for group in groups.values() for row in group]
    table = Table(["system", "query", "measure", "value"], rows, decimals=SCRIPT_DECIMALS)
    return Report(title, [table, *map(Paragraph, evaluation.notes)])
