"""Leaderboards in each form that is written: reports, pictures, texts for other programs, official ranks."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import SelectionError
from exam_pp.metrics.leaderboard import Standing, standings, with_means
from exam_pp.metrics.measures import SHARE_DECIMALS, MeasureName
from exam_pp.phases.evaluation.leaderboards import (
    Standings,
    Statistics,
    SystemUncertainty,
    differences_can_show,
    leaderboard,
    level_of,
)
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.plugins import offered
from exam_pp.prompts import PROMPTS
from exam_pp.rendering.cells import format_cell
from exam_pp.rendering.document import Block, Cell, Paragraph, Picture, Report, Table
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM, Score
from exam_pp.text.wording import counted

if TYPE_CHECKING:
    from exam_pp.phases.analysis.correlation import OfficialRanks, RankedEvaluation

R = TypeVar("R")

SCRIPT_DECIMALS = 6
"""Decimals in tables for scripts; fewer decimals would tie systems when the tables are read again."""

Audience = Literal["readers", "papers", "scripts"]
"""``readers``: shares in percent, and the upper bound in a sentence. ``papers``: formatted fractions, with a
row of the upper bound. ``scripts``: the same rows with numeric columns."""
PARTLY = "[checked-in-part]"
"""The end of the name of a measure with corrections of some pairs, on which no claim may rest."""
_COVER_COLUMNS = {"Cover": ("exam", "exam-std"), "nCover": ("n-exam", "n-exam-std")}


@dataclass(frozen=True)
class LeaderboardForm:
    """The options of a leaderboard that is written.

    ``form``: A name of :data:`TEXTS` or of an output format. ``with_method``: Whether a report for readers,
    which has the verdict, also says how its numbers were computed. ``official``: A file of official ranks or
    scores. ``plot``: Whether a picture of the first measure is needed beside the content.
    """

    form: str
    audience: Audience
    statistics: Statistics
    per_query: bool = False
    with_method: bool = True
    official: Path | None = None
    plot: bool = False

    def statistics_of(self, evaluation: Evaluation) -> Statistics:
        """The statistics for an evaluation: people get intervals if its queries can show differences."""
        chosen = self.statistics
        by_default = self.audience != "scripts" and differences_can_show(evaluation, chosen.confidence)
        return replace(chosen, intervals=chosen.intervals or ("queries" if by_default else None))


@dataclass(frozen=True)
class LeaderboardOutput:
    """What to write: a text, whose ``notes`` have no place in it, or a report; and the picture."""

    content: str | Report
    notes: Sequence[str] = ()
    picture: Picture | None = None


def leaderboard_output(evaluation: Evaluation, title: str, form: LeaderboardForm) -> LeaderboardOutput:
    """The leaderboard of an evaluation, or its scores of each query, in a form."""
    content: str | Report
    notes: Sequence[str] = ()
    standings = None
    if form.form in TEXTS:
        content, more = TEXTS[form.form](evaluation, form)
        notes = [*evaluation.notes, *more]
    elif not form.per_query:
        standings = leaderboard(evaluation, form.statistics_of(evaluation))
        first = verdict_first(standings, form)
        extra = None if form.official is None else rank_column(_ranked(evaluation, form.official))
        pictures = leaderboard_pictures(standings) if form.form == "html" else ()
        report = leaderboard_report(standings, title, audience=form.audience, extra=extra, pictures=pictures)
        content = below_verdict(first, report, standings, form)
    else:
        content = scores_by_query(evaluation, title, form)
    return LeaderboardOutput(content, notes, plotted(evaluation, form, standings))


def _ranked(evaluation: Evaluation, official: Path) -> RankedEvaluation:
    from exam_pp.phases.analysis.correlation import ranked  # noqa: PLC0415 - for few leaderboards

    return ranked(evaluation, official)


def marked(evaluation: Evaluation) -> Evaluation:
    """The scores for other programs: those that people checked in part have a name of their own.

    Beside them are the scores of the judge alone.
    """
    metrics = dict.fromkeys(score.metric for score in evaluation.scores)
    partly = {metric for metric in metrics if level_of(evaluation, metric, 1 - CONFIDENCE) is None}
    if not partly:
        return evaluation
    alone = [] if evaluation.corrections is None else evaluation.corrections.judge_alone().scores
    scores = [
        score._replace(metric=f"{score.metric}{PARTLY}") if score.metric in partly else score
        for score in evaluation.scores
    ]
    scores += [score._replace(metric=f"{score.metric}[judge]") for score in alone if score.metric in partly]
    return replace(evaluation, scores=scores)


def scores_by_query(evaluation: Evaluation, title: str, form: LeaderboardForm) -> Report:
    """The scores of each query, on pages below a picture of the first metric."""
    picture = score_heatmap(evaluation.scores) if form.form == "html" else None
    return per_query_report(evaluation, title, picture)


def verdict_first(standings: Standings, form: LeaderboardForm) -> list[Block]:
    """The verdict on a leaderboard, for readers."""
    if form.audience != "readers":
        return []
    from exam_pp.phases.evaluation.verdict import verdict  # noqa: PLC0415 - for readers

    said = verdict(standings.with_places)
    return [] if said is None else [Paragraph(said.sentence)]


def below_verdict(
    first: Sequence[Block], report: Report, standings: Standings, form: LeaderboardForm
) -> Report:
    """The report of a leaderboard below these blocks; for readers, the method only if it is asked for."""
    is_short = form.audience == "readers" and not form.with_method
    left_out = [Paragraph(note) for note in standings.uncertainty.notes if is_short]
    return replace(report, blocks=[*first, *(block for block in report.blocks if block not in left_out)])


def plotted(
    evaluation: Evaluation, form: LeaderboardForm, standings: Standings | None = None
) -> Picture | None:
    """The first metric with its intervals, which are computed unless the standings have them."""
    if not form.plot:
        return None
    if standings is None or not standings.statistics.intervals:
        standings = leaderboard(evaluation, form.statistics.intervals_only)
    return leaderboard_picture(standings)


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

    columns: list[Column] = [(metric.in_percent if percent else metric, _cell(means, mean))]
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


def leaderboard_pictures(standings: Standings, condition: str = "") -> list[Picture]:
    """Intervals and heatmap of the first metric; ``condition`` is put before their titles."""
    several = len({*standings.systems} - {OVERALL_SYSTEM}) > 1
    shown = [leaderboard_picture(standings)] if several else []
    scores = score_heatmap(standings.evaluation.scores, standings.metrics[0] if standings.metrics else "")
    shown += [scores] if scores is not None else []
    if not condition:
        return shown
    return [replace(picture, title=f"{condition}: {picture.title}") for picture in shown]


def leaderboard_picture(standings: Standings) -> Picture:
    """The systems by the first metric with intervals or standard errors."""
    from exam_pp.rendering.pictures.rows import Bar, dot_plot  # noqa: PLC0415 - for few leaderboards

    metric, uncertain = standings.metrics[0], standings.uncertainty.systems
    rows = [row for row in standings.rows.values() if row.metric == metric]
    every_bar = [
        Bar(row.system, row.mean, *uncertain.get((row.system, metric), SystemUncertainty())[:2])
        for row in sorted(rows, key=lambda row: (-row.mean, row.system))
    ]
    bars = [bar for bar in every_bar if bar.system != OVERALL_SYSTEM]
    if any(bar.low is not None for bar in every_bar):
        options = standings.statistics
        units = "queries" if options.intervals == "queries" else "queries and entries"
        whiskers = f"{100 * options.confidence:g} % intervals over {units}"
    else:
        whiskers = ""
        errors = [standings.rows[bar.system, metric].stderr for bar in bars]
        if any(errors):
            whiskers = "± standard error"
            bars = [
                bar if error is None else bar._replace(low=bar.value - error, high=bar.value + error)
                for bar, error in zip(bars, errors, strict=True)
            ]
    if not metric.is_share:
        return dot_plot(bars, metric, f"Systems by {metric}", whiskers)
    bars = [Bar(bar.system, 100 * bar.value, _hundredfold(bar.low), _hundredfold(bar.high)) for bar in bars]
    return dot_plot(bars, metric.in_percent, f"Systems by {metric}", whiskers, decimals=SHARE_DECIMALS)


def score_heatmap(scores: Iterable[Score], metric: str = "") -> Picture | None:
    """A metric of every system on every query; None for fewer than two systems or queries.

    The default is the metric of the first score.
    """
    values: dict[str, dict[str, float]] = {}
    for score in scores:
        metric = metric or score.metric
        if score.metric == metric and score.query_id != ALL_QUERIES and score.system != OVERALL_SYSTEM:
            values.setdefault(score.system, {})[score.query_id] = score.value
    queries = list(dict.fromkeys(query for of_system in values.values() for query in of_system))
    if len(values) < 2 or len(queries) < 2:
        return None
    title = f"{metric} by system and query"
    rows = [[of_system.get(query) for query in queries] for of_system in values.values()]
    from exam_pp.rendering.pictures.grids import heatmap  # noqa: PLC0415 - for few leaderboards

    name = MeasureName(metric)
    if not name.is_share:
        return heatmap(list(values), queries, rows, metric, title)
    rows = [list(map(_hundredfold, row)) for row in rows]
    return heatmap(list(values), queries, rows, name.in_percent, title, decimals=SHARE_DECIMALS)


def _hundredfold(value: float | None) -> float | None:
    return None if value is None else 100 * value


def rank_column(result: RankedEvaluation) -> ExtraColumn:
    """The column ``official rank`` of a leaderboard, with correlations and notes on unmatched systems.

    A system without an official rank has the official rank of the next better system by the first measure,
    marked ≈. The correlations are a table with Spearman's ρ and Kendall's τ-b of every measure.
    """
    defined = {
        metric: values for metric, values in result.correlations.items() if values.spearman is not None
    }
    cells = {system: formatted_rank(result, system) for system in result.evaluation.systems}
    last_notes = tuple(rank_notes(result))
    if not defined:
        return ExtraColumn("official rank", cells, last_notes=last_notes)
    common = next(iter(result.correlations.values())).systems
    title = f"Correlation with the official ranks of {counted(common, 'system')}"
    below = Table(
        ["correlation", *result.correlations],
        [
            ["Spearman", *(values.spearman for values in result.correlations.values())],
            ["Kendall tau-b", *(values.kendall for values in result.correlations.values())],
        ],
        title=title,
    )
    coefficients = "; ".join(
        f"{metric}: Spearman {format_cell(row.spearman, 3)}, Kendall tau-b {format_cell(row.kendall, 3)}"
        for metric, row in defined.items()
    )
    return ExtraColumn("official rank", cells, below, (f"{title}: {coefficients}.",), last_notes)


def rank_notes(result: RankedEvaluation) -> list[str]:
    """Notes on the measure that ranks the systems, and on unmatched systems."""
    official = result.official
    return [
        *measure_notes(official),
        *unmatched_notes(result.systems, official.ranks, "the leaderboard", official.source),
    ]


def formatted_rank(result: RankedEvaluation, system: str) -> str:
    """The official rank, or ≈ and the approximate rank; empty for the upper bound ``_overall_``."""
    approximate = result.approximate_ranks.get(system)
    rank = result.official.ranks.get(system)
    return f"≈{approximate:g}" if approximate is not None else "" if rank is None else f"{rank:g}"


def measure_notes(official: OfficialRanks) -> list[str]:
    """A note on the measure that ranks the systems; empty for a file of ranks."""
    if not official.measure:
        return []
    return [f"{official.source} has scores, so its systems are ranked by {official.measure}."]


def unmatched_notes(
    systems: Collection[str], ranks: Collection[str], leaderboard: str | Path, official: str | Path
) -> list[str]:
    """A note for each side that has unmatched systems; ``leaderboard`` and ``official`` name the sides."""
    notes = []
    for only, where in ((set(systems) - set(ranks), leaderboard), (set(ranks) - set(systems), official)):
        if only:
            notes.append(f"Only in {where}: {', '.join(sorted(only))}.")
    return notes


def published_leaderboard(evaluation: Evaluation, ranks: RankedEvaluation | None = None) -> str:
    """A leaderboard in the published layout, sorted by system; means have three decimals.

    Without official ranks, it has the first measure, Rubric-Cover. With them, Rubric-Cover has the nine
    columns of the published leaderboard; the last is the rank of the system by the first measure. Other
    measures have three columns each. Systems without an official rank have an approximate rank (≈). The last
    lines are ρ and τ.
    """
    by_key = {(row.system, row.metric): row for row in standings(evaluation.scores)}
    metrics = list(dict.fromkeys(metric for _, metric in by_key))
    lines = [["method"], *([system] for system in sorted(evaluation.systems))]
    for metric in metrics[:1] if ranks is None else metrics:
        name, error = _COVER_COLUMNS.get(metric.partition("(")[0], (metric, "std-err"))
        lines[0] += ["ExamCover", "+/-", "std-err"] if ranks is None else [name, "+/-", error]
        for line in lines[1:]:
            row = by_key.get((line[0], metric))
            error = "" if row is None or row.stderr is None else f"{row.stderr:.3f}"
            line += ["" if row is None else f"{row.mean:.3f}", "+/-", error]
    if ranks is not None:
        for line in lines[1:]:
            line.append(formatted_rank(ranks, line[0]))
        lines[0].append("orig_TREC_leaderboard_rank")
        if "Cover" in metrics[0]:
            for line in lines[1:]:
                own = ranks.own_ranks.get(line[0])
                line.append("" if own is None else f"{own:g}")
            lines[0].append("orig_EXAM_leaderboard_rank")
        for name in ("spearman", "kendall"):
            line = [name]
            for values in ranks.correlations.values():
                value = getattr(values, name)
                line += ["" if value is None else f"{value:.3f}", "", ""]
            lines.append([*line, *[""] * (len(lines[0]) - len(line))])
    return "".join("\t".join(line) + "\n" for line in lines)


Text = Callable[[Evaluation, LeaderboardForm], tuple[str, Sequence[str]]]
"""Makes the text of an evaluation, and notes that it cannot hold beside those of the evaluation."""


def _published(evaluation: Evaluation, form: LeaderboardForm) -> tuple[str, Sequence[str]]:
    if form.official is None:
        return published_leaderboard(evaluation), ()
    ranks = _ranked(evaluation, form.official)
    return published_leaderboard(evaluation, ranks), rank_notes(ranks)


TEXTS: Mapping[str, Text] = {
    "trec_eval": lambda evaluation, form: (trec_eval_text(evaluation, per_query=form.per_query), ()),
    "published": _published,
    "official": lambda evaluation, _: (official_json(evaluation), ()),
}
"""Name of a form to its text."""


def text_of(evaluation: Evaluation, form: LeaderboardForm) -> str:
    """The text of a form of :data:`TEXTS`, or of those that plug-ins offer as ``texts of leaderboards``.

    Raises :class:`~exam_pp.errors.SelectionError` for a form that is not there.
    """
    texts: dict[str, Text] = dict(TEXTS)
    for more in offered("texts of leaderboards"):
        texts |= more
    if form.form not in texts:
        raise SelectionError(f"--format {form.form} needs a plug-in that is not there.")
    return texts[form.form](evaluation, form)[0]
