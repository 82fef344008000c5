"""Scores of systems corrected by labels of people for a sample of the judge's grades, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import rankdata, t

from exam_pp.data_model import Role
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey
from exam_pp.metrics.corrected import (
    FEW_ERRORS,
    Bools,
    Evidence,
    Floats,
    MoreLabels,
    PairGroups,
    evidence,
    group_scores,
    joined,
    label_covariance,
    label_half_width,
    label_quantile,
    more_labels,
    most_errors,
    query_half_width,
)
from exam_pp.metrics.grade_masks import GradedQuery
from exam_pp.pair_sample import PairSample
from exam_pp.phases.evaluation.inputs import Bank, Passages, Queries, bank_of, query_ids, views
from exam_pp.phases.evaluation.result import PathLike, check_names, counted_names
from exam_pp.phases.evaluation.sampled_labels import (
    JUDGMENTS,
    LabelledPair,
    SampledLabels,
    check_judge,
    judge_filter,
    label_notes,
    sampled_labels,
)
from exam_pp.phases.evaluation.selected_grades import SelectedGrades, entry_kind, read_selected
from exam_pp.prompts import PROMPTS
from exam_pp.provenance import Provenance
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.store.files import allow_rereading, is_read_once
from exam_pp.store.pair_samples import read_pair_sample
from exam_pp.wording import counted, listed

CorrectedMeasure = Literal["cover", "pair-share", "label-mean", "nuggets"]
Source = Literal["queries", "labels"]
"""What an interval covers: the choice of the queries and the judge's error, or only the latter."""

DEFAULT_CUTOFF = 20
_FACTORS = 24
"""Number of factors of the probabilities at which the variance of larger samples is estimated."""
_TIE_DECIMALS = 12


class Interval(NamedTuple):
    """An estimate with its interval; ``low`` and ``high`` are None with a single query.

    ``by_rule``: no error of the judge was seen, so the ends are bounds by the rule of three.
    """

    value: float
    low: float | None = None
    high: float | None = None
    by_rule: bool = False


@dataclass(frozen=True)
class SystemEstimate:
    """The scores of a system.

    Attributes:
        system: The system; ``_overall_`` for all passages of a file without rankings.
        judged: Its score by the judge alone.
        judged_rank: Its rank by the judge, 1 is best; tied systems share the best rank.
        corrected: Its corrected score.
        rank: Its rank by corrected scores.
        difference: Its corrected score minus that of the baseline; None for the baseline.
        labels: Number of labelled pairs among those that its score depends on.
        errors: Number of these on which judge and people differ.
        more: Labels that would halve the interval; None without an interval that can be trusted.
        too_thin: The labels cannot show the judge's error in products, so the interval is not to be trusted;
            see :class:`exam_pp.metrics.corrected.Evidence`.
        few_errors: Too few errors were seen to know the variance that the labels cause.
    """

    system: str
    judged: float
    judged_rank: int
    corrected: Interval
    rank: int
    difference: Interval | None
    labels: int
    errors: int
    more: MoreLabels | None
    too_thin: bool = False
    few_errors: bool = False


@dataclass(frozen=True)
class CorrectedBoard:
    """The systems by one measure, best first, with the system to which all are compared."""

    measure: str
    systems: Sequence[SystemEstimate]
    baseline: str


@dataclass(frozen=True)
class JudgeError:
    """The labels that people gave the pairs with one rating of the judge.

    Attributes:
        rating: The rating of the judge.
        labels: Label of people to number of labelled pairs.
        pairs: Label of people to estimated number of pairs of the population (Σ 1/π).
    """

    rating: int
    labels: Mapping[int, int]
    pairs: Mapping[int, float]

    @property
    def differing(self) -> float:
        """Estimated share of the pairs to which people give another label."""
        total = sum(self.pairs.values())
        return 1 - self.pairs.get(self.rating, 0.0) / total


@dataclass(frozen=True)
class Corrected:
    """Corrected scores of systems.

    Attributes:
        boards: A leaderboard for each measure.
        errors: The judge's error by its rating.
        judge: The judge.
        reviewer: The grader of the labels.
        labels: Number of labels that were used.
        intervals: What the intervals contain.
        confidence: Level of the intervals.
        notes: Sentences on what affects the numbers.
        provenance: Judge, bank, cutoff, threshold and number of queries.
    """

    boards: Sequence[CorrectedBoard]
    errors: Sequence[JudgeError]
    judge: GradeKey
    reviewer: GradeKey
    labels: int
    intervals: Source
    confidence: float
    notes: Sequence[str] = ()
    provenance: Provenance = field(default_factory=Provenance)


def corrected_scores(
    graded: Passages,
    sample: PathLike | PairSample,
    bank: Bank | None = None,
    *,
    reviewer: str,
    measure: CorrectedMeasure = "cover",
    grade_filter: GradeFilter | None = None,
    min_grade: int | None = None,
    cutoff: int | None = None,
    queries: Queries | None = None,
    role: Role | None = None,
    intervals: Source = "queries",
    confidence: float = 0.95,
    baseline: str | None = None,
) -> Corrected:
    """Estimate what scores would be if people had graded all pairs, from their labels of a sample.

    Source: the difference estimator of Särndal, Swensson and Wretman (1992), which Angelopoulos et al.
    (2023) call prediction-powered inference; see :mod:`exam_pp.metrics.corrected`.

    Args:
        graded: Passages with rankings, grades of the judge and labels of people: a file, or queries.
        sample: The drawn pairs with their probabilities: a file of ``exam-pp sample-pairs``, or a sample.
        bank: Test bank with the entries. Required for nuggets; for Cover, the default is the graded entries.
            For ``label-mean``, only its queries count.
        reviewer: Source of the labels: ``human:NAME``, the name of a model that stands for people, or
            ``judgments``, for ``label-mean``.
        measure: ``cover``: Rubric-Cover. ``pair-share``: the share of the pairs of a system's passages and
            the entries with a rating of at least ``min_grade``. ``label-mean``: the mean direct grade of a
            system's passages, and the share of grades of at least ``min_grade``. ``nuggets``: V, W and A of
            answers.
        grade_filter: Selects the judge's grades. Default: those from which the pairs were drawn.
        min_grade: Lowest grade that covers an entry or is relevant. Default as for :func:`exam_pp.cover`.
        cutoff: Number of ranks of each system that count. Default: that of the sample; without one 20, or
            all ranks for nuggets.
        queries: Query file or query ids to restrict the evaluation to.
        role: As for :func:`exam_pp.cover`.
        intervals: ``queries``: intervals contain the choice of the queries and the judge's error.
            ``labels``: the judge's error on these queries only.
        confidence: Level of the intervals.
        baseline: The system to which others are compared. Default: the best by the first measure.

    Returns:
        Leaderboards with the judge's scores, corrected scores and intervals, and the judge's error.

    Raises:
        SelectionError: The grades are not those from which the pairs were drawn, the cutoff is larger than
            that of the sample, there are no labels, or the baseline is unknown.
        DataError: A file is not in its format.
    """
    sample = read_pair_sample(sample) if isinstance(sample, PathLike) else sample
    allow_rereading(graded, bank)
    if isinstance(graded, PathLike) and is_read_once(graded):
        graded = list(views(graded, role))
    if reviewer == JUDGMENTS and measure != "label-mean":
        raise SelectionError("Judgments have no bank entries; use -m label-mean with --reviewer judgments.")
    cutoff = _cutoff(cutoff, sample, measure)
    criteria = judge_filter(grade_filter, sample)
    if measure == "label-mean":
        criteria = replace(criteria, kind="direct")
    entries = None if measure == "label-mean" else bank
    if measure == "nuggets" and bank is None:
        raise SelectionError("Nugget scores need the nuggets of a test bank; use --bank.")
    selected = _queries_of(bank, queries) if measure == "label-mean" else queries
    data = read_selected(graded, entries, criteria, min_grade, selected, role=role)
    judge = data.selector.key
    check_judge(judge, sample)
    check_names(data.queries.keys, data.file.first_ranks)
    prompt = PROMPTS.find(judge.prompt_class)
    if measure == "nuggets" and (prompt is None or prompt.kind != "assignment"):
        raise SelectionError(
            f"Nugget scores need nugget assignments, but {judge.prompt_class!r} is another kind of prompt; "
            "use -m cover."
        )
    kind = "direct" if measure == "label-mean" else entry_kind(criteria) or criteria.kind
    of_judge = replace(criteria, kind=kind, prompt_class=judge.prompt_class)
    labels = sampled_labels(views(graded, role), sample, reviewer, of_judge, data.source)
    return corrected_of(
        data,
        labels,
        measure=measure,
        cutoff=cutoff,
        intervals=intervals,
        confidence=confidence,
        baseline=baseline,
    )


def corrected_of(
    data: SelectedGrades,
    labels: SampledLabels,
    *,
    measure: CorrectedMeasure = "cover",
    cutoff: int | None = DEFAULT_CUTOFF,
    intervals: Source = "queries",
    confidence: float = 0.95,
    baseline: str | None = None,
) -> Corrected:
    """Corrected scores of grades and labels that are already read; see :func:`corrected_scores`."""
    work = _Work(data, labels, measure, cutoff)
    for query in data.queries:
        work.add(query)
    if not work.labelled:
        raise SelectionError(f"None of the labelled pairs in {data.source} is within the cutoff of a system.")
    boards = []
    for name, per_query in work.groups.items():
        board = _board(name, work, per_query, intervals, confidence, baseline)
        baseline = baseline or board.baseline
        boards.append(board)
    judge = data.selector.key
    notes = [*data.notes, *label_notes(labels, judge), *work.notes()]
    notes += _board_notes(boards, intervals, confidence, len(data.queries.keys))
    provenance = replace(data.provenance, cutoff=cutoff, min_grades=work.thresholds)
    return Corrected(
        boards,
        work.judge_errors(),
        judge,
        labels.reviewer,
        work.labelled,
        intervals,
        confidence,
        notes,
        provenance,
    )


def _cutoff(cutoff: int | None, sample: PairSample, measure: CorrectedMeasure) -> int | None:
    """The cutoff of the scores; raises :class:`SelectionError` if pairs beyond it were not drawn."""
    if cutoff is None:
        cutoff = sample.cutoff or (None if measure == "nuggets" else DEFAULT_CUTOFF)
    elif sample.cutoff is not None and cutoff > sample.cutoff:
        raise SelectionError(
            f"The pairs were drawn from the first {sample.cutoff} ranks, so --cutoff {cutoff} is too large."
        )
    return cutoff


def _queries_of(bank: Bank | None, queries: Queries | None) -> Queries | None:
    """The selected queries of a bank, for scores that do not use its entries."""
    if bank is None:
        return queries
    ids = query_ids(queries) if queries is not None else None
    return [query_id for query_id in bank_of(bank).queries if ids is None or query_id in ids]


class _Shape(NamedTuple):
    """A measure as thresholds with weights, and weights of the entries of a query."""

    thresholds: tuple[int, ...]
    levels: tuple[float, ...]
    entry_weights: tuple[float, ...]


_STRICT: tuple[tuple[int, ...], tuple[float, ...]] = (2,), (1.0,)
_LENIENT: tuple[tuple[int, ...], tuple[float, ...]] = (2, 1), (0.5, 0.5)
_IMPORTANCE: dict[str, dict[str | None, float]] = {
    "V": {"vital": 1.0},
    "W": {"vital": 1.0, "okay": 0.5},
    "A": {"vital": 1.0, "okay": 1.0, None: 1.0},
}
"""Nugget measure to the weights of nuggets by importance, as in :mod:`exam_pp.metrics.nuggets`."""


@dataclass
class _Work:
    """The pairs of all queries in groups, measure by measure, and counts for the tables and notes."""

    data: SelectedGrades
    labels: SampledLabels
    measure: CorrectedMeasure
    cutoff: int | None
    groups: dict[str, list[PairGroups]] = field(default_factory=dict)
    probabilities: list[float] = field(default_factory=list)
    labelled: int = 0
    unknown: int = 0
    ungraded: int = 0
    missing: dict[str, list[str]] = field(default_factory=dict)
    counts: Counter[tuple[int, int]] = field(default_factory=Counter)
    estimated: Counter[tuple[int, int]] = field(default_factory=Counter)
    of_system: Counter[str] = field(default_factory=Counter)
    errors_of_system: Counter[str] = field(default_factory=Counter)
    too_high: Counter[str] = field(default_factory=Counter)
    too_low: Counter[str] = field(default_factory=Counter)
    span: float = 1.0

    @property
    def systems(self) -> list[str]:
        """The ranked systems; without rankings, a system of all passages."""
        return list(self.data.file.first_ranks) or [OVERALL_SYSTEM]

    @property
    def thresholds(self) -> tuple[int, ...]:
        """The thresholds of the measure, for the provenance."""
        return () if self.measure == "nuggets" else (self.data.min_grade,)

    def add(self, query: GradedQuery) -> None:
        """Add the groups of a query for all measures."""
        tops = [set(self._top(query, system)) for system in self.systems]
        passages = sorted(set().union(*tops))
        members = np.array([[index in top for index in passages] for top in tops]).reshape(len(tops), -1)
        judged = np.full((len(query.entries), len(passages)), np.nan)
        for column, index in enumerate(passages):
            for grade, mask in query.passages[index].levels.items():
                for entry in range(judged.shape[0]):
                    if mask >> entry & 1:
                        judged[entry, column] = grade
        people, probability = self._people(query, passages, judged)
        self._count(query, members, judged, people, probability)
        for name, shape in self._shapes(query).items():
            by = _by_pair if self.measure in ("label-mean", "pair-share") else _by_entry
            pairs = by(judged, people, probability, members, shape)
            self.groups.setdefault(name, []).append(pairs)

    def _top(self, query: GradedQuery, system: str) -> Sequence[int]:
        if not self.data.file.first_ranks:
            return range(len(query.passages))
        depth = len(query.passages) + 10**9 if self.cutoff is None else self.cutoff
        return query.top(system, self.data.file.first_ranks[system], depth)

    def _people(self, query: GradedQuery, passages: Sequence[int], judged: Floats) -> tuple[Floats, Floats]:
        """Labels of people (NaN without one) and probabilities, entries × passages."""
        people, probability = np.full(judged.shape, np.nan), np.ones(judged.shape)
        columns = {query.passages[index].passage_id: column for column, index in enumerate(passages)}
        known = {passage.passage_id for passage in query.passages}
        for pair in self.labels.pairs.get(query.query_id, ()):
            entry, column = query.entries.get(pair.entry_id), columns.get(pair.passage_id)
            if entry is None or pair.passage_id not in known:
                self.unknown += 1
            elif column is not None and not np.isnan(judged[entry, column]):
                self._use(pair, int(judged[entry, column]))
                people[entry, column], probability[entry, column] = pair.label, pair.probability
        return people, probability

    def _use(self, pair: LabelledPair, rating: int) -> None:
        self.labelled += 1
        self.probabilities.append(pair.probability)
        self.counts[rating, pair.label] += 1
        self.estimated[rating, pair.label] += 1 / pair.probability  # type: ignore[assignment]

    def _count(
        self, query: GradedQuery, members: Bools, judged: Floats, people: Floats, probability: Floats
    ) -> None:
        self.ungraded += int(np.isnan(judged).sum())
        found = ~np.isnan(people)
        differs = found & (self._side(people) != self._side(judged))
        too_high = differs & (people < judged) & (probability < 1)
        too_low = differs & (people > judged) & (probability < 1)
        for row, system in enumerate(self.systems):
            self.of_system[system] += int(found[:, members[row]].sum())
            self.errors_of_system[system] += int(differs[:, members[row]].sum())
            self.too_high[system] += int(too_high[:, members[row]].sum())
            self.too_low[system] += int(too_low[:, members[row]].sum())
            if not members[row].any():
                self.missing.setdefault(system, []).append(query.query_id)
        if self.measure == "label-mean":
            values = np.concatenate([judged[~np.isnan(judged)], people[found]])
            self.span = max(self.span, float(np.ptp(values)) if values.size else 1.0)

    def _side(self, ratings: Floats) -> Floats:
        """The part of a rating that matters to the measure."""
        if self.measure in ("cover", "pair-share"):
            return (np.nan_to_num(ratings, nan=-np.inf) >= self.data.min_grade).astype(float)
        return np.nan_to_num(ratings, nan=-1.0)

    def _shapes(self, query: GradedQuery) -> dict[str, _Shape]:
        """Name of each measure to its thresholds and weights for this query."""
        limit = self.data.min_grade
        at = "" if self.cutoff is None else f"@{self.cutoff}"
        if self.measure in ("cover", "pair-share"):
            weights = tuple(query.weights or [1.0] * len(query.entries))
            name = "Cover" if self.measure == "cover" else "PairShare"
            return {f"{name}(min_grade={limit}){at}": _Shape((limit,), (1.0,), weights)}
        if self.measure == "label-mean":
            at = at if self.data.file.first_ranks else ""
            return {
                f"Label{at}": _Shape((), (1.0,), (1.0,)),
                f"Label>={limit}{at}": _Shape((limit,), (1.0,), (1.0,)),
            }
        assert self.data.bank is not None
        entries = self.data.bank.entries(query.query_id)
        shapes = {}
        for letter, of_importance in _IMPORTANCE.items():
            other = of_importance.get(None, 0.0)
            weights = tuple(of_importance.get(entries[key].importance, other) for key in query.entries)
            for suffix, (thresholds, levels) in (("_strict", _STRICT), ("", _LENIENT)):
                shapes[f"{letter}{suffix}"] = _Shape(thresholds, levels, weights)
        return shapes

    def judge_errors(self) -> list[JudgeError]:
        """The labels of people by rating of the judge."""
        ratings = sorted({rating for rating, _ in self.counts})
        return [
            JudgeError(
                rating,
                {label: n for (of, label), n in sorted(self.counts.items()) if of == rating},
                {label: float(n) for (of, label), n in sorted(self.estimated.items()) if of == rating},
            )
            for rating in ratings
        ]

    def few(self, system: str, intervals: Source) -> bool:
        """Whether fewer than :data:`FEW_ERRORS` errors were seen of pairs that were drawn by chance.

        Intervals of labels need as many grades that are too high and that are too low, because a kind of
        errors that is rarely drawn is missing from their variance.
        """
        if min(self.probabilities) >= 1:
            return False
        high, low = self.too_high[system], self.too_low[system]
        return (min(high, low) if intervals == "labels" else high + low) < FEW_ERRORS

    def notes(self) -> Iterator[str]:
        """Sentences on pairs that the labels say nothing about."""
        if self.unknown:
            unknown = counted(self.unknown, "labelled pair is", "labelled pairs are")
            yield f"{unknown} not in the file or bank."
        if self.ungraded:
            value = "left out of the means" if self.measure == "label-mean" else "counted as not covered"
            yield (
                f"{counted(self.ungraded, 'pair', 'pairs')} within the cutoff without a grade of the judge "
                f"could not be drawn: {value}, without a correction."
            )
        if self.missing:
            systems = counted_names(list(self.missing), "system", "systems")
            yield f"No results from {systems} for some queries: scored 0."


def _by_entry(
    judged: Floats, people: Floats, probability: Floats, members: Bools, shape: _Shape
) -> PairGroups:
    """Groups of the passages of each entry, with values 0 and 1 for each threshold."""
    values = np.array(
        [np.nan_to_num(judged, nan=-np.inf) >= limit for limit in shape.thresholds], dtype=float
    )
    labels = np.array([people >= limit for limit in shape.thresholds], dtype=float)
    errors = np.where(np.isnan(people), 0.0, labels - values)
    weights = np.array(shape.entry_weights)
    total = weights.sum()
    share = weights / total if total else weights
    return PairGroups(
        values,
        errors,
        probability,
        members[:, None, :],
        np.broadcast_to(share, (len(members), len(share))),
        np.array(shape.levels),
    )


def _by_pair(
    judged: Floats, people: Floats, probability: Floats, members: Bools, shape: _Shape
) -> PairGroups:
    """A group for each pair: the mean over a system's graded passages of the mean over entries."""
    known = np.flatnonzero(~np.isnan(judged).all(axis=0))
    judged, people, probability = judged[:, known], people[:, known], probability[:, known]
    members = members[:, known]
    values, labels = np.nan_to_num(judged), people
    if shape.thresholds:
        limit = shape.thresholds[0]
        values = (np.nan_to_num(judged, nan=-np.inf) >= limit).astype(float)
        labels = (people >= limit).astype(float)
    errors = np.where(np.isnan(people), 0.0, labels - values)
    of_entry = np.array(shape.entry_weights) / (sum(shape.entry_weights) or 1.0)
    of_passage = members / np.maximum(members.sum(axis=1, keepdims=True), 1)
    repeated = np.repeat(members[:, None, :], len(of_entry), axis=1)
    return PairGroups(
        values.reshape(1, -1, 1),
        errors.reshape(1, -1, 1),
        probability.reshape(-1, 1),
        repeated.reshape(len(members), -1, 1),
        (of_entry[:, None] * of_passage[:, None, :]).reshape(len(members), -1),
        np.array(shape.levels),
    )


def _board(
    name: str,
    work: _Work,
    per_query: Sequence[PairGroups],
    intervals: Source,
    confidence: float,
    baseline: str | None,
) -> CorrectedBoard:
    """The leaderboard of a measure."""
    systems = work.systems
    judged = np.array([group_scores(pairs, pairs.judged) for pairs in per_query])
    corrected = np.array([group_scores(pairs, pairs.corrected) for pairs in per_query])
    means = corrected.mean(axis=0)
    if baseline is None:
        baseline = systems[int(means.argmax())]
    elif baseline not in systems:
        raise SelectionError(f"The baseline {baseline!r} is not a system of {work.data.source}.")
    base = systems.index(baseline)
    errors = _LabelErrors(work, per_query)
    bounds = errors.bounds(confidence)
    factors = _factors(work.probabilities)
    larger = np.array([errors.of_larger_sample(factor) for factor in factors])
    own, differences = errors.variances(), errors.variances_of_differences(base)
    ranks, judged_ranks = _ranks(means), _ranks(judged.mean(axis=0))
    thin = errors.too_thin()
    estimates = []
    for row, system in enumerate(systems):
        interval, spread = _interval(
            corrected[:, row], own[:, row], float(bounds[row]), intervals, confidence
        )
        difference = None
        if row != base:
            change = corrected[:, row] - corrected[:, base]
            bound = float(bounds[row] + bounds[base])
            difference, _ = _interval(change, differences[:, row], bound, intervals, confidence)
        more = None
        if spread is not None and not thin[row]:
            other = max(0.0, spread.variance - max(0.0, larger[0, row])) if intervals == "queries" else 0.0
            probabilities = np.array(work.probabilities)
            more = more_labels(larger[:, row].tolist(), factors, other, spread.quantile, probabilities)
        estimates.append(
            SystemEstimate(
                system,
                float(judged[:, row].mean()),
                judged_ranks[row],
                interval,
                ranks[row],
                difference,
                work.of_system[system],
                work.errors_of_system[system],
                more,
                bool(thin[row]),
                work.few(system, intervals),
            )
        )
    estimates.sort(key=lambda estimate: (estimate.rank, estimate.system))
    return CorrectedBoard(name, estimates, baseline)


class _Spread(NamedTuple):
    """The variance of an estimate, and half the width of its interval divided by its standard error."""

    variance: float
    quantile: float


def _interval(
    scores: Floats, variances: Floats, bound: float, intervals: Source, confidence: float
) -> tuple[Interval, _Spread | None]:
    """The mean of a system's scores with its interval, and the spread from which it was made.

    ``variances`` are those by the labels, of each query's part of the mean.
    """
    value = float(scores.mean())
    if intervals == "labels":
        half, by_rule = label_half_width(variances, bound, confidence)
        spread = None if by_rule else _Spread(float(variances.sum()), label_quantile(variances, confidence))
        return Interval(value, value - half, value + half, by_rule), spread
    width = query_half_width(scores, confidence)
    if width is None:
        return Interval(value), None
    if width == 0:
        return Interval(value, value - bound, value + bound, by_rule=True), None
    spread = _Spread(
        float(scores.var(ddof=1)) / len(scores), float(t.ppf((1 + confidence) / 2, len(scores) - 1))
    )
    return Interval(value, value - width, value + width), spread


def _ranks(means: Floats) -> list[int]:
    return [int(rank) for rank in rankdata(-means.round(_TIE_DECIMALS), method="min")]


def _factors(probabilities: Sequence[float]) -> list[float]:
    """Factors of the probabilities from 1 until every pair is drawn."""
    return [float(factor) for factor in np.geomspace(1.0, 1 / min(probabilities), _FACTORS)]


@dataclass
class _LabelErrors:
    """The variance by the labels of the mean scores of all systems."""

    work: _Work
    per_query: Sequence[PairGroups]

    def __post_init__(self) -> None:
        self.disputed = [pairs.disputed() for pairs in self.per_query if pairs.errors.any()]
        self.every = np.arange(len(self.work.systems))
        if self.disputed:
            self.together = joined(self.disputed)

    def _covariances(self, right: int | None) -> Floats:
        others = self.every if right is None else np.full_like(self.every, right)
        parts = [label_covariance(pairs, self.every, others) for pairs in self.disputed]
        return np.array(parts).reshape(-1, len(self.every)) / len(self.per_query) ** 2

    def variances(self) -> Floats:
        """Parts of the variance of each mean, queries × systems; only of queries with a revealed error."""
        return self._covariances(None)

    def variances_of_differences(self, base: int) -> Floats:
        """The same of the difference of each system's mean to that of a system."""
        own = self.variances()
        return own + own[:, [base]] - 2 * self._covariances(base)

    def of_larger_sample(self, factor: float) -> Floats:
        """Variance of each mean if the probabilities are multiplied by ``factor``."""
        if not self.disputed:
            return np.zeros(len(self.every))
        return label_covariance(self.together, self.every, self.every, factor) / len(self.per_query) ** 2

    def too_thin(self) -> Bools:
        """Systems for which the labels cannot show the variance; see :class:`Evidence`."""
        if all(pairs.members.shape[-1] == 1 for pairs in self.per_query):
            return np.zeros(len(self.every), dtype=bool)
        counts = [evidence(pairs) for pairs in self.per_query]
        return Evidence(*(np.sum(column, axis=0) for column in zip(*counts, strict=True))).too_thin

    def bounds(self, confidence: float) -> Floats:
        """Most by which errors of the judge could change each mean if the labels show none of them."""
        errors = most_errors(min(self.work.probabilities), confidence)
        largest = np.array([pairs.weights.max(axis=1, initial=0.0) for pairs in self.per_query]).max(axis=0)
        bounds: Floats = self.work.span * np.minimum(1.0, errors * largest / len(self.per_query))
        return bounds


def _board_notes(
    boards: Sequence[CorrectedBoard], intervals: Source, confidence: float, queries: int
) -> Iterator[str]:
    level = f"{100 * confidence:.4g} %"
    if intervals == "labels":
        yield (
            f"Intervals: {level}, for these queries; they contain the error of the judge as estimated from "
            "the labels (normal approximation)."
        )
    elif queries > 1:
        yield (
            f"Intervals: {level}, Student's t over {counted(queries, 'query')}; they contain the choice of "
            "the queries and the error of the judge."
        )
    else:
        yield "Intervals over queries need at least two queries; use --intervals labels."
    systems = boards[0].systems
    few = [row.system for row in systems if row.few_errors]
    if few:
        seen = f"Fewer than {FEW_ERRORS} labels differ from the judge's grade"
        if intervals == "labels":
            seen = f"Fewer than {FEW_ERRORS} labels are above the judge's grade, or as few below it,"
        affected = counted_names(few, "system", "systems")
        yield f"{seen} for {affected}: the intervals may be too narrow to trust."
    thin = [row.system for row in systems if row.too_thin]
    if thin:
        yield (
            f"Do not trust the corrected scores and intervals with ? ({listed(thin)}): people contradict the "
            "judge on many pairs, but the sample has too few of the pairs that decide whether an entry is "
            "covered. Draw all pairs with high ratings, lower the cutoff, or use -m pair-share."
        )
    if any(row.corrected.by_rule for board in boards for row in board.systems):
        yield (
            "Intervals with ≤ are bounds by the rule of three, because the labels show no error of the judge "
            "that changes the score."
        )
    outside = [
        row.system
        for board in boards
        for row in board.systems
        if row.corrected.low is not None and row.corrected.high is not None
        and (row.corrected.low < 0 or (row.corrected.high > 1 and not board.measure.startswith("Label@")))
    ]  # fmt: skip
    if outside:
        yield (
            "Estimates and intervals are not cut at the ends of the scale, because cut estimates would be "
            "biased."
        )
