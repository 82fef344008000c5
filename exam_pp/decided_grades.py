"""Grades that people or rules decided, and no model's reply: of reviewers, panels, and the reviewed view."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from exam_pp.banks import ASSIGNMENT_LABELS, EntryKind, label_of
from exam_pp.data_model import (
    DIRECT_ID,
    HUMAN,
    AnyGrades,
    DirectGrade,
    NuggetAssignment,
    RubricGrades,
    SelfRating,
)
from exam_pp.records import replace
from exam_pp.text.wording import counted, listed

RESOLVES = "resolves"
"""The key of the options of a person's grades with the entries on which they resolve a disagreement."""
ConsensusRule = Literal["mean", "median", "majority"]

A = TypeVar("A")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def mean(ratings: Sequence[int]) -> int:
    """The arithmetic mean, rounded to the nearest integer; halves are rounded down."""
    count = len(ratings)
    return -((count - 2 * sum(ratings)) // (2 * count))


def median(ratings: Sequence[int]) -> int:
    """The median; of an even number of ratings, the lower of the two in the middle."""
    return sorted(ratings)[(len(ratings) - 1) // 2]


def majority(ratings: Sequence[int]) -> int:
    """The most frequent rating; of several equally frequent ones, the lowest."""
    counts = Counter(ratings)
    most = max(counts.values())
    return min(rating for rating, count in counts.items() if count == most)


RULES: Mapping[ConsensusRule, Callable[[Sequence[int]], int]] = {
    "mean": mean,
    "median": median,
    "majority": majority,
}
"""Rule to its function. All rules resolve ties downwards, so that a doubtful pair is not covered."""


def consensus_ratings(
    graders: Iterable[Mapping[K, int]], rule: ConsensusRule, min_graders: int = 1
) -> dict[K, int]:
    """The consensus of several graders on every item that enough of them rated.

    ``graders``: The ratings of each grader by item. An item without a rating of a grader has no vote of it.
    """
    votes: dict[K, list[int]] = {}
    for ratings in graders:
        for item, rating in ratings.items():
            votes.setdefault(item, []).append(rating)
    combine = RULES[rule]
    return {item: combine(of_item) for item, of_item in votes.items() if len(of_item) >= min_graders}


def decided_grades(
    ratings: Mapping[str, int],
    kind: EntryKind | Literal["direct"],
    shared: Mapping[str, Any],
    *,
    is_rated: bool,
    labels: Sequence[str] = (),
    source: str | None = None,
) -> AnyGrades:
    """A set of grades with these ratings by entry, and the fields ``shared``: model, options, prompt.

    Without ``is_rated`` entries are only correct or wrong. With ``labels``, those of an assignment prompt,
    the ratings are stored as labels, too. ``source`` is recorded as the origin of each rating.
    """
    if kind == "direct":
        rating = ratings[DIRECT_ID]
        values: dict[str, Any] = {
            **shared,
            "prompt_type": "direct_grading",
            "correct": rating > 0,
            "answer": "",
            "relevance_label": rating,
        }
        if is_rated:
            values["self_ratings"] = rating
        return DirectGrade(**values)
    correct = [entry_id for entry_id, rating in ratings.items() if rating > 0]
    values = {
        **shared,
        "prompt_type": kind,
        "correct": correct,
        "wrong": [entry_id for entry_id, rating in ratings.items() if rating <= 0],
        "answers": [],
        "errors": {},
        "exam_ratio": len(correct) / len(ratings),
        "relevance_label": max(ratings.values()) if is_rated else len(correct),
    }
    if is_rated:
        origin: dict[str, Any] = {} if source is None else {"source": source}
        values["self_ratings"] = [
            replace(SelfRating(self_rating=rating, **origin), **{f"{kind}_id": entry_id})
            for entry_id, rating in ratings.items()
        ]
    if labels:
        values["assignments"] = [
            NuggetAssignment(nugget_id=entry_id, assignment=label_of(rating, labels))
            for entry_id, rating in ratings.items()
        ]
    return RubricGrades(**values)


def put(new: A, grades: Sequence[A], replaces: Callable[[A], bool]) -> list[A]:
    """Replace all grades with ``replaces(grades)`` by ``new``, at the first position, or at the end."""
    position = next((index for index, old in enumerate(grades) if replaces(old)), len(grades))
    return [*grades[:position], new, *(old for old in grades[position:] if not replaces(old))]


def merged(
    earlier: Iterable[tuple[Mapping[str, V], Mapping[str, str] | None]],
    new: Mapping[str, V],
    texts: Mapping[str, str],
) -> tuple[dict[str, V], dict[str, Any]]:
    """Values and comments of a person by key, where later values replace earlier ones and their comments.

    Returns the values, and the field of grades with the comments, if there are some.
    """
    values: dict[str, V] = {}
    comments: dict[str, str] = {}
    for later, on_them in (*earlier, (new, texts)):
        values |= later
        comments = {key: text for key, text in comments.items() if key not in later} | dict(on_them or {})
    return values, {"comments": comments} if comments else {}


@dataclass
class Review:
    """Counts of the ratings of people that stand in place of a judge's: the reviewed view of a file.

    ``people`` rated; ``rated`` pairs have a rating of theirs, ``changed`` of these differ from the judge's,
    on ``disputed`` several people disagree. ``resolved`` are pairs whose rating one of them fixed, by person.
    """

    people: dict[str, None] = field(default_factory=dict)
    rated: int = 0
    changed: int = 0
    disputed: int = 0
    resolved: Counter[str] = field(default_factory=Counter)

    def sentence(self, ratings: int) -> str:
        """What people changed of this number of ratings, for readers."""
        of_them = [f"{name} resolved {count}" for name, count in self.resolved.items()]
        text = (
            f"{self.changed} of {counted(ratings, 'rating')} changed by {self.by}, who checked {self.rated}"
            + (f"; they disagree on {self.disputed}, where the median counts" if self.disputed else "")
        )
        return f"{text}{', but' if self.disputed else ';'} {listed(of_them)}" if of_them else text

    @property
    def by(self) -> str:
        """Who rated, for readers."""
        return counted(len(self.people), "person", "people")

    def of_people(self, judged: Sequence[AnyGrades], people: Sequence[AnyGrades]) -> Iterator[AnyGrades]:
        """The grades of people on a passage, of which those of several people become one set; counts them.

        ``judged`` are the judge's grades of the passage. All have the same prompt class.
        """
        by_person: dict[str | None, list[AnyGrades]] = defaultdict(list)
        for grades in people:
            by_person[grades.model].append(grades)
        votes = [_ratings(of_person) for of_person in by_person.values()]
        rated = consensus_ratings(votes, "median")
        for grades in people:
            if resolves := (grades.model_options or {}).get(RESOLVES):
                rated |= {key: grades.entry_ratings()[key] for key in resolves}
                self.resolved[str(grades.model).removeprefix(HUMAN)] += len(resolves)
        of_judge = _ratings(judged)
        self.people.update((str(person), None) for person in by_person)
        self.rated += len(rated)
        self.changed += sum(of_judge.get(entry) != rating for entry, rating in rated.items())
        self.disputed += sum(len({vote[key] for vote in votes if key in vote}) > 1 for key in rated)
        if len(by_person) == 1 or not rated:
            yield from people
            return
        like = people[0]
        kind: EntryKind = "nugget" if like.kind == "nugget" else "question"
        yield decided_grades(
            rated,
            "direct" if isinstance(like, DirectGrade) else kind,
            {"model": like.model, "model_options": {}, "prompt_info": like.prompt_info},
            is_rated=like.is_rated,
            labels=() if like.nugget_labels() is None else ASSIGNMENT_LABELS,
        )


def _ratings(sets: Iterable[AnyGrades]) -> dict[str, int]:
    """Entry id to rating; the last rating of an entry counts."""
    ratings: dict[str, int] = {}
    for grades in sets:
        ratings.update(grades.entry_ratings())
    return ratings
