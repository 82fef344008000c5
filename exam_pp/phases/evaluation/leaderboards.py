"""Leaderboards as reports and files: our table, per-query rows, the published layout, official ranks."""

from __future__ import annotations

import json

from exam_pp.errors import SelectionError
from exam_pp.metrics.leaderboard import Standing, standings
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.evaluation.uncertainty import Statistics, SystemUncertainty, Uncertainty, uncertainty
from exam_pp.reports.document import Cell, Paragraph, Report, Table
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM
from exam_pp.wording import counted

PUBLISHED_COVER = "ExamCover"
"""What the published implementation calls Rubric-Cover."""

SCRIPT_DECIMALS = 6
"""Tables that are read back must not tie systems by rounding."""


def leaderboard_report(
    evaluation: Evaluation,
    title: str,
    *,
    for_people: bool = True,
    statistics: Statistics | None = None,
) -> Report:
    """One row a system, best first by the first metric; the overall system comes last.

    For people, a cell is ``mean ± standard error`` with three decimals. Otherwise a metric has two
    columns of numbers, its name and ``<name> stderr``. Intervals, ranks, letters and bounds follow the
    metric that they are about, where ``statistics`` asks for them or something is ungraded. A column
    ``queries`` is added where systems were scored on different numbers of them.
    """
    rows = standings(evaluation.scores)
    metrics = list(dict.fromkeys(row.metric for row in rows))
    by_key = {(row.system, row.metric): row for row in rows}
    counts = {row.system: row.queries for row in rows}
    uneven = len(set(counts.values())) > 1
    doubts = uncertainty(evaluation, statistics or Statistics())
    columns = ["system"]
    for metric in metrics:
        columns += [metric] if for_people else [metric, f"{metric} stderr"]
        columns += doubt_columns(doubts, metric, for_people=for_people)
    cells: list[list[Cell]] = []
    for system in _best_first(rows, metrics[0] if metrics else ""):
        cell: list[Cell] = [system]
        for metric in metrics:
            row = by_key.get((system, metric))
            cell += [_readable(row)] if for_people else [row and row.mean, row and row.stderr]
            cell += doubt_cells(doubts, system, metric, for_people=for_people)
        cells.append([*cell, counts[system]] if uneven else cell)
    table = Table([*columns, "queries"] if uneven else columns, cells, decimals=SCRIPT_DECIMALS)
    number = max(counts.values(), default=0)
    about = [f"Means over {counted(number, 'query')} ± standard error."] if number else []
    return Report(title, [table, *map(Paragraph, [*about, *doubts.notes, *evaluation.notes])])


def _readable(row: Standing | None) -> str:
    if row is None:
        return ""
    return f"{row.mean:.3f}" if row.stderr is None else f"{row.mean:.3f} ± {row.stderr:.3f}"


def doubt_columns(doubts: Uncertainty, metric: str, *, for_people: bool) -> list[str]:
    """Names of the columns after a metric; for scripts they start with the metric's name."""
    shown = [name for name in ("low", "first", "letters", "best") if doubts.has(name, metric)]
    if for_people:
        names = {"low": "interval", "first": "rank", "letters": "letters", "best": "bounds"}
        return [names[name] for name in shown]
    scripts = {
        "low": ["low", "high"],
        "first": ["rank low", "rank high"],
        "letters": ["letters"],
        "best": ["worst case", "best case", "order open"],
    }
    return [f"{metric} {part}" for name in shown for part in scripts[name]]


def doubt_cells(
    doubts: Uncertainty, system: str, metric: str, *, for_people: bool, decimals: int = 3
) -> list[Cell]:
    """The cells under :func:`doubt_columns`; ``decimals`` are those of intervals and bounds for people."""
    doubt = doubts.systems.get((system, metric), SystemUncertainty())
    cells: list[Cell] = []
    if doubts.has("low", metric):
        pair = _range(doubt.low, doubt.high, decimals)
        cells += [pair] if for_people else [doubt.low, doubt.high]
    if doubts.has("first", metric):
        cells += [_rank_range(doubt)] if for_people else [doubt.first, doubt.last]
    if doubts.has("letters", metric):
        cells.append(doubt.letters)
    if doubts.has("best", metric):
        mark = " ?" if doubt.order_open else ""
        pair = _range(doubt.worst, doubt.best, decimals)
        is_open = "yes" if doubt.order_open else ""
        cells += [pair and pair + mark] if for_people else [doubt.worst, doubt.best, is_open]
    return cells


def _range(low: float | None, high: float | None, decimals: int) -> str:
    return "" if low is None or high is None else f"[{low:.{decimals}f}, {high:.{decimals}f}]"


def _rank_range(doubt: SystemUncertainty) -> str | None:
    if doubt.first == doubt.last:
        return None if doubt.first is None else str(doubt.first)
    return f"{doubt.first}–{doubt.last}"


def _best_first(rows: list[Standing], metric: str) -> list[str]:
    means = {row.system: row.mean for row in rows if row.metric == metric}
    systems = dict.fromkeys(row.system for row in rows)
    return sorted(systems, key=lambda s: (s == OVERALL_SYSTEM, -means.get(s, 0.0), s))


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


def trec_eval_text(evaluation: Evaluation, *, per_query: bool) -> str:
    """What ``trec_eval`` prints, with ``per_query`` as ``trec_eval -q``, for one system after the other.

    A line is measure, query and value, separated by tabs; the means of a system follow its ``runid``.
    """
    from exam_pp.metrics.trec_measures import trec_eval_names  # noqa: PLC0415 - slow to import

    means = standings(evaluation.scores)
    names = trec_eval_names(list(dict.fromkeys(row.metric for row in means)))
    queries: dict[str, dict[str, list[str]]] = {row.system: {} for row in means}
    for score in evaluation.scores if per_query else ():
        if score.query_id != ALL_QUERIES:
            of_query = queries[score.system].setdefault(score.query_id, [])
            of_query.append(_trec_eval_line(names[score.metric], score.query_id, score.value))
    lines: list[str] = []
    for system, of_system in queries.items():
        lines += [line for of_query in of_system.values() for line in of_query]
        lines.append(f"{'runid':<22}\t{ALL_QUERIES}\t{system}")
        lines += [
            _trec_eval_line(names[row.metric], ALL_QUERIES, row.mean) for row in means if row.system == system
        ]
    return "\n".join(lines) + "\n"


def _trec_eval_line(name: str, query_id: str, value: float) -> str:
    number = f"{value:.0f}" if name.startswith("num_") else f"{value:6.4f}"
    return f"{name:<22}\t{query_id}\t{number}"


def published_cover(evaluation: Evaluation) -> str:
    """The Cover board of the published implementation: three decimals, sorted by name."""
    rows = standings(evaluation.scores)
    metric = rows[0].metric if rows else ""
    lines = [f"method\t{PUBLISHED_COVER}\t+/-\tstd-err"]
    for row in sorted(row for row in rows if row.metric == metric):
        error = "" if row.stderr is None else f"{row.stderr:.3f}"
        lines.append(f"{row.system}\t{row.mean:.3f}\t+/-\t{error}")
    return "\n".join(lines) + "\n"


def official_json(evaluation: Evaluation) -> str:
    """System to rank as JSON, best first, ties averaged: an official leaderboard.

    Raises :class:`~exam_pp.errors.SelectionError` for more than one measure.
    """
    from exam_pp.metrics.correlation import ranks_of, whole  # noqa: PLC0415 - scipy is slow to import

    rows = standings(evaluation.scores)
    metrics = list(dict.fromkeys(row.metric for row in rows))
    if len(metrics) != 1:
        raise SelectionError(f"An official leaderboard ranks by one measure; choose of {', '.join(metrics)}.")
    ranks = ranks_of({row.system: row.mean for row in rows if row.system != OVERALL_SYSTEM})
    shown = {system: whole(rank) for system, rank in ranks.items()}
    return json.dumps(shown, ensure_ascii=False, indent=2) + "\n"
