"""Official ranks of the systems of an evaluation, and approximate ones of systems that have none."""

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
    """An evaluation beside official ranks.

    ``correlations`` has the agreement of every metric with the official ranks. ``own_ranks`` are the ranks of
    the systems by the first metric; ``approximate_ranks`` those of systems without an official one, by the
    official rank of the ranked system just above them.
    """

    evaluation: Evaluation
    official: OfficialRanks
    correlations: Mapping[str, Correlation]
    own_ranks: Mapping[str, float]
    approximate_ranks: Mapping[str, float]

    @property
    def systems(self) -> list[str]:
        """The systems without the upper bound over all of them."""
        return [system for system in self.evaluation.systems if system != OVERALL_SYSTEM]


def ranked(evaluation: Evaluation, official: PathLike) -> RankedEvaluation:
    """An evaluation beside official ranks (a file of ranks, or of scores).

    Raises :class:`~exam_pp.errors.ExamError` for other files, and if none of the systems has a rank.
    """
    reference = read_official(official)
    if not reference.ranks.keys() & (set(evaluation.systems) - {OVERALL_SYSTEM}):
        raise SelectionError(
            f"{official} ranks none of the systems that were scored (are they named alike?)."
        )
    return with_ranks(evaluation, reference)


def with_ranks(evaluation: Evaluation, official: OfficialRanks) -> RankedEvaluation:
    """The evaluation beside these ranks."""
    boards: dict[str, dict[str, float]] = {}
    for row in standings(evaluation.scores):
        board = boards.setdefault(row.metric, {})
        if row.system != OVERALL_SYSTEM:
            board[row.system] = row.mean
    first = next(iter(boards.values()))
    return RankedEvaluation(
        evaluation,
        official,
        {metric: correlate(board, official.ranks) for metric, board in boards.items()},
        ranks_of(first),
        approximate_ranks(first, official.ranks),
    )
