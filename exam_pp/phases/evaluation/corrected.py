"""Scores of systems corrected by labels of people for a sample of the judge's grades, with intervals."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from exam_pp.data_model import Role
from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey
from exam_pp.metrics.corrected import FEW_ERRORS, FEWEST_ERRORS, PairGroups
from exam_pp.metrics.corrected_estimates import (
    FEWEST_ENTRIES,
    Estimate,
    Sampling,
    Source,
    estimates,
    too_few_entries,
)
from exam_pp.metrics.corrected_pairs import (
    UsedLabel,
    Weighting,
    groups_of,
    label_counts,
    not_drawable,
    rated_pairs,
)
from exam_pp.metrics.entry_values import Ints
from exam_pp.metrics.grade_masks import GradedQuery
from exam_pp.metrics.measures import NUGGET_MEASURES
from exam_pp.metrics.uncertainty import FEWEST_FOR_T
from exam_pp.pair_sample import PairSample
from exam_pp.phases.evaluation.inputs import Bank, Passages, Queries, bank_of, loaded, query_ids, views
from exam_pp.phases.evaluation.result import PathLike, check_names, counted_names
from exam_pp.phases.evaluation.sampled_labels import (
    JUDGMENTS,
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
from exam_pp.store.pair_samples import read_pair_sample
from exam_pp.text.wording import counted, listed

CorrectedMeasure = Literal["cover", "pair-share", "label-mean", "nuggets"]


@dataclass(frozen=True)
class SystemEstimate:
    """A system with its scores.

    ``system``: The system; ``_overall_`` for all passages of a file without rankings.
    """

    system: str
    scores: Estimate
    labels: int
    errors: int


@dataclass(frozen=True)
class CorrectedBoard:
    """The systems by one measure, best first, with the system to which all are compared."""

    measure: str
    systems: Sequence[SystemEstimate]
    baseline: str


@dataclass(frozen=True)
class JudgeError:
    """The labels that people gave the pairs with one rating of the judge."""

    rating: int
    labels: dict[int, int] = field(default_factory=dict)
    pairs: dict[int, float] = field(default_factory=dict)

    @property
    def differing(self) -> float:
        """Estimated share of the pairs to which people give another label."""
        total = sum(self.pairs.values())
        return 1 - self.pairs.get(self.rating, 0.0) / total


@dataclass(frozen=True)
class Corrected:
    """Corrected scores of systems."""

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
    confidence: float = CONFIDENCE,
    baseline: str | None = None,
) -> Corrected:
    """Estimate what scores would be if people had graded all pairs, from their labels of a sample.

    Source: the regression estimator of Särndal, Swensson and Wretman (1992), with which Angelopoulos et al.
    (2023) tune prediction-powered inference; see :mod:`exam_pp.metrics.corrected_regression`.

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
        cutoff: Number of ranks of each system that count. Default: that of the sample; without one that of
            :func:`exam_pp.cover`, or all ranks for nuggets.
        queries: Query file or query ids to restrict the evaluation to.
        role: As for :func:`exam_pp.cover`.
        intervals: ``queries``: intervals contain the choice of the queries and the judge's error.
            ``labels``: the judge's error on these queries only.
        confidence: Level of the intervals.
        baseline: The system to which others are compared. Default: the best by the first measure.

    Returns:
        Leaderboards with the judge's scores, corrected scores and those by the labels alone, with
        intervals, and the judge's error.

    Raises:
        SelectionError: The grades are not those from which the pairs were drawn, the cutoff is larger than
            that of the sample, the sample could not contain pairs of an evaluated query or entry or of any
            system, there are no labels, they are the judge's own, or the baseline is unknown.
        DataError: A file is not in its format.
    """
    sample = read_pair_sample(sample) if isinstance(sample, PathLike) else sample
    graded = loaded(graded)
    if reviewer == JUDGMENTS and measure != "label-mean":
        raise SelectionError("Judgments have no bank entries; use -m label-mean with --reviewer judgments.")
    if cutoff is not None and sample.cutoff is not None and cutoff > sample.cutoff:
        raise SelectionError(
            f"The pairs were drawn from the first {sample.cutoff} ranks, so --cutoff {cutoff} is too large."
        )
    criteria = judge_filter(grade_filter, sample)
    if measure == "label-mean":
        criteria = replace(criteria, kind="direct")
    entries = None if measure == "label-mean" else bank
    if measure == "nuggets" and bank is None:
        raise SelectionError("Nugget scores need the nuggets of a test bank; use --bank.")
    selected = _queries_of(bank, queries) if measure == "label-mean" else queries
    data = read_selected(graded, entries, criteria, min_grade, selected, role=role, reviewed=False)
    judge = data.selector.key
    check_judge(judge, sample)
    check_names([query.query_id for query in data.queries], data.file.first_ranks)
    if reviewer == judge.model:
        raise SelectionError(f"The reviewer {reviewer!r} is also the judge; choose another --reviewer.")
    prompt = PROMPTS.find(judge.prompt_class)
    if measure == "nuggets" and (prompt is None or prompt.kind != "assignment"):
        raise SelectionError(
            f"Nugget scores need nugget assignments, but {judge.prompt_class!r} is another kind of prompt; "
            "use -m cover."
        )
    kind = "direct" if measure == "label-mean" else entry_kind(criteria) or criteria.kind
    of_judge = replace(criteria, kind=kind, prompt_class=judge.prompt_class)
    labels = sampled_labels(views(graded, role), sample, reviewer, of_judge, data.source)
    if cutoff is None:
        is_default = sample.cutoff == data.file.cutoff or (sample.cutoff is None and measure != "nuggets")
        cutoff = data.file.cutoff if is_default else sample.cutoff
    work = _Work(data, labels, measure, cutoff)
    work.select_systems()
    for query in data.queries:
        work.add(query)
    if not work.used:
        raise SelectionError(f"None of the labelled pairs in {data.source} is within the cutoff of a system.")
    boards = []
    for name, per_query in work.groups.items():
        board = work.board(name, per_query, intervals, confidence, baseline)
        baseline = baseline or board.baseline
        boards.append(board)
    judge = data.selector.key
    notes = [*data.notes, *label_notes(labels, judge), *work.notes()]
    notes += _board_notes(boards, intervals, confidence, len(data.queries))
    if any(map(too_few_entries, work.groups.values())):
        notes.append(
            f"Differences have no intervals with fewer than {FEWEST_ENTRIES} drawn entries, because these "
            "contain the difference too rarely."
        )
    provenance = replace(data.provenance, cutoff=cutoff, min_grades=work.thresholds)
    return Corrected(
        boards,
        work.judge_errors(),
        judge,
        labels.reviewer,
        len(work.used),
        intervals,
        confidence,
        notes,
        provenance,
    )


def _queries_of(bank: Bank | None, queries: Queries | None) -> Queries | None:
    """The selected queries of a bank, for scores that do not use its entries."""
    if bank is None:
        return queries
    ids = query_ids(queries) if queries is not None else None
    return [query_id for query_id in bank_of(bank).queries if ids is None or query_id in ids]


@dataclass
class _Work:
    """The pairs of all queries in groups, measure by measure, and counts for the tables and notes."""

    data: SelectedGrades
    labels: SampledLabels
    measure: CorrectedMeasure
    cutoff: int | None
    systems: list[str] = field(default_factory=list)
    not_drawn: list[str] = field(default_factory=list)
    groups: dict[str, list[PairGroups]] = field(default_factory=dict)
    used: list[UsedLabel] = field(default_factory=list)
    unknown: int = 0
    ungraded: int = 0
    highest: float = 1.0
    lowest: float = 0.0
    missing: dict[str, list[str]] = field(default_factory=dict)
    counts: dict[str, Ints] = field(default_factory=dict)

    @property
    def scale(self) -> int | None:
        """The highest rating of the judge's scale; None if it is unknown."""
        prompt = PROMPTS.find(self.data.selector.key.prompt_class)
        return None if prompt is None else prompt.max_rating

    @property
    def thresholds(self) -> tuple[int, ...]:
        """The thresholds of the measure, for the provenance."""
        return () if self.measure == "nuggets" else (self.data.min_grade,)

    def select_systems(self) -> None:
        """Select the systems whose pairs could all be drawn; without rankings, a system of all passages.

        Raises :class:`SelectionError` if queries or entries could not be drawn, and if no system remains.
        """
        known_systems = list(self.data.file.first_ranks) or [OVERALL_SYSTEM]
        queries: list[str] = []
        entries: list[str] = []
        uncovered: set[str] = set()
        for query in self.data.queries:
            tops = {system: self._top(query, system) for system in known_systems}
            if not any(tops.values()):
                continue
            blocks = self.labels.population.get(query.query_id)
            if blocks is None:
                queries.append(query.query_id)
                continue
            new_entries, new_passages = not_drawable(query, blocks)
            entries += new_entries
            uncovered |= {system for system, top in tops.items() if not new_passages.isdisjoint(top)}
        if queries:
            raise SelectionError(
                f"The pairs were drawn without {counted_names(queries, 'query', 'queries')}: evaluate the "
                "queries of the draw (--queries, --bank), or draw pairs again."
            )
        if entries:
            raise SelectionError(
                f"The pairs were drawn without {counted_names(entries, 'entry', 'entries')}: use the --bank "
                "of the draw, or draw pairs again."
            )
        self.systems = [system for system in known_systems if system not in uncovered]
        self.not_drawn = [system for system in known_systems if system in uncovered]
        if not self.systems:
            raise SelectionError(
                f"Every system in {self.data.source} has pairs that could not be drawn: use the file and the "
                "--cutoff of the draw, or draw pairs again."
            )

    def add(self, query: GradedQuery) -> None:
        """Add the groups of a query for all measures."""
        tops = [set(self._top(query, system)) for system in self.systems]
        pairs = rated_pairs(query, tops, self.labels.pairs.get(query.query_id, ()))
        self.used += pairs.used
        self.unknown += pairs.unknown
        self.ungraded += pairs.ungraded
        if self.measure == "label-mean":
            self.highest = float(pairs.values.max(initial=self.highest))
            self.lowest = float(pairs.values.min(initial=self.lowest))
        for system, top in zip(self.systems, tops, strict=True):
            if not top:
                self.missing.setdefault(system, []).append(query.query_id)
        for name, weighting in self._weightings(query).items():
            groups = groups_of(pairs, weighting, whole_entries=self.labels.unit == "entry")
            self.groups.setdefault(name, []).append(groups)
            self.counts[name] = self.counts.get(name, 0) + label_counts(pairs, weighting)

    def _top(self, query: GradedQuery, system: str) -> Sequence[int]:
        if not self.data.file.first_ranks:
            return range(len(query.passages))
        depth = sys.maxsize if self.cutoff is None else self.cutoff
        return query.top(system, self.data.file.first_ranks[system], depth)

    def _weightings(self, query: GradedQuery) -> dict[str, Weighting]:
        """Name of each measure to its thresholds and weights for this query."""
        limit = self.data.min_grade
        at = "" if self.cutoff is None or not self.data.file.first_ranks else f"@{self.cutoff}"
        if self.measure == "label-mean":
            return {
                f"Label{at}": Weighting((), (1.0,), (1.0,), by_pair=True),
                f"Label>={limit}{at}": Weighting((limit,), (1.0,), (1.0,), by_pair=True),
            }
        if self.measure != "nuggets":
            weights = tuple(query.weights or [1.0] * len(query.entries))
            by_pair = self.measure == "pair-share"
            name = f"{'PairShare' if by_pair else 'Cover'}(min_grade={limit}){at}"
            return {name: Weighting((limit,), (1.0,), weights, by_pair)}
        assert self.data.bank is not None
        entries = self.data.bank.entries(query.query_id)
        weightings = {}
        for measure in NUGGET_MEASURES:
            thresholds, levels = zip(*measure.steps, strict=True)
            weights = tuple(measure.weights(entries[key] for key in query.entries))
            weightings[measure.name] = Weighting(thresholds, levels, weights)
        return weightings

    def board(
        self,
        measure: str,
        queries: Sequence[PairGroups],
        intervals: Source,
        confidence: float,
        baseline: str | None,
    ) -> CorrectedBoard:
        """The leaderboard of a measure; raises :class:`SelectionError` for an unknown baseline."""
        systems = self.systems
        if baseline is not None and baseline not in systems:
            raise SelectionError(f"The baseline {baseline!r} is not one of the systems: {listed(systems)}.")
        probabilities = [label.probability for label in self.used]
        lowest = min([self.labels.lowest_probability, *probabilities])
        # Means of labels are on the scale of the labels, all others from 0 to 1.
        highest = max(self.highest, self.scale or 0)
        ends = (self.lowest, highest) if measure.partition("@")[0] == "Label" else (0.0, 1.0)
        sampling = Sampling(intervals, confidence, probabilities, *ends, lowest)
        scores = estimates(queries, sampling, None if baseline is None else systems.index(baseline))
        rows = [
            SystemEstimate(system, of, int(labels), int(errors))
            for system, of, labels, errors in zip(systems, scores, *self.counts[measure], strict=True)
        ]
        compared = next(row.system for row in rows if row.scores.difference is None)
        rows.sort(key=lambda row: (row.scores.rank, row.system))
        return CorrectedBoard(measure, rows, compared)

    def judge_errors(self) -> list[JudgeError]:
        """The labels of people by rating of the judge."""
        found: dict[int, JudgeError] = {}
        for rating, label, probability in sorted(self.used):
            row = found.setdefault(rating, JudgeError(rating))
            row.labels[label] = row.labels.get(label, 0) + 1
            row.pairs[label] = row.pairs.get(label, 0.0) + 1 / probability
        return list(found.values())

    def notes(self) -> Iterator[str]:
        """Sentences on systems and pairs that the labels say nothing about, and labels outside the scale."""
        if self.not_drawn:
            systems = ", ".join(self.not_drawn)
            yield (
                f"Not corrected, because some of their pairs could not be drawn: {systems}. "
                f"Draw pairs from {self.data.source} to include them."
            )
        outside = self.scale is not None and sum(not 0 <= used.label <= self.scale for used in self.used)
        if outside:
            yield (
                f"{counted(outside, 'label is', 'labels are')} outside the scale of the judge (0 to "
                f"{self.scale}): means of labels use them as they are."
            )
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


def _board_notes(
    boards: Sequence[CorrectedBoard], intervals: Source, confidence: float, queries: int
) -> Iterator[str]:
    level = f"{100 * confidence:.4g} %"
    if intervals == "labels":
        yield (
            f"Intervals: {level}, for these queries; they contain the error of the judge as estimated from "
            "the labels (Student's t)."
        )
    elif queries >= FEWEST_FOR_T:
        yield (
            f"Intervals: {level}, Student's t over {counted(queries, 'query')}, which assumes normal scores; "
            "they contain the choice of the queries and the error of the judge, and are missing for equal "
            "scores."
        )
    else:
        yield (
            f"Intervals over queries need at least {FEWEST_FOR_T} queries; use --intervals labels for the "
            "error of the judge on these."
        )
    systems = boards[0].systems
    if any(row.scores.corrected.bounded for row in systems):
        yield (
            f"Fewer than {FEWEST_ERRORS} labels contradict the judge for some systems: their intervals are "
            "the judge's score with Gaffke's bound of its mean error, so that agreement is not certainty."
        )
    unreliable = {row.system: row.scores.corrected.few for row in systems if row.scores.corrected.few}
    for count in sorted(set(unreliable.values())):
        affected = counted_names([s for s, few in unreliable.items() if few == count], "system", "systems")
        yield f"Only {counted(count, 'contradiction')} for {affected}: intervals with ? are not reliable."
    few = [row.system for row in systems if row.scores.few_errors and row.system not in unreliable]
    if few:
        affected = counted_names(few, "system", "systems")
        yield (
            f"Fewer than {FEW_ERRORS} labels differ from the judge's grade for {affected}: the intervals may "
            "be too narrow to trust."
        )
    thin = [row.system for row in systems if row.scores.too_thin]
    if thin:
        yield (
            f"Do not trust the corrected scores and intervals with ? ({listed(thin)}): people contradict the "
            "judge on many pairs, but the sample has too few of the pairs that decide whether an entry is "
            "covered. Draw whole entries (exam-pp sample-pairs --by entry), or use -m pair-share."
        )
    if any(
        interval is not None and interval.by_rule
        for board in boards
        for row in board.systems
        for interval in (row.scores.corrected, row.scores.difference)
    ):
        yield (
            "Intervals with ≤ are bounds by the rule of three, because no label differs from what the "
            "judge's ratings predict in a way that changes the score or the difference."
        )
    if any(
        interval is not None and interval.outside
        for board in boards
        for row in board.systems
        for interval in (row.scores.corrected, row.scores.alone, row.scores.difference)
    ):
        yield "Estimates outside of the range of the measure are shown at its end."
