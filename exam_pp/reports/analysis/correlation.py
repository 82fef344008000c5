"""Reports on leaderboards and official ranks: correlations, sweeps, side by side, the column of ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import grader_names
from exam_pp.metrics.uncertainty import Interval, few_units_note
from exam_pp.phases.analysis.correlation import (
    ComparedLeaderboards,
    Correlations,
    QueryCorrelations,
)
from exam_pp.phases.analysis.sweep import Sweep
from exam_pp.phases.evaluation.result import renamed
from exam_pp.provenance import combined
from exam_pp.rendering.document import Cell, Paragraph, Picture, Report, Table
from exam_pp.rendering.pictures.points import Line, Point, lines, scatter
from exam_pp.reports.evaluation.leaderboards import measure_notes, unmatched_notes
from exam_pp.results import ALL_QUERIES

_NOISE = (
    "Means over few queries have noise, which lowers a correlation, so an interval can lie above its number. "
    "With fewer than eight queries it is approximate. Fewer than four systems or two queries have none."
)


def correlation_report(*results: Correlations, decimals: int = 4) -> Report:
    """One row for every measure of every leaderboard, with notes on systems that are on one side only."""
    first = results[0]
    columns = ["measure", "systems"]
    for name in COEFFICIENTS:
        columns += [name.format(first.top)] + (
            [f"{name.format(first.top)} interval"] if first.resampled else []
        )
    rows: list[list[Cell]] = []
    notes = measure_notes(first.official)
    for result in results:
        for item in result.measures:
            row: list[Cell] = [*_source(result, results), item.measure, item.correlation.systems]
            for index, value in enumerate(item.correlation[1:]):
                row.append(value)
                if result.resampled:
                    row.append(formatted_interval(item.intervals[index], decimals))
            rows.append(row)
        notes += [f"{official} is matched with {name}." for official, name in result.matched.items()]
    if any(item.correlation.spearman is None for result in results for item in result.measures):
        notes.append("A correlation is undefined (empty) if all systems are tied on one side.")
    if first.resampled:
        drawn = f"bootstrap samples of systems (seed {first.seed}). {few_units_note('systems')}"
        if first.resampled == "queries":
            drawn = f"draws of the true means of the systems (seed {first.seed}). {_NOISE}"
        notes.append(f"Intervals: 95 %, {first.samples} {drawn}")
    for result in results:
        systems = {system for scores in result.scores.values() for system in scores}
        ranks = renamed(result.official.ranks, result.matched)
        notes += unmatched_notes(systems, ranks, result.leaderboard, result.official.source)
    return _report("Leaderboard correlation", results, columns, rows, notes, decimals)


def query_correlation_report(*results: QueryCorrelations, decimals: int = 4) -> Report:
    """One row for every leaderboard, measure and query, and a row ``all`` with the means over queries."""
    first = results[0]
    rows: list[list[Cell]] = []
    for result in results:
        source = _source(result, results)
        for measure, queries in result.queries.items():
            rows += [[*source, measure, query_id, *row] for query_id, row in queries.items()]
            rows.append([*source, measure, ALL_QUERIES, None, *result.means[measure]])
    notes = [
        f"Official scores: {first.reference} of {first.official}.",
        "all: the mean over the queries for which the coefficient is defined.",
    ]
    columns = ["measure", "query", "systems", *(name.format(first.top) for name in COEFFICIENTS)]
    return _report("Correlation by query", results, columns, rows, notes, decimals)


_Results = Sequence[Correlations] | Sequence[QueryCorrelations]


def _source(result: Correlations | QueryCorrelations, results: _Results) -> list[Cell]:
    """The cell of the leaderboard, if there are several."""
    return [str(result.leaderboard)] if len(results) > 1 else []


def _report(
    title: str,
    results: _Results,
    columns: Sequence[str],
    rows: list[list[Cell]],
    notes: Sequence[str],
    decimals: int,
) -> Report:
    columns = [*(["leaderboard"] if len(results) > 1 else []), *columns]
    origin = combined([result.provenance for result in results])
    return Report(
        title,
        [Table(columns, rows, decimals=decimals), *map(Paragraph, dict.fromkeys(notes))],
        origin,
    )


def rank_picture(scores: Mapping[str, float], ranks: Mapping[str, float], measure: str) -> Picture:
    """The scores of systems against their official ranks."""
    from exam_pp.metrics.correlation import approximate_ranks  # noqa: PLC0415 - scipy is slow to import

    approximate = approximate_ranks(scores, ranks)
    points = [
        Point(system, ranks.get(system, approximate.get(system)), score, system in approximate)
        for system, score in scores.items()
    ]
    mark = "approximate rank" if approximate else ""
    return scatter(points, "official rank", measure, f"{measure} against official ranks", mark=mark)


COEFFICIENTS = ("Spearman", "Kendall tau-b", "tau-AP", "top-{} overlap")
"""Column names of the four coefficients of a correlation, in their order."""


def formatted_interval(interval: Interval | None, decimals: int) -> str:
    """Format an interval as ``[low, high]``; empty for None."""
    return "" if interval is None else f"[{interval.low:z.{decimals}f}, {interval.high:z.{decimals}f}]"


def compared_report(result: ComparedLeaderboards, *, decimals: int = 3) -> Report:
    """A table with a row for every system and a column for every leaderboard, scaled from 0 to 1."""
    from exam_pp.metrics.correlation import int_if_whole, min_max_scaled  # noqa: PLC0415 - scipy is slow to import

    scaled = [min_max_scaled(scores) for scores in result.leaderboards.values()]
    rows: list[list[Cell]] = []
    for system in result.order:
        rank: list[Cell] = [int_if_whole(result.ranks.get(system))] if result.ranks else []
        rows.append([system, *rank, *(scores.get(system) for scores in scaled)])
    columns = ["system", *(["official rank"] if result.ranks else []), *result.leaderboards]
    notes = ["Scores are scaled: the best system of each leaderboard has 1, the worst 0."]
    if result.ranks:
        notes += unmatched_notes(result.order, result.ranks, "the leaderboards", "the official ranks")
    return Report(
        "Comparison of leaderboards",
        [Table(columns, rows, decimals=decimals), *map(Paragraph, notes)],
        result.provenance,
    )


def compared_picture(result: ComparedLeaderboards) -> Picture:
    """The scaled leaderboards as lines over the systems, with standard errors (EXAM++, figure 2)."""
    from exam_pp.metrics.correlation import min_max_scaled  # noqa: PLC0415 - scipy is slow to import

    drawn = []
    for name, scores in result.leaderboards.items():
        spread = max(scores.values()) - min(scores.values())
        errors = result.standard_errors.get(name, {}) if spread else {}
        scaled = {system: error / spread for system, error in errors.items() if system in scores}
        drawn.append(Line(name, min_max_scaled(scores), scaled))
    return lines(drawn, result.order, "system", "score, min-max scaled", "Comparison of leaderboards")


def sweep_report(result: Sweep, *, decimals: int = 3) -> Report:
    """A table with a row for every setting; ``min grade`` is empty for measures without threshold."""
    settings = result.settings
    models = len({setting.model for setting in settings}) > 1
    with_intervals = any(setting.intervals for setting in settings)
    rows: list[list[Cell]] = []
    for setting in settings:
        model: list[Cell] = [setting.model] if models else []
        row = [*model, setting.prompt_class, setting.min_grade, setting.measure, setting.correlation.systems]
        intervals = setting.intervals or [None] * len(COEFFICIENTS)
        for value, interval in zip(setting.correlation[1:], intervals, strict=True):
            row += [value] + ([formatted_interval(interval, decimals)] if with_intervals else [])
        rows.append(row)
    columns = [*(["model"] if models else []), "prompt class", "min grade", "measure", "systems"]
    for name in (coefficient.format(result.top) for coefficient in COEFFICIENTS):
        columns += [name] + ([f"{name} interval"] if with_intervals else [])
    official = result.official
    notes = [f"Official ranks: {Path(official.source).name}.", *measure_notes(official), *result.notes]
    if with_intervals and not any(interval for setting in settings for interval in setting.intervals):
        notes.append("Intervals need at least five systems, or over queries four systems and two queries.")
    scored = {system for setting in settings for system in setting.scores}
    notes += unmatched_notes(scored, official.ranks, "the scores", official.source)
    table = Table(columns, rows, decimals=decimals)
    return Report("Correlation by setting", [table, *map(Paragraph, notes)], result.provenance, result.notes)


def sweep_picture(result: Sweep) -> Picture:
    """A line plot of Kendall's τ over thresholds, with a line for each grader and measure.

    Raises :class:`~exam_pp.errors.SelectionError` if no measure with a threshold has a defined correlation.
    """
    curves: dict[str, dict[str, float]] = {}
    graders = list(dict.fromkeys(setting.key for setting in result.settings))
    grader = grader_names(graders)
    for setting in result.settings:
        if setting.min_grade is not None and setting.correlation.kendall is not None:
            name = f"{grader(setting.key)} {setting.measure}" if len(graders) > 1 else setting.measure
            curves.setdefault(name, {})[str(setting.min_grade)] = setting.correlation.kendall
    if not curves:
        raise SelectionError(
            "The figure needs a defined correlation of a measure with a threshold, such as Cover or RR (nDCG "
            "has no threshold)."
        )
    grades = sorted({int(grade) for values in curves.values() for grade in values})
    return lines(
        [Line(name, values, {}) for name, values in curves.items()],
        [str(grade) for grade in grades],
        "minimum grade",
        "Kendall's tau-b",
        "Correlation with the official ranks",
    )
