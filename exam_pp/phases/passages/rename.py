"""Other names for models, prompt classes and systems, all through a passages file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeKey
from exam_pp.phases.passages.transform import Rewritten, rewrite
from exam_pp.store.passages.raw_json import (
    RawJson,
    changed,
    fields_of,
    joined,
    list_of,
    record_of,
    text_at,
    text_of,
)
from exam_pp.store.passages.raw_passages import RawGrades, RawQuery

K = TypeVar("K", str, GradeKey)


@dataclass(frozen=True)
class Renaming:
    """New names by old ones."""

    models: Mapping[str, str] = field(default_factory=dict)
    prompt_classes: Mapping[str, str] = field(default_factory=dict)
    systems: Mapping[str, str] = field(default_factory=dict)

    def key(self, old: GradeKey) -> GradeKey:
        """The new name of a set of grades."""
        return GradeKey(
            self.models.get(old.model, old.model),
            self.prompt_classes.get(old.prompt_class, old.prompt_class),
        )

    def grades(self, old: RawGrades) -> RawGrades:
        """A set of grades under its new name."""
        before = GradeKey.of(old.view)
        after, new = self.key(before), old
        if after.model != before.model:
            new = new.with_value(("llm",), lambda _old: text_of(after.model))
        if after.prompt_class != before.prompt_class:
            path = ("prompt_info", "prompt_class")
            new = new.with_value(path, lambda _old: text_of(after.prompt_class))
        return new

    def rankings(self, old: RawJson | None) -> RawJson:
        """Rankings under their new names."""
        return joined(self._ranking(ranking) for ranking in list_of(old))

    def _ranking(self, old: RawJson) -> RawJson:
        new = self.systems.get(text_at(old, "method"))
        return (
            old if new is None else record_of(changed(fields_of(old), ("method",), lambda _old: text_of(new)))
        )


def rename_file(source: Path, output: Path, renaming: Renaming) -> Rewritten:
    """Write a passages file with other names.

    Raises :class:`SelectionError` for an old name that the file does not have, and for a new one under
    which two sets of grades, or two systems, would become one.
    """
    keys: set[GradeKey] = set()
    systems: set[str] = set()

    def change(query: RawQuery) -> RawQuery:
        for passage in query.passages:
            if renaming.models or renaming.prompt_classes:
                keys.update(GradeKey.of(grades) for grades in passage.grade_sets())
                passage.edit_grades(renaming.grades)
            if renaming.systems:
                methods = {ranking.method for ranking in passage.rankings}
                systems.update(methods)
                if methods & renaming.systems.keys():
                    passage.change(("paragraph_data", "rankings"), renaming.rankings)
        return query

    def check(_counts: Rewritten) -> None:
        _check_known(source, "model", renaming.models, {key.model for key in keys})
        _check_known(source, "prompt class", renaming.prompt_classes, {key.prompt_class for key in keys})
        _check_known(source, "system", renaming.systems, systems)
        _check_distinct(sorted(keys), map(renaming.key, sorted(keys)), "sets of grades")
        new_names = (renaming.systems.get(name, name) for name in sorted(systems))
        _check_distinct(sorted(systems), new_names, "systems")

    return rewrite(source, output, change, check=check)


def _check_known(source: Path, what: str, wanted: Collection[str], found: Collection[str]) -> None:
    for name in wanted:
        if name not in found:
            listed = ", ".join(sorted(found)) or "none"
            raise SelectionError(f"{source} has no {what} {name!r}; it has: {listed}.")


def _check_distinct(old_names: Iterable[K], new_names: Iterable[K], what: str) -> None:
    first: dict[K, K] = {}
    for old, new in zip(old_names, new_names, strict=True):
        if new in first:
            raise SelectionError(
                f"Two {what} would become one, {new}: {first[new]} and {old}; choose another new name."
            )
        first[new] = old
