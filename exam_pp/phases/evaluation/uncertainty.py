"""Confidence intervals, rank intervals, significance letters and bounds for leaderboards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from exam_pp.errors import SelectionError
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.wording import LISTED, listed

if TYPE_CHECKING:
    from exam_pp.metrics.entry_values import EntryValues
    from exam_pp.metrics.uncertainty import ScoreMatrix

Resampled = Literal["queries", "nested"]


@dataclass(frozen=True)
class Statistics:
    """What to compute beside means: intervals by resampling ``intervals``, tests between systems."""

    intervals: Resampled | None = None
    significance: bool = False
    confidence: float = 0.95
    samples: int = 2000
    seed: int = 0

    @property
    def intervals_only(self) -> Statistics:
        """The same without tests, and with intervals over queries unless others are asked for."""
        return replace(self, intervals=self.intervals or "queries", significance=False)


class SystemUncertainty(NamedTuple):
    """Of one system and metric; None where it was not asked for, or is not defined.

    ``low`` and ``high`` bound the mean, ``first`` and ``last`` its rank; ``letters`` are shared with the
    systems that do not differ significantly; ``worst`` and ``best`` are the bounds of the mean if everything
    ungraded had a grade, and ``order_open`` says whether that could move a system past another.
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
    """By system and metric, with what a reader has to know."""

    systems: dict[tuple[str, str], SystemUncertainty] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def has(self, name: str, metric: str) -> bool:
        """Whether any system has a value in that field for the metric."""
        return any(getattr(row, name) is not None for (_, of), row in self.systems.items() if of == metric)


def uncertainty(evaluation: Evaluation, statistics: Statistics) -> Uncertainty:
    """Intervals, rank intervals, significance letters and bounds of an evaluation.

    Bounds need no resampling and are given wherever something is ungraded. A single query gives no
    interval. Raises :class:`~exam_pp.errors.SelectionError` for nested intervals of a metric that is not
    made of bank entries.
    """
    found = Uncertainty(dict(_bounds(evaluation)))
    if found.systems:
        found.notes.append(_bounds_note(found.systems))
    if statistics.intervals is None and not statistics.significance:
        return found
    from exam_pp.metrics.uncertainty import score_matrices  # noqa: PLC0415 - scipy is slow to import

    matrices = [m for m in score_matrices(evaluation.scores).values() if len(m.query_ids) > 1]
    if not matrices:
        found.notes.append("A single query gives no interval and no test.")
        return found
    for matrix in matrices:
        if statistics.intervals is not None:
            _add_intervals(found, matrix, statistics, evaluation.entry_values.get(matrix.metric))
        if statistics.significance:
            _add_letters(found, matrix, statistics)
    if statistics.intervals is not None:
        found.notes.append(_interval_note(statistics))
    return found


def _update(found: Uncertainty, system: str, metric: str, **values: float | int | str) -> None:
    row = found.systems.get((system, metric), SystemUncertainty())
    found.systems[system, metric] = row._replace(**values)  # type: ignore[arg-type]


def _bounds(evaluation: Evaluation) -> Mapping[tuple[str, str], SystemUncertainty]:
    best = {(row.system, row.metric): row.mean for row in standings(evaluation.best_case)}
    score = {
        (r.system, r.metric): r.mean for r in standings(evaluation.scores) if (r.system, r.metric) in best
    }
    worst = score | {(row.system, row.metric): row.mean for row in standings(evaluation.worst_case)}

    def is_open(system: str, metric: str) -> bool:
        """Whether the bounds allow another order of this system and any other system."""
        mine = (system, metric)
        others = [key for key in best if key[1] == metric and key[0] not in (system, OVERALL_SYSTEM)]
        return system != OVERALL_SYSTEM and any(
            (score[other] <= score[mine] and worst[mine] < best[other])
            or (score[mine] <= score[other] and worst[other] < best[mine])
            for other in others
        )

    return {
        key: SystemUncertainty(worst=worst[key], best=value, order_open=is_open(*key))
        for key, value in best.items()
    }


def _bounds_note(systems: Mapping[tuple[str, str], SystemUncertainty]) -> str:
    note = "Bounds: the score if everything ungraded that counts had the worst grade, and the best."
    hanging = list(dict.fromkeys(system for (system, _), row in systems.items() if row.order_open))
    if hanging:
        note += f" The place of systems marked with ? could depend on it: {listed(hanging)}"
        note += "" if len(hanging) > LISTED else "."
    return note


def _add_intervals(
    found: Uncertainty,
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
                f"{matrix.metric} is not a mean over bank entries of all queries: intervals over queries "
                "and entries need Rubric-Cover with --missing-queries zero."
            )
        means = nested_bootstrap_means(entry_values(), samples=statistics.samples, seed=statistics.seed)
    else:
        means = bootstrap_means(matrix.values, samples=statistics.samples, seed=statistics.seed)
    for system, interval in zip(matrix.systems, intervals(means, statistics.confidence), strict=True):
        _update(found, system, matrix.metric, low=interval.low, high=interval.high)
    ranked = [row for row, system in enumerate(matrix.systems) if system != OVERALL_SYSTEM]
    if ranked:
        ranks = rank_intervals(means[:, ranked], statistics.confidence)
        for row, (first, last) in zip(ranked, ranks, strict=True):
            _update(found, matrix.systems[row], matrix.metric, first=first, last=last)


def _interval_note(statistics: Statistics) -> str:
    what = "queries" if statistics.intervals == "queries" else "queries, then of bank entries within each"
    return (
        f"Intervals: {100 * statistics.confidence:g} %, {statistics.samples} bootstrap samples of {what} "
        f"(seed {statistics.seed}); ranks are those within as many of the samples."
    )


def _add_letters(found: Uncertainty, matrix: ScoreMatrix, statistics: Statistics) -> None:
    from exam_pp.metrics.significance import (  # noqa: PLC0415 - scipy is slow to import
        holm_matrix,
        letters,
        minimum_detectable_difference,
        randomisation_tests,
        smallest_p,
    )

    if not matrix.complete:
        found.notes.append(f"{matrix.metric}: systems were scored on different queries, so none are tested.")
        return
    means = matrix.values.mean(axis=1)
    order = [
        row
        for row in sorted(range(len(means)), key=lambda row: -means[row])
        if matrix.systems[row] != OVERALL_SYSTEM
    ]
    if len(order) < 2:
        return
    alpha = 1 - statistics.confidence
    values = matrix.values[order]
    p_values = holm_matrix(randomisation_tests(values, alpha=alpha, seed=statistics.seed))
    for row, shown in zip(order, letters(p_values <= alpha), strict=True):
        _update(found, matrix.systems[row], matrix.metric, letters=shown)
    queries = len(matrix.query_ids)
    note = (
        f"{matrix.metric}: systems that share a letter do not differ significantly (paired randomisation "
        f"tests, Holm, α = {alpha:.2g})"
    )
    if smallest_p(queries) * len(order) * (len(order) - 1) / 2 > alpha:
        note += (
            f"; {queries} queries are too few for any difference of {len(order)} systems to be significant"
        )
    elif least := minimum_detectable_difference(values, alpha=alpha):
        note += (
            f"; with these {queries} queries a single test finds a true difference of {least:.3f} with "
            "probability 0.8"
        )
    found.notes.append(f"{note}.")
