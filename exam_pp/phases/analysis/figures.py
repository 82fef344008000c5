"""Figures of evaluations: what is drawn of scores, correlations and graders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import grader_names
from exam_pp.metrics.grade_masks import GradedQuery
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.analysis.sweep import Setting
from exam_pp.phases.evaluation.rubric import Evaluation, PathLike
from exam_pp.phases.evaluation.uncertainty import Statistics, SystemUncertainty, uncertainty
from exam_pp.reports import plots
from exam_pp.reports.document import Cell, Paragraph, Report, Table
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.store.files import atomic_output
from exam_pp.store.passages.graded_file import read_passages

Drawing = tuple[plots.Figure, tuple[float, float]]
"""A figure and its size in inches."""

_SIZE = (7.0, 4.5)
_WIDE = (9.0, 4.5)


def write_figure(drawing: Drawing, path: PathLike, inputs: Iterable[PathLike | None] = ()) -> None:
    """Write a PNG or SVG, by the name; raises :class:`~exam_pp.errors.ExamError`."""
    form = plots.figure_format(path)
    data = plots.draw(drawing[0], form, size=drawing[1])
    with atomic_output(path, inputs=[source for source in inputs if source is not None]) as stream:
        stream.write(data)


def png(drawing: Drawing) -> bytes:
    """A figure for a page."""
    return plots.draw(drawing[0], "png", size=drawing[1])


def leaderboard_figure(evaluation: Evaluation, statistics: Statistics) -> Drawing:
    """The first metric of an evaluation with its intervals (over queries, unless others are asked for)."""
    rows = standings(evaluation.scores)
    metric = rows[0].metric
    asked = replace(statistics, intervals=statistics.intervals or "queries", significance=False)
    doubts = uncertainty(evaluation, asked).systems
    chosen = sorted((row for row in rows if row.metric == metric), key=lambda row: (-row.mean, row.system))
    nothing = SystemUncertainty()
    bars = [plots.Bar(r.system, r.mean, *doubts.get((r.system, metric), nothing)[:2]) for r in chosen]
    if all(bar.low is None for bar in bars):
        return plots.leaderboard(bars, metric)
    what = "queries" if asked.intervals == "queries" else "queries and entries"
    label = f"{metric}\n{100 * asked.confidence:g} % intervals (bootstrap over {what})"
    return plots.leaderboard(bars, label)


def rank_figure(scores: Mapping[str, float], ranks: Mapping[str, float], measure: str) -> Drawing:
    """Scores against official ranks."""
    from exam_pp.metrics.correlation import approximate_ranks  # noqa: PLC0415 - scipy is slow to import

    return plots.against_ranks(scores, ranks, approximate_ranks(scores, ranks), measure), _SIZE


def sweep_figure(settings: Sequence[Setting]) -> Drawing:
    """Kendall's τ over thresholds, a line for each grader and measure.

    Raises :class:`~exam_pp.errors.SelectionError` where nothing depends on a threshold.
    """
    lines: dict[str, list[tuple[float, float]]] = {}
    graders = list(dict.fromkeys(setting.key for setting in settings))
    grader = grader_names(graders)
    for setting in settings:
        if setting.min_grade is not None and setting.correlation.kendall is not None:
            name = f"{grader(setting.key)} {setting.measure}" if len(graders) > 1 else setting.measure
            lines.setdefault(name, []).append((setting.min_grade, setting.correlation.kendall))
    if not lines:
        raise SelectionError(
            "There is nothing to draw: no correlation is defined for a measure with a threshold (as Cover "
            "and RR have, and nDCG has not)."
        )
    return plots.curves(lines, "minimum grade", "Kendall tau-b with the official ranks"), _WIDE


def compared_figure(
    boards: Mapping[str, Mapping[str, float]],
    order: Sequence[str],
    errors: Mapping[str, Mapping[str, float]] | None = None,
) -> Drawing:
    """Several leaderboards scaled to 0..1 over the systems in one order, with their standard errors."""
    from exam_pp.metrics.correlation import min_max_scaled  # noqa: PLC0415 - scipy is slow to import

    scaled = {name: min_max_scaled(scores) for name, scores in boards.items()}
    bars: dict[str, dict[str, float]] = {}
    for name, of_board in (errors or {}).items():
        spread = max(boards[name].values()) - min(boards[name].values())
        bars[name] = {system: error / spread for system, error in of_board.items()} if spread else {}
    return plots.compared(scaled, order, bars), (max(7.0, 2.0 + 0.2 * len(order)), 4.5)


def graders_figure(report: Report) -> Drawing:
    """Weighted κ (quadratic) of every two graders, of the report that ``graders`` makes."""
    table = next(block for block in report.blocks if isinstance(block, Table))
    column = list(table.columns).index("weighted κ (quadratic)")
    values = {(str(row[0]), str(row[1])): row[column] for row in table.rows}
    names = list(dict.fromkeys(name for pair in values for name in pair))
    numbers = {pair: value if isinstance(value, float) else None for pair, value in values.items()}
    return plots.heat_map(names, numbers, "weighted κ"), (
        max(7.0, 3.5 + 0.8 * len(names)),
        max(5.0, 2.5 + 0.8 * len(names)),
    )


def response_lengths(passages: PathLike, *, cutoff: int = 20) -> dict[str, float]:
    """System to the words of its response: those of its passages within the cutoff, mean over queries."""
    ranked: dict[str, GradedQuery] = {}
    words: dict[tuple[str, int], int] = {}
    first_ranks: dict[str, int] = {}
    for line in read_passages(passages):
        query = ranked.setdefault(line.query_id, GradedQuery(line.query_id, {}))
        for passage in line.passages:
            query.add(passage, [], soft=False, closed=False)
            words[line.query_id, len(query.passages) - 1] = len(passage.text.split())
            for ranking in passage.rankings:
                first = first_ranks.get(ranking.method, 1)
                first_ranks[ranking.method] = 0 if ranking.rank == 0 else first
    return {
        system: sum(
            words[query.query_id, index]
            for query in ranked.values()
            for index in query.top(system, first_rank, cutoff)
        )
        / len(ranked)
        for system, first_rank in first_ranks.items()
    }


def pareto_front(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """The systems on the front of length and score, in the order of ``points``.

    These are the systems than which no other is at least as short and as good, and better in one of the two.
    """
    return [
        system
        for system, (length, score) in points.items()
        if not any(x <= length and y >= score and (x, y) != (length, score) for x, y in points.values())
    ]


def length_report(evaluation: Evaluation, lengths: Mapping[str, float]) -> tuple[Report, Drawing]:
    """Scores by the first metric against response lengths, with the Pareto front; and its figure."""
    rows = standings(evaluation.scores)
    metric = rows[0].metric
    if not any(row.system in lengths for row in rows):
        raise SelectionError("No system has rankings in the graded file, so lengths are unknown.")
    points = {
        r.system: (lengths[r.system], r.mean)
        for r in rows
        if r.metric == metric and r.system in lengths and r.system != OVERALL_SYSTEM
    }
    front = pareto_front(points)
    cells: list[list[Cell]] = [
        [system, length, score, "yes" if system in front else ""]
        for system, (length, score) in sorted(points.items(), key=lambda item: (item[1][0], item[0]))
    ]
    table = Table(["system", "words", metric, "Pareto front"], cells)
    note = "Words: of the passages within the cutoff that the file holds, mean over all queries of the file."
    drawing = plots.against_length(points, front, metric), _SIZE
    return Report("Score against response length", [table, Paragraph(note)]), drawing
