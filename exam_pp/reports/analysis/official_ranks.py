"""Leaderboards with a column of official ranks, as in table 4 of the workbench paper."""

from __future__ import annotations

from exam_pp.phases.analysis.official_ranks import RankedEvaluation
from exam_pp.reports.analysis.notes import about_ranks, one_sided
from exam_pp.reports.evaluation.leaderboards import ExtraColumn


def rank_column(found: RankedEvaluation) -> ExtraColumn:
    """The column ``official rank`` of a leaderboard, and the correlations.

    Systems without one get the rank of the ranked system just above them by the first measure, marked ≈.
    """
    figures = [
        f"{metric}: Spearman {of.spearman:.3f}, Kendall tau-b {of.kendall:.3f}"
        for metric, of in found.correlations.items()
        if of.spearman is not None and of.kendall is not None
    ]
    common = next(iter(found.correlations.values())).systems
    first = f"With the official ranks of {common} systems: {'; '.join(figures)}."
    cells = {system: shown_rank(found, system) for system in found.evaluation.systems}
    return ExtraColumn("official rank", cells, (first,) if figures else (), tuple(rank_notes(found)))


def rank_notes(found: RankedEvaluation) -> list[str]:
    """What the ranks are made of, and the systems that are on one side only."""
    official = found.official
    return [
        *about_ranks(official),
        *one_sided(found.systems, official.ranks, "the leaderboard", official.source),
    ]


def shown_rank(found: RankedEvaluation, system: str) -> str:
    """The official rank, or ≈ and the approximate one; the overall system has neither."""
    near = found.approximate_ranks.get(system)
    rank = found.official.ranks.get(system)
    return f"≈{near:g}" if near is not None else "" if rank is None else f"{rank:g}"
