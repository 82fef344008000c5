"""The column of official ranks in leaderboards, as in table 4 of the workbench paper."""

from __future__ import annotations

from exam_pp.phases.analysis.official_ranks import RankedEvaluation
from exam_pp.rendering.cells import format_cell
from exam_pp.rendering.document import Table
from exam_pp.reports.analysis.notes import measure_notes, unmatched_notes
from exam_pp.reports.evaluation.leaderboards import ExtraColumn
from exam_pp.text.wording import counted


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
