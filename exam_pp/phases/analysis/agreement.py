"""Agreement of labels with judgments, and of graders with each other: Cohen's κ, Krippendorff's α."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeSelector, grader_names
from exam_pp.metrics.agreement import (
    Coefficients,
    coefficients,
    cohen_kappa,
    kappa_interval,
    krippendorff_alpha,
)
from exam_pp.metrics.grade_masks import GradedFile, gather
from exam_pp.metrics.passage_labels import KthBest, LabelRule
from exam_pp.metrics.qrels import judgment_qrels
from exam_pp.metrics.uncertainty import Interval
from exam_pp.phases.analysis.published_agreement import JUDGMENTS, SCALE, Layout, label_set, layouts
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.selected_grades import selectors
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages_for_metrics
from exam_pp.store.trec.runs import read_qrels

Labelling = KthBest | LabelRule

HUMAN = "people"
_SAMPLES = 2000


class RatedPassage(NamedTuple):
    """A passage that has judgments; ``ratings`` are those of its entries, best first, or none."""

    query_id: str
    ratings: Sequence[int]
    judgments: frozenset[int]


@dataclass(frozen=True)
class AgreementRow:
    """Passages whose label is in a set of labels.

    ``counts`` are those of them judged to be in each column, ``total`` is all of them. ``kappa`` compares the
    row against the rest with the column number ``box`` against the rest; ``interval`` is its 95 % interval.
    """

    label: str
    counts: Sequence[int]
    total: int
    box: int
    kappa: float | None
    interval: Interval | None


@dataclass(frozen=True)
class AgreementTable:
    """Predicted labels × judgments; ``name`` is the layout, ``columns`` are sets of judgments."""

    name: str
    labelling: str
    columns: Sequence[str]
    rows: Sequence[AgreementRow]


@dataclass(frozen=True)
class Agreement:
    """How labels agree with judgments.

    ``coefficients`` are those of the whole scales, by labelling; of several judgments the highest counts.
    ``passages`` have a judgment and a grade, ``ungraded`` ones have no grade and are left out. ``queries``
    counts the queries of the former. A judgment of ``min_relevant`` or more is relevant. Intervals are of
    ``samples`` bootstrap samples of queries.
    """

    tables: Sequence[AgreementTable]
    coefficients: Sequence[tuple[str, Coefficients]]
    passages: int
    queries: int
    ungraded: int
    min_relevant: int
    samples: int
    seed: int


@dataclass(frozen=True)
class GraderPair:
    """Two graders on the ``common`` passages (or pairs of a passage and an entry) that both graded."""

    first: str
    second: str
    common: int
    coefficients: Coefficients


@dataclass(frozen=True)
class GraderAgreement:
    """How graders agree with each other, two by two and all together.

    ``per_entry`` says that ratings of pairs of a passage and an entry were compared, not labels of passages.
    ``shared`` counts the passages (or pairs) that two graders or more graded. The last three are
    Krippendorff's α of all graders on a nominal, an ordinal and an interval scale.
    """

    pairs: Sequence[GraderPair]
    graders: Sequence[str]
    shared: int
    per_entry: bool
    nominal_alpha: float | None
    ordinal_alpha: float | None
    interval_alpha: float | None


def rated_passages(
    graded: PathLike,
    *,
    qrels: PathLike | None = None,
    bank: PathLike | None = None,
    grade_filter: GradeFilter | None = None,
) -> list[RatedPassage]:
    """The passages of the file that have a judgment, there or in ``qrels``, with the selected grades.

    Raises :class:`~exam_pp.errors.SelectionError` if none of them has a grade.
    """
    lines = list(read_passages_for_metrics(graded))
    selector = GradeSelector(grade_filter or GradeFilter())
    file = gather(lines, selector, read_bank(bank) if bank is not None else None)
    selector.check(str(graded))
    judgments: dict[tuple[str, str], set[int]] = {}
    if qrels is not None:
        for qrel in read_qrels(qrels):
            judgments.setdefault((qrel.query_id, qrel.passage_id), set()).add(qrel.relevance)
    else:
        for line in lines:
            for passage in line.passages:
                if found := {judgment.relevance for judgment in passage.judgments}:
                    judgments.setdefault((line.query_id, passage.passage_id), set()).update(found)
    population = [
        RatedPassage(query_id, passage.ratings, frozenset(judgments[query_id, passage.passage_id]))
        for query_id, query in file.queries.items()
        for passage in query.passages
        if (query_id, passage.passage_id) in judgments
    ]
    if not any(passage.ratings for passage in population):
        raise SelectionError(f"No passage of {graded} has both a judgment and a selected grade.")
    return population


def agreement(
    passages: Sequence[RatedPassage],
    *,
    min_relevant: int = 1,
    min_answers: Sequence[int] = (1,),
    min_grades: Sequence[int] = (),
    rule: LabelRule | None = None,
    same_scale: bool = False,
    seed: int = 0,
) -> Agreement:
    """Predicted labels × judgments and Cohen's κ of every row, as in table 5 of the workbench paper.

    κ compares a row against the rest with its boxed column against the rest; intervals (95 %) resample
    queries. Without a rule, a label is the k-th best rating for each k of ``min_answers``, in the
    published layouts, and binarised at each of ``min_grades``; with one, every label is a row, and
    every judgment a column. ``same_scale`` is for labels on the scale of the judgments, as those of
    UMBRELA: every label against every judgment, then both sides cut at ``min_relevant``. Passages
    without ratings are left out, and counted. Raises :class:`~exam_pp.errors.SelectionError` for a
    ``min_relevant`` above all judgments.
    """
    judged, passages = passages, [passage for passage in passages if passage.ratings]
    judgments = sorted({grade for passage in passages for grade in passage.judgments})
    if min_relevant > max(judgments[-1], JUDGMENTS[-1]):
        raise SelectionError(
            f"No judgment is {min_relevant} or more, the least that is to be relevant: the highest is "
            f"{judgments[-1]}."
        )
    ratings = {rating for passage in passages for rating in passage.ratings}
    grades = ratings | set(range(2) if max(ratings) <= 1 else SCALE)
    tables: list[AgreementTable] = []
    labellings: list[Labelling] = [rule] if rule is not None else [KthBest(k) for k in min_answers]
    for labelling in labellings:
        if same_scale:
            chosen = _on_one_scale(passages, labelling, min_relevant)
        else:
            chosen = (
                [_confusion(passages, rule)]
                if rule is not None
                else layouts(min_relevant, judgments, grades=grades, min_grades=min_grades)
            )
        tables += [_table(passages, labelling, layout, seed) for layout in chosen]
    queries = len({passage.query_id for passage in passages})
    return Agreement(
        tables,
        _of_whole_scales(passages, labellings),
        len(passages),
        queries,
        len(judged) - len(passages),
        min_relevant,
        _SAMPLES,
        seed,
    )


def _on_one_scale(passages: Sequence[RatedPassage], labelling: Labelling, min_relevant: int) -> list[Layout]:
    """The confusion matrix of labels and judgments, graded and binarised."""
    labels = {labelling(passage.ratings) for passage in passages}
    every = sorted(labels.union(*(passage.judgments for passage in passages)), reverse=True)
    singles = tuple(label_set(str(grade), [grade]) for grade in every)
    halves = (
        label_set(f"≥ {min_relevant}", [grade for grade in every if grade >= min_relevant]),
        label_set(f"< {min_relevant}", [grade for grade in every if grade < min_relevant]),
    )
    return [
        Layout("GRADED", singles, singles, tuple(range(len(every)))),
        Layout("BINARY", halves, halves, (0, 1)),
    ]


def _confusion(passages: Sequence[RatedPassage], rule: LabelRule) -> Layout:
    """Every label of the rule against every judgment; a label's box is the equal judgment."""
    labels = sorted({label for _, _, label in rule.conditions} | {rule.otherwise}, reverse=True)
    judged = sorted(
        {grade for passage in passages for grade in passage.judgments} | set(labels), reverse=True
    )
    return Layout(
        "RULE",
        tuple(label_set(str(label), [label]) for label in labels),
        tuple(label_set(str(grade), [grade]) for grade in judged),
        tuple(judged.index(label) for label in labels),
    )


def _table(
    passages: Sequence[RatedPassage], labelling: Labelling, layout: Layout, seed: int
) -> AgreementTable:
    labels = [labelling(passage.ratings) for passage in passages]
    rows = []
    for row, box in zip(layout.rows, layout.boxes, strict=True):
        inside = [p for p, label in zip(passages, labels, strict=True) if label in row.labels]
        tables = _two_by_two(passages, labels, row.labels, layout.columns[box].labels)
        rows.append(
            AgreementRow(
                row.name,
                [sum(bool(p.judgments & c.labels) for p in inside) for c in layout.columns],
                len(inside),
                box,
                cohen_kappa([[sum(t[i][j] for t in tables) for j in (0, 1)] for i in (0, 1)]),
                kappa_interval(tables, samples=_SAMPLES, seed=seed),
            )
        )
    return AgreementTable(layout.name, str(labelling), [column.name for column in layout.columns], rows)


def _two_by_two(
    passages: Sequence[RatedPassage], labels: Sequence[int], row: frozenset[int], column: frozenset[int]
) -> list[list[list[int]]]:
    """For each query: in the row or not × judged to be in the column or not."""
    tables: dict[str, list[list[int]]] = {}
    for passage, label in zip(passages, labels, strict=True):
        table = tables.setdefault(passage.query_id, [[0, 0], [0, 0]])
        table[label not in row][not passage.judgments & column] += 1
    return list(tables.values())


def _of_whole_scales(
    passages: Sequence[RatedPassage], labellings: Sequence[Labelling]
) -> list[tuple[str, Coefficients]]:
    judged = [max(passage.judgments) for passage in passages]
    return [
        (str(labelling), coefficients([labelling(passage.ratings) for passage in passages], judged))
        for labelling in labellings
    ]


def graders(
    graded: PathLike,
    *,
    bank: PathLike | None = None,
    grade_filter: GradeFilter | None = None,
    labelling: Labelling | None = None,
    per_entry: bool = False,
) -> GraderAgreement:
    """How several sets of grades in one file, and people, agree on the labels of passages.

    Every model and prompt class that the filter lets pass is a grader; judgments (the highest of several)
    are another. One row for every two graders over the passages that both have, and Krippendorff's α of
    all. With ``per_entry`` the ratings themselves are compared, over the pairs of a passage and a bank
    entry that both rated (judgments are of no entry, and left out): this is how a reviewer who rated some
    pairs agrees with a model. Raises :class:`~exam_pp.errors.SelectionError` for fewer than two graders.
    """
    chosen = None if per_entry else labelling or KthBest()
    labels = dict(_labels_by_grader(graded, bank, grade_filter or GradeFilter(), chosen))
    if len(labels) < 2:
        raise SelectionError(f"{graded} holds {len(labels)} grader (and no judgments): nothing to compare.")
    pairs = []
    for first, second in combinations(labels, 2):
        common = labels[first].keys() & labels[second].keys()
        ours, theirs = ([labels[grader][unit] for unit in common] for grader in (first, second))
        pairs.append(GraderPair(first, second, len(common), coefficients(ours, theirs)))
    units: dict[tuple[str, ...], list[int]] = {}
    for of_grader in labels.values():
        for unit, label in of_grader.items():
            units.setdefault(unit, []).append(label)
    shared = sum(len(unit) > 1 for unit in units.values())
    nominal, ordinal, interval = (
        krippendorff_alpha(units.values(), level) for level in ("nominal", "ordinal", "interval")
    )
    return GraderAgreement(pairs, list(labels), shared, per_entry, nominal, ordinal, interval)


def _labels_by_grader(
    graded: PathLike, bank_path: PathLike | None, criteria: GradeFilter, labelling: Labelling | None
) -> Iterator[tuple[str, Mapping[tuple[str, ...], int]]]:
    """Grader to the labels of passages; without a labelling, to the ratings of pairs."""
    bank = read_bank(bank_path) if bank_path is not None else None
    lines = list(read_passages_for_metrics(graded))
    graders = selectors(lines, criteria, graded)
    name = grader_names(list(graders))
    for key, selector in graders.items():
        file = gather(lines, selector, bank)
        labels = _ratings_of_pairs(file) if labelling is None else _labels_of_passages(file, labelling)
        if labels:
            yield name(key), labels
    judged = judgment_qrels(lines) if labelling is not None else []
    if judged:
        yield HUMAN, {(line.query_id, line.passage_id): line.relevance for line in judged}


def _labels_of_passages(file: GradedFile, labelling: Labelling) -> dict[tuple[str, ...], int]:
    return {
        (query_id, passage.passage_id): labelling(passage.ratings)
        for query_id, query in file.queries.items()
        for passage in query.passages
        if passage.levels
    }


def _ratings_of_pairs(file: GradedFile) -> dict[tuple[str, ...], int]:
    return {
        (query_id, passage.passage_id, entry_id): grade
        for query_id, query in file.queries.items()
        for passage in query.passages
        for grade, entries in passage.levels.items()
        for entry_id, position in query.entries.items()
        if entries >> position & 1
    }
