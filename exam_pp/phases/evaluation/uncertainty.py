"""Confidence intervals, rank intervals, significance letters and bounds for leaderboards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from exam_pp.errors import SelectionError
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.wording import MAX_LISTED, listed

if TYPE_CHECKING:
    from exam_pp.metrics.entry_values import EntryValues
    from exam_pp.metrics.uncertainty import ScoreMatrix

Resampled = Literal["queries", "nested"]


@dataclass(frozen=True)
class Statistics:
    """Options of intervals (None: no intervals) and significance tests.

    ``confidence`` is the level of the intervals; the tests use α = 1 − ``confidence``. Intervals use
    ``samples`` bootstrap samples; ``seed`` is also that of the tests.
    """

    intervals: Resampled | None = None
    significance: bool = False
    confidence: float = 0.95
    samples: int = 2000
    seed: int = 0

    @property
    def intervals_only(self) -> Statistics:
        """These options without tests, and with intervals over queries by default."""
        return replace(self, intervals=self.intervals or "queries", significance=False)


class SystemUncertainty(NamedTuple):
    """Interval, rank interval, letters and bounds of a system and metric; None if not computed or undefined.

    ``low`` and ``high`` are the confidence interval of the mean, ``first`` and ``last`` that of its rank.
    Systems that share a letter of ``letters`` do not differ significantly. ``worst`` and ``best`` are the
    bounds of the mean over all grades that ungraded pairs could have. ``order_open`` is True if these
    grades could change the order of the system and another system.
    """

    low: float | None = None
    high: float | None = None
    first: int | None = None
    last: int | None = None
    letters: str | None = None
    worst: float | None = None
    best: float | None = None
    order_open: bool = False


@dataclass(frozen=True)
class Uncertainty:
    """Uncertainty by system and metric, with notes."""

    systems: dict[tuple[str, str], SystemUncertainty] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def has(self, name: str, metric: str) -> bool:
        """Whether the field ``name`` is not None for any system, for this metric."""
        return any(getattr(row, name) is not None for (_, of), row in self.systems.items() if of == metric)


def uncertainty(evaluation: Evaluation, statistics: Statistics) -> Uncertainty:
    """Intervals, rank intervals, significance letters and bounds of an evaluation.

    Bounds need no resampling; they are always computed if there are ungraded pairs. Intervals and tests
    need two queries. Raises :class:`~exam_pp.errors.SelectionError` for nested intervals of a metric that is
    not a mean over bank entries.
    """
    result = Uncertainty(dict(_bounds(evaluation)))
    if result.systems:
        result.notes.append(_bounds_note(result.systems))
    if statistics.intervals is None and not statistics.significance:
        return result
    from exam_pp.metrics.uncertainty import score_matrices  # noqa: PLC0415 - scipy is slow to import

    matrices = [m for m in score_matrices(evaluation.scores).values() if len(m.query_ids) > 1]
    if not matrices:
        result.notes.append("Intervals and significance tests need at least two queries.")
        return result
    tested: dict[str, list[str]] = {}
    for matrix in matrices:
        if statistics.intervals is not None:
            _add_intervals(result, matrix, statistics, evaluation.entry_values.get(matrix.metric))
        if statistics.significance and (note := _add_letters(result, matrix, statistics)) is not None:
            tested.setdefault(note, []).append(matrix.metric)
    result.notes.extend(f"{', '.join(metrics)}: {note}" for note, metrics in tested.items())
    if statistics.intervals is not None:
        result.notes.append(_interval_note(statistics))
    return result


def _update(result: Uncertainty, system: str, metric: str, **values: float | int | str) -> None:
    row = result.systems.get((system, metric), SystemUncertainty())
    result.systems[system, metric] = row._replace(**values)  # type: ignore[arg-type]


def _bounds(evaluation: Evaluation) -> Mapping[tuple[str, str], SystemUncertainty]:
    best = {(row.system, row.metric): row.mean for row in standings(evaluation.best_case)}
    score = {
        (r.system, r.metric): r.mean for r in standings(evaluation.scores) if (r.system, r.metric) in best
    }
    worst = score | {(row.system, row.metric): row.mean for row in standings(evaluation.worst_case)}

    def is_open(system: str, metric: str) -> bool:
        """Whether the system could pass another system, or another system could pass it."""
        own = (system, metric)
        rivals = [key for key in best if key[1] == metric and key[0] not in (system, OVERALL_SYSTEM)]
        return system != OVERALL_SYSTEM and any(
            (score[rival] <= score[own] and worst[own] < best[rival])
            or (score[own] <= score[rival] and worst[rival] < best[own])
            for rival in rivals
        )

    return {
        key: SystemUncertainty(worst=worst[key], best=value, order_open=is_open(*key))
        for key, value in best.items()
    }


def _bounds_note(systems: Mapping[tuple[str, str], SystemUncertainty]) -> str:
    note = "Bounds: lowest and highest score over all grades that ungraded pairs could have."
    undecided = list(dict.fromkeys(system for (system, _), row in systems.items() if row.order_open))
    if undecided:
        note += f" The order of systems marked with ? could change: {listed(undecided)}"
        note += "" if len(undecided) > MAX_LISTED else "."
    return note


def _add_intervals(
    result: Uncertainty,
    matrix: ScoreMatrix,
    statistics: Statistics,
    entry_values: Callable[[], Sequence[EntryValues]] | None,
) -> None:
    from exam_pp.metrics.uncertainty import (  # noqa: PLC0415 - scipy is slow to import
        bootstrap_means,
        intervals,
        nested_bootstrap_means,
        rank_intervals,
    )

    if statistics.intervals == "nested":
        if entry_values is None:
            raise SelectionError(
                f"--intervals nested is not available for {matrix.metric}; it needs Rubric-Cover with "
                "--missing-queries zero."
            )
        means = nested_bootstrap_means(entry_values(), samples=statistics.samples, seed=statistics.seed)
    else:
        means = bootstrap_means(matrix.values, samples=statistics.samples, seed=statistics.seed)
    found = intervals(means, matrix.values.shape[1], statistics.confidence)
    for system, interval in zip(matrix.systems, found, strict=True):
        if interval is not None:
            _update(result, system, matrix.metric, low=interval.low, high=interval.high)
    ranked = [row for row, system in enumerate(matrix.systems) if system != OVERALL_SYSTEM]
    if ranked:
        ranks = rank_intervals(means[:, ranked], statistics.confidence)
        for row, (first, last) in zip(ranked, ranks, strict=True):
            _update(result, matrix.systems[row], matrix.metric, first=first, last=last)


def _interval_note(statistics: Statistics) -> str:
    resampled = (
        "queries" if statistics.intervals == "queries" else "queries, and of bank entries within each query"
    )
    return (
        f"Intervals of scores and ranks: {100 * statistics.confidence:g} %, {statistics.samples} bootstrap "
        f"samples of {resampled} (seed {statistics.seed})."
    )


def _add_letters(result: Uncertainty, matrix: ScoreMatrix, statistics: Statistics) -> str | None:
    """Add the letters of a metric; returns the note on its tests, None for fewer than two systems."""
    from exam_pp.metrics.significance import (  # noqa: PLC0415 - scipy is slow to import
        holm_matrix,
        letters,
        minimum_detectable_difference,
        randomisation_tests,
        smallest_p,
    )

    if not matrix.complete:
        return "systems were scored on different queries, so they are not tested."
    means = matrix.values.mean(axis=1)
    order = [
        row
        for row in sorted(range(len(means)), key=lambda row: -means[row])
        if matrix.systems[row] != OVERALL_SYSTEM
    ]
    if len(order) < 2:
        return None
    alpha = 1 - statistics.confidence
    values = matrix.values[order]
    p_values = holm_matrix(randomisation_tests(values, alpha=alpha, seed=statistics.seed))
    for row, shared in zip(order, letters(p_values <= alpha), strict=True):
        _update(result, matrix.systems[row], matrix.metric, letters=shared)
    queries = len(matrix.query_ids)
    note = (
        f"systems that share a letter do not differ significantly (paired randomisation "
        f"tests, Holm, α = {alpha:.2g})"
    )
    if smallest_p(queries) * len(order) * (len(order) - 1) / 2 > alpha:
        note += (
            f"; {queries} queries are too few for any difference of {len(order)} systems to be significant"
        )
    elif difference := minimum_detectable_difference(values, alpha=alpha):
        note += (
            f"; with these {queries} queries a single test detects a true difference of {difference:.3f} "
            "with probability 0.8"
        )
    return f"{note}."
