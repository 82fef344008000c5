"""Contents of a graded file: queries, passages, systems, judgments, and the grades of each grader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from exam_pp.data_model import DIRECT_ID, AnyGrades
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector
from exam_pp.phases.evaluation.inputs import bank_of, views
from exam_pp.phases.evaluation.nugget_labels import assigned_labels
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import with_aliases

GradeKind = Literal["question", "nugget", "assignment", "direct"]


@dataclass
class GraderContents:
    """The grades of a model and prompt class, or of a reviewer.

    ``rated``: Whether there are ratings on a scale, not only correct and wrong entries.
    """

    kind: GradeKind
    rated: bool = False
    selected: bool = False
    queries: int = 0
    passages: int = 0
    grades: int = 0
    banks: list[PathLike] = field(default_factory=list)


@dataclass
class GradedContents:
    """Counts of a graded file; ``systems`` are those with rankings, ``entries`` is bank to its size."""

    queries: int = 0
    passages: int = 0
    judged: int = 0
    systems: Sequence[str] = ()
    graders: Mapping[GradeKey, GraderContents] = field(default_factory=dict)
    entries: Mapping[PathLike, int] = field(default_factory=dict)


def graded_contents(
    graded: PathLike, banks: Sequence[PathLike] = (), grade_filter: GradeFilter | None = None
) -> GradedContents:
    """Count what a graded file has.

    Returns the counts, with the graders sorted by model and prompt class.
    """
    criteria = with_aliases(grade_filter or GradeFilter())
    selector = GradeSelector(criteria)
    by_name = {bank: bank_of(bank) for bank in banks}
    queries: set[str] = set()
    systems: dict[str, None] = {}
    graders: dict[GradeKey, GraderContents] = {}
    graded_queries: dict[GradeKey, set[str]] = {}
    contents = GradedContents()
    for query in views(graded, mixed=True):
        queries.add(query.query_id)
        entries = {name: bank.entries(query.query_id).keys() for name, bank in by_name.items()}
        for passage in query.passages:
            contents.passages += 1
            contents.judged += bool(passage.judgments)
            systems.update((ranking.method, None) for ranking in passage.rankings)
            selected = {GradeKey.of(grades, criteria) for grades in selector.select(passage)}
            graded_entries: dict[GradeKey, set[str]] = {}
            for grades in passage.grade_sets():
                key = GradeKey.of(grades, criteria)
                if key not in graders:
                    graders[key] = GraderContents(_kind(grades))
                graders[key].rated |= grades.is_rated
                graded_entries.setdefault(key, set()).update(grades.graded_ids() or _assigned(grades))
            for key, ids in graded_entries.items():
                grader = graders[key]
                grader.selected |= key in selected
                grader.passages += 1
                grader.grades += len(ids)
                graded_queries.setdefault(key, set()).add(query.query_id)
                grader.banks += [
                    name
                    for name, known in entries.items()
                    if name not in grader.banks and not known.isdisjoint(ids)
                ]
    selector.check_any(str(graded))
    for key, of_grader in graded_queries.items():
        graders[key].queries = len(of_grader)
    contents.queries = len(queries)
    contents.systems = list(systems)
    contents.graders = dict(sorted(graders.items()))
    contents.entries = {
        name: sum(len(query.entries) for query in bank.queries.values()) for name, bank in by_name.items()
    }
    return contents


def _kind(grades: AnyGrades) -> GradeKind:
    if DIRECT_ID in grades.entry_ratings():
        return "direct"
    if assigned_labels(grades) is not None:
        return "assignment"
    if grades.prompt_type is not None:
        return "nugget" if grades.prompt_type.startswith("nugget") else "question"
    prompt = PROMPTS.find(grades.prompt_class)
    return "nugget" if prompt is not None and prompt.kind == "nugget" else "question"


def _assigned(grades: AnyGrades) -> set[str]:
    return {nugget_id for nugget_id, _ in assigned_labels(grades) or ()}
