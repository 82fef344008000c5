"""Selection of grades by model, prompt class, kind and question set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Literal, NamedTuple

from exam_pp.banks import EntryKind
from exam_pp.data_model import (
    DIRECT_ID,
    LEGACY_PROMPT_CLASS,
    AnyGrades,
    OfOneModel,
    PassageView,
    is_human,
)
from exam_pp.decided_grades import Review
from exam_pp.errors import SelectionError
from exam_pp.judges import REVIEWED
from exam_pp.text.wording import counted

GradeChoice = Literal["merge", "first"]
QuestionSet = Literal["tqa", "genq", "question-bank"]


class GradeKey(NamedTuple):
    """The model (or reviewer) and the prompt class of a set of grades."""

    model: str
    prompt_class: str

    @property
    def is_reviewer(self) -> bool:
        """Whether the grader is a reviewer; reviewers may rate only some of the pairs."""
        return is_human(self.model)

    @classmethod
    def of(cls, grades: AnyGrades, criteria: GradeFilter | None = None) -> GradeKey:
        """Return the key under which grades are listed and merged.

        If the model or the prompt class is not recorded, or recorded under an alias, that of ``criteria`` is
        used. Without one, they are ``(no model)`` and :data:`LEGACY_PROMPT_CLASS`.
        """
        model = grades.model or (criteria and criteria.model) or "(no model)"
        prompt_class = grades.prompt_class
        if criteria and criteria.prompt_class and prompt_class in (None, *criteria.also_called):
            prompt_class = criteria.prompt_class
        return cls(model, prompt_class or LEGACY_PROMPT_CLASS)

    @property
    def judge(self) -> str:
        """The model, also of a reviewed view."""
        return self.model.removeprefix(REVIEWED)

    def __str__(self) -> str:
        return f"--grader {self.model!r} --prompt {self.prompt_class!r}"


def question_set_of(entry_ids: dict[str, int]) -> QuestionSet:
    """Infer the question set from the first entry id, as the published implementation does."""
    first_id = next(iter(entry_ids), "")
    if first_id.startswith("NDQ_"):
        return "tqa"
    return "genq" if first_id.startswith("tqa2:") else "question-bank"


@dataclass(frozen=True)
class GradeFilter:
    """Criteria for grades; a criterion that is None accepts all grades.

    Grades whose metadata is missing in the file match every criterion on it.

    Attributes:
        model: Name of the model, or ``human:NAME``.
        prompt_class: Name of the prompt.
        kind: Kind of the graded entries; ``direct`` for grades of the passage itself.
        question_set: Origin of the entry ids, see :func:`question_set_of`.
        prompt_hash: Hash of the prompt template; selects one of several versions of the prompt.
        choice: ``"merge"`` merges all matching sets of grades of a passage, and the last rating of an entry
            counts; ``"first"`` takes the first matching set, as the published implementation does.
        also_called: Other names of the prompt class in files.
        rated_only: Reject grades without ratings (correct or wrong only), unless ``prompt_class`` or
            ``kind="direct"`` selects them.
        reviewed: Select the reviewed view: the grades of the model, and in their place those of people with
            the same prompt class where there are some.
    """

    model: str | None = None
    prompt_class: str | None = None
    kind: Literal["question", "nugget", "direct"] | None = None
    question_set: QuestionSet | None = None
    prompt_hash: str | None = None
    choice: GradeChoice = "merge"
    also_called: tuple[str, ...] = ()
    rated_only: bool = False
    reviewed: bool = False

    @property
    def for_scores(self) -> GradeFilter:
        """The filter of what scores or shows: the reviewed view, unless it selects a judge alone."""
        if self.model is None:
            return replace(self, reviewed=True)
        if self.model.startswith(REVIEWED):
            return replace(self, model=self.model.removeprefix(REVIEWED), reviewed=True)
        return self

    def for_ratings(self, kinds: Collection[EntryKind]) -> GradeFilter:
        """A copy of the filter that accepts only ratings, for reviewing.

        Args:
            kinds: Kinds of the bank's entries. A single kind selects the grades of this kind, unless the
                filter has a kind or prompt class.

        Returns:
            The new filter, with ``rated_only``.
        """
        kind = self.kind
        if kind is None and self.prompt_class is None and len(kinds) == 1:
            (kind,) = kinds
        return replace(self, kind=kind, rated_only=True)

    def accepts(self, grades: AnyGrades) -> bool:
        """Whether the grades match all criteria.

        Args:
            grades: A set of grades of a passage.

        Returns:
            False if a criterion contradicts the grades. Missing metadata matches.
        """
        selects_unrated = self.prompt_class is not None or self.kind == "direct"
        if self.rated_only and not selects_unrated and not grades.is_rated:
            return False
        in_place = self.reviewed and is_human(grades.model)
        if self.model is not None and not in_place and grades.model not in (None, self.model):
            return False
        classes = (None, self.prompt_class, *self.also_called)
        if self.prompt_class is not None and grades.prompt_class not in classes:
            return False
        if self.prompt_hash is not None and grades.prompt_hash not in (None, self.prompt_hash):
            return False
        if self.kind is not None and not self._matches_kind(grades):
            return False
        return self.question_set is None or question_set_of(grades.entry_ratings()) == self.question_set

    def _matches_kind(self, grades: AnyGrades) -> bool:
        kind = "direct" if DIRECT_ID in grades.entry_ratings() else grades.prompt_type
        return kind in (None, self.kind, f"{self.kind}_grading")


@dataclass(slots=True)
class _GradeGroup:
    """Grades with equal metadata: the position of the group, and whether the filter accepts them."""

    number: int
    key: GradeKey
    accepted: bool
    is_rated: bool
    prompt_hash: str | None
    max_rating: int | None


@dataclass
class GradeSelector:
    """Apply a filter passage by passage, and count the grades that it accepts and rejects.

    Call :meth:`ratings` for every passage of the file and :meth:`check` at the end.
    """

    filter: GradeFilter
    review: Review = field(default_factory=Review, init=False)
    _groups: dict[tuple[object, ...], _GradeGroup] = field(default_factory=dict, init=False, repr=False)
    _passages: Counter[tuple[int, ...]] = field(default_factory=Counter, init=False, repr=False)
    """Number of passages by the groups of their sets of grades; few combinations occur."""

    def __post_init__(self) -> None:
        self._depends_on_entries = self.filter.kind is not None or self.filter.question_set is not None

    def select(self, passage: PassageView) -> list[AnyGrades]:
        """Return the passage's sets of grades that match the filter, in file order."""
        selected: list[AnyGrades] = []
        groups = self._groups
        numbers: list[int] = []
        for grades in passage.grade_sets():
            metadata: tuple[object, ...] = (
                grades.model,
                grades.prompt_record,
                grades.is_rated,
                self._depends_on_entries and self.filter.accepts(grades),
            )
            group = groups.get(metadata)
            if group is None:  # for speed, the filter is applied once per group
                key, accepted = GradeKey.of(grades, self.filter), self.filter.accepts(grades)
                group = groups[metadata] = _GradeGroup(
                    len(groups), key, accepted, grades.is_rated, grades.prompt_hash, grades.max_rating
                )
            numbers.append(group.number)
            if group.accepted:
                selected.append(grades)
        self._passages[tuple(numbers)] += 1
        people = [grades for grades in selected if self.filter.reviewed and is_human(grades.model)]
        if people:
            selected = [grades for grades in selected if not is_human(grades.model)]
        if self.filter.choice == "first":
            selected = selected[:1]
        if not people:
            return selected
        return [*selected, *self._in_place(selected, people)]  # the last rating of an entry counts

    def _in_place(self, judged: Sequence[AnyGrades], people: Sequence[AnyGrades]) -> Iterator[AnyGrades]:
        """The grades of people, by prompt class, for those of the judge."""
        for name in dict.fromkeys(self._prompt_class(grades) for grades in people):
            yield from self.review.of_people(
                [grades for grades in judged if self._prompt_class(grades) == name],
                [grades for grades in people if self._prompt_class(grades) == name],
            )

    def _prompt_class(self, grades: AnyGrades) -> str:
        return GradeKey.of(grades, self.filter).prompt_class

    @property
    def seen(self) -> Counter[GradeKey]:
        """Number of sets of grades by key; a passage usually has one set of a key."""
        return self._counted(self._groups.values())

    @property
    def selected(self) -> Counter[GradeKey]:
        """Number of sets of grades that match the filter, by key."""
        return self._counted(self._accepted())

    @property
    def judges(self) -> list[GradeKey]:
        """The graders with selected grades, without the people whose ratings stand in place of a judge's."""
        keys = list(self.selected)
        return judges_of(keys) if self.filter.reviewed else keys

    @property
    def rated(self) -> bool:
        """Whether any selected grades are on a scale, not only correct or wrong."""
        return any(group.is_rated for group in self._accepted())

    @property
    def max_rating(self) -> int | None:
        """The highest rating of the scale that the selected grades record; None if they record none."""
        recorded = (group.max_rating for group in self._accepted() if group.max_rating is not None)
        return max(recorded, default=None)

    @property
    def hashes(self) -> set[str]:
        """The hashes of the prompt templates of the selected grades."""
        return {group.prompt_hash for group in self._accepted() if group.prompt_hash is not None}

    def _accepted(self) -> Iterator[_GradeGroup]:
        return (group for group in self._groups.values() if group.accepted)

    def _counted(self, groups: Iterable[_GradeGroup]) -> Counter[GradeKey]:
        # A passage with several sets of grades by the same model and prompt counts once.
        keys = {group.number: group.key for group in groups}
        counts: Counter[GradeKey] = Counter()
        for numbers, passages in self._passages.items():
            for key in dict.fromkeys(keys[number] for number in numbers if number in keys):
                counts[key] += passages
        return counts

    def ratings(self, passage: PassageView) -> dict[str, int]:
        """Return entry id to rating of the selected grades; the last rating of an entry counts."""
        ratings: dict[str, int] = {}
        for grades in self.select(passage):
            ratings.update(grades.entry_ratings())
        return ratings

    def check_any(self, file: str) -> None:
        """Raise SelectionError if no grades are selected."""
        if not self.seen:
            raise SelectionError(f"{file} has no grades; run `exam-pp grade` first.")
        if not self.selected:
            raise SelectionError(
                f"No grades in {file} match the filter. The file has grades of: {_listing(self.seen)}."
            )

    def check(self, file: str, *, prompts_only: bool = False) -> None:
        """Raise SelectionError unless the selected grades have exactly one model and one prompt.

        With ``prompts_only``, models may differ.
        """
        self.check_any(file)
        options = self._options(prompts_only=prompts_only)
        if len(options) > 1:
            raise SelectionError(
                f"{file} has {len(options)} sets of grades; choose one: {' or '.join(options)}."
            )
        if self.filter.choice == "merge":
            versions = f"{len(self.hashes)} versions of the prompt"
            check_one(sorted(self.hashes), f"The grades in {file} were made with {versions}", "--grades hash")

    def _options(self, *, prompts_only: bool) -> list[str]:
        """The options that select each of the judges, without those that all of them share."""
        judges = sorted(self.judges)
        prefix = REVIEWED if len(judges) < len(self.selected) else ""
        models = not prompts_only and len({key.model for key in judges}) > 1
        prompts = len({key.prompt_class for key in judges}) > 1
        options = [
            (f"--grader {quote(prefix + key.model)} " if models else "")
            + (f"--prompt {quote(key.prompt_class)}" if prompts else "")
            for key in judges
        ]
        return list(dict.fromkeys(option.strip() for option in options))

    @property
    def key(self) -> GradeKey:
        """The key of the selected grades; with ratings of people in their place, it has :data:`REVIEWED`.

        Call :meth:`check` first: it ensures that there is one key.
        """
        judge = self.judges[0]
        return judge._replace(model=f"{REVIEWED}{judge.model}") if self.review.rated else judge


def judges_of(keys: Iterable[GradeKey]) -> list[GradeKey]:
    """The keys without those of people who rated with the prompt class of a judge."""
    graders = list(keys)
    judged = {key.prompt_class for key in graders if not key.is_reviewer}
    return [key for key in graders if not (key.is_reviewer and key.prompt_class in judged)]


def check_one(choices: Collection[object], subject: str, option: str = "") -> None:
    """Raise :class:`SelectionError` for several choices of a subject, one of which ``option`` chooses."""
    if len(choices) > 1:
        how = f"choose one with {option}" if option else "choose one"
        listed = (", " if option else "; ").join(map(str, choices))
        raise SelectionError(f"{subject}; {how}: {listed}.")


def _listing(keys: Counter[GradeKey]) -> str:
    return "; ".join(f"{key} ({counted(count, 'passage')})" for key, count in sorted(keys.items()))


def grader_names(keys: Sequence[GradeKey]) -> Callable[[GradeKey], str]:
    """Return a function that names a grader by prompt class, model or both, as needed to distinguish them."""
    if len({key.model for key in keys}) == 1:
        return lambda key: key.prompt_class
    if len({key.prompt_class for key in keys}) == 1:
        return lambda key: key.model
    return lambda key: f"{key.model} {key.prompt_class}"


@dataclass(frozen=True)
class AnswerFilter:
    """Selection of grades of citations or answers, or of games; None accepts all.

    Attributes:
        model: Name of the model, or ``human:NAME`` for a reviewer.
        prompt_class: Name of the prompt.
        prompt_hash: Hash of the prompt's text.
        systems: Names of the systems; empty for all.
    """

    model: str | None = None
    prompt_class: str | None = None
    prompt_hash: str | None = None
    systems: Collection[str] = ()

    def accepts(self, grades: OfOneModel) -> bool:
        """Whether the grades match all conditions except that on systems.

        Args:
            grades: The grades of a part of an answer, of a whole answer, or the games, by one grader.

        Returns:
            True if no condition contradicts the grades.
        """
        return (
            self.model in (None, grades.model)
            and self.prompt_class in (None, grades.prompt_class)
            and self.prompt_hash in (None, grades.prompt_hash)
        )

    def selects(self, *names: str) -> bool:
        """Whether a system is selected by one of its names, with or without its repeat.

        Args:
            names: The names of the system.

        Returns:
            True if all systems are selected, or this one.
        """
        return not self.systems or not set(names).isdisjoint(self.systems)
