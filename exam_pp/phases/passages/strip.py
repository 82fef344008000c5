"""Removal of grades, texts, prompts, replies, judgments or rankings from passages files, for sharing them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from operator import is_
from pathlib import Path
from typing import Any, TypeVar

from msgspec import UNSET

from exam_pp.data_model import AnyGrades, CitationSupport, CriterionRating, DirectGrade, OfOneModel, is_human
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.phases.passages.rename import AnswerGrades, answer_grades
from exam_pp.phases.passages.transform import Rewritten, Step
from exam_pp.records import is_set, replace
from exam_pp.store.passages.raw_passages import RawPassage, RawQuery

G = TypeVar("G", bound=AnyGrades | AnswerGrades | CitationSupport | CriterionRating)

_PARTS = ("answers", "verifications", "answer", "errors", "error", "supports", "ratings")
"""The fields of grades, and of their labels or ratings, that have texts of models, or such parts."""


@dataclass(frozen=True)
class StripOptions:
    """The parts to remove.

    ``grades`` removes sets of grades that match the filter, ``human`` those by reviewers. ``texts`` removes
    the texts of passages, their markup (``paragraph``) and ``prompts``, which failed requests record and
    which contain the texts. ``replies`` removes all text by models, which may quote passages. Ratings and
    failure reasons are kept.
    """

    grades: GradeFilter | None = None
    human: bool = False
    texts: bool = False
    prompts: bool = False
    replies: bool = False
    judgments: bool = False
    rankings: bool = False


def strip_step(source: Path, options: StripOptions, dropped: Counter[str]) -> Step[RawQuery, Rewritten]:
    """Remove some parts of a passages file, and count the removed parts of each type in ``dropped``.

    Required keys are kept with empty values, so the output is a valid passages file. The check raises
    :class:`SelectionError` if no grades match the grade filter.
    """
    stripper = _Stripper(options, dropped)
    grades = GradeSelector(options.grades or GradeFilter())
    filters_grades = grades.filter != GradeFilter()

    def change(query: RawQuery) -> RawQuery:
        for passage in query.passages:
            if filters_grades:
                grades.select(passage)
            stripper.passage(passage)
        return query

    def check(_counts: Rewritten) -> None:
        if filters_grades and not stripper.dropped["sets of grades"]:  # grades of answers have no entries
            grades.check_any(str(source))

    return Step(change, check)


@dataclass(frozen=True)
class _Stripper:
    options: StripOptions
    dropped: Counter[str]

    def passage(self, passage: RawPassage) -> None:
        options = self.options
        if options.texts:
            self._text(passage)
        if options.judgments:
            self._empty(passage, "judgments")
        if options.rankings:
            self._empty(passage, "rankings")
        if options != StripOptions(judgments=options.judgments, rankings=options.rankings):
            for name in ("rubric_grades", "direct_grades", *(name for name, _ in answer_grades(passage))):
                passage.edit(name, self._grade)

    def _text(self, passage: RawPassage) -> None:
        if passage.text:
            self.dropped["texts"] += 1
            passage.set_text("")
        passage.change(("paragraph",), lambda _old: None)

    def _empty(self, passage: RawPassage, name: str) -> None:
        self.dropped.update([name] * len(getattr(passage, name)))
        passage.edit(name, lambda _record: None)

    def _grade(self, grade: AnyGrades | AnswerGrades) -> AnyGrades | AnswerGrades | None:
        """A set of grades without prompts and replies; None if it is removed."""
        chosen = self.options.grades
        if self.options.human and is_human(grade.model):
            self.dropped["sets of human grades"] += 1
            return None
        if chosen is not None and (
            chosen.accepts(grade) if isinstance(grade, AnyGrades) else selects(chosen, grade)
        ):
            self.dropped["sets of grades"] += 1
            return None
        return self._bare(grade)

    @property
    def _parts(self) -> dict[str, str]:
        """The keys of errors to remove, and what they hold."""
        prompts = {"prompt": "prompts"} if self.options.prompts or self.options.texts else {}
        return prompts | ({"response": "replies"} if self.options.replies else {})

    def _bare(self, grade: G) -> G:
        """Grades, or one of their labels or ratings, without prompts and replies."""
        if not self._parts:
            return grade
        values = {name: getattr(grade, name, None) for name in _PARTS}
        new = {name: self._without(name, value) for name, value in values.items() if value}
        if self.options.replies and isinstance(grade, DirectGrade) and is_set(grade, "answer"):
            self.dropped["replies"] += not grade.answer  # others are counted
            new["answer"] = UNSET
        changes = {name: value for name, value in new.items() if value is not values[name]}
        return replace(grade, **changes) if changes else grade

    def _without(self, name: str, value: Any) -> Any:
        """The value of a field without prompts and replies."""
        if name in {"supports", "ratings"}:
            new = [self._bare(item) for item in value]
            return value if all(map(is_, new, value)) else new
        if name == "error":
            return self._error(value)
        if name == "errors":
            return self._errors(value)
        if not self.options.replies:
            return value
        self.dropped["replies"] += 1 if name == "answer" else len(value)
        return UNSET if name == "answer" else []

    def _errors(self, errors: Any) -> Any:
        """Errors by entry id without prompts and replies; old files have lists of unknown content."""
        if isinstance(errors, list):
            self.dropped["errors"] += len(errors)
            return []
        new = {entry: self._error(error) for entry, error in errors.items()}
        return errors if all(new[entry] is error for entry, error in errors.items()) else new

    def _error(self, error: Any) -> Any:
        if not isinstance(error, dict):
            return error
        present = [key for key in self._parts if error.get(key) not in (None, "")]
        self.dropped.update(self._parts[key] for key in present)
        return {key: value for key, value in error.items() if key not in present} if present else error


def selects(criteria: GradeFilter, grade: OfOneModel) -> bool:
    """Whether a filter that is not for entries or direct grades matches a grade of an answer, or games."""
    return (
        criteria.kind is None
        and criteria.question_set is None
        and criteria.model in (None, grade.model)
        and criteria.prompt_class in (None, grade.prompt_class)
        and criteria.prompt_hash in (None, grade.prompt_hash)
    )
