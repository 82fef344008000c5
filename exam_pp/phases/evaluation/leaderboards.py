"""Leaderboards: means of systems with standard errors, intervals, significance letters and bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from exam_pp.metrics.leaderboard import Standing, standings
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.evaluation.uncertainty import Statistics, Uncertainty, uncertainty
from exam_pp.provenance import Provenance
from exam_pp.results import OVERALL_SYSTEM, Score


@dataclass(frozen=True)
class Standings:
    """Systems with their means, best first by the first metric; the overall system comes last.

    ``rows`` maps system and metric to mean, standard error and number of queries. ``uncertainty`` has the
    results of ``statistics``, and the bounds of scores if there are ungraded pairs. ``notes`` and
    ``provenance`` are those of the evaluation, ``scores`` are its scores by query.
    """

    metrics: Sequence[str]
    systems: Sequence[str]
    rows: Mapping[tuple[str, str], Standing]
    statistics: Statistics
    uncertainty: Uncertainty
    notes: Sequence[str] = ()
    provenance: Provenance | None = None
    scores: Sequence[Score] = field(default=(), repr=False, compare=False)

    @property
    def queries(self) -> dict[str, int]:
        """System to the number of queries of its mean."""
        return {row.system: row.queries for row in self.rows.values()}


def leaderboard(evaluation: Evaluation, statistics: Statistics | None = None) -> Standings:
    """The leaderboard of an evaluation.

    Raises :class:`~exam_pp.errors.SelectionError` for statistics that a metric does not support.
    """
    options = statistics or Statistics()
    rows = standings(evaluation.scores)
    metrics = list(dict.fromkeys(row.metric for row in rows))
    return Standings(
        metrics,
        _best_first(rows, metrics[0] if metrics else ""),
        {(row.system, row.metric): row for row in rows},
        options,
        uncertainty(evaluation, options),
        evaluation.notes,
        evaluation.provenance,
        evaluation.scores,
    )


def _best_first(rows: list[Standing], metric: str) -> list[str]:
    means = {row.system: row.mean for row in rows if row.metric == metric}
    systems = dict.fromkeys(row.system for row in rows)
    return sorted(systems, key=lambda s: (s == OVERALL_SYSTEM, -means.get(s, 0.0), s))
