"""Fast msgspec decoders of graded passages, with only the fields that a reader needs.

There are four sizes: the head of a passage, the fields for metrics, and for SQL the ratings or all fields.
The structs
satisfy the protocols of :mod:`exam_pp.data_model`, use the attribute names of its models, and inherit the
same mixins; property tests compare both. ``gc=False`` saves the garbage collector a scan of a million small
objects without cycles.
"""

# ruff: noqa: D101, D102 - the models and protocols document all fields

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import field

from exam_pp.data_model import DirectMixin, RatingMixin, RatingSource, Role, RubricMixin, SupportLabel

Repeat = Annotated[int, msgspec.Meta(ge=1)]


class PassageHead(msgspec.Struct, gc=False, frozen=True):
    """Id and text of a passage. The id may be a number, which the reader converts to text."""

    passage_id: str | int = field(name="paragraph_id")
    text: str


# Fields for metrics, and those that the format requires.


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
    role: Role | None = None
    repeat: Repeat | None = None


class DataFields(msgspec.Struct, gc=False, frozen=True):
    judgments: list[JudgmentFields] = []
    rankings: Sequence[RankingFields] = []


class PromptFields(msgspec.Struct, gc=False, frozen=True):
    prompt_class: str | None = None
    prompt_hash: str | None = None
    answer_match: str | None = None
    max_rating: int | None = None


class RatingFields(RatingMixin, msgspec.Struct, gc=False, frozen=True):
    self_rating: int
    question_id: str | None = None
    nugget_id: str | None = None
    probabilities: list[float] | None = None
    mass: float | None = None


class AssignmentFields(msgspec.Struct, gc=False, frozen=True):
    nugget_id: str
    assignment: str


class _GradesFields(msgspec.Struct, gc=False, frozen=True, kw_only=True):
    model: str | None = field(name="llm", default=None)
    llm_options: Any = None
    prompt_info: PromptFields | None = None
    prompt_type: str | None = None

    @property
    def model_options(self) -> dict[str, Any] | None:
        return self.llm_options if isinstance(self.llm_options, dict) else None

    @property
    def prompt_class(self) -> str | None:
        return self.prompt_info.prompt_class if self.prompt_info else None

    @property
    def prompt_hash(self) -> str | None:
        return self.prompt_info.prompt_hash if self.prompt_info else None

    @property
    def answer_match(self) -> str | None:
        return self.prompt_info.answer_match if self.prompt_info else None

    @property
    def max_rating(self) -> int | None:
        return self.prompt_info.max_rating if self.prompt_info else None


class RubricFields(RubricMixin, _GradesFields, gc=False, frozen=True, kw_only=True):
    correct: list[str] = field(name="correctAnswered")
    wrong: list[str] = field(name="wrongAnswered")
    self_ratings: Sequence[RatingFields] | None = None
    assignments: list[AssignmentFields] | None = None


class DirectFields(DirectMixin, _GradesFields, gc=False, frozen=True, kw_only=True):
    correct: bool = field(name="correctAnswered")
    self_ratings: int | None = None
    error: dict[str, Any] | None = field(name="llm_response_error", default=None)
    probabilities: list[float] | None = None
    mass: float | None = None


class PassageFields(msgspec.Struct, gc=False, frozen=True):
    passage_id: str = field(name="paragraph_id")
    text: str
    data: DataFields = field(name="paragraph_data", default=DataFields())
    rubric_grades: Sequence[RubricFields] | None = field(name="exam_grades", default=None)
    direct_grades: Sequence[DirectFields] | None = field(name="grades", default=None)

    @property
    def judgments(self) -> list[JudgmentFields]:
        return self.data.judgments

    @property
    def rankings(self) -> Sequence[RankingFields]:
        return self.data.rankings

    def grade_sets(self) -> Iterator[RubricFields | DirectFields]:
        return chain(self.rubric_grades or (), self.direct_grades or ())


class QueryFields(msgspec.Struct, gc=False, frozen=True):
    query_id: str
    passages: list[PassageFields]


# Fields for SQL: also errors, replies and citations. Replies and rankings nearly double the time of decoding.


class DetailedRanking(RankingFields, gc=False, frozen=True):
    citations: list[str] | None = None


class DetailedData(DataFields, gc=False, frozen=True):
    rankings: Sequence[DetailedRanking] = []


class DetailedRating(RatingFields, gc=False, frozen=True):
    expected: float | None = None
    margin: float | None = None
    source: RatingSource | None = None


class RatedRubric(RubricFields, gc=False, frozen=True, kw_only=True):
    llm_options: dict[str, Any] | None = None
    relevance_label: int | None = None
    tokens_cut: dict[str, int] | None = None
    errors: dict[str, Any] | list[Any] | None = field(name="llm_response_errors", default=None)
    self_ratings: Sequence[DetailedRating] | None = None


class DetailedRubric(RatedRubric, gc=False, frozen=True, kw_only=True):
    answers: list[tuple[str, str]] = []


class DetailedDirect(DirectFields, gc=False, frozen=True, kw_only=True):
    llm_options: dict[str, Any] | None = None
    relevance_label: int | None = None
    tokens_cut: dict[str, int] | None = None
    answer: str | None = None
    expected: float | None = None
    margin: float | None = None


class CitationFields(msgspec.Struct, gc=False, frozen=True):
    citation: str
    support: SupportLabel | None = None
    answer: str | None = None
    error: dict[str, Any] | None = field(name="llm_response_error", default=None)


class SupportFields(_GradesFields, gc=False, frozen=True, kw_only=True):
    supports: list[CitationFields]
    tokens_cut: dict[str, int] | None = None
    relevance_label: int | None = None


class CriterionFields(msgspec.Struct, gc=False, frozen=True):
    criterion: str
    rating: int | None = None
    error: dict[str, Any] | None = field(name="llm_response_error", default=None)


class CriteriaFields(_GradesFields, gc=False, frozen=True, kw_only=True):
    system: str = field(name="method")
    ratings: list[CriterionFields]
    answer: str | None = None
    tokens_cut: dict[str, int] | None = None
    relevance_label: int | None = None


class RatedPassage(msgspec.Struct, gc=False, frozen=True):
    passage_id: str = field(name="paragraph_id")
    text: str
    rubric_grades: Sequence[RatedRubric] | None = field(name="exam_grades", default=None)
    direct_grades: Sequence[DetailedDirect] | None = field(name="grades", default=None)
    data: ClassVar[DetailedData] = DetailedData()
    judgments: ClassVar[list[JudgmentFields]] = []
    rankings: ClassVar[list[RankingFields]] = []
    support_grades: ClassVar[Sequence[SupportFields] | None] = None
    criteria_grades: ClassVar[Sequence[CriteriaFields] | None] = None

    def grade_sets(self) -> Iterator[RubricFields | DirectFields]:
        return chain(self.rubric_grades or (), self.direct_grades or ())


class DetailedPassage(PassageFields, gc=False, frozen=True):
    data: DetailedData = field(name="paragraph_data", default=DetailedData())
    rubric_grades: Sequence[DetailedRubric] | None = field(name="exam_grades", default=None)
    direct_grades: Sequence[DetailedDirect] | None = field(name="grades", default=None)
    support_grades: Sequence[SupportFields] | None = None
    criteria_grades: Sequence[CriteriaFields] | None = None
