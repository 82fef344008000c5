"""Selection, removal of parts and renaming in passages files, in one pass."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from operator import is_
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import UNSET

from exam_pp.data_model import (
    AnyGrades,
    CitationSupport,
    ConsistencyGrade,
    CriteriaGrades,
    CriterionRating,
    OfOneModel,
    RankingEntry,
    SupportGrades,
    is_human,
)
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector
from exam_pp.phases.passages.filter import FilterOptions, filter_step
from exam_pp.phases.passages.transform import Rewritten, Step, in_turn, rewrite
from exam_pp.plugins import offered
from exam_pp.records import replace
from exam_pp.roles import System
from exam_pp.store.passages.raw_passages import RawPassage, RawQuery

K = TypeVar("K", str, GradeKey)
Q = TypeVar("Q")
Named = TypeVar("Named", bound="AnyGrades | AnswerGrades")

AnswerGrades = ConsistencyGrade | SupportGrades | CriteriaGrades
GRADES = ("rubric_grades", "direct_grades", "consistency_grades", "support_grades", "criteria_grades")
"""The lists of grades of a passage; the last three are of answers."""


@dataclass(frozen=True)
class Renaming:
    """Old name to new name, for models, prompt classes and systems."""

    models: Mapping[str, str] = field(default_factory=dict)
    prompt_classes: Mapping[str, str] = field(default_factory=dict)
    systems: Mapping[str, str] = field(default_factory=dict)

    def key(self, old: GradeKey) -> GradeKey:
        """Return the new model and prompt class of a grader."""
        model, prompt_class = old
        return GradeKey(self.models.get(model, model), self.prompt_classes.get(prompt_class, prompt_class))

    def of_repeats(self, repeats: Collection[tuple[str, int | None]]) -> Renaming:
        """Return a renaming that also has the names of these repeats, which grades by criteria have."""
        names = {
            str(System(old, repeat)): str(System(self.systems[old], repeat))
            for old, repeat in repeats
            if old in self.systems
        }
        return dataclasses.replace(self, systems={**self.systems, **names}) if names else self

    def grades(self, old: Named) -> Named:
        """Return grades with the new names of their model, prompt class and system."""
        key = _key_of(old)
        names = {"model": self.models.get(key.model), "system": None}
        if isinstance(old, ConsistencyGrade | CriteriaGrades):
            names["system"] = self.systems.get(old.system)
        changes: dict[str, Any] = {key: name for key, name in names.items() if name}
        if prompt_class := self.prompt_classes.get(key.prompt_class):
            changes["prompt_info"] = {**(old.prompt_info or {}), "prompt_class": prompt_class}
        return replace(old, **changes) if changes else old

    def ranking(self, old: RankingEntry) -> RankingEntry:
        """Return a ranking entry with the new name of its system."""
        return replace(old, method=self.systems[old.method]) if old.method in self.systems else old


def rename_step(source: str, renaming: Renaming) -> Step[RawQuery]:
    """Give the models, prompt classes and systems of a passages file other names.

    ``source`` is the file in messages. The check raises :class:`SelectionError` for an old name that is not
    in the file, and for a new name that would merge two graders or two systems.
    """
    keys: set[GradeKey] = set()
    systems: set[str] = set()

    def change(query: RawQuery) -> RawQuery:
        for passage in query.passages:
            of_passage = renaming
            if renaming.systems:
                # Grades of answers name a repeat as rag-run-2; only rankings have system and repeat apart.
                of_passage = renaming.of_repeats({(r.method, r.repeat) for r in passage.rankings if r.repeat})
                systems.update(ranking.method for ranking in passage.rankings)
                passage.edit("rankings", renaming.ranking)
            for name in GRADES:
                keys.update(map(_key_of, getattr(passage.view, name) or ()))
                passage.edit(name, of_passage.grades)
        if renaming.systems and (beyond := query.beyond_pool) is not None:
            renamed = [replace(r, method=renaming.systems.get(r.method, r.method)) for r in beyond.rankings]
            query.set_beyond_pool(replace(beyond, rankings=renamed))
        return query

    def check(_counts: Rewritten) -> None:
        # Only now, because an old name may be in the last line. The output appears after this check.
        models = {key.model for key in keys} - {""}
        classes = {key.prompt_class for key in keys} - {""}
        graders = {key: renaming.key(key) for key in sorted(keys)}
        check_new_names(source, renaming, models, classes, systems, graders)

    return Step(change, check)


def _key_of(grades: AnyGrades | AnswerGrades) -> GradeKey:
    """The model and the prompt class; those of answers may be empty, because pair scorers have no prompt."""
    if isinstance(grades, AnyGrades):
        return GradeKey.of(grades)
    return GradeKey(grades.model or "", grades.prompt_class or "")


def check_new_names(
    source: str,
    renaming: Renaming,
    models: Collection[str],
    prompt_classes: Collection[str],
    systems: Collection[str],
    graders: Mapping[K, K],
) -> None:
    """Raise :class:`SelectionError` for an old name that is not in the file, and for equal new names.

    ``graders``: The model and prompt class of each grader to its new ones. Both together, because two graders
    may share the new model if their prompt classes differ.
    """
    _check_known(source, "model", renaming.models, models)
    _check_known(source, "prompt class", renaming.prompt_classes, prompt_classes)
    _check_known(source, "system", renaming.systems, systems)
    _check_distinct(graders, "model and prompt class")
    _check_distinct({name: renaming.systems.get(name, name) for name in sorted(systems)}, "system")


def _check_known(source: str, noun: str, old_names: Collection[str], present: Collection[str]) -> None:
    """Raise :class:`SelectionError` for an old name that is not in the file."""
    for name in old_names:
        if name not in present:
            hint = f" It has: {', '.join(sorted(present))}." if present else ""
            raise SelectionError(f"{source} has no {noun} {name!r}.{hint}")


def _check_distinct(names: Mapping[K, K], noun: str) -> None:
    """Raise :class:`SelectionError` if two old names would get the same new name."""
    first: dict[K, K] = {}
    for old, new in names.items():
        if new in first:
            raise SelectionError(
                f"{first[new]} and {old} would get the same {noun}, {new}. Choose another new name."
            )
        first[new] = old


G = TypeVar("G", bound=AnyGrades | AnswerGrades | CitationSupport | CriterionRating)

_REPLIES = ("answers", "verifications", "answer")
"""The fields of grades, and of their labels or ratings, with texts of models."""
_PARTS = ("errors", "error", "supports", "ratings")
"""The fields with parts that may have texts of models."""


@dataclass(frozen=True)
class StripOptions:
    """The parts to remove.

    ``grades`` removes sets of grades that match the filter, ``human`` those by reviewers. ``texts`` removes
    the texts of passages and queries, their markup (``paragraph``) and ``prompts``, which failed requests
    record and which contain the texts. ``replies`` removes all text by models, which may quote passages.
    Ratings and failure reasons are kept.
    """

    grades: GradeFilter | None = None
    human: bool = False
    texts: bool = False
    prompts: bool = False
    replies: bool = False
    judgments: bool = False
    rankings: bool = False


def strip_step(source: Path, options: StripOptions, dropped: Counter[str]) -> Step[RawQuery]:
    """Remove some parts of a passages file, and count the removed parts of each type in ``dropped``.

    Required keys are kept with empty values, so the output is a valid passages file. The check raises
    :class:`SelectionError` if no grades match the grade filter.
    """
    stripper = Stripper(options, dropped)
    grades = GradeSelector(options.grades or GradeFilter())
    filters_grades = grades.filter != GradeFilter()

    def change(query: RawQuery) -> RawQuery:
        for passage in query.passages:
            if filters_grades:
                grades.select(passage)
            stripper.passage(passage)
        if (options.judgments or options.rankings) and (beyond := query.beyond_pool) is not None:
            removed: dict[str, list[Any]] = {"judgments": []} if options.judgments else {}
            removed |= {"rankings": []} if options.rankings else {}
            query.set_beyond_pool(replace(beyond, **removed))
        return query

    def check(_counts: Rewritten) -> None:
        if filters_grades and not stripper.dropped["sets of grades"]:  # grades of answers have no entries
            grades.check_any(str(source))

    return Step(change, check)


@dataclass(frozen=True)
class Stripper:
    """Removes parts, and counts the removed parts of each type in ``dropped``."""

    options: StripOptions
    dropped: Counter[str]

    def passage(self, passage: RawPassage) -> None:
        """Remove the parts of a passage."""
        options = self.options
        if options.texts:
            self._text(passage)
        if options.judgments:
            self._empty(passage, "judgments")
        if options.rankings:
            self._empty(passage, "rankings")
        if options != StripOptions(judgments=options.judgments, rankings=options.rankings):
            for name in GRADES:
                passage.edit(name, self._grade)

    def _text(self, passage: RawPassage) -> None:
        if passage.text:
            self.dropped["texts"] += 1
            passage.set_text("")
        passage.change(("paragraph",), lambda _old: None)
        passage.change(("paragraph_data", "query_text"), lambda _old: None)

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
        changes: dict[str, Any] = {}
        for name in _REPLIES if self.options.replies else ():
            reply = getattr(grade, name, None)
            if reply is not None and reply != []:
                self.dropped["replies"] += 1 if name == "answer" else len(reply)
                changes[name] = UNSET if name == "answer" else []
        for name, value in ((name, getattr(grade, name, None)) for name in _PARTS if self._parts):
            if value and (new := self._without(name, value)) is not value:
                changes[name] = new
        return replace(grade, **changes) if changes else grade

    def _without(self, name: str, value: Any) -> Any:
        """The errors, labels or ratings of grades without prompts and replies; the same object if equal."""
        if name == "error":
            return self.error(value)
        if name == "errors" and isinstance(value, list):  # old files have lists of unknown content
            self.dropped["errors"] += len(value)
            return []
        if name == "errors":
            cleaned = {entry: self.error(error) for entry, error in value.items()}
            return value if all(map(is_, cleaned.values(), value.values())) else cleaned
        new = [self._bare(item) for item in value]
        return value if all(map(is_, new, value)) else new

    def error(self, error: Any) -> Any:
        """The error of a failed request without prompts and replies; the same object if it has none."""
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


@dataclass(frozen=True)
class Changes:
    """Changes of a file, in this order: parts to keep, parts to remove, and new names.

    ``required_queries`` are those of ``keep`` that must be in the file.
    """

    keep: FilterOptions = field(default_factory=FilterOptions)
    remove: StripOptions = field(default_factory=StripOptions)
    names: Renaming = field(default_factory=Renaming)
    required_queries: Collection[str] = ()

    def needed(self, keep: Step[Q], remove: Step[Q], rename: Step[Q]) -> list[Step[Q]]:
        """The steps that change something: a filter without conditions would drop empty queries."""
        changed = (self.keep != FilterOptions(), self.remove != StripOptions(), self.names != Renaming())
        return [step for step, is_needed in zip((keep, remove, rename), changed, strict=True) if is_needed]

    def renamed(self, source: Path) -> str:
        """The name in messages of what gets new names."""
        return str(source) if self.keep == FilterOptions() else f"The selected part of {source}"


@dataclass(frozen=True)
class Changed:
    """The numbers of queries and passages, or of units of another content, and of removed parts by type."""

    rewritten: Rewritten
    removed: Counter[str]


def change_file(source: Path, output: Path, changes: Changes, *, inputs: Collection[Path] = ()) -> Changed:
    """Write a passages file or games file with the changes; unchanged parts of passages keep their bytes.

    ``inputs`` are further files that must not be overwritten. Raises
    :class:`~exam_pp.errors.SelectionError` for names that are not in the file, or if no part is kept.
    """
    # A plug-in offers the same function for files of its content; it returns None for others.
    for change in offered("filter"):
        if (result := change(source, output, changes, inputs)) is not None:
            return cast("Changed", result)
    removed: Counter[str] = Counter()
    step = in_turn(
        changes.needed(
            filter_step(source, changes.keep, changes.required_queries),
            strip_step(source, changes.remove, removed),
            rename_step(changes.renamed(source), changes.names),
        )
    )
    return Changed(rewrite(source, output, step.change, check=step.check, inputs=inputs), removed)
