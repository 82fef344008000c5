"""Agreement of labels with judgments, or of two qrels: Cohen's κ, Krippendorff's α."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from exam_pp.data_model import DIRECT_ID
from exam_pp.defaults import MIN_JUDGMENT, SAMPLES
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.metrics.agreement import (
    Coefficients,
    area_under_curve,
    coefficients,
    cohen_kappa,
    kappa_interval,
)
from exam_pp.metrics.grade_masks import GradedFile, gather
from exam_pp.metrics.qrels import KthBest, LabelRule
from exam_pp.metrics.uncertainty import Interval
from exam_pp.phases.evaluation.inputs import Passages, loaded, name_of
from exam_pp.phases.evaluation.judgments import fraction_notes, outside_scale_notes
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.direct import GRADED_RELEVANCE
from exam_pp.provenance import Provenance, file_names, graded_by
from exam_pp.roles import without_canaries
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.trec.runs import read_qrels

Labelling = KthBest | LabelRule


class RatedPassage(NamedTuple):
    """A judged passage; ``ratings`` are the ratings of its entries, best first; empty if it is ungraded."""

    query_id: str
    ratings: Sequence[int]
    judgments: frozenset[int]


@dataclass(frozen=True)
class AgreementRow:
    """A row of an agreement table: the passages whose label is in a set of labels.

    ``counts`` is the number of these passages with a judgment of each column, ``total`` the number of these
    passages. ``kappa`` is Cohen's κ of "label in the row" and "judgment in column number ``box``";
    ``interval`` is its 95 % interval.
    """

    label: str
    counts: Sequence[int]
    total: int
    box: int
    kappa: float | None
    interval: Interval | None


@dataclass(frozen=True)
class AgreementTable:
    """A table of labels (rows) × judgments (columns).

    ``name`` is the name of the layout, such as GRADED; ``labelling`` is the rule that made the labels.
    """

    name: str
    labelling: str
    columns: Sequence[str]
    rows: Sequence[AgreementRow]


@dataclass(frozen=True)
class Agreement:
    """Agreement of labels with judgments.

    ``coefficients`` compare the whole scales, for each labelling; of several judgments of a passage the
    highest counts. ``passages`` is the number of passages with a judgment and a grade, ``queries`` the number
    of their queries. ``ungraded`` is the number of judged passages without a grade, which are skipped. A
    judgment of at least ``min_relevant`` is relevant. Intervals use ``samples`` bootstrap samples of queries.
    ``notes`` mention fractions of judgments, and labels outside their scale, if labels should be on it.
    """

    tables: Sequence[AgreementTable]
    coefficients: Sequence[tuple[str, Coefficients]]
    passages: int
    queries: int
    ungraded: int
    min_relevant: int
    samples: int
    seed: int
    provenance: Provenance = field(default_factory=Provenance)
    notes: Sequence[str] = ()


class RatedPassages(list[RatedPassage]):
    """Judged passages with their ratings; ``provenance`` has the grader, the bank and the judgments.

    ``like_judgments``: Whether the ratings are labels on the scale of TREC judgments, as those of UMBRELA.
    """

    def __init__(
        self,
        passages: Iterable[RatedPassage] = (),
        provenance: Provenance | None = None,
        notes: Iterable[str] = (),
        *,
        like_judgments: bool = False,
    ) -> None:
        super().__init__(passages)
        self.provenance = provenance or Provenance()
        self.notes = list(notes)
        self.like_judgments = like_judgments


def rated_passages(
    graded: Passages,
    *,
    qrels: PathLike | None = None,
    bank: PathLike | None = None,
    grade_filter: GradeFilter | None = None,
) -> RatedPassages:
    """Return the judged passages of a graded file with their selected ratings.

    Judgments are those of the file, or of ``qrels``. Raises :class:`~exam_pp.errors.SelectionError` if no
    judged passage has a selected grade.
    """
    graded = loaded(graded)
    lines = list(without_canaries(graded))
    selector = GradeSelector(grade_filter or GradeFilter())
    file = gather(lines, selector, read_bank(bank) if bank is not None else None, ranks=False)
    selector.check(str(graded))
    judgments: dict[tuple[str, str], set[int]] = {}
    judged = [] if qrels is None else read_qrels(qrels)
    if judged:
        for qrel in judged:
            judgments.setdefault((qrel.query_id, qrel.passage_id), set()).add(qrel.whole)
    else:
        for line in lines:
            for passage in line.passages:
                if relevances := {judgment.relevance for judgment in passage.judgments}:
                    judgments.setdefault((line.query_id, passage.passage_id), set()).update(relevances)
    population = [
        RatedPassage(query_id, passage.ratings, frozenset(judgments[query_id, passage.passage_id]))
        for query_id, query in file.queries.items()
        for passage in query.passages
        if (query_id, passage.passage_id) in judgments
    ]
    if not any(passage.ratings for passage in population):
        raise SelectionError(f"No passage of {graded} has both a judgment and a selected grade.")
    provenance = replace(
        graded_by([selector.key]), banks=file_names(bank), judgments=file_names(qrels or name_of(graded, ""))
    )
    return RatedPassages(
        population,
        provenance,
        fraction_notes(qrel.relevance for qrel in judged),
        like_judgments=_is_on_the_scale_of_judgments(file, selector),
    )


def separation(passages: Sequence[RatedPassage], min_relevant: int = MIN_JUDGMENT) -> float | None:
    """Area under the ROC curve of the best rating of a passage, for relevant passages against others.

    It does not depend on the scales of ratings and judgments. Passages without ratings are skipped. Returns
    None if all passages are relevant or none is.
    """
    rated = [passage for passage in passages if passage.ratings]
    best = [float(passage.ratings[0]) for passage in rated]
    return area_under_curve(best, [max(passage.judgments) >= min_relevant for passage in rated])


def agreement(
    passages: Sequence[RatedPassage],
    *,
    min_relevant: int = MIN_JUDGMENT,
    min_answers: Sequence[int] = (1,),
    min_grades: Sequence[int] = (),
    rule: LabelRule | None = None,
    same_scale: bool = False,
    like_judgments: bool = False,
    seed: int = 0,
) -> Agreement:
    """Compute tables of labels × judgments and Cohen's κ of every row, as in table 5 of the workbench paper.

    κ compares "label in the row" with "judgment in the boxed column". Passages without ratings are skipped
    and counted.

    Args:
        passages: Judged passages; at least one must have ratings.
        min_relevant: Judgments of at least this value are relevant.
        min_answers: Make the published tables with the k-th best rating as label, for each k.
        min_grades: Also make a table of labels of at least this grade against the rest, for each grade.
        rule: Label by this rule instead; every label is a row and every judgment a column.
        same_scale: Labels are on the scale of the judgments, as those of UMBRELA. Make a table of every label
            and judgment, and one of both binarised at ``min_relevant``.
        like_judgments: Labels are on that scale, but make the published tables; GRADED compares each label
            with the equal judgment.
        seed: Seed of the 95 % intervals, which resample queries.

    Raises:
        SelectionError: ``min_relevant`` is above all judgments.
    """
    provenance = passages.provenance if isinstance(passages, RatedPassages) else Provenance()
    notes = passages.notes if isinstance(passages, RatedPassages) else []
    judged, passages = passages, [passage for passage in passages if passage.ratings]
    judgments = sorted({grade for passage in passages for grade in passage.judgments})
    if min_relevant > max(judgments[-1], JUDGMENTS[-1]):
        raise SelectionError(
            f"--min-judgment {min_relevant} is above every judgment in the file (highest: {judgments[-1]})."
        )
    ratings = {rating for passage in passages for rating in passage.ratings}
    grades = ratings | set(range(2) if max(ratings) <= 1 else SCALE)
    tables: list[AgreementTable] = []
    labellings: list[Labelling] = [rule] if rule is not None else [KthBest(k) for k in min_answers]
    for labelling in labellings:
        if same_scale:
            table_layouts = _same_scale_layouts(passages, labelling, min_relevant)
        else:
            table_layouts = (
                [_confusion(passages, rule)]
                if rule is not None
                else layouts(
                    min_relevant,
                    judgments,
                    grades=grades,
                    min_grades=min_grades,
                    like_judgments=like_judgments,
                )
            )
        tables += [_table(passages, labelling, layout, seed) for layout in table_layouts]
    queries = len({passage.query_id for passage in passages})
    judged_best = [max(passage.judgments) for passage in passages]
    return Agreement(
        tables,
        [
            (str(labelling), coefficients([labelling(passage.ratings) for passage in passages], judged_best))
            for labelling in labellings
        ],
        len(passages),
        queries,
        len(judged) - len(passages),
        min_relevant,
        SAMPLES,
        seed,
        replace(provenance, min_grades=tuple(min_grades), queries=queries),
        [
            *notes,
            *(
                note
                for labelling in labellings
                if rule is not None or same_scale
                for note in outside_scale_notes((labelling(p.ratings) for p in passages), judgments)
            ),
        ],
    )


def _same_scale_layouts(
    passages: Sequence[RatedPassage], labelling: Labelling, min_relevant: int
) -> list[LabelLayout]:
    """Confusion matrices of labels and judgments: on the whole scale, and binarised at ``min_relevant``."""
    labels = {labelling(passage.ratings) for passage in passages}
    scale = sorted(labels.union(*(passage.judgments for passage in passages)), reverse=True)
    singles = tuple(label_set(str(grade), [grade]) for grade in scale)
    halves = (
        label_set(f"≥ {min_relevant}", [grade for grade in scale if grade >= min_relevant]),
        label_set(f"< {min_relevant}", [grade for grade in scale if grade < min_relevant]),
    )
    return [
        LabelLayout("GRADED", singles, singles, tuple(range(len(scale)))),
        LabelLayout("BINARY", halves, halves, (0, 1)),
    ]


def _confusion(passages: Sequence[RatedPassage], rule: LabelRule) -> LabelLayout:
    """Every label of the rule against every judgment; the boxed column is the equal judgment."""
    labels = sorted({label for _, _, label in rule.conditions} | {rule.otherwise}, reverse=True)
    judged = sorted(
        {grade for passage in passages for grade in passage.judgments} | set(labels), reverse=True
    )
    return LabelLayout(
        "RULE",
        tuple(label_set(str(label), [label]) for label in labels),
        tuple(label_set(str(grade), [grade]) for grade in judged),
        tuple(judged.index(label) for label in labels),
    )


def _table(
    passages: Sequence[RatedPassage], labelling: Labelling, layout: LabelLayout, seed: int
) -> AgreementTable:
    # Few combinations of query, label and judgments occur, so equal passages are counted together.
    counts = Counter((p.query_id, labelling(p.ratings), p.judgments) for p in passages)
    rows = []
    for row, box in zip(layout.rows, layout.boxes, strict=True):
        inside = [(judgments, n) for (_, label, judgments), n in counts.items() if label in row.labels]
        tables = _two_by_two(counts, row.labels, layout.columns[box].labels)
        rows.append(
            AgreementRow(
                row.name,
                [sum(n for judgments, n in inside if judgments & c.labels) for c in layout.columns],
                sum(n for _, n in inside),
                box,
                cohen_kappa([[sum(t[i][j] for t in tables) for j in (0, 1)] for i in (0, 1)]),
                kappa_interval(tables, samples=SAMPLES, seed=seed),
            )
        )
    return AgreementTable(layout.name, str(labelling), [column.name for column in layout.columns], rows)


def _two_by_two(
    counts: Mapping[tuple[str, int, frozenset[int]], int], row: frozenset[int], column: frozenset[int]
) -> list[list[list[int]]]:
    """For each query, counts of "label in ``row``" (yes, no) × "judgment in ``column``" (yes, no)."""
    tables: dict[str, list[list[int]]] = {}
    for (query_id, label, judgments), number in counts.items():
        table = tables.setdefault(query_id, [[0, 0], [0, 0]])
        table[label not in row][not judgments & column] += number
    return list(tables.values())


SCALE = range(6)
"""The grades of the published prompts."""

JUDGMENTS = range(-2, 4)
"""The judgments of TREC DL."""


class LabelSet(NamedTuple):
    """A row or column of an agreement table: its name and its labels."""

    name: str
    labels: frozenset[int]


class LabelLayout(NamedTuple):
    """Rows (labels), columns (judgments), and for each row the number of the column that agrees with it."""

    name: str
    rows: tuple[LabelSet, ...]
    columns: tuple[LabelSet, ...]
    boxes: tuple[int, ...]


def layouts(
    min_relevant: int,
    judgments: Iterable[int] = (),
    *,
    grades: Iterable[int] = SCALE,
    min_grades: Iterable[int] = (),
    like_judgments: bool = False,
) -> list[LabelLayout]:
    """Return the layouts of the published tables for ratings: GRADED, MERGE, LENIENT and STRICT.

    If the highest grade is 1, BINARY is the only published table.
    """
    judged = sorted({*JUDGMENTS, *judgments}, reverse=True)
    best, second = judged[0], min(min_relevant, judged[1])
    scale = sorted(set(grades), reverse=True)
    highest = scale[0]
    relevant = label_set(_span(min_relevant, best), [j for j in judged if j >= min_relevant])
    worse = _span(min(0, min_relevant - 1), min_relevant - 1)
    irrelevant = label_set(worse, [j for j in judged if j < min_relevant])
    cuts = [_cut(grade, scale, (relevant, irrelevant)) for grade in min_grades]
    low = label_set("0", [g for g in scale if g <= 0])
    if highest == 1:
        return [LabelLayout("BINARY", (label_set("1", [1]), low), (relevant, irrelevant), (0, 1)), *cuts]
    zero = label_set("0", [j for j in judged if j <= 0])
    singles = [j for j in judged if j > 0]
    middle = 2 if min_relevant > 1 else 1
    box_of = {2: singles.index(middle + 1), 1: singles.index(middle), 0: len(singles)}
    if like_judgments:
        boxes = tuple(singles.index(min(grade, best)) if grade > 0 else len(singles) for grade in scale)
    else:
        boxes = tuple(box_of[(grade >= 4) + (grade >= 1)] for grade in scale)
    high = label_set(f"4–{highest}", [g for g in scale if g >= 4])
    mid = label_set("1–3", [g for g in scale if 1 <= g <= 3])
    if min_relevant > 1:
        merged = (
            label_set(f"{best}", [best]),
            label_set(_span(second, best - 1), [j for j in judged if second <= j < best]),
            label_set(_span(0, second - 1), [j for j in judged if j < second]),
        )
    else:
        merged = (label_set(f"2–{best}", [j for j in judged if j >= 2]), label_set("1", [1]), zero)
    graded = tuple(label_set(str(grade), [grade]) for grade in scale)
    columns = (*(label_set(str(j), [j]) for j in singles), zero)
    lenient = label_set(f"1–{highest}", [g for g in scale if g >= 1])
    strict = label_set("0–3", [g for g in scale if g < 4])
    return [
        LabelLayout("GRADED", graded, columns, boxes),
        LabelLayout("MERGE", (high, mid, low), merged, (0, 1, 2)),
        LabelLayout("LENIENT", (lenient, low), (relevant, irrelevant), (0, 1)),
        LabelLayout("STRICT", (high, strict), (relevant, irrelevant), (0, 1)),
        *cuts,
    ]


def _cut(grade: int, grades: Iterable[int], columns: tuple[LabelSet, LabelSet]) -> LabelLayout:
    at_least = label_set(f"≥ {grade}", [g for g in grades if g >= grade])
    below = label_set(f"< {grade}", [g for g in grades if g < grade])
    return LabelLayout(f"GRADE ≥ {grade}", (at_least, below), columns, (0, 1))


def _span(low: int, high: int) -> str:
    return f"{low}–{high}" if high > low else str(high)


def label_set(name: str, labels: Iterable[int]) -> LabelSet:
    """Make a named set of labels."""
    return LabelSet(name, frozenset(labels))


def labelled_passages(labels: PathLike, qrels: PathLike) -> RatedPassages:
    """Return the judged passages of the queries in both qrels files, with the labels of the model.

    A judged passage without a label has no ratings.

    Raises :class:`~exam_pp.errors.SelectionError` if the files have no passage in common.
    """
    files = {name: read_qrels(name) for name in (labels, qrels)}
    predicted = {(label.query_id, label.passage_id): label.whole for label in files[labels]}
    queries = {query_id for query_id, _ in predicted}
    population = [
        RatedPassage(
            judged.query_id,
            [predicted[key]] if key in predicted else [],
            frozenset([judged.whole]),
        )
        for judged in files[qrels]
        if judged.query_id in queries
        for key in [(judged.query_id, judged.passage_id)]
    ]
    if not any(passage.ratings for passage in population):
        raise SelectionError(f"{labels} and {qrels} have no passage in common.")
    notes = [
        note
        for name, lines in files.items()
        for note in fraction_notes((line.relevance for line in lines), f"{name}: ")
    ]
    provenance = Provenance(judgments=file_names(labels, qrels))
    return RatedPassages(population, provenance, notes, like_judgments=True)


def _is_on_the_scale_of_judgments(file: GradedFile, selector: GradeSelector) -> bool:
    """Whether the selected grades are direct grades from 0 to 3, as TREC judgments are.

    If a direct prompt is unknown and its scale is not recorded, the highest grade in the file decides.
    """
    prompt = PROMPTS.find(selector.key.prompt_class)
    if prompt is not None:
        return prompt.kind == "direct" and prompt.max_rating == GRADED_RELEVANCE.max_rating
    is_direct = all(query.entries.keys() <= {DIRECT_ID} for query in file.queries.values())
    return is_direct and (selector.max_rating or file.best_grade) == GRADED_RELEVANCE.max_rating
