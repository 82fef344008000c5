"""The column of official ranks in leaderboards, as in table 4 of the workbench paper."""

from __future__ import annotations

from exam_pp.phases.analysis.official_ranks import RankedEvaluation
from exam_pp.reports.analysis.notes import measure_notes, unmatched_notes
from exam_pp.reports.evaluation.leaderboards import ExtraColumn
from exam_pp.wording import counted


def rank_column(result: RankedEvaluation) -> ExtraColumn:
    """The column ``official rank`` of a leaderboard, with notes on correlations and unmatched systems.

    A system without an official rank has the official rank of the next better system by the first measure,
    marked ≈.
    """
    coefficients = [
        f"{metric}: Spearman {values.spearman:.3f}, Kendall tau-b {values.kendall:.3f}"
        for metric, values in result.correlations.items()
        if values.spearman is not None and values.kendall is not None
    ]
    common = next(iter(result.correlations.values())).systems
    note = f"Correlation with the official ranks of {counted(common, 'system')}: {'; '.join(coefficients)}."
    cells = {system: formatted_rank(result, system) for system in result.evaluation.systems}
    return ExtraColumn("official rank", cells, (note,) if coefficients else (), tuple(rank_notes(result)))


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
