"""Renaming of models, prompt classes and systems in passages files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from exam_pp.data_model import ConsistencyGrade, CriteriaGrades, SupportGrades
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeKey
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
