"""Members of a panel: graders of a file whose ratings have the same scale."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from exam_pp.banks import EntryKind
from exam_pp.data_model import DIRECT_ID, AnyGrades, QueryView, is_consensus
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import with_aliases
from exam_pp.text.wording import listed

MIXED_CLASS = "PanelConsensus"
"""Prompt class of a consensus of graders with several prompt classes."""

MIN_GRADERS = 2
"""The default number of graders that must have rated a pair."""

Kind = Literal["question", "nugget", "direct"]


@dataclass(frozen=True)
class PanelMembers:
    """The graders of a panel, models before reviewers, and what their ratings have in common.

    ``kind``: Kind of the graded entries; ``direct`` for passages as a whole; None if it is unknown.
    ``is_rated``: Whether the grades are on a scale, not only correct or wrong. ``highest``: The highest
    rating of the scale; None if it is unknown.
    """

    selectors: Mapping[GradeKey, GradeSelector]
    kind: Kind | None
    prompt_class: str
    is_rated: bool
    highest: int | None
    assigns: bool

    @property
    def keys(self) -> list[GradeKey]:
        """The graders."""
        return list(self.selectors)

    @property
    def entry_kind(self) -> EntryKind | None:
        """The kind of the graded bank entries; None for direct grades, or if it is unknown."""
        return None if self.kind == "direct" else self.kind


def panel_members(
    queries: Iterable[QueryView],
    criteria: GradeFilter,
    source: PathLike,
    *,
    graders: Collection[str] = (),
    prompt_classes: Collection[str] = (),
    without: str | None = None,
) -> PanelMembers:
    """Choose the graders of a panel.

    A grader is a model or a reviewer, with a prompt class. A stored consensus is a member only if ``graders``
    names it.

    ``criteria``: Further criteria for the grades; without a model and a prompt class.
    """
    chosen_classes = {_canonical(name) for name in prompt_classes}
    # Grades without ratings have another scale, so they are members only if their class is named.
    criteria = replace(criteria, rated_only=criteria.rated_only or not chosen_classes)
    known: list[tuple[GradeKey, AnyGrades]] = []
    for query in queries:
        for passage in query.passages:
            for grades in passage.grade_sets():
                model, prompt_class = GradeKey.of(grades)
                if model != without and (model in graders or not is_consensus(grades)):
                    known.append((GradeKey(model, _canonical(prompt_class)), grades))
    # Before the selection, because messages list all graders of the file.
    of_file = {key for key, _ in known}
    _check_chosen(graders, chosen_classes, of_file, source)
    sets: dict[str, list[AnyGrades]] = {}
    keys: set[GradeKey] = set()
    for key, grades in known:
        of_class = not chosen_classes or key.prompt_class in chosen_classes
        if of_class and (not graders or key.model in graders) and criteria.accepts(grades):
            keys.add(key)
            sets.setdefault(key.prompt_class, []).append(grades)
    if not sets:
        raise SelectionError(f"No grades in {source} match the filter; {_listing(of_file)}.")
    scales = {name: _scale(name, of_class) for name, of_class in sorted(sets.items())}
    # An unknown kind or highest rating equals no other, not even an unknown one.
    if len(scales) > 1 and (len(set(scales.values())) > 1 or None in next(iter(scales.values()))):
        scaled = listed([f"{name} ({_described(*scale)})" for name, scale in scales.items()], "; ")
        raise SelectionError(
            f"The prompts of the graders in {source} have different scales; choose with --prompt: {scaled}."
        )
    kind, is_rated, highest = next(iter(scales.values()))
    ordered = sorted(keys, key=lambda key: (key.is_reviewer, key))
    return PanelMembers(
        {
            key: GradeSelector(
                with_aliases(replace(criteria, model=key.model, prompt_class=key.prompt_class))
            )
            for key in ordered
        },
        kind,
        next(iter(sets)) if len(sets) == 1 else MIXED_CLASS,
        is_rated,
        highest,
        all(grades.nugget_labels() is not None for of_class in sets.values() for grades in of_class),
    )


def _canonical(prompt_class: str) -> str:
    """The present name of a prompt class that may be an alias."""
    prompt = PROMPTS.find(prompt_class)
    return prompt_class if prompt is None else prompt.name


def _scale(prompt_class: str, sets: Sequence[AnyGrades]) -> tuple[Kind | None, bool, int | None]:
    """Kind of the sets of grades with a prompt class, whether there is a scale, and its highest rating."""
    kind = _kind(sets[0])
    if not any(grades.is_rated for grades in sets):
        return kind, False, 1
    prompt = PROMPTS.find(prompt_class)
    known = prompt.max_rating if prompt is not None else None
    return kind, True, known or max(grades.max_rating or 0 for grades in sets) or None


def _kind(grades: AnyGrades) -> Kind | None:
    if grades.prompt_type == "direct_grading" or DIRECT_ID in grades.entry_ratings():
        return "direct"
    if grades.prompt_type in ("question", "nugget"):
        return "nugget" if grades.prompt_type == "nugget" else "question"
    prompt = PROMPTS.find(GradeKey.of(grades).prompt_class)
    return None if prompt is None else prompt.entry_kind


def _described(kind: Kind | None, is_rated: bool, highest: int | None) -> str:
    of = "entries of an unknown kind" if kind is None else "direct" if kind == "direct" else f"{kind}s"
    scale = (
        "right or wrong" if not is_rated else f"0 to {'an unknown rating' if highest is None else highest}"
    )
    return f"{of}, {scale}"


def _check_chosen(
    graders: Collection[str], prompt_classes: Collection[str], known: Collection[GradeKey], source: PathLike
) -> None:
    if not known:
        raise SelectionError(f"{source} has no grades; run `exam-pp grade` first.")
    models = {key.model for key in known}
    classes = {key.prompt_class for key in known}
    for option, names, have in (("--grader", graders, models), ("--prompt", prompt_classes, classes)):
        absent = [name for name in names if name not in have]
        if absent:
            raise SelectionError(f"{source} has no grades by {option} {absent[0]!r}; {_listing(known)}.")


def _listing(known: Collection[GradeKey]) -> str:
    return f"it has those of {listed([str(key) for key in sorted(known)], '; ')}"
