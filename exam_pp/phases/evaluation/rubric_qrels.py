"""Rubric-Qrels: relevance labels from grades, for passages and for the subtopics that entries are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, Literal, TypeVar

from exam_pp.banks import TestBank
from exam_pp.data_model import Role
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.gains import Ungraded
from exam_pp.metrics.grade_masks import GradedQuery
from exam_pp.metrics.qrels import Facets, Label, Labelling, LabelRule, best_qrels, ungraded_label
from exam_pp.metrics.qrels import rubric_qrels as labels_of_query
from exam_pp.metrics.subtopics import PLACEHOLDER, subtopic_qrels
from exam_pp.phases.evaluation.inputs import Bank, Passages, Queries
from exam_pp.phases.evaluation.result import (
    PathLike,
)
from exam_pp.phases.evaluation.selected_grades import (
    SelectedGrades,
    read_selected,
    threshold_notes,
)
from exam_pp.provenance import Provenance
from exam_pp.results import Qrel, SubtopicQrel
from exam_pp.store.passages.graded_file import without_garbage_collection
from exam_pp.text.wording import counted

Q = TypeVar("Q", bound=Qrel | SubtopicQrel)


@dataclass(frozen=True)
class RubricQrels(Generic[Q]):
    """Labels from grades; ``min_grade`` is the threshold that was used for them.

    ``level`` is the lowest label of a relevant passage: ``min_grade`` for the label ``max``, None for labels
    that have used the threshold.
    ``ungraded`` returns the labels that passages would have if all ungraded pairs had the highest grade; None
    for ``mean``. ``provenance`` has the grader, the bank, the number of queries, and for ``count`` and
    ``binary`` the threshold. ``systems`` are those of the file.
    """

    qrels: Sequence[Q]
    min_grade: int
    notes: list[str] = field(default_factory=list)
    ungraded: Callable[[], Ungraded] | None = None
    level: int | None = None
    provenance: Provenance = field(default_factory=Provenance)
    systems: Sequence[str] = ()


def rubric_qrels(
    passages: Passages,
    bank: Bank | None = None,
    *,
    grade_filter: GradeFilter | None = None,
    label: Label = "max",
    label_rule: str | LabelRule | None = None,
    min_grade: int | None = None,
    queries: Queries | None = None,
    facets: Facets = "title",
    role: Role | None = None,
    canaries: bool = False,
) -> RubricQrels[Qrel]:
    """Rubric-Qrels: a relevance label for every graded passage.

    Source: Dietz, "A Workbench for Autograding Retrieve/Generate Systems", SIGIR 2024, section 4.5.

    Args:
        passages: Graded passages: a file, or queries.
        bank: Test bank, which defines the entries and queries. Default: those that have grades.
        grade_filter: Selects grades; required if the file has grades of several models or prompts.
        label: ``max``: the highest grade. ``mean``: the mean of the grades, without bounds for
            ungraded pairs; measures of trec_eval ignore its fraction. ``count``: the number of entries graded
            at least ``min_grade``. ``binary``: 1 if that number is positive, else 0.
        label_rule: Rule that makes labels on the scale of judgments from the grades of a passage, in place of
            ``label``: ``2nd>=5:3, 2nd>=4:1, else 0`` gives 3 if the second best grade is at least 5.
        min_grade: Threshold of ``count`` and ``binary``. For ``max``, the relevance level of measures that
            have a level, in :func:`exam_pp.score_runs`. Default as for :func:`exam_pp.cover`.
        queries: Query file or query ids to restrict the labels to.
        facets: ``title``: labels are for queries. ``facet``: labels are for facets, with query ids
            ``query/facet``.
        role: Label only the passages of this role, as for :func:`exam_pp.cover`. None: all passages.
        canaries: Whether passages of canaries get labels, too.

    Returns:
        The lines as ``qrels``, for :func:`exam_pp.write_qrels` and :func:`exam_pp.score_runs`.

    Raises:
        SelectionError: As for :func:`exam_pp.cover`, or no entry has a facet.
        DataError: A file is not in its format.
    """
    data = read_selected(
        passages, bank, grade_filter, min_grade, queries, role=role, ranks=False, canaries=canaries
    )
    rule = LabelRule.parse(label_rule) if isinstance(label_rule, str) else label_rule
    return qrels_of(data, rule or label, facets)


@without_garbage_collection()
def qrels_of(data: SelectedGrades, label: Labelling = "max", facets: Facets = "title") -> RubricQrels[Qrel]:
    """Rubric-Qrels of grades that are already read."""
    with_threshold = label in ("count", "binary")
    of_threshold = threshold_notes(data)
    notes = data.notes + (of_threshold if with_threshold else [])
    # What an answer should avoid, or what does not count, makes no passage relevant.
    wanted = {query.query_id: query.all_entries & query.weights.wanted for query in data.queries}
    unwanted = sum((query.all_entries & ~query.weights.wanted).bit_count() for query in data.queries)
    if unwanted:
        notes = [*notes, f"{counted(unwanted, 'entry')} with a weight of 0 or below made no labels."]
    entries: Mapping[str, Mapping[str, int | None]] = {
        query.query_id: {
            query.query_id: None if wanted[query.query_id] == query.all_entries else wanted[query.query_id]
        }
        for query in data.queries
    }
    if facets == "facet":
        of_facets = entries_of_facets(data.queries, data.bank)
        entries = {
            query_id: {facet: mask & wanted[query_id] for facet, mask in masks.items()}
            for query_id, masks in of_facets.items()
        }
        if not any(entries.values()):
            raise SelectionError(f"None of the graded entries in {data.source} belongs to a facet.")
    lines = [
        qrel
        for query in data.queries
        for qrel in labels_of_query(query, label, data.min_grade, entries[query.query_id])
    ]
    if ungraded := sum(data.file.ungraded.get(query.query_id, 0) for query in data.queries):
        passages = counted(ungraded, "passage of these queries has", "passages of these queries have")
        notes = [*notes, f"{passages} no grade and therefore no label."]
    level = data.min_grade if label == "max" else None
    provenance = data.provenance
    if with_threshold:
        provenance = replace(provenance, min_grades=(data.min_grade,))
    # A grade can move a mean down as well as up, so the two cases of the bounds do not enclose it.
    ungraded_labels = None if label == "mean" else partial(_ungraded, data, label, entries)
    return RubricQrels(
        lines,
        data.min_grade,
        notes,
        ungraded_labels,
        level,
        provenance,
        list(data.file.first_ranks),
    )


def _ungraded(
    data: SelectedGrades, label: Labelling, entries: Mapping[str, Mapping[str, int | None]]
) -> Ungraded:
    best: dict[tuple[str, str], float] = {}
    unlabelled: dict[str, int] = {}
    for query in data.queries:
        of_query = entries[query.query_id]
        for qrel in best_qrels(query, label, data.min_grade, data.highest_grade, of_query):
            best[qrel.query_id, qrel.passage_id] = qrel.relevance
        for query_id, among in of_query.items():
            mask = query.all_entries if among is None else among
            unlabelled[query_id] = ungraded_label(label, data.highest_grade, mask)
    return Ungraded(best, unlabelled)


def entries_of_facets(queries: Iterable[GradedQuery], bank: TestBank | None) -> dict[str, dict[str, int]]:
    """Query id to facet (``query/facet``) to the bit mask of the positions of the facet's entries.

    The facet of an entry is that in the bank, else the middle part of its id, ``query/facet/md5``.
    Entries without a facet are skipped.
    """
    facet_of_entry = {
        item.entry_id: item.facet_id or line.facet_id
        for line in (bank.lines if bank else ())
        for item in line.items
    }
    facets: dict[str, dict[str, int]] = {}
    for query in queries:
        masks = facets.setdefault(query.query_id, {})
        for entry_id, position in query.entries.items():
            facet = facet_of_entry.get(entry_id) or _facet_of_id(entry_id, query.query_id)
            if facet:
                key = f"{query.query_id}/{facet}"
                masks[key] = masks.get(key, 0) | 1 << position
    return facets


def _facet_of_id(entry_id: str, query_id: str) -> str:
    rest = entry_id.removeprefix(f"{query_id}/")
    return rest.rpartition("/")[0] if rest != entry_id else ""


def subtopic_labels(
    graded: Passages,
    *,
    bank: PathLike | None = None,
    grade_filter: GradeFilter | None = None,
    label: Literal["max", "binary"] = "max",
    min_grade: int | None = None,
    queries: PathLike | None = None,
    role: Role | None = None,
    canaries: bool = False,
) -> RubricQrels[SubtopicQrel]:
    """Subtopic labels of all graded pairs: the grade, or with ``binary`` 1 from the threshold on, else 0.

    The other arguments are those of :func:`exam_pp.phases.evaluation.cover.cover`. Entries that no passage
    covers get a placeholder passage (see :func:`exam_pp.metrics.subtopics.subtopic_qrels`), so that StRecall
    with the same threshold equals Rubric-Cover. Raises :class:`~exam_pp.errors.ExamError`.
    """
    data = read_selected(
        graded, bank, grade_filter, min_grade, queries, role=role, ranks=False, canaries=canaries
    )
    lines = [
        line
        for query in data.queries
        for line in subtopic_qrels(query, data.min_grade, binary=label == "binary")
    ]
    placeholders = sum(line.passage_id.startswith(PLACEHOLDER) for line in lines)
    notes = data.notes + threshold_notes(data)
    if placeholders:
        notes.append(
            f"No passage covers {counted(placeholders, 'entry')}: placeholder passages keep "
            f"{'it as a subtopic' if placeholders == 1 else 'them as subtopics'}."
        )
    if any(query.weights.of_entries for query in data.queries):
        notes.append("All subtopics have the same weight: the weights of the bank are ignored.")
    if negative := sum(query.weights.negative.bit_count() for query in data.queries):
        notes.append(f"{counted(negative, 'entry')} with a negative weight made no subtopic.")
    provenance = replace(data.provenance, min_grades=(data.min_grade,))
    systems = list(data.file.first_ranks)
    return RubricQrels(lines, data.min_grade, notes, provenance=provenance, systems=systems)
