"""Leaderboards: means, intervals, ranks, significance letters, bounds, and on what a claim may rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from exam_pp.defaults import CONFIDENCE, SAMPLES
from exam_pp.metrics.leaderboard import Standing, by_means, standings
from exam_pp.metrics.measures import LENGTH, MeasureName, Range
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.provenance import Provenance
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM
from exam_pp.text.wording import counted, in_one_line, listed

if TYPE_CHECKING:
    from exam_pp.metrics.uncertainty import ScoreMatrix


_RARE_BREAKS = 20
"""With fewer queries, a claim comes with the share of queries that could behave otherwise."""
_NAMED = 4
"""Maximum number of systems whose checked pairs are all named."""


@dataclass(frozen=True)
class Statistics:
    """Options of intervals (None: no intervals) and significance tests.

    ``confidence`` is the level of the intervals; the tests use α = 1 − ``confidence``. Intervals of Elo
    and Bradley-Terry ratings use ``samples`` bootstrap samples; ``seed`` is that of the samples and the
    tests. ``places``: Ranks also without intervals, for a verdict.
    """

    intervals: Literal["queries"] | None = None
    significance: bool = False
    confidence: float = CONFIDENCE
    samples: int = SAMPLES
    seed: int = 0
    places: bool = False

    @property
    def intervals_only(self) -> Statistics:
        """These options without tests, and with intervals over queries."""
        return replace(self, intervals="queries", significance=False)


@dataclass(frozen=True)
class Basis:
    """On what claims rest.

    ``kind``: Corrected scores, if ``people`` decided all of them; a fair ``sample`` of their ratings; or the
    ``judge`` alone.

    ``by`` says who rated, ``evaluation`` has the scores of the claims. ``alpha`` is the error that claims may
    have. ``look`` is the number of entries of each query that people decided for all systems, of ``entries``.
    ``checked`` has, by system, how many of the pairs behind its scores people rated, and their number.
    """

    kind: Literal["people", "sample", "judge"]
    by: str
    evaluation: Evaluation
    alpha: float
    look: int
    entries: int
    checked: Mapping[str, tuple[int, int]]

    @property
    def shares(self) -> str:
        """What people checked of each system, for readers; the first systems if they are many."""
        if not self.checked:
            return "people checked only some of the grades"
        rows = sorted(self.checked.items(), key=lambda row: -row[1][0])
        chosen = rows if len(rows) <= _NAMED else [*rows[:2], rows[-1]]
        shown = [f"{rated} of {in_one_line(system)}'s {pairs}" for system, (rated, pairs) in chosen]
        return f"{', '.join(shown)} graded pairs were checked"


class SystemUncertainty(NamedTuple):
    """Interval, rank interval, letters and bounds of a system and metric; None if not computed or undefined.

    ``low`` and ``high`` are the confidence interval of the mean, ``first`` and ``last`` that of its rank.
    Systems that share a letter of ``letters`` do not differ significantly. Ranks and letters come from the
    same tests, so that they agree. ``worst`` and ``best`` are the means with the lowest and highest grades of
    ungraded pairs: bounds, or two cases if a grade can also lower the score (``MeasureName.has_bounds``).
    ``order_open`` is True if these grades could change the order of the system and another system.
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
    """Uncertainty by system and metric, with notes on how it was computed.

    ``remarks`` say what ungraded pairs could change. ``tested`` are the metrics with a column of letters,
    which is empty if no difference could be shown. ``untested`` says why the differences of a metric cannot
    be tested: too few queries, systems that were scored on other queries, or grades that people checked in
    part. ``common`` is the number of queries on which systems are compared, if some lack queries that others
    have. ``planned`` says how many queries would show a difference, if none is shown. ``basis`` is what
    claims rest on if the scores have ratings of people.
    """

    systems: dict[tuple[str, str], SystemUncertainty] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    tested: set[str] = field(default_factory=set)
    untested: dict[str, Literal["few queries", "other queries", "checked in part"]] = field(
        default_factory=dict
    )
    common: dict[str, int] = field(default_factory=dict)
    planned: dict[str, str] = field(default_factory=dict)
    basis: Basis | None = None

    def has(self, name: str, metric: str) -> bool:
        """Whether there is a column of the field ``name`` for this metric."""
        if name == "letters" and metric in self.tested:
            return True
        return any(getattr(row, name) is not None for (_, of), row in self.systems.items() if of == metric)


def basis_of_claims(evaluation: Evaluation, alpha: float, metric: str = "") -> Basis | None:
    """On what claims on a measure rest; None without ratings of people in the scores, or systems.

    ``metric``: The measure; default: the first one.
    """
    if evaluation.corrections is None or not evaluation.corrections.systems:
        return None
    from exam_pp.metrics.fair_sample import complete_look, level, looks, sample_scores  # noqa: PLC0415

    metric = metric or evaluation.scores[0].metric
    systems, by = evaluation.corrections.systems, evaluation.corrections.by
    queries = [query for query in evaluation.corrections.queries(metric) if query.judged.size]
    numbers = looks(max((len(query.weights) for query in queries), default=1))
    look = complete_look(queries) if queries else 0
    counts = np.sum([query.checked for query in queries], axis=0).tolist() if queries else []
    checked = {system: (rated, pairs) for system, (rated, pairs) in zip(systems, counts, strict=False)}
    if not queries and not (evaluation.provenance and evaluation.provenance.partly_reviewed):
        return Basis("people", by, evaluation, alpha, look, numbers[-1], checked)
    if not look:
        alone = evaluation.corrections.judge_alone().of_metrics(metric)
        return Basis("judge", by, alone, alpha, look, numbers[-1], checked)
    alpha = level(queries, look, alpha)
    if look == numbers[-1]:
        return Basis("people", by, evaluation, alpha, look, numbers[-1], checked)
    scores = sample_scores(queries, look)
    estimates = {
        (system, query.query_id): float(scores[row, column])
        for column, query in enumerate(queries)
        for row, system in enumerate(systems)
    }
    of_sample = [
        score._replace(value=estimates[score[:2]])
        for score in evaluation.scores
        if score.metric == metric and score[:2] in estimates
    ]
    return Basis("sample", by, Evaluation(of_sample), alpha, look, numbers[-1], checked)


def level_of(evaluation: Evaluation, metric: str, alpha: float) -> float | None:
    """The error that tests of a metric may have; None if people checked only some of its grades."""
    basis = None if metric == LENGTH else basis_of_claims(evaluation, alpha, metric)
    if basis is not None:
        return basis.alpha if basis.kind == "people" else None
    partly = evaluation.provenance is not None and bool(evaluation.provenance.partly_reviewed)
    return None if partly and metric != LENGTH else alpha


def uncertainty(evaluation: Evaluation, statistics: Statistics) -> Uncertainty:
    """Intervals, rank intervals, significance letters and bounds of an evaluation.

    Bounds are always computed if there are ungraded pairs. Intervals and tests need scores of single queries;
    a measure with a total over queries has no interval.
    """
    tested = statistics.intervals is not None or statistics.significance or statistics.places
    basis = basis_of_claims(evaluation, 1 - statistics.confidence) if tested else None
    result = Uncertainty(dict(_bounds(evaluation)), basis=basis)
    if result.systems:
        result.remarks.extend(_bounds_notes(result.systems))
    if not tested:
        return result
    from exam_pp.metrics.uncertainty import (  # noqa: PLC0415 - scipy is slow to import
        interval_method,
        mean_intervals,
        score_matrices,
    )

    matrices, confidence = score_matrices(evaluation.scores), statistics.confidence
    if not matrices:
        result.notes.append("Intervals and significance tests need scores of single queries.")
        return result
    totals = {score.metric for score in evaluation.scores if score.query_id == ALL_QUERIES}
    notes: dict[str, list[str]] = {}
    for metric, matrix in matrices.items():
        of_metric: list[str] = []
        bounds = evaluation.range_of(metric)
        if statistics.intervals is not None and metric not in totals:
            for system, interval in mean_intervals(matrix, bounds, confidence).items():
                _update(result, system, metric, low=interval.low, high=interval.high)
            of_metric.append(f"{100 * confidence:g} % intervals ({interval_method(bounds)}).")
        alpha = level_of(evaluation, metric, 1 - confidence)
        of_metric += _add_places(result, matrix, statistics, bounds, alpha)
        for note in of_metric:
            notes.setdefault(note, []).append(metric)
    result.notes.extend(f"{', '.join(metrics)}: {note}" for note, metrics in notes.items())
    return result


def _update(result: Uncertainty, system: str, metric: str, **values: float | int | str) -> None:
    row = result.systems.get((system, metric), SystemUncertainty())
    result.systems[system, metric] = row._replace(**values)  # type: ignore[arg-type]


def _bounds(evaluation: Evaluation) -> Mapping[tuple[str, str], SystemUncertainty]:
    if not evaluation.best_case:
        return {}
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


def _bounds_notes(systems: Mapping[tuple[str, str], SystemUncertainty]) -> Iterator[str]:
    metrics = list(dict.fromkeys(metric for _, metric in systems))
    two_cases = [metric for metric in metrics if not MeasureName(metric).has_bounds]
    if len(two_cases) < len(metrics):
        yield "Bounds: lowest and highest score over all grades that ungraded pairs could have."
    if two_cases:
        yield (
            f"{listed(two_cases)}: two cases, which are no bounds. In one, no ungraded passage is relevant; "
            "in the other, those that the system has within the cutoff get the highest label. Other labels "
            "can give scores outside of both."
        )
    undecided = list(dict.fromkeys(system for (system, _), row in systems.items() if row.order_open))
    if undecided:
        yield f"The order of the systems marked with ? could change ({listed(undecided)})."


def _add_places(
    result: Uncertainty,
    matrix: ScoreMatrix,
    statistics: Statistics,
    bounds: Range | None,
    alpha: float | None,
) -> list[str]:
    """Add the ranks (with intervals) and letters of a metric; returns the notes on its tests.

    ``alpha`` is the error of the tests; None for scores that cannot be tested.
    """
    from exam_pp.metrics.significance import (  # noqa: PLC0415 - scipy is slow to import
        better,
        can_differ,
        letters,
        rank_intervals,
    )

    scores = -matrix.values if MeasureName(matrix.metric).lower_is_better else matrix.values
    means = np.nanmean(scores, axis=1)
    order = [
        row
        for row in sorted(range(len(means)), key=lambda row: -means[row])
        if matrix.systems[row] != OVERALL_SYSTEM
    ]
    if not order:
        return []
    values = scores[order]
    everywhere = np.array(np.isfinite(values).all(axis=0))
    systems, queries = len(order), int(everywhere.sum())
    with_ranks = statistics.intervals is not None or statistics.places
    with_letters = statistics.significance and systems > 1
    relation = np.zeros((systems, systems), dtype=np.bool_)
    if alpha is None:
        result.untested[matrix.metric] = "checked in part"
        note = (
            "people checked only some of the grades, and not as a fair sample, so differences are not tested"
        )
    elif not queries:
        result.untested[matrix.metric] = "other queries"
        note = "systems were scored on different queries, so their differences are not tested"
    elif not can_differ(systems, queries, alpha=alpha):
        result.untested[matrix.metric] = "few queries"
        of_queries = counted(queries, "query is", "queries are")
        note = f"{of_queries} too few for any difference of {systems} systems to be significant"
    else:
        # Systems that lack queries are in the order of their own means, which no claim contradicts.
        relation = np.triu(better(values[:, everywhere], alpha=alpha, seed=statistics.seed), k=1)
        shown = [
            *(["systems that share a letter do not differ significantly"] if with_letters else []),
            *(["ranks are those that significant differences leave possible"] if with_ranks else []),
        ]
        note = f"{' and '.join(shown)} (paired randomisation tests, step-down maxT, α = {alpha:.2g})"
        if relation.any() and queries < _RARE_BREAKS:
            from exam_pp.metrics.noninferiority import unseen_share  # noqa: PLC0415 - scipy is slow to import

            unseen = unseen_share(queries, statistics.confidence)
            note += f"; up to {unseen:.0%} of all queries may behave unlike these, unseen, and turn a mean"
        if with_letters:
            for row, shared in zip(order, letters(relation), strict=True):
                _update(result, matrix.systems[row], matrix.metric, letters=shared)
    if with_ranks:
        for row, (first, last) in zip(order, rank_intervals(relation), strict=True):
            _update(result, matrix.systems[row], matrix.metric, first=first, last=last)
    if with_letters:
        result.tested.add(matrix.metric)
    if queries and not everywhere.all():
        result.common[matrix.metric] = queries
        lacking = [query for query, known in zip(matrix.query_ids, everywhere, strict=True) if not known]
        note += (
            f"; compared on {counted(queries, 'query', 'queries')} of all systems, without {listed(lacking)}"
        )
    if systems < 2:
        return []
    if bounds is None or relation.any() or not queries or alpha is None:
        return [f"{note}."]
    from exam_pp.metrics.planning import (  # noqa: PLC0415 - scipy is slow to import
        DIFFERENCE,
        SPREAD,
        plan_queries,
    )

    difference, spread = (share * (bounds[1] - bounds[0]) for share in (DIFFERENCE, SPREAD))
    confidence = statistics.confidence
    plan = plan_queries(
        systems, values[:, everywhere], difference=difference, spread=spread, confidence=confidence
    )
    result.planned[matrix.metric] = plan.sentence
    return [f"{note}. {plan.sentence}"]


def differences_can_show(evaluation: Evaluation, confidence: float = CONFIDENCE) -> bool:
    """Whether there are queries enough for a difference of the systems to be significant."""
    from exam_pp.metrics.significance import can_differ  # noqa: PLC0415 - scipy is slow to import

    systems = {score.system for score in evaluation.scores} - {OVERALL_SYSTEM}
    queries = {score.query_id for score in evaluation.scores} - {ALL_QUERIES}
    return len(systems) > 1 and can_differ(len(systems), len(queries), alpha=1 - confidence)


@dataclass(frozen=True)
class Standings:
    """Systems with their means, best first by the first metric; the overall system comes last.

    ``rows`` maps system and metric to mean, standard error and number of queries. ``uncertainty`` has the
    results of ``statistics``, and the bounds of scores if there are ungraded pairs. ``notes`` and
    ``provenance`` are those of the ``evaluation``.
    """

    metrics: Sequence[MeasureName]
    systems: Sequence[str]
    rows: Mapping[tuple[str, str], Standing]
    statistics: Statistics
    uncertainty: Uncertainty
    notes: Sequence[str] = ()
    provenance: Provenance | None = None
    evaluation: Evaluation = field(default_factory=Evaluation, repr=False, compare=False)

    @property
    def with_places(self) -> Standings:
        """Itself, if it has intervals of the ranks; else a leaderboard of the first metric that has them."""
        if self.statistics.intervals:
            return self
        options = replace(self.statistics, significance=False, places=True)
        return leaderboard(self.evaluation.of_metrics(self.metrics[0]), options)

    @cached_property
    def claims(self) -> Standings:
        """The leaderboard on whose places claims rest: itself, unless people checked its grades in part."""
        basis = self.uncertainty.basis
        if basis is None or basis.kind == "people":
            return self
        return leaderboard(basis.evaluation, Statistics(confidence=1 - basis.alpha, places=True))

    @cached_property
    def of_judge(self) -> Standings | None:
        """Its first metric without the ratings of people; None if there are none in it."""
        if (corrections := self.evaluation.corrections) is None:
            return None
        return leaderboard(corrections.judge_alone().of_metrics(self.metrics[0]), self.statistics)

    @property
    def all_notes(self) -> list[str]:
        """What affects the numbers, then how they were computed."""
        return [*self.uncertainty.remarks, *self.notes, *self.uncertainty.notes]

    @property
    def means(self) -> dict[str, float]:
        """System to its mean of the first metric."""
        return {row.system: row.mean for row in self.rows.values() if row.metric == self.metrics[0]}

    @property
    def queries(self) -> dict[str, int]:
        """System to the number of queries of its mean."""
        return {row.system: row.queries for row in self.rows.values()}


def leaderboard(
    evaluation: Evaluation,
    statistics: Statistics | None = None,
    *,
    metrics: Sequence[str] = (),
    only_first: bool = False,
) -> Standings:
    """The leaderboard of an evaluation.

    ``metrics``: Its columns; empty for all metrics. With ``only_first``, statistics are those of the first
    of these. Raises :class:`~exam_pp.errors.SelectionError` for statistics that a metric does not support.
    """
    options = statistics or Statistics()
    shown = evaluation.of_metrics(*metrics) if metrics else evaluation
    uncertain = uncertainty(shown.of_metrics(*metrics[:1]) if only_first else shown, options)
    rows = standings(shown.scores)
    columns = list(map(MeasureName, metrics or dict.fromkeys(row.metric for row in rows)))
    sign = -1 if columns and columns[0].lower_is_better else 1
    means = {row.system: sign * row.mean for row in rows if row.metric == columns[0]}
    return Standings(
        columns,
        by_means(dict.fromkeys(row.system for row in rows), means),
        {(row.system, row.metric): row for row in rows},
        options,
        uncertain,
        evaluation.notes,
        evaluation.provenance,
        evaluation,
    )
