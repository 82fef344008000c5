"""The fields that metrics read, and those that the format requires, decoded with msgspec without the rest.

These classes satisfy the protocols of :mod:`exam_pp.data_model`; a property test keeps them in agreement
with the full objects. ``gc=False`` keeps the garbage collector from walking a million small objects that
hold no cycles.
"""

# ruff: noqa: D101, D102 - the protocols say what everything means

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import msgspec
from msgspec import field

from exam_pp.data_model import DIRECT_ID


class JudgmentFields(msgspec.Struct, gc=False, frozen=True):
    passage_id: str = field(name="paragraphId")
    query_id: str = field(name="query")
    relevance: int
    title_query: str = field(name="titleQuery")


class RankingFields(msgspec.Struct, gc=False, frozen=True):
    method: str
    passage_id: str = field(name="paragraphId")
    query_id: str = field(name="queryId")
    rank: int
    score: float


class DataFields(msgspec.Struct, gc=False, frozen=True):
    judgments: list[JudgmentFields] = []
    rankings: list[RankingFields] = []


class PromptFields(msgspec.Struct, gc=False, frozen=True):
    prompt_class: str | None = None
    prompt_hash: str | None = None


class RatingFields(msgspec.Struct, gc=False, frozen=True):
    self_rating: int
    question_id: str | None = None
    nugget_id: str | None = None
    probabilities: list[float] | None = None


class _Assignment(msgspec.Struct, gc=False, frozen=True):
    nugget_id: str
    assignment: str


@lru_cache
def _options(data: bytes) -> dict[str, Any] | None:
    """The same for all grades of a run; what is no object records nothing."""
    options = msgspec.json.decode(data)
    return options if isinstance(options, dict) else None


class _GradesFields(msgspec.Struct, gc=False, frozen=True):
    model: str | None = field(name="llm", default=None)
    llm_options: msgspec.Raw = msgspec.Raw(b"null")  # seldom looked at
    prompt_info: PromptFields | None = None
    prompt_type: str | None = None

    @property
    def model_options(self) -> dict[str, Any] | None:
        return _options(bytes(self.llm_options))

    @property
    def prompt_class(self) -> str | None:
        return self.prompt_info.prompt_class if self.prompt_info else None

    @property
    def prompt_hash(self) -> str | None:
        return self.prompt_info.prompt_hash if self.prompt_info else None


class RubricFields(_GradesFields, gc=False, frozen=True, kw_only=True):
    correct: list[str] = field(name="correctAnswered")
    wrong: list[str] = field(name="wrongAnswered")
    self_ratings: list[RatingFields] | None = None
    assignments: list[_Assignment] | None = None

    @property
    def is_rated(self) -> bool:
        return self.self_ratings is not None

    def entry_ratings(self) -> dict[str, int]:
        if self.self_ratings is not None:
            return {r.question_id or r.nugget_id or "": r.self_rating for r in self.self_ratings}
        return dict.fromkeys(self.wrong, 0) | dict.fromkeys(self.correct, 1)

    def graded_ids(self) -> set[str]:
        return {*self.correct, *self.wrong, *self.entry_ratings()}

    def distributions(self) -> dict[str, Sequence[float]]:
        return {
            r.question_id or r.nugget_id or "": r.probabilities
            for r in self.self_ratings or ()
            if r.probabilities is not None
        }

    def nugget_labels(self) -> list[tuple[str, str]] | None:
        if self.assignments is None:
            return None
        return [(item.nugget_id, item.assignment) for item in self.assignments]


class DirectFields(_GradesFields, gc=False, frozen=True, kw_only=True):
    correct: bool = field(name="correctAnswered")
    self_ratings: int | None = None
    llm_response_error: dict[str, Any] | None = None
    probabilities: list[float] | None = None

    @property
    def is_rated(self) -> bool:
        return self.self_ratings is not None

    def entry_ratings(self) -> dict[str, int]:
        if self.self_ratings is not None:
            return {DIRECT_ID: self.self_ratings}
        return {} if self.llm_response_error else {DIRECT_ID: int(self.correct)}

    def graded_ids(self) -> set[str]:
        return set(self.entry_ratings())

    def distributions(self) -> dict[str, Sequence[float]]:
        return {} if self.probabilities is None else {DIRECT_ID: self.probabilities}

    def nugget_labels(self) -> None:
        return None


class PassageFields(msgspec.Struct, gc=False, frozen=True):
    passage_id: str = field(name="paragraph_id")
    text: str
    paragraph_data: DataFields = DataFields()
    exam_grades: list[RubricFields] | None = None
    grades: list[DirectFields] | None = None

    @property
    def judgments(self) -> list[JudgmentFields]:
        return self.paragraph_data.judgments

    @property
    def rankings(self) -> list[RankingFields]:
        return self.paragraph_data.rankings

    def grade_sets(self) -> Iterator[RubricFields | DirectFields]:
        return chain(self.exam_grades or (), self.grades or ())


class QueryFields(msgspec.Struct, gc=False, frozen=True):
    query_id: str
    passages: list[PassageFields]
