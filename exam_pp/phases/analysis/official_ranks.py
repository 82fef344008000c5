"""Official ranks of evaluated systems, and approximate ranks of systems without an official rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exam_pp.errors import SelectionError
from exam_pp.metrics.correlation import Correlation, approximate_ranks, correlate, ranks_of
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.analysis.correlation import OfficialRanks, read_official
from exam_pp.phases.evaluation.result import Evaluation, PathLike
from exam_pp.results import OVERALL_SYSTEM


@dataclass(frozen=True)
class RankedEvaluation:
    """An evaluation with the official ranks of its systems.

    ``correlations`` is metric to the correlation with the official ranks. ``own_ranks`` are the ranks of the
    systems by the first metric. ``approximate_ranks`` are for systems without an official rank: each
    gets the official rank of the next better system by the first metric.
    """

    evaluation: Evaluation
    official: OfficialRanks
    correlations: Mapping[str, Correlation]
    own_ranks: Mapping[str, float]
    approximate_ranks: Mapping[str, float]

    @property
    def systems(self) -> list[str]:
        """The systems without the upper bound ``_overall_``."""
        return [system for system in self.evaluation.systems if system != OVERALL_SYSTEM]


def ranked(evaluation: Evaluation, official: PathLike) -> RankedEvaluation:
    """Read official ranks (a file of ranks or scores) and correlate an evaluation with them.

    Raises :class:`~exam_pp.errors.DataError` for an invalid file and
    :class:`~exam_pp.errors.SelectionError` if no system of the evaluation has an official rank.
    """
    reference = read_official(official)
    if not reference.ranks.keys() & (set(evaluation.systems) - {OVERALL_SYSTEM}):
        raise SelectionError(
            f"{official} has no rank for any evaluated system. Check that it uses the same names of systems."
        )
    return with_ranks(evaluation, reference)


def with_ranks(evaluation: Evaluation, official: OfficialRanks) -> RankedEvaluation:
    """Correlate every metric of an evaluation with official ranks."""
    means: dict[str, dict[str, float]] = {}
    for row in standings(evaluation.scores):
        by_system = means.setdefault(row.metric, {})
        if row.system != OVERALL_SYSTEM:
            by_system[row.system] = row.mean
    first = next(iter(means.values()))
    return RankedEvaluation(
        evaluation,
        official,
        {metric: correlate(by_system, official.ranks) for metric, by_system in means.items()},
        ranks_of(first),
        approximate_ranks(first, official.ranks),
    )
