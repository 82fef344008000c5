"""Which grades of a passage to look at: by model, prompt class, kind and question set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from exam_pp.data_model import DIRECT_ID, LEGACY_PROMPT_CLASS, GradesView, PassageView, is_human
from exam_pp.errors import SelectionError
from exam_pp.test_bank import EntryKind
from exam_pp.wording import counted

GradeChoice = Literal["unite", "first"]
QuestionSet = Literal["tqa", "genq", "question-bank"]


class GradeKey(NamedTuple):
    """Who graded, with which prompt."""

    model: str
    prompt_class: str

    @property
    def is_person(self) -> bool:
        """Whether a reviewer graded, who rates some pairs, not all."""
        return is_human(self.model)

    @classmethod
    def of(cls, grades: GradesView, asked: GradeFilter | None = None) -> GradeKey:
        """The key under which these grades are listed and united; what they lack is what was asked for."""
        model = grades.model or (asked and asked.model) or "(no model)"
        prompt_class = grades.prompt_class
        if asked and asked.prompt_class and prompt_class in (None, *asked.also_called):
            prompt_class = asked.prompt_class
        return cls(model, prompt_class or LEGACY_PROMPT_CLASS)

    def __str__(self) -> str:
        return f"--model {self.model!r} --prompt-class {self.prompt_class!r}"


def question_set_of(entry_ids: dict[str, int]) -> QuestionSet:
    """Which kind of bank the ids come from (rule of the published implementation)."""
    first = next(iter(entry_ids), "")
    if first.startswith("NDQ_"):
        return "tqa"
    return "genq" if first.startswith("tqa2:") else "question-bank"


@dataclass(frozen=True)
class GradeFilter:
    """Criteria for grades; None accepts everything.

    A grade passes unless a set criterion contradicts it: missing metadata matches.
    ``prompt_hash`` tells versions of a prompt's words apart. ``choice="unite"`` merges entries of equal
    model and prompt class, the later rating of an entry winning; ``"first"`` takes the first matching
    entry, as the published implementation does. ``also_called`` are other names of the prompt class.
    With ``rated_only`` grades of prompts without a scale pass only where the prompt class names them, or
    direct grades are asked for (see :meth:`for_ratings`).
    """

    model: str | None = None
    prompt_class: str | None = None
    kind: Literal["question", "nugget", "direct"] | None = None
    question_set: QuestionSet | None = None
    prompt_hash: str | None = None
    choice: GradeChoice = "unite"
    also_called: tuple[str, ...] = ()
    rated_only: bool = False

    def for_ratings(self, kinds: Collection[EntryKind]) -> GradeFilter:
        """The filter for reviewing ratings, which does not accept grades of prompts without a scale.

        Args:
            kinds: Kinds of the bank's entries. A single kind selects the grades of this kind, unless the
                filter has a kind or prompt class.

        Returns:
            The new filter.
        """
        kind = self.kind
        if kind is None and self.prompt_class is None and len(kinds) == 1:
            (kind,) = kinds
        return replace(self, kind=kind, rated_only=True)

    def accepts(self, grades: GradesView) -> bool:
        """Whether the grades match all criteria.

        Args:
            grades: A set of grades of a passage.

        Returns:
            False if a criterion contradicts the grades. Missing metadata matches.
        """
        asked_for = self.prompt_class is not None or self.kind == "direct"
        if self.rated_only and not asked_for and not grades.is_rated:
            return False
        if self.model is not None and grades.model not in (None, self.model):
            return False
        classes = (None, self.prompt_class, *self.also_called)
        if self.prompt_class is not None and grades.prompt_class not in classes:
            return False
        if self.prompt_hash is not None and grades.prompt_hash not in (None, self.prompt_hash):
            return False
        if self.kind is not None and not self._kind_fits(grades):
            return False
        return self.question_set is None or question_set_of(grades.entry_ratings()) == self.question_set

    def _kind_fits(self, grades: GradesView) -> bool:
        kind = "direct" if DIRECT_ID in grades.entry_ratings() else grades.prompt_type
        return kind in (None, self.kind, f"{self.kind}_grading")


@dataclass(slots=True)
class _Alike:
    """Grades that look alike to a filter: whether they pass, and how many there were."""

    key: GradeKey
    accepted: bool
    is_rated: bool
    prompt_hash: str | None
    count: int = 0


@dataclass
class GradeSelector:
    """Applies a filter passage by passage and notices when it selects nothing, or too much.

    Use :meth:`ratings` for every passage of the file and :meth:`check` at the end.
    """

    filter: GradeFilter
    _found: dict[tuple[object, ...], _Alike] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self._looks_at_entries = self.filter.kind is not None or self.filter.question_set is not None

    def select(self, passage: PassageView) -> list[GradesView]:
        """The passage's grade sets that pass, in file order."""
        chosen: list[GradesView] = []
        found = self._found
        for grades in passage.grade_sets():
            look: tuple[object, ...] = (
                grades.model,
                grades.prompt_class,
                grades.prompt_hash,
                grades.is_rated,
            )
            if self._looks_at_entries:
                look = (*look, self.filter.accepts(grades))
            alike = found.get(look)
            if alike is None:  # decided once for all that look alike to the filter
                key, accepted = GradeKey.of(grades, self.filter), self.filter.accepts(grades)
                alike = found[look] = _Alike(key, accepted, grades.is_rated, grades.prompt_hash)
            alike.count += 1
            if alike.accepted:
                chosen.append(grades)
        return chosen[:1] if self.filter.choice == "first" else chosen

    @property
    def seen(self) -> Counter[GradeKey]:
        """How many passages have grades of each key."""
        return self._counted(self._found.values())

    @property
    def selected(self) -> Counter[GradeKey]:
        """As :attr:`seen`, of the grades that passed."""
        return self._counted(self._accepted())

    @property
    def rated(self) -> bool:
        """Whether selected grades have levels beyond correct and wrong."""
        return any(alike.is_rated for alike in self._accepted())

    @property
    def hashes(self) -> set[str]:
        """The hashes of the prompts' words of the selected grades."""
        return {alike.prompt_hash for alike in self._accepted() if alike.prompt_hash is not None}

    def _accepted(self) -> Iterator[_Alike]:
        return (alike for alike in self._found.values() if alike.accepted)

    def _counted(self, kinds: Iterable[_Alike]) -> Counter[GradeKey]:
        counts: Counter[GradeKey] = Counter()
        for alike in kinds:
            counts[alike.key] += alike.count
        return counts

    def ratings(self, passage: PassageView) -> dict[str, int]:
        """Entry id to rating of the selected grades, united."""
        united: dict[str, int] = {}
        for grades in self.select(passage):
            united.update(grades.entry_ratings())
        return united

    def check(self, file: str) -> None:
        """Raise :class:`SelectionError` if nothing, or more than one kind of grade, was selected."""
        self._check(file, len(self.selected))

    def check_prompt_class(self, file: str) -> None:
        """As :meth:`check`, but grades of several models are fine, as long as they had one prompt."""
        self._check(file, len({key.prompt_class for key in self.selected}))

    def check_any(self, file: str) -> None:
        """Raise :class:`SelectionError` if nothing was selected."""
        if not self.seen:
            raise SelectionError(f"{file} holds no grades; run `exam-pp grade` first.")
        if not self.selected:
            raise SelectionError(f"No grades in {file} match the filter; it holds: {_listing(self.seen)}.")

    def _check(self, file: str, sets: int) -> None:
        self.check_any(file)
        if sets > 1:
            raise SelectionError(
                f"The filter matches {len(self.selected)} sets of grades in {file}; choose one of: "
                f"{_listing(self.selected)}."
            )
        if len(self.hashes) > 1 and self.filter.choice == "unite":
            raise SelectionError(
                f"The grades in {file} were made with {len(self.hashes)} versions of the prompt's words; "
                f"choose one with --prompt-hash: {', '.join(sorted(self.hashes))}."
            )

    @property
    def key(self) -> GradeKey:
        """The one selected pair, after :meth:`check`."""
        return next(iter(self.selected))


def _listing(keys: Counter[GradeKey]) -> str:
    return "; ".join(f"{key} ({counted(count, 'passage')})" for key, count in sorted(keys.items()))


def grader_names(keys: Sequence[GradeKey]) -> Callable[[GradeKey], str]:
    """What tells the graders apart: the prompt class, the model, or both."""
    if len({key.model for key in keys}) == 1:
        return lambda key: key.prompt_class
    if len({key.prompt_class for key in keys}) == 1:
        return lambda key: key.model
    return lambda key: f"{key.model} {key.prompt_class}"
