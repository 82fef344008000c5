"""Qrels with a subtopic for every bank entry, for diversity measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from exam_pp.data_model import Role
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.subtopics import PLACEHOLDER, subtopic_qrels
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.selected_grades import read_selected, threshold_notes
from exam_pp.provenance import Provenance
from exam_pp.results import SubtopicQrel
from exam_pp.text.wording import counted


@dataclass(frozen=True)
class SubtopicLabels:
    """Qrels with bank entries as subtopics; ``min_grade`` is the threshold that was used.

    ``systems`` are those of the file.
    """

    qrels: list[SubtopicQrel]
    min_grade: int
    notes: list[str] = field(default_factory=list)
    provenance: Provenance = field(default_factory=Provenance)
    systems: Sequence[str] = ()


def subtopic_labels(
    graded: PathLike,
    *,
    bank: PathLike | None = None,
    grade_filter: GradeFilter | None = None,
    label: Literal["max", "binary"] = "max",
    min_grade: int | None = None,
    queries: PathLike | None = None,
    role: Role | None = None,
    canaries: bool = False,
) -> SubtopicLabels:
    """Subtopic labels of all graded pairs: the grade, or with ``binary`` 1 from the threshold on, else 0.

    The other arguments are those of :func:`exam_pp.phases.evaluation.rubric.cover`. Entries that no passage
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
    if any(query.weights for query in data.queries):
        notes.append("All subtopics have the same weight: the weights of the bank are ignored.")
    provenance = replace(data.provenance, min_grades=(data.min_grade,))
    return SubtopicLabels(lines, data.min_grade, notes, provenance, list(data.file.first_ranks))
