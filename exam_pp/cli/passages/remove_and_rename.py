"""Removal of parts and renaming of models, prompt classes and systems in passages files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from exam_pp.data_model import ConsistencyGrade, CriteriaGrades, OfOneModel, SupportGrades, is_human
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector
from exam_pp.phases.passages.transform import Rewritten, Step
from exam_pp.raw_json import (
    RawJson,
    changed,
    decode_list,
    decode_object,
    encode_list,
    encode_object,
    encode_string,
    text_at,
)
from exam_pp.roles import System
from exam_pp.store.passages.raw_passages import RawGrades, RawPassage, RawQuery

K = TypeVar("K", str, GradeKey)

AnswerGrades = ConsistencyGrade | SupportGrades | CriteriaGrades
ANSWER_GRADES = ("consistency_grades", "support_grades", "criteria_grades")
"""The keys of a passage with grades of answers: factual consistency, support of citations, and criteria."""


@dataclass(frozen=True)
class Renaming:
    """Old name to new name, for models, prompt classes and systems."""

    models: Mapping[str, str] = field(default_factory=dict)
    prompt_classes: Mapping[str, str] = field(default_factory=dict)
    systems: Mapping[str, str] = field(default_factory=dict)

    def key(self, old: GradeKey) -> GradeKey:
        """Return the new model and prompt class of a set of grades."""
        return GradeKey(
            self.models.get(old.model, old.model),
            self.prompt_classes.get(old.prompt_class, old.prompt_class),
        )

    def of_repeats(self, repeats: Collection[tuple[str, int | None]]) -> Renaming:
        """Return a renaming that also has the names of these repeats, which grades by criteria have."""
        names = {
            str(System(old, repeat)): str(System(self.systems[old], repeat))
            for old, repeat in repeats
            if old in self.systems
        }
        return replace(self, systems={**self.systems, **names}) if names else self

    def grades(self, old: RawGrades) -> RawGrades:
        """Return a set of grades with its new model and prompt class."""
        before = GradeKey.of(old.view)
        after, new = self.key(before), old
        if after.model != before.model:
            new = new.with_value(("llm",), lambda _old: encode_string(after.model))
        if after.prompt_class != before.prompt_class:
            path = ("prompt_info", "prompt_class")
            new = new.with_value(path, lambda _old: encode_string(after.prompt_class))
        return new

    def rankings(self, old: RawJson | None) -> RawJson:
        """Return rankings with the new names of their systems."""
        return encode_list(self._with_name(ranking, "method", self.systems) for ranking in decode_list(old))

    def answer_grades(self, old: RawJson | None) -> RawJson:
        """Return grades of answers with the new names of their systems, models and prompt classes."""
        return encode_list(self._answer_grade(grade) for grade in decode_list(old))

    def _answer_grade(self, old: RawJson) -> RawJson:
        new = self._with_name(self._with_name(old, "method", self.systems), "llm", self.models)
        fields = decode_object(new)
        if "prompt_info" not in fields:  # pair scorers have no prompt
            return new
        info = self._with_name(fields["prompt_info"], "prompt_class", self.prompt_classes)
        return new if info == fields["prompt_info"] else encode_object(fields | {"prompt_info": info})

    @staticmethod
    def _with_name(old: RawJson, key: str, names: Mapping[str, str]) -> RawJson:
        new = names.get(text_at(old, key)) if key in decode_object(old) else None
        return (
            old
            if new is None
            else encode_object(changed(decode_object(old), (key,), lambda _old: encode_string(new)))
        )


def rename_step(source: str, renaming: Renaming) -> Step[RawQuery, Rewritten]:
    """Give the models, prompt classes and systems of a passages file other names.

    ``source`` is the file in messages. The check raises :class:`SelectionError` for an old name that is not
    in the file, and for a new name that would merge two graders or two systems.
    """
    keys: set[GradeKey] = set()
    systems: set[str] = set()
    models: set[str] = set()
    classes: set[str] = set()

    def change(query: RawQuery) -> RawQuery:
        for passage in query.passages:
            if renaming.models or renaming.prompt_classes:
                keys.update(GradeKey.of(grades) for grades in passage.grade_sets())
                passage.edit_grades(renaming.grades)
            of_passage = renaming
            if renaming.systems:
                of_passage = renaming.of_repeats({(r.method, r.repeat) for r in passage.rankings if r.repeat})
                methods = {ranking.method for ranking in passage.rankings}
                systems.update(methods)
                if methods & renaming.systems.keys():
                    passage.change(("paragraph_data", "rankings"), renaming.rankings)
            for key, graded in answer_grades(passage):
                models.update(grade.model for grade in graded if grade.model)
                classes.update(grade.prompt_class for grade in graded if grade.prompt_class)
                passage.change((key,), of_passage.answer_grades)
        return query

    def check(_counts: Rewritten) -> None:
        check_known(source, "model", renaming.models, models | {key.model for key in keys})
        known_classes = classes | {key.prompt_class for key in keys}
        check_known(source, "prompt class", renaming.prompt_classes, known_classes)
        check_known(source, "system", renaming.systems, systems)
        check_distinct(sorted(keys), map(renaming.key, sorted(keys)), "model and prompt class")
        new_names = (renaming.systems.get(name, name) for name in sorted(systems))
        check_distinct(sorted(systems), new_names, "system")

    return Step(change, check)


def answer_grades(
    passage: RawPassage,
) -> Iterator[tuple[str, Sequence[AnswerGrades]]]:
    """Yield the keys of a passage that hold grades of answers, with the grades."""
    for key in ANSWER_GRADES:
        # Other passages are not parsed, so that their bytes stay as they are.
        has_key = key.encode() in bytes(passage.raw) and key in passage.fields
        grades = getattr(passage.full(), key) if has_key else None
        if grades:
            yield key, grades


def check_known(source: str, noun: str, old_names: Collection[str], present: Collection[str]) -> None:
    """Raise :class:`SelectionError` for an old name that is not in the file."""
    for name in old_names:
        if name not in present:
            hint = f" It has: {', '.join(sorted(present))}." if present else ""
            raise SelectionError(f"{source} has no {noun} {name!r}.{hint}")


def check_distinct(old_names: Iterable[K], new_names: Iterable[K], noun: str) -> None:
    """Raise :class:`SelectionError` if two old names would get the same new name."""
    first: dict[K, K] = {}
    for old, new in zip(old_names, new_names, strict=True):
        if new in first:
            raise SelectionError(
                f"{first[new]} and {old} would get the same {noun}, {new}. Choose another new name."
            )
        first[new] = old


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
            self._empty(passage, "judgments", len(passage.judgments))
        if options.rankings:
            self._empty(passage, "rankings", len(passage.rankings))
        if options != StripOptions(judgments=options.judgments, rankings=options.rankings):
            passage.edit_grades(self.grades)
            for key, graded in answer_grades(passage):
                passage.change((key,), partial(self._answer_grades, graded))

    def _text(self, passage: RawPassage) -> None:
        if passage.text:
            self.dropped["texts"] += 1
            passage.set_text("")
        passage.change(("paragraph",), lambda _old: None)

    def _empty(self, passage: RawPassage, key: str, count: int) -> None:
        if count:
            self.dropped[key] += count
            passage.change(("paragraph_data", key), lambda _old: b"[]")

    def grades(self, grades: RawGrades) -> RawGrades | None:
        options = self.options
        if options.human and is_human(grades.view.model):
            self.dropped["sets of human grades"] += 1
            return None
        if options.grades is not None and options.grades.accepts(grades.view):
            self.dropped["sets of grades"] += 1
            return None
        if options.replies:
            grades = self._without_replies(grades)
        if parts := self._parts:
            path = ("llm_response_error" if grades.is_direct else "llm_response_errors",)
            grades = grades.with_value(path, partial(self._errors, parts, grades.is_direct))
        return grades

    @property
    def _parts(self) -> dict[str, str]:
        """The keys of errors to remove, and what they hold."""
        prompts = {"prompt": "prompts"} if self.options.prompts or self.options.texts else {}
        return prompts | ({"response": "replies"} if self.options.replies else {})

    def _answer_grades(self, graded: Sequence[AnswerGrades], old: RawJson | None) -> RawJson:
        """Return the grades of answers without those to remove, and without prompts and replies."""
        kept = []
        for grade, raw in zip(graded, decode_list(old), strict=True):
            if self.options.human and is_human(grade.model):
                self.dropped["sets of human grades"] += 1
            elif self.options.grades is not None and selects(self.options.grades, grade):
                self.dropped["sets of grades"] += 1
            else:
                kept.append(self._answer_grade(raw))
        return encode_list(kept)

    def _answer_grade(self, raw: RawJson) -> RawJson:
        """A grade of an answer, or one of its labels or ratings, without prompts and replies."""
        fields = decode_object(raw)
        lists = [key for key in ("supports", "ratings") if key in fields]
        if not self._parts or not (lists or fields.keys() & {"answer", "llm_response_error"}):
            return raw
        for key in lists:
            fields[key] = encode_list(map(self._answer_grade, decode_list(fields[key])))
        if self.options.replies and bytes(fields.get("answer", b"null")) not in {b"null", b'""'}:
            self.dropped["replies"] += 1
            del fields["answer"]
        if "llm_response_error" in fields:
            fields["llm_response_error"] = self._error(self._parts, fields["llm_response_error"])
        return encode_object(fields)

    def _without_replies(self, grades: RawGrades) -> RawGrades:
        fields = decode_object(grades.raw)
        for key in ("answers", "verifications"):
            replies = decode_list(fields.get(key))
            if replies:
                self.dropped["replies"] += len(replies)
                grades = grades.with_value((key,), lambda _old: b"[]")
        if "answer" in fields:
            self.dropped["replies"] += 1
            grades = grades.with_value(("answer",), lambda _old: None)
        return grades

    def _errors(self, parts: Mapping[str, str], direct: bool, old: RawJson | None) -> RawJson | None:
        """Return errors (by entry id, or of a direct grade) without the keys of ``parts``."""
        if old is None:
            return None
        if _starts_with(b"[", old):  # Old files have lists of unknown content.
            self.dropped["errors"] += len(decode_list(old))
            return b"[]" if decode_list(old) else old
        if direct or not _starts_with(b"{", old):
            return self._error(parts, old)
        before = decode_object(old)
        after = {entry: self._error(parts, error) for entry, error in before.items()}
        return old if after == before else encode_object(after)

    def _error(self, parts: Mapping[str, str], old: RawJson) -> RawJson:
        if not _starts_with(b"{", old):
            return old
        fields = decode_object(old)
        present = [key for key in parts if bytes(fields.get(key, b"null")) not in {b"null", b'""'}]
        for key in present:
            self.dropped[parts[key]] += 1
            del fields[key]
        return encode_object(fields) if present else old


def selects(criteria: GradeFilter, grade: OfOneModel) -> bool:
    """Whether a filter that is not for entries or direct grades matches a grade of an answer, or games."""
    return (
        criteria.kind is None
        and criteria.question_set is None
        and criteria.model in (None, grade.model)
        and criteria.prompt_class in (None, grade.prompt_class)
        and criteria.prompt_hash in (None, grade.prompt_hash)
    )


def _starts_with(prefix: bytes, value: RawJson) -> bool:
    return bytes(value).startswith(prefix)
