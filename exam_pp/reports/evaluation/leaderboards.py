"""Leaderboards as tables, figures, trec_eval output and official ranks; scores per query."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from exam_pp.errors import SelectionError
from exam_pp.metrics.leaderboard import Standing, standings, with_means
from exam_pp.metrics.measures import MeasureName
from exam_pp.phases.evaluation.corrections import marked
from exam_pp.phases.evaluation.leaderboards import Standings, SystemUncertainty
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.prompts import PROMPTS
from exam_pp.rendering.document import Block, Cell, Paragraph, Picture, Report, Table
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM
from exam_pp.text.wording import counted

R = TypeVar("R")

SCRIPT_DECIMALS = 6
"""Decimals in tables for scripts; fewer decimals would tie systems when the tables are read again."""

Audience = Literal["readers", "papers", "scripts"]
"""``readers``: shares in percent, and the upper bound in a sentence. ``papers``: formatted fractions, with a
row of the upper bound. ``scripts``: the same rows with numeric columns."""
SHARE_DECIMALS = 1
"""Decimals of scores in percent."""


class ExtraColumn(NamedTuple):
    """An additional last column of a leaderboard.

    ``below`` is a table that follows a formatted leaderboard; other leaderboards have ``first_notes``
    instead, before the other notes. ``last_notes`` are after the other notes.
    """

    name: str
    cells: Mapping[str, Cell]
    below: Table | None = None
    first_notes: tuple[str, ...] = ()
    last_notes: tuple[str, ...] = ()


def leaderboard_report(
    standings: Standings,
    title: str,
    *,
    audience: Audience = "readers",
    extra: ExtraColumn | None = None,
    decimals: int = 3,
    pictures: Sequence[Picture] = (),
) -> Report:
    """A table with a row per system, best first by the first metric.

    A cell is ``mean ± standard error`` with ``decimals``. For scripts, a metric has two numeric columns, its
    name and ``<name> stderr``. Columns of intervals, ranks, letters and bounds follow their metric if the
    leaderboard has them. A column ``queries`` is added if systems have different numbers of queries.
    ``extra`` is the last column. The overall system comes last, and for readers it is a sentence.
    ``pictures`` follow.
    """
    formatted, for_readers = audience != "scripts", audience == "readers"
    systems = [s for s in standings.systems if s != OVERALL_SYSTEM or not for_readers]
    counts = {system: standings.queries[system] for system in systems}
    uneven = len(set(counts.values())) > 1
    percent = {metric for metric in standings.metrics if for_readers and metric.is_share}
    number = max(standings.queries.values(), default=0)
    notes = [f"Means over {counted(number, 'query')} ± standard error."] if number else []
    notes += _upper_bound(standings, percent)
    notes += standings.all_notes
    shown = [
        column
        for metric in standings.metrics
        for column in metric_columns(
            standings, metric, formatted=formatted, decimals=decimals, percent=metric in percent
        )
    ]
    columns = ["system", *(name for name, _ in shown), *(["queries"] if uneven else [])]
    rows: list[list[Cell]] = [
        [system, *(cell(system) for _, cell in shown), *([counts[system]] if uneven else [])]
        for system in systems
    ]
    below: list[Block] = []
    if extra is not None:
        columns.append(extra.name)
        rows = [[*cells, extra.cells.get(system)] for cells, system in zip(rows, systems, strict=True)]
        below = [extra.below] if formatted and extra.below is not None else []
        notes = [*(() if below else extra.first_notes), *notes, *extra.last_notes]
    tables = [Table(columns, rows, decimals=SCRIPT_DECIMALS)] if rows or not for_readers else []
    blocks = [*tables, *below, *map(Paragraph, notes), *pictures]
    return Report(title, blocks, standings.provenance, standings.notes)


def in_percent(metric: str) -> str:
    """The name of a measure above numbers in percent."""
    return f"{metric} %"


def _upper_bound(standings: Standings, percent: Collection[str]) -> list[str]:
    """A note on the upper bound of the metrics in percent, if it is not 1 by definition."""
    bounds = {
        metric: f"{100 * standings.rows[OVERALL_SYSTEM, metric].mean:.{SHARE_DECIMALS}f} %"
        for metric in standings.metrics
        if metric in percent and (OVERALL_SYSTEM, metric) in standings.rows and not metric.is_normalised
    }
    if not bounds:
        return []
    classes = standings.provenance.prompt_classes if standings.provenance else ()
    kinds = {prompt and prompt.entry_kind for prompt in map(PROMPTS.find, classes)}
    entries = "questions are answered" if kinds == {"question"} else "entries are covered"
    entries = "nuggets are covered" if kinds == {"nugget"} else entries
    values = [f"{value} ({metric})" if len(bounds) > 1 else value for metric, value in bounds.items()]
    return [
        f"Upper bound: {', '.join(values)} of the {entries} by any "
        f"{'answer' if standings.evaluation.of_answers else 'passage'}."
    ]


Column = tuple[str, Callable[[str], Cell]]
"""The name of a column, and its cell for a system."""


def metric_columns(
    standings: Standings,
    metric: MeasureName,
    *,
    formatted: bool,
    decimals: int = 3,
    percent: bool = False,
    errors: bool = True,
) -> list[Column]:
    """The columns of a metric, followed by those of its uncertainty.

    Formatted cells have ``decimals``, and those of means have standard errors unless ``errors`` is False. Not
    formatted columns are numeric, and their names start with that of the metric.
    """
    digits, factor = (SHARE_DECIMALS, 100) if percent else (decimals, 1)
    means = {system: row for (system, of), row in standings.rows.items() if of == metric}
    uncertain = {system: row for (system, of), row in standings.uncertainty.systems.items() if of == metric}

    def mean(row: Standing) -> Cell:
        if not (formatted and errors):
            return row.mean
        number = f"{factor * row.mean:.{digits}f}"
        return number if row.stderr is None else f"{number} ± {factor * row.stderr:.{digits}f}"

    def interval(low: float | None, high: float | None) -> str:
        if low is None or high is None:
            return ""
        return f"[{factor * low:.{digits}f}, {factor * high:.{digits}f}]"

    def bounds(row: SystemUncertainty) -> Cell:
        pair = interval(row.worst, row.best)
        return f"{pair} ?" if pair and row.order_open else pair

    columns: list[Column] = [(in_percent(metric) if percent else metric, _cell(means, mean))]
    enclosed = metric.has_bounds
    parts: Mapping[str, Sequence[tuple[str, Callable[[SystemUncertainty], Cell]]]]
    if formatted:
        parts = {
            "low": [("interval", lambda row: interval(row.low, row.high))],
            "first": [("rank", _rank_range)],
            "letters": [("letters", lambda row: row.letters)],
            "best": [("bounds" if enclosed else "two cases", bounds)],
        }
    else:
        columns.append((f"{metric} stderr", _cell(means, lambda row: row.stderr)))
        worst, best = ("worst case", "best case") if enclosed else ("low case", "high case")
        parts = {
            "low": [("low", lambda row: row.low), ("high", lambda row: row.high)],
            "first": [("rank low", lambda row: row.first), ("rank high", lambda row: row.last)],
            "letters": [("letters", lambda row: row.letters)],
            "best": [
                (worst, lambda row: row.worst),
                (best, lambda row: row.best),
                ("order open", lambda row: "yes" if row.order_open else ""),
            ],
        }
    return columns + [
        (name if formatted else f"{metric} {name}", _cell(uncertain, cell))
        for field, of_field in parts.items()
        if standings.uncertainty.has(field, metric)
        for name, cell in of_field
    ]


def _cell(rows: Mapping[str, R], cell: Callable[[R], Cell]) -> Callable[[str], Cell]:
    """The cell of a system; None if it has no row."""
    return lambda system: cell(rows[system]) if system in rows else None


def per_query_report(evaluation: Evaluation, title: str, picture: Picture | None = None) -> Report:
    """A row for every system, query and metric, and the means as query ``all``, below the picture."""
    evaluation = marked(evaluation)
    rows = with_means(evaluation.scores)
    table = Table(["system", "query", "measure", "value"], rows, decimals=SCRIPT_DECIMALS)
    blocks: list[Block] = [
        *([picture] if picture is not None else []),
        table,
        *map(Paragraph, evaluation.notes),
    ]
    return Report(title, blocks, evaluation.provenance, evaluation.notes)


def _rank_range(row: SystemUncertainty) -> str | None:
    if row.first == row.last:
        return None if row.first is None else str(row.first)
    return f"{row.first}–{row.last}"


def trec_eval_text(evaluation: Evaluation, *, per_query: bool) -> str:
    """Scores in the format of ``trec_eval`` (``per_query``: of ``trec_eval -q``), system by system.

    A line is measure, query and value, separated by tabs. The means of a system follow its ``runid`` line.
    """
    from exam_pp.metrics.trec_measures import trec_eval_names  # noqa: PLC0415 - slow to import

    evaluation = marked(evaluation)
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


def official_json(evaluation: Evaluation) -> str:
    """System to rank as JSON, best first; tied systems get their average rank.

    Raises :class:`~exam_pp.errors.SelectionError` for more than one measure.
    """
    from exam_pp.metrics.correlation import int_if_whole, ranks_of  # noqa: PLC0415 - scipy is slow to import

    rows = standings(evaluation.scores)
    metrics = list(dict.fromkeys(row.metric for row in rows))
    if len(metrics) != 1:
        raise SelectionError(
            f"Official ranks need a single measure; use -m with one of {', '.join(metrics)}."
        )
    ranks = ranks_of({row.system: row.mean for row in rows if row.system != OVERALL_SYSTEM})
    whole_ranks = {system: int_if_whole(rank) for system, rank in ranks.items()}
    return json.dumps(whole_ranks, ensure_ascii=False, indent=2) + "\n"
