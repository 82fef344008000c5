"""Evaluate: the grades that are looked at, the queries that count, and what a reader has to know of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from exam_pp.data_model import QueryView
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector
from exam_pp.metrics.grade_masks import GradedFile, GradedQuery, gather
from exam_pp.packed import Chosen
from exam_pp.phases.evaluation.inputs import Bank, Passages, Queries, bank_of, name_of, query_ids, views
from exam_pp.phases.evaluation.result import PathLike, some
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import under_all_names
from exam_pp.store.garbage_collector import no_collections
from exam_pp.test_bank import TestBank

DEFAULT_MIN_GRADE = 4
"""The grade from which an entry counts as covered, as in the workbench paper's examples."""

_UNRATED_MIN_GRADE = 1


@dataclass(frozen=True)
class SelectedGrades:
    """A gathered file with the queries that are evaluated, and the threshold of their grades."""

    source: PathLike
    file: GradedFile
    queries: Chosen[GradedQuery]
    min_grade: int
    selector: GradeSelector
    notes: list[str]
    bank: TestBank | None

    @property
    def highest_grade(self) -> int:
        """The best grade that the prompt can give; of a prompt that we do not know, the best that it gave."""
        if not self.selector.rated:
            return _UNRATED_MIN_GRADE
        return _scale_of(self.selector) or self.file.best_grade or 0


def selectors(
    queries: Iterable[QueryView], criteria: GradeFilter, file: PathLike
) -> dict[GradeKey, GradeSelector]:
    """A selector for every model and prompt class whose grades pass, sorted.

    Raises :class:`SelectionError` where none do.
    """
    found = GradeSelector(criteria)
    for query in queries:
        for passage in query.passages:
            found.select(passage)
    found.check_any(str(file))
    return {
        key: GradeSelector(replace(criteria, model=key.model, prompt_class=key.prompt_class))
        for key in sorted(found.selected)
    }


@no_collections()
def read_selected(
    graded: Passages,
    bank_source: Bank | None,
    grade_filter: GradeFilter | None,
    min_grade: int | None,
    queries_source: Queries | None,
    *,
    soft: bool = False,
) -> SelectedGrades:
    """The grades that pass the filter, of the queries that are evaluated.

    Raises :class:`~exam_pp.errors.ExamError` for files and filters that cannot be used.
    """
    bank = bank_of(bank_source, packed=True) if bank_source is not None else None
    wanted = query_ids(queries_source) if queries_source is not None else None
    selector = GradeSelector(under_all_names(grade_filter or GradeFilter()))
    file = gather(views(graded), selector, bank, soft=soft)
    name = name_of(graded, "the passages")
    selector.check(str(name))
    ids = [query_id for query_id in file.graded if wanted is None or query_id in wanted]
    queries = Chosen(file.queries, ids)
    if not ids:
        source = name_of(bank_source, "the bank")
        if queries_source is not None:
            source = name_of(queries_source, "the list of queries")
        raise SelectionError(
            f"None of the queries in {source} has a passage in {name} that is graded for it."
        )
    if min_grade is None:
        min_grade = default_min_grade(selector)
    notes = _query_notes(file, queries, bank, wanted)
    if bank is not None:
        notes += _bank_notes(file, ids)
    return SelectedGrades(name, file, queries, min_grade, selector, notes, bank)


def default_min_grade(selector: GradeSelector) -> int:
    """4, or the highest grade of a shorter scale (2 for assignments: support)."""
    if not selector.rated:
        return _UNRATED_MIN_GRADE
    return min(DEFAULT_MIN_GRADE, _scale_of(selector) or DEFAULT_MIN_GRADE)


def _scale_of(selector: GradeSelector) -> int | None:
    """The highest grade of the prompt's scale; None for a prompt that is not ours."""
    prompt = PROMPTS.find(selector.key.prompt_class)
    return None if prompt is None else prompt.max_rating


def _query_notes(
    file: GradedFile, queries: Chosen[GradedQuery], bank: TestBank | None, wanted: Collection[str] | None
) -> list[str]:
    evaluated = set(queries.keys)
    expected = file.queries if bank is None else bank.queries
    ungraded = [q for q in expected if q not in evaluated and (wanted is None or q in wanted)]
    where = "file" if bank is None else "bank"
    notes = []
    if ungraded:
        words = some(ungraded, "query", "queries")
        notes.append(f"Left out: {words} of the {where} without a graded passage.")
    if bank is not None:
        unknown = [q for q in file.queries if q not in bank.queries and (wanted is None or q in wanted)]
        if unknown:
            notes.append(f"Left out: {some(unknown, 'query', 'queries')} of the file not in the bank.")
    if wanted is not None:
        absent = [q for q in wanted if q not in evaluated and q not in ungraded]
        if absent:
            notes.append(f"Left out: {some(absent, 'wanted query', 'wanted queries')} without grades.")
    return notes


def _bank_notes(file: GradedFile, query_ids: Sequence[str]) -> list[str]:
    notes = []
    never = [entry for query_id in query_ids for entry in file.never_asked.get(query_id, ())]
    foreign = [entry for query_id in query_ids for entry in file.foreign.get(query_id, ())]
    if never:
        words = some(never, "bank entry", "bank entries")
        notes.append(f"No passage has a grade for {words}: counted as not covered.")
    if foreign:
        notes.append(f"Ignored: {some(foreign, 'graded entry', 'graded entries')} not in the bank.")
    return notes


def threshold_notes(data: SelectedGrades) -> list[str]:
    """A note where the threshold is out of reach."""
    best = data.file.best_grade
    if best is None or best >= data.min_grade:
        return []
    return [f"No grade reaches {data.min_grade}; the highest is {best} (see --min-grade)."]
