"""Canaries on a leaderboard: their scores, the ranks they would have, and the systems that they beat."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from exam_pp.data_model import CANARY, is_canary
from exam_pp.metrics.leaderboard import exact_mean
from exam_pp.phases.evaluation.result import CanaryScores, Evaluation, counted_names
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM, Score
from exam_pp.roles import CanaryQueries

EMPTY = f"{CANARY}empty"
"""The canary without a text, about which graders are never asked."""
BANK = f"{CANARY}bank"
"""The bank entries, which are right answers if they are nuggets."""
ORIGINAL = f"{CANARY}original"
"""The unchanged passages that ``canary:doubled`` and ``canary:negated`` change."""
DOUBLED = f"{CANARY}doubled"
NEGATED = f"{CANARY}negated"
_OF_REAL_PASSAGES = (ORIGINAL, DOUBLED, NEGATED)
"""Canaries that may beat real systems, because they are made of good passages."""


class CanaryRow(NamedTuple):
    """A canary on a leaderboard, by one metric.

    Means, rank and beaten systems are over the queries for which the canary has passages.

    Attributes:
        canary: Name of the system, ``canary:NAME``.
        metric: The metric.
        queries: Number of queries with passages of the canary.
        mean: Mean of the canary.
        rank: Its rank among the real systems, from 1; a tie counts for the real system.
        beaten: The real systems with a lower mean, best first.
        systems: Number of real systems.
        original: Mean of the unchanged passages on the same queries; None for canaries that change none.
    """

    canary: str
    metric: str
    queries: int
    mean: float
    rank: int
    beaten: tuple[str, ...]
    systems: int
    original: float | None = None


def add_canaries(
    evaluation: Evaluation,
    scores: Sequence[Score],
    queries: CanaryQueries,
    graded: CanaryQueries,
    metrics: Iterable[str] | None = None,
    *,
    may_win: Collection[str] = (),
) -> None:
    """Add the scores with the canaries in the pool to an evaluation, and warnings to its notes.

    A canary that the grader did not grade has no score, because 0 would look like resistance to the attack.

    Args:
        evaluation: The evaluation without canaries.
        scores: Scores of all systems, canaries among them.
        queries: Canary to the queries for which it has passages.
        graded: Canary to the queries for which a passage of the canary has a grade.
        metrics: The metrics of the warnings. None: all.
        may_win: Canaries without a warning if they beat a system.
    """
    shown = _shown(queries, graded)
    if missing := sorted(queries.keys() - shown.keys()):
        evaluation.notes.append(
            f"The grader did not grade {counted_names(missing, 'canary', 'canaries')}: grade the file again "
            "to see what it gives them."
        )
    kept = [
        score
        for score in scores
        if not is_canary(score.system) or score.query_id in shown.get(score.system, ())
    ]
    evaluation.canaries = CanaryScores(kept, shown)
    names = dict.fromkeys(score.metric for score in scores) if metrics is None else metrics
    evaluation.notes += canary_notes(canary_rows(evaluation, names), may_win)


def _shown(queries: CanaryQueries, graded: CanaryQueries) -> CanaryQueries:
    """Canary to its graded queries; an empty passage counts where any other canary is graded, or alone."""
    others = [of_canary for canary, of_canary in queries.items() if canary != EMPTY]
    asked = set().union(*graded.values()) if others else queries.get(EMPTY, set())
    shown = {
        canary: of_canary & (asked if canary == EMPTY else graded.get(canary, set()))
        for canary, of_canary in queries.items()
    }
    return {canary: of_canary for canary, of_canary in shown.items() if of_canary}


def canary_rows(evaluation: Evaluation, metrics: Iterable[str]) -> list[CanaryRow]:
    """The canaries of an evaluation by these metrics, in the order of the pool; empty without canaries."""
    if evaluation.canaries is None:
        return []
    table: dict[str, dict[str, dict[str, float]]] = {}
    for score in evaluation.canaries.scores:
        if score.query_id != ALL_QUERIES and score.system != OVERALL_SYSTEM:
            table.setdefault(score.metric, {}).setdefault(score.system, {})[score.query_id] = score.value
    return [
        row
        for metric in metrics
        for canary in table.get(metric, {})
        if is_canary(canary)
        for row in _row(canary, metric, table[metric], evaluation.canaries.queries.get(canary, ()))
    ]


def _row(
    canary: str, metric: str, scores: dict[str, dict[str, float]], queries: Collection[str]
) -> Iterator[CanaryRow]:
    """The row of a canary; nothing if it has no passages for the evaluated queries."""
    answered = [query_id for query_id in scores[canary] if query_id in queries]
    if not answered:
        return
    means = {
        system: exact_mean([of_system.get(query_id, 0.0) for query_id in answered])
        for system, of_system in scores.items()
    }
    real = [
        system for system in sorted(means, key=lambda name: (-means[name], name)) if not is_canary(system)
    ]
    beaten = tuple(system for system in real if means[system] < means[canary])
    is_compared = canary in (DOUBLED, NEGATED) and scores.get(ORIGINAL, {}).keys() >= set(answered)
    original = means[ORIGINAL] if is_compared else None
    yield CanaryRow(
        canary, metric, len(answered), means[canary], len(real) - len(beaten) + 1, beaten, len(real), original
    )


def canary_notes(rows: Sequence[CanaryRow], may_win: Collection[str] = ()) -> list[str]:
    """Warnings: a canary beats a real system, a doubled passage gains, a negated passage loses nothing.

    Canaries that are made of good passages, and those in ``may_win``, may beat systems. A negated
    passage whose original scores 0 has nothing to lose.
    """
    warnings: dict[str, list[str]] = {}
    for row in rows:
        for warning in _warnings(row, {*_OF_REAL_PASSAGES, *may_win}):
            warnings.setdefault(warning, []).append(row.metric)
    return [f"{warning} by {', '.join(metrics)}." for warning, metrics in warnings.items()]


def _warnings(row: CanaryRow, may_win: Collection[str]) -> Iterator[str]:
    if row.beaten and row.canary not in may_win:
        yield f"{row.canary} beats {counted_names(row.beaten, 'system', 'systems')}"
    if row.original is None:
        return
    if row.canary == DOUBLED and row.mean > row.original:
        yield f"{DOUBLED}, a passage with its text twice, beats its original"
    if row.canary == NEGATED and row.mean >= row.original > 0:
        yield f"{NEGATED}, a passage with negated facts, scores no less than its original"
