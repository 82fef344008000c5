"""Leaderboards beside official ranks: the column of ranks, and the layout of the published leaderboards."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.analysis.correlation import OfficialRanks, RankedEvaluation
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.rendering.cells import format_cell
from exam_pp.rendering.document import Table
from exam_pp.reports.evaluation.leaderboards import ExtraColumn
from exam_pp.text.wording import counted

_COVER_COLUMNS = {"Cover": ("exam", "exam-std"), "nCover": ("n-exam", "n-exam-std")}


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
