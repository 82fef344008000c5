"""Scores of systems against their response lengths, with the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exam_pp.data_model import Role
from exam_pp.errors import SelectionError
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.evaluation.response_words import response_words
from exam_pp.phases.evaluation.result import Evaluation, PathLike
from exam_pp.provenance import Provenance
from exam_pp.results import OVERALL_SYSTEM


@dataclass(frozen=True)
class LengthComparison:
    """Lengths and scores of systems.

    ``points`` is system to (length in words, score by ``metric``); ``front`` is the Pareto front.
    ``provenance`` is that of the scores.
    """

    metric: str
    points: Mapping[str, tuple[float, float]]
    front: Sequence[str]
    provenance: Provenance | None = None


def response_lengths(passages: PathLike, *, cutoff: int = 20, role: Role | None = None) -> dict[str, float]:
    """Return system to mean response length: the words of its passages within the cutoff.

    Means are over all queries of the file; a query without results of a system counts as 0. ``role`` is as in
    :func:`~exam_pp.phases.evaluation.rubric.cover`.
    """
    words = response_words(passages, cutoff=cutoff, role=role)
    return {system: sum(of_query.values()) / len(of_query) for system, of_query in words.items()}


def pareto_front(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """Return the systems on the Pareto front of length and score, in the order of ``points``.

    A system is on the front unless another system is at least as short and at least as good, and is shorter
    or better.
    """
    return [
        system
        for system, (length, score) in points.items()
        if not any(x <= length and y >= score and (x, y) != (length, score) for x, y in points.values())
    ]


def compare_lengths(evaluation: Evaluation, lengths: Mapping[str, float]) -> LengthComparison:
    """Combine the scores of the first metric with response lengths.

    Raises :class:`~exam_pp.errors.SelectionError` if no system has a length.
    """
    rows = standings(evaluation.scores)
    metric = rows[0].metric
    if not any(row.system in lengths for row in rows):
        raise SelectionError("The graded file has no rankings of the systems, which response lengths need.")
    points = {
        r.system: (lengths[r.system], r.mean)
        for r in rows
        if r.metric == metric and r.system in lengths and r.system != OVERALL_SYSTEM
    }
    return LengthComparison(metric, points, pareto_front(points), evaluation.provenance)
