"""Scores of systems corrected by labels of people for a sample of the judge's grades, with intervals."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from exam_pp.data_model import Role
from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey
from exam_pp.metrics.entry_values import Ints
from exam_pp.metrics.grade_masks import GradedFile, GradedQuery
from exam_pp.metrics.measures import measures_of
from exam_pp.metrics.uncertainty import FEWEST_FOR_T
from exam_pp.phases.evaluation.inputs import Bank, Passages, Queries, bank_of, loaded, query_ids, views
from exam_pp.phases.evaluation.result import PathLike, check_names, counted_names, lacking, noted_names
from exam_pp.phases.evaluation.selected_grades import SelectedGrades, entry_kind, read_selected
from exam_pp.plugins.trust.corrected_estimates import (
    FEWEST_ENTRIES,
    Estimate,
    Interval,
    Sampling,
    Source,
    estimates,
    too_few_entries,
)
from exam_pp.plugins.trust.corrected_labels import (
    JUDGMENTS,
    SampledLabels,
    check_judge,
    judge_filter,
    label_notes,
    sampled_labels,
)
from exam_pp.plugins.trust.corrected_pairs import (
    FEW_ERRORS,
    FEWEST_ERRORS,
    PairGroups,
    RatedPairs,
    UsedLabel,
    Weighting,
    groups_of,
    label_counts,
    not_drawable,
    rated_pairs,
)
from exam_pp.plugins.trust.pair_sample import PairSample
from exam_pp.plugins.trust.pair_sample_files import read_pair_sample
from exam_pp.plugins.trust.pictures import confusion
from exam_pp.prompts import PROMPTS
from exam_pp.provenance import Provenance
from exam_pp.rendering.document import Block, Cell, Paragraph, Picture, Report, Table
from exam_pp.rendering.pictures.rows import Bar, dot_plot
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.text.wording import counted, listed, noted

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
    (2023) tune prediction-powered inference; see :mod:`exam_pp.plugins.trust.corrected_estimates`.

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
    return _corrected(data, labels, measure, cutoff, intervals, confidence, baseline)


def _corrected(
    data: SelectedGrades,
    labels: SampledLabels,
    measure: CorrectedMeasure,
    cutoff: int | None,
    intervals: Source,
    confidence: float,
    baseline: str | None,
) -> Corrected:
    """The leaderboards of all measures, with the notes on them."""
    judge = data.selector.key
    known = list(data.file.first_ranks) or [OVERALL_SYSTEM]
    tops = {
        query.query_id: {system: _top(data.file, query, system, cutoff) for system in known}
        for query in data.queries
    }
    systems = _drawable(data, tops, labels)
    pairs = [
        rated_pairs(
            query,
            [set(tops[query.query_id][system]) for system in systems],
            labels.pairs.get(query.query_id, ()),
        )
        for query in data.queries
    ]
    used = [label for of_query in pairs for label in of_query.used]
    if not used:
        raise SelectionError(f"None of the labelled pairs in {data.source} is within the cutoff of a system.")
    prompt = PROMPTS.find(judge.prompt_class)
    scale = None if prompt is None else prompt.max_rating
    probabilities = [label.probability for label in used]
    lowest = min([labels.lowest_probability, *probabilities])
    shares = Sampling(intervals, confidence, probabilities, lowest=lowest)
    values = np.concatenate([of_query.values for of_query in pairs])
    means = replace(
        shares, low=float(values.min(initial=0.0)), high=max(float(values.max(initial=1.0)), scale or 0)
    )
    weightings = [_weightings(data, query, measure, cutoff) for query in data.queries]
    whole_entries = labels.unit == "entry"
    boards: list[CorrectedBoard] = []
    too_few = False
    for name in weightings[0]:
        weighted = [(of, each[name]) for of, each in zip(pairs, weightings, strict=True)]
        groups = [groups_of(of, weighting, whole_entries=whole_entries) for of, weighting in weighted]
        counts = np.sum([label_counts(of, weighting) for of, weighting in weighted], axis=0)
        # Means of labels are on the scale of the labels, all others from 0 to 1.
        sampling = shares if weightings[0][name].thresholds else means
        boards.append(_board(name, systems, groups, counts, sampling, baseline))
        baseline = baseline or boards[0].baseline
        too_few = too_few or too_few_entries(groups)
    not_drawn = [system for system in known if system not in systems]
    notes = [*data.notes, *label_notes(labels, judge), *_pair_notes(data, pairs, measure, scale, not_drawn)]
    ranked = {query_id: [system for system in of if of[system]] for query_id, of in tops.items()}
    missing = "No results from {} for some queries: scored 0."
    notes += noted_names(list(lacking(systems, ranked)), missing, "system", "systems")
    notes += _board_notes(boards, intervals, confidence, len(data.queries))
    if too_few:
        notes.append(
            f"Differences have no intervals with fewer than {FEWEST_ENTRIES} drawn entries, because these "
            "contain the difference too rarely."
        )
    min_grades = () if measure == "nuggets" else (data.min_grade,)
    provenance = replace(data.provenance, cutoff=cutoff, min_grades=min_grades)
    errors = _judge_errors(used)
    return Corrected(
        boards, errors, judge, labels.reviewer, len(used), intervals, confidence, notes, provenance
    )


def _top(file: GradedFile, query: GradedQuery, system: str, cutoff: int | None) -> Sequence[int]:
    """The passages of a system within the cutoff; without rankings, those of the query."""
    if not file.first_ranks:
        return range(len(query.passages))
    return query.top(system, file.first_ranks[system], sys.maxsize if cutoff is None else cutoff)


def _queries_of(bank: Bank | None, queries: Queries | None) -> Queries | None:
    """The selected queries of a bank, for scores that do not use its entries."""
    if bank is None:
        return queries
    ids = query_ids(queries) if queries is not None else None
    return [query_id for query_id in bank_of(bank).queries if ids is None or query_id in ids]


def _drawable(
    data: SelectedGrades, tops: Mapping[str, Mapping[str, Sequence[int]]], labels: SampledLabels
) -> list[str]:
    """The systems whose pairs could all be drawn; ``tops``: query to system to its passages.

    Raises :class:`SelectionError` if queries or entries could not be drawn, and if no system remains.
    """
    ranked = [query for query in data.queries if any(tops[query.query_id].values())]
    queries = [query.query_id for query in ranked if query.query_id not in labels.population]
    if queries:
        raise SelectionError(
            f"The pairs were drawn without {counted_names(queries, 'query', 'queries')}: evaluate the "
            "queries of the draw (--queries, --bank), or draw pairs again."
        )
    missing = [(query, *not_drawable(query, labels.population[query.query_id])) for query in ranked]
    if entries := [entry for _, of_query, _ in missing for entry in of_query]:
        raise SelectionError(
            f"The pairs were drawn without {counted_names(entries, 'entry', 'entries')}: use the --bank "
            "of the draw, or draw pairs again."
        )
    uncovered = {
        system
        for query, _, passages in missing
        for system, top in tops[query.query_id].items()
        if not passages.isdisjoint(top)
    }
    known = list(data.file.first_ranks) or [OVERALL_SYSTEM]
    if uncovered.issuperset(known):
        raise SelectionError(
            f"Every system in {data.source} has pairs that could not be drawn: use the file and the "
            "--cutoff of the draw, or draw pairs again."
        )
    return [system for system in known if system not in uncovered]


def _weightings(
    data: SelectedGrades, query: GradedQuery, measure: CorrectedMeasure, cutoff: int | None
) -> dict[str, Weighting]:
    """Name of each measure to its thresholds and weights for a query."""
    limit = data.min_grade
    at = "" if cutoff is None or not data.file.first_ranks else f"@{cutoff}"
    if measure == "label-mean":
        return {
            f"Label{at}": Weighting((), (1.0,), (1.0,), by_pair=True),
            f"Label>={limit}{at}": Weighting((limit,), (1.0,), (1.0,), by_pair=True),
        }
    if measure != "nuggets":
        weights = tuple(query.weights.of_entries or [1.0] * len(query.entries))
        by_pair = measure == "pair-share"
        name = f"{'PairShare' if by_pair else 'Cover'}(min_grade={limit}){at}"
        return {name: Weighting((limit,), (1.0,), weights, by_pair)}
    assert data.bank is not None
    if data.bank.combined:
        raise SelectionError("Corrected scores need entries that count one by one, and the bank has groups.")
    known = data.bank.entries(query.query_id)
    entries = [known[key] for key in query.entries]
    return {
        each.name: Weighting(
            tuple(each.grades),
            tuple(credit for _, credit in each.by_grade),
            tuple(each.weights(entries).of_entries or [1.0] * len(entries)),
        )
        for each in measures_of(data.bank)
    }


def _board(
    measure: str,
    systems: Sequence[str],
    queries: Sequence[PairGroups],
    counts: Ints,
    sampling: Sampling,
    baseline: str | None,
) -> CorrectedBoard:
    """The leaderboard of a measure; raises :class:`SelectionError` for an unknown baseline."""
    if baseline is not None and baseline not in systems:
        raise SelectionError(f"The baseline {baseline!r} is not one of the systems: {listed(systems)}.")
    scores = estimates(queries, sampling, None if baseline is None else systems.index(baseline))
    rows = [
        SystemEstimate(system, of, int(labels), int(errors))
        for system, of, labels, errors in zip(systems, scores, *counts, strict=True)
    ]
    compared = next(row.system for row in rows if row.scores.difference is None)
    rows.sort(key=lambda row: (row.scores.rank, row.system))
    return CorrectedBoard(measure, rows, compared)


def _judge_errors(used: Iterable[UsedLabel]) -> list[JudgeError]:
    """The labels of people by rating of the judge."""
    found: dict[int, JudgeError] = {}
    for rating, label, probability in sorted(used):
        row = found.setdefault(rating, JudgeError(rating))
        row.labels[label] = row.labels.get(label, 0) + 1
        row.pairs[label] = row.pairs.get(label, 0.0) + 1 / probability
    return list(found.values())


def _pair_notes(
    data: SelectedGrades,
    pairs: Sequence[RatedPairs],
    measure: CorrectedMeasure,
    scale: int | None,
    not_drawn: Sequence[str],
) -> Iterator[str]:
    """Sentences on systems and pairs that the labels say nothing about, and labels outside the scale."""
    if not_drawn:
        systems = ", ".join(not_drawn)
        yield (
            f"Not corrected, because some of their pairs could not be drawn: {systems}. "
            f"Draw pairs from {data.source} to include them."
        )
    if scale is not None:
        outside = sum(not 0 <= used.label <= scale for of_query in pairs for used in of_query.used)
        text = f"{{}} outside the scale of the judge (0 to {scale}): means of labels use them as they are."
        yield from noted(outside, text, "label is", "labels are")
    unknown = sum(of_query.unknown for of_query in pairs)
    yield from noted(unknown, "{} not in the file or bank.", "labelled pair is", "labelled pairs are")
    ungraded = sum(of_query.ungraded for of_query in pairs)
    value = "left out of the means" if measure == "label-mean" else "counted as not covered"
    without_grade = "{} within the cutoff without a grade of the judge could not be drawn"
    yield from noted(ungraded, f"{without_grade}: {value}, without a correction.", "pair")


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


_SCRIPT_COLUMNS = (
    "system", "judge", "judge rank", "corrected", "low", "high", "bound", "too thin", "labels alone",
    "labels alone low", "labels alone high", "rank", "difference", "difference low", "difference high",
    "labels", "errors", "more labels", "limit",
)  # fmt: skip
_COLUMNS = (
    "system", "judge", "corrected", "interval", "labels alone", "rank", "rank by judge", "difference",
    "its interval", "labels", "errors", "more labels",
)  # fmt: skip


def corrected_report(result: Corrected, *, formatted: bool = True, decimals: int = 3) -> Report:
    """A leaderboard for each measure, and the labels of people by rating of the judge.

    With ``formatted``, intervals are ``[low, high]`` and pictures follow; otherwise, ends are columns.
    """
    blocks: list[Block] = [_table(board, formatted=formatted, decimals=decimals) for board in result.boards]
    blocks.append(_errors(result, decimals))
    blocks += [Paragraph(note) for note in [*_notes(result), *result.notes]]
    if formatted:
        blocks += _pictures(result)
    title = f"Scores of {result.judge.model}, corrected by labels of {result.reviewer.model}"
    return Report(title, blocks, result.provenance, result.notes)


def _table(board: CorrectedBoard, *, formatted: bool, decimals: int) -> Table:
    cells = _formatted if formatted else _script
    rows = [cells(row, decimals) for row in board.systems]
    return Table(_COLUMNS if formatted else _SCRIPT_COLUMNS, rows, title=board.measure, decimals=decimals)


def _formatted(row: SystemEstimate, decimals: int) -> list[Cell]:
    scores, more = row.scores, row.scores.more
    further: Cell = None
    if more is not None:
        further = more.labels if more.labels is not None else f"never (± {more.limit:.{decimals}f})"
    alone: Cell = None
    if scores.alone is not None:
        ends = _ends(scores.alone, decimals, scores.too_thin)
        alone = f"{scores.alone.value:.{decimals}f} {ends or ''}".rstrip()
    return [
        row.system, scores.judged, scores.corrected.value, _ends(scores.corrected, decimals, scores.too_thin),
        alone, scores.rank, scores.judged_rank, scores.difference and scores.difference.value,
        scores.difference and _ends(scores.difference, decimals, scores.difference_too_thin), row.labels,
        row.errors, further,
    ]  # fmt: skip


def _ends(interval: Interval, decimals: int, too_thin: bool = False) -> str | None:
    if interval.low is None or interval.high is None:
        return None
    ends = f"[{interval.low:.{decimals}f}, {interval.high:.{decimals}f}]"
    return f"{'≤ ' if interval.by_rule else ''}{ends}{' ?' if too_thin or interval.few else ''}"


def _script(row: SystemEstimate, _decimals: int) -> list[Cell]:
    scores = row.scores
    alone, difference = (value or (None, None, None) for value in (scores.alone, scores.difference))
    return [
        row.system, scores.judged, scores.judged_rank, *scores.corrected[:3], _yes(scores.corrected.by_rule),
        _yes(scores.too_thin or bool(scores.corrected.few)), *alone[:3], scores.rank, *difference[:3],
        row.labels, row.errors, scores.more and scores.more.labels, scores.more and scores.more.limit,
    ]  # fmt: skip


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _errors(result: Corrected, decimals: int) -> Table:
    """A row for each rating of the judge, with the estimated share of each label of people."""
    given = sorted({label for row in result.errors for label in row.pairs})
    rows: list[list[Cell]] = []
    for row in result.errors:
        total = sum(row.pairs.values())
        shares: list[Cell] = [row.pairs.get(label, 0.0) / total for label in given]
        rows.append([row.rating, sum(row.labels.values()), round(total), row.differing, *shares])
    columns = ["rating", "labels", "pairs", "differ", *(f"people {label}" for label in given)]
    return Table(columns, rows, title="Error of the judge, by its rating", decimals=decimals)


def _pictures(result: Corrected) -> Iterator[Picture]:
    board = result.boards[0]
    if len(board.systems) > 1:
        bars: list[Bar] = []
        for row in board.systems:
            named = {"": row.scores.corrected, " (labels alone)": row.scores.alone}
            bars += [Bar(row.system + name, of.value, of.low, of.high) for name, of in named.items() if of]
            bars.append(Bar(f"{row.system} (judge)", row.scores.judged))
        whiskers = f"{100 * result.confidence:.4g} % intervals"
        yield dot_plot(
            bars, board.measure, f"{board.measure}, corrected, by the labels alone and by the judge", whiskers
        )
    ratings = sorted({*(row.rating for row in result.errors)})
    given = sorted({label for row in result.errors for label in row.labels})
    counts = [[row.labels.get(label, 0) for label in given] for row in result.errors]
    agreeing = [(ratings.index(value), given.index(value)) for value in ratings if value in given]
    yield confusion(
        [str(rating) for rating in ratings],
        [str(label) for label in given],
        counts,
        "Ratings of the judge and labels of people",
        row_noun="ratings of the judge",
        column_noun="labels of people",
        boxed=agreeing,
    )


def _notes(result: Corrected) -> Iterator[str]:
    yield (
        "Corrected: estimate of the score that these people would give, for samples drawn with the recorded "
        "probabilities (regression of people's labels on the judge's ratings). Labels alone: the same "
        "without the judge; a judge that helps makes the interval of the corrected score narrower."
    )
    yield (
        f"Difference: corrected score minus that of {result.boards[0].baseline}, by a regression of its own, "
        "so it can differ a little from the difference of the scores."
    )
    yield (
        "Labels: labelled pairs on which the score depends; errors: those on which people differ from the "
        "judge in a way that can change the score. More labels: expected number of labels that would halve "
        "the interval; never: no number of labels can, and the interval would stay that wide on each side."
    )
    yield (
        "Error of the judge: pairs estimates the pairs of the population (Σ 1/π), differ the share with "
        "another label of people, and the last columns the shares of each label."
    )
