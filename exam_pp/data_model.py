"""The graded-passages file as Python objects: queries, passages, judgments, rankings, grades.

One line of the file is ``[query_id, [passage, ...]]`` (:class:`QueryPassages`). Attribute names are
readable; the file's own names are the aliases, and unknown keys are kept, so that reading and writing
a line gives the same JSON (absent and null stay what they were). Source: the data model of the
Rubric-Grading Workbench (Dietz, SIGIR 2024, section 4.2, figure 4).

Lists that a file left out read as empty but are only written once they are *assigned*
(``passage.rubric_grades = [...]``), never by appending to the default.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, TypeAdapter

Id = Annotated[str, Field(coerce_numbers_to_str=True)]
"""Ids are strings; a number in a file is read as the string of its digits."""

PromptKind = Literal["question", "nugget", "direct_grading"]
RatingSource = Literal["number", "default-0", "default-1", "human", "reread"]

DIRECT_ID = "direct"
"""The one entry id under which a direct grade takes part in everything that looks at entries."""

NO_PASSAGE = "(no passage)"
"""The passage id of grades that were given without one."""

LEGACY_PROMPT_CLASS = "QuestionPromptWithChoices"
"""The prompt class of grades that carry no ``prompt_info``."""

HUMAN = "human:"
"""What the "model" of a person's ratings starts with; the person's name follows."""


def is_human(model: str | None) -> bool:
    """Whether the "model" of a set of grades is a person."""
    return model is not None and model.startswith(HUMAN)


class Record(BaseModel):
    """Base of everything in a file: unknown keys are kept, Python names and aliases both work."""

    model_config = ConfigDict(extra="allow", populate_by_name=True, ser_json_inf_nan="constants")


class Judgment(Record):
    """A manual relevance judgment of a passage."""

    passage_id: Id = Field(alias="paragraphId")
    query_id: Id = Field(alias="query")
    relevance: int
    title_query: Id = Field(alias="titleQuery")


class RankingEntry(Record):
    """Where a system ranked a passage; for a generated answer, the order of its parts."""

    method: Id
    passage_id: Id = Field(alias="paragraphId")
    query_id: Id = Field(alias="queryId")
    rank: int
    score: FiniteFloat
    citations: list[str] | None = None


class PassageData(Record):
    """Judgments and rankings of one passage."""

    judgments: list[Judgment] = []
    rankings: list[RankingEntry] = []


# The file has two decoders: the pydantic models of this module, and the structs with fewer fields of
# `exam_pp.store.passages.structs`. Classes named `...Rules` hold what both derive from their fields.


class RatingRules:
    """Derived values of the rating of one question or nugget."""

    __slots__ = ()
    if TYPE_CHECKING:
        question_id: str | None
        nugget_id: str | None
        self_rating: int
        probabilities: Sequence[float] | None

    @property
    def entry_id(self) -> str:
        """The question or nugget id."""
        return self.question_id or self.nugget_id or ""

    @property
    def kind(self) -> Literal["question", "nugget"]:
        """``"question"`` or ``"nugget"``."""
        return "question" if self.question_id else "nugget"


class RubricRules:
    """Derived values of the grades that one model with one prompt gave a passage, for many bank entries."""

    __slots__ = ()
    if TYPE_CHECKING:
        correct: Sequence[str]
        wrong: Sequence[str]
        prompt_type: str | None
        self_ratings: Sequence[RatingRules] | None
        assignments: Sequence[AssignmentView] | None

    @property
    def kind(self) -> str | None:
        """``question``, ``nugget`` or ``direct``; None where the file does not say."""
        if self.prompt_type is not None:
            return "direct" if self.prompt_type == "direct_grading" else self.prompt_type
        return self.self_ratings[0].kind if self.self_ratings else None

    @property
    def is_rated(self) -> bool:
        """Whether the prompt gave ratings (else entries are only correct or wrong)."""
        return self.self_ratings is not None

    def entry_ratings(self) -> dict[str, int]:
        """Entry id to rating; without self-ratings, 1 for correct and 0 for wrong entries."""
        if self.self_ratings is not None:
            return {rating.entry_id: rating.self_rating for rating in self.self_ratings}
        return dict.fromkeys(self.wrong, 0) | dict.fromkeys(self.correct, 1)

    def graded_ids(self) -> set[str]:
        """The entries that were answered: they have a rating, or are correct or wrong."""
        return {*self.correct, *self.wrong, *self.entry_ratings()}

    def distributions(self) -> dict[str, Sequence[float]]:
        """Entry id to the probabilities of the grades 0, 1, 2 ..., of the entries that have them."""
        return {r.entry_id: r.probabilities for r in self.self_ratings or () if r.probabilities is not None}

    def nugget_labels(self) -> list[tuple[str, str]] | None:
        """Nugget id and assignment, in file order; None for grades that assign no nuggets."""
        if self.assignments is None:
            return None
        return [(item.nugget_id, item.assignment) for item in self.assignments]


class DirectRules:
    """Derived values of a relevance label that a model gave the passage as a whole."""

    __slots__ = ()
    if TYPE_CHECKING:
        correct: bool
        self_ratings: int | None
        error: dict[str, Any] | None
        probabilities: Sequence[float] | None

    @property
    def kind(self) -> Literal["direct"]:
        """``"direct"``."""
        return "direct"

    @property
    def is_rated(self) -> bool:
        """Whether the grade has a level beyond yes and no."""
        return self.self_ratings is not None

    def entry_ratings(self) -> dict[str, int]:
        """The grade as the rating of the single entry ``"direct"``; nothing if it failed."""
        if self.self_ratings is not None:
            return {DIRECT_ID: self.self_ratings}
        return {} if self.error else {DIRECT_ID: int(self.correct)}

    def graded_ids(self) -> set[str]:
        """``"direct"``, unless the grade failed."""
        return set(self.entry_ratings())

    def distributions(self) -> dict[str, Sequence[float]]:
        """The probabilities of the single entry ``"direct"``, if there are any."""
        return {} if self.probabilities is None else {DIRECT_ID: self.probabilities}

    def nugget_labels(self) -> None:
        """A direct grade assigns no nuggets."""


class SelfRating(RatingRules, Record):
    """The rating of one question or nugget.

    The soft grade is ``probabilities`` (of the grades 0, 1, 2 ...), with their ``expected`` grade and the
    ``margin`` between the best and the second best.
    """

    question_id: Id | None = None
    nugget_id: Id | None = None
    self_rating: int
    expected: float | None = None
    margin: float | None = None
    probabilities: list[float] | None = None
    source: RatingSource | None = None


class NuggetAssignment(Record):
    """Whether an answer holds a nugget: ``support``, ``partial_support`` or ``not_support``."""

    nugget_id: Id
    assignment: str


class _GradesOfOneModel(Record):
    """What rubric grades and direct grades share: who graded, with which prompt."""

    model: str | None = Field(default=None, alias="llm")
    model_options: dict[str, Any] | None = Field(default=None, alias="llm_options")
    prompt_info: dict[str, Any] | None = None
    prompt_type: str | None = None
    relevance_label: int | None = None
    tokens_cut: dict[str, int] | None = None
    comments: dict[str, str] | None = None

    @property
    def prompt_class(self) -> str | None:
        """The prompt's name; None where the file does not say (the filter then lets it pass)."""
        value = (self.prompt_info or {}).get("prompt_class")
        return None if value is None else str(value)

    @property
    def prompt_hash(self) -> str | None:
        """Hash of the prompt's words, where recorded."""
        value = (self.prompt_info or {}).get("prompt_hash")
        return None if value is None else str(value)


class RubricGrades(RubricRules, _GradesOfOneModel):
    """The grades that one model with one prompt gave a passage, for many bank entries.

    ``assignments`` are the labels of nuggets where the passage is an answer; ratings of 2, 1 and 0 stand
    beside them.
    """

    correct: list[Id] = Field(alias="correctAnswered")
    wrong: list[Id] = Field(alias="wrongAnswered")
    answers: list[tuple[Id, str]] = []
    errors: dict[str, Any] | list[Any] | None = Field(default=None, alias="llm_response_errors")
    exam_ratio: float | None = None
    self_ratings: list[SelfRating] | None = None
    assignments: list[NuggetAssignment] | None = None

    def error_of(self, entry_id: str) -> dict[str, Any] | None:
        """The reason why an entry is ungraded.

        Args:
            entry_id: Id of the entry.

        Returns:
            The error with its ``failure_reason``, or None if the entry has no error.
        """
        if isinstance(self.errors, dict) and isinstance(self.errors.get(entry_id), dict):
            return dict(self.errors[entry_id])
        return None


class DirectGrade(DirectRules, _GradesOfOneModel):
    """A relevance label that a model gave the passage as a whole.

    The soft grade is as in :class:`SelfRating`; ``expected`` of a yes/no prompt is the probability of yes.
    """

    correct: bool = Field(alias="correctAnswered")
    answer: str | None = None
    error: dict[str, Any] | None = Field(default=None, alias="llm_response_error")
    self_ratings: int | None = None
    expected: float | None = None
    margin: float | None = None
    probabilities: list[float] | None = None


class Passage(Record):
    """A passage with everything that is known of it."""

    passage_id: Id = Field(alias="paragraph_id")
    text: str
    paragraph: Any = None
    data: PassageData = Field(default_factory=PassageData, alias="paragraph_data")
    rubric_grades: list[RubricGrades] | None = Field(default=None, alias="exam_grades")
    direct_grades: list[DirectGrade] | None = Field(default=None, alias="grades")

    @property
    def judgments(self) -> list[Judgment]:
        """Manual judgments; there may be several."""
        return self.data.judgments

    @property
    def rankings(self) -> list[RankingEntry]:
        """The systems that returned this passage."""
        return self.data.rankings

    def grade_sets(self) -> Iterator[RubricGrades | DirectGrade]:
        """All grades, rubric grades first, in file order."""
        yield from self.rubric_grades or ()
        yield from self.direct_grades or ()

    def add_grades(self, new: Sequence[RubricGrades | DirectGrade]) -> None:
        """Append grades to the passage.

        Args:
            new: Sets of grades to append, each to :attr:`rubric_grades` or :attr:`direct_grades`.
        """
        rubric = [grades for grades in new if isinstance(grades, RubricGrades)]
        direct = [grades for grades in new if isinstance(grades, DirectGrade)]
        if rubric:
            self.rubric_grades = [*(self.rubric_grades or ()), *rubric]
        if direct:
            self.direct_grades = [*(self.direct_grades or ()), *direct]


@dataclass
class QueryPassages:
    """One line of the file: a query and its passages."""

    query_id: str
    passages: list[Passage]

    def dump(self) -> bytes:
        """The line as JSON without its line end; keys that were never set are left out."""
        return _LINE.dump_json((self.query_id, self.passages), by_alias=True, exclude_unset=True)


# What is not in the data model is written by the settings of the whole, not by those of its record.
_LINE: TypeAdapter[tuple[Any, list[Passage]]] = TypeAdapter(
    tuple[Id, list[Passage]], config=ConfigDict(ser_json_inf_nan="constants")
)

# In files only the file's own names count: an unknown key `data` or `model` is not our Python name.


def parse_line(line: bytes | str) -> QueryPassages:
    """A line of JSON as an object; raises :class:`pydantic.ValidationError`."""
    return QueryPassages(*_LINE.validate_json(line, by_alias=True, by_name=False))


def parse_object(value: Any) -> QueryPassages:
    """A decoded line as an object; raises :class:`pydantic.ValidationError`."""
    return QueryPassages(*_LINE.validate_python(value, by_alias=True, by_name=False))


# What reading for numbers needs. `exam_pp.store` decodes these fields alone, which is several times
# faster than building the full objects; both kinds of object satisfy the protocols.


class JudgmentView(Protocol):
    """Fields of a judgment that metrics read."""

    @property
    def relevance(self) -> int:
        """The grade; below zero for spam."""

    @property
    def query_id(self) -> str:
        """The judged query, or a facet of it."""


class RankingView(Protocol):
    """Fields of a ranking entry that metrics read."""

    @property
    def method(self) -> str:
        """The system."""

    @property
    def query_id(self) -> str:
        """The query, or a facet of it."""

    @property
    def rank(self) -> int:
        """Position, from 0 or 1."""

    @property
    def score(self) -> float:
        """Retrieval score, higher is better."""


class AssignmentView(Protocol):
    """A label of a nugget."""

    @property
    def nugget_id(self) -> str:
        """The nugget."""

    @property
    def assignment(self) -> str:
        """``support``, ``partial_support`` or ``not_support``."""


class GradesView(Protocol):
    """One model's grades of one passage."""

    @property
    def model(self) -> str | None:
        """Who graded, where recorded."""

    @property
    def prompt_class(self) -> str | None:
        """The prompt's name, where recorded."""

    @property
    def prompt_hash(self) -> str | None:
        """Hash of the prompt's words, where recorded."""

    @property
    def model_options(self) -> dict[str, Any] | None:
        """What else is recorded of the model: its revision, dtype, decoding ..."""

    @property
    def prompt_type(self) -> str | None:
        """``question``, ``nugget`` or ``direct_grading``, where recorded."""

    @property
    def is_rated(self) -> bool:
        """Whether there are levels beyond correct and wrong."""

    def entry_ratings(self) -> dict[str, int]:
        """Entry id to rating."""

    def graded_ids(self) -> set[str]:
        """The entries that were answered."""

    def distributions(self) -> dict[str, Sequence[float]]:
        """Entry id to the probabilities of the grades 0, 1, 2 ..."""

    def nugget_labels(self) -> list[tuple[str, str]] | None:
        """Nugget id and assignment, in file order; None for grades that assign no nuggets."""


class PassageView(Protocol):
    """What metrics read of a passage."""

    @property
    def passage_id(self) -> str:
        """The passage's id."""

    @property
    def text(self) -> str:
        """The passage's words."""

    @property
    def judgments(self) -> Sequence[JudgmentView]:
        """Manual judgments; there may be several."""

    @property
    def rankings(self) -> Sequence[RankingView]:
        """The systems that returned the passage."""

    def grade_sets(self) -> Iterator[GradesView]:
        """All grades, rubric grades first, in file order."""


class QueryView(Protocol):
    """A query and its passages."""

    @property
    def query_id(self) -> str:
        """The query's id."""

    @property
    def passages(self) -> Sequence[PassageView]:
        """Its passages, in file order."""
