"""Data model of passages files and graded files: queries, passages, judgments, rankings, grades.

One line of the file is ``[query_id, [passage, ...]]`` (:class:`QueryPassages`). Attributes have readable
names, and the keys of the file are their aliases. Records are frozen: :func:`exam_pp.records.replace` makes a
copy with other values. What was read from a file keeps its bytes and unknown keys when it is written; a
missing key stays missing and null stays null. Source: the data model of the Rubric-Grading Workbench (Dietz,
SIGIR 2024, section 4.2, figure 4).

A list that is missing in the file reads as empty. Appending to it changes the file only for judgments and
rankings; :meth:`Passage.add_grades` adds grades.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol

import msgspec
from msgspec import UNSET, field
from msgspec.structs import force_setattr

from exam_pp.errors import DataError, sentence
from exam_pp.llm_requests import SoftDefinition
from exam_pp.records import (
    TOO_DEEP,
    Added,
    Later,
    RecordSource,
    StoredRecord,
    Unlisted,
    encode,
    replace,
    stored,
)
from exam_pp.splicing import RawJson, ShapeError, decode_list, encode_string, splice

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
    from pydantic_core import CoreSchema


class Rules:
    """Marks a type with rules of pydantic; unlike ``Field``, it needs no import of pydantic."""

    def __init__(self, **rules: Any) -> None:
        self._rules = rules

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: Any = handler(source)
        schema.update(self._rules)
        return schema  # type: ignore[no-any-return]


Id = Annotated[str, Rules(coerce_numbers_to_str=True)]
"""An id is a string; a number in a file is read as the string of its digits."""

Number = Annotated[float, Rules(strict=True, allow_inf_nan=False)]
"""A number of JSON: no text, boolean, NaN or infinity."""


class _Whole:
    """The schema of a type for numbers only, which pydantic otherwise also reads from texts and booleans."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema  # noqa: PLC0415 - slow to import

        number = core_schema.union_schema(
            [core_schema.int_schema(strict=True), core_schema.float_schema(strict=True)],
            mode="left_to_right",
            custom_error_type="int_type",
        )
        return core_schema.chain_schema([number, handler(source)])

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> Any:
        return handler(schema["steps"][-1])


WHOLE = _Whole()
"""Marks a type of whole numbers: it reads ``4`` and ``4.0`` of JSON, but no text or boolean."""
Integer = Annotated[int, WHOLE]
Repeat = Annotated[int, Rules(ge=1), msgspec.Meta(ge=1), WHOLE]
"""Number of a repeat, from 1."""

RatingSource = Literal["number", "default-0", "default-1", "human", "reread"]
Role = Literal["retrieved", "answer"]
"""The role of a passage for a system: retrieved, or a part of its answer."""

SupportLabel = Literal["no_support", "partial_support", "full_support"]
SUPPORT_LABELS: tuple[SupportLabel, ...] = ("no_support", "partial_support", "full_support")
"""How far a cited passage supports a part of an answer, worst first."""
SUPPORT_CLASS = "CitationSupport"
"""The prompt class of these labels, also of those of people."""

DIRECT_ID = "direct"
"""The entry id of direct grades in tables and metrics of entries."""

NO_PASSAGE = "(no passage)"
"""The passage id of closed-book grades, which have no passage."""

LEGACY_PROMPT_CLASS = "QuestionPromptWithChoices"
"""The prompt class of grades without ``prompt_info``."""

HUMAN = "human:"
"""Prefix of the model name of human ratings: ``human:NAME``."""


def is_human(model: str | None) -> bool:
    """Whether a model name is that of a reviewer (``human:NAME``)."""
    return model is not None and model.startswith(HUMAN)


CONSENSUS = "consensus"
"""The key of ``llm_options`` with the rule of a consensus (``exam-pp consensus``)."""


def is_consensus(grades: OfOneModel) -> bool:
    """Whether a set of grades is a consensus of other graders."""
    return CONSENSUS in (grades.model_options or {})


CANARY = "canary:"
"""Prefix of the systems that ``exam-pp canaries`` adds to a pool: ``canary:NAME``."""


def is_canary(system: str) -> bool:
    """Whether a system is a canary (``canary:NAME``), which evaluations of other systems leave out."""
    return system.startswith(CANARY)


class Judgment(StoredRecord, frozen=True, gc=False, kw_only=True):
    """The relevance grade that a judge gave a passage for a query."""

    passage_id: Id = field(name="paragraphId")
    query_id: Id = field(name="query")
    relevance: Integer
    title_query: Id = field(name="titleQuery")


class RankingEntry(StoredRecord, frozen=True, gc=False, kw_only=True):
    """Rank and score of a passage in a system's ranking; for a generated answer, the order of its parts.

    ``role`` distinguishes the two, for systems that have both; it is missing in published files.
    ``citations`` are the ids of the documents that a part of an answer cites. ``repeat`` is the number, from
    1, of a run of a system that answered the same query several times.
    """

    method: Id
    passage_id: Id = field(name="paragraphId")
    query_id: Id = field(name="queryId")
    rank: Integer
    score: Number
    citations: list[str] | None = None
    role: Role | None = None
    repeat: Repeat | None = None


class FullRanking(StoredRecord, frozen=True, gc=False, kw_only=True):
    """The ids of all passages that a run ranks for a query, in the order of trec_eval."""

    method: Id
    query_id: Id = field(name="queryId")
    passages: list[Id]


class BeyondPool(StoredRecord, frozen=True, gc=False, kw_only=True):
    """What measures of manual judgments need of a query beside its pooled passages.

    ``judgments`` are those of passages outside the pool; ``rankings`` are whole, with the pooled passages.
    """

    judgments: list[Judgment] = field(default_factory=list)
    rankings: list[FullRanking] = field(default_factory=list)


class PassageData(StoredRecord, frozen=True, gc=False, kw_only=True):
    """Judgments and rankings of one passage, and values of its query, which published files do not have.

    ``beyond_pool`` stands at one passage of a query, as lines of published files have no place for it.
    """

    judgments: list[Judgment] = field(default_factory=Added)
    rankings: list[RankingEntry] = field(default_factory=Added)
    query_text: str | None = None
    pool_depth: int | None = None
    beyond_pool: Later[BeyondPool | None] = None


class SelfRating(StoredRecord, frozen=True, gc=False, kw_only=True):
    """The rating of one question or nugget.

    The soft grade consists of ``probabilities`` (of the grades 0, 1, 2 ...), the ``expected`` grade, and the
    ``margin``, the difference between the highest and the second highest probability. ``mass`` is the
    probability of all grades together before it was renormalised, and ``definition`` says what the likelihood
    of a label is: of the label as the whole ``reply``, after the words of the reply before its ``number``, or
    at the beginning of the reply (``choice``; ``calibrated`` if divided by that without a passage).
    """

    question_id: Id | None = None
    nugget_id: Id | None = None
    self_rating: Integer
    expected: Number | None = None
    margin: Number | None = None
    probabilities: list[Number] | None = None
    mass: Number | None = None
    definition: SoftDefinition | None = None
    source: RatingSource | None = None

    if TYPE_CHECKING:  # the slots, which are read a million times; UNSET is false
        _question_id: ClassVar[str | None]
        _nugget_id: ClassVar[str | None]

    @property
    def entry_id(self) -> str:
        """The question or nugget id; empty if the file has neither."""
        return self._question_id or self._nugget_id or ""

    @property
    def kind(self) -> Literal["question", "nugget"]:
        """``"question"`` or ``"nugget"``."""
        return "question" if self._question_id else "nugget"


class NuggetAssignment(StoredRecord, frozen=True, gc=False, kw_only=True):
    """Whether an answer contains a nugget: ``support``, ``partial_support`` or ``not_support``."""

    nugget_id: Id
    assignment: str


class OfOneModel:
    """What the results of a model or person say about their prompt, in ``prompt_info``."""

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def model(self) -> str | None:
            """The model or reviewer that graded; None if it is not recorded."""

        @property
        def model_options(self) -> dict[str, Any] | None:
            """Revision, dtype, decoding and other options of the model; None if they are not recorded."""

        @property
        def prompt_info(self) -> dict[str, Any] | None:
            """The record of the prompt."""

    @property
    def prompt_class(self) -> str | None:
        """The name of the prompt; None if it is not recorded (every filter then accepts the grades)."""
        return self._text("prompt_class")

    @property
    def prompt_hash(self) -> str | None:
        """Hash of the prompt template; None if it is not recorded."""
        return self._text("prompt_hash")

    @property
    def answer_match(self) -> str | None:
        """The rule that compared answers with gold answers; None if it is not recorded."""
        return self._text("answer_match")

    @property
    def max_rating(self) -> int | None:
        """The highest rating of the scale; None if it is not recorded, as for prompts of exam_pp."""
        value = (self.prompt_info or {}).get("max_rating")
        return value if type(value) is int else None

    def _text(self, key: str) -> str | None:
        value = (self.prompt_info or {}).get(key)
        return None if value is None else str(value)


class _GradesOfOneModel(OfOneModel, StoredRecord, frozen=True, gc=False, kw_only=True):
    """Fields that the grades of a passage share."""

    model: str | None = field(name="llm", default=None)
    model_options: Later[dict[str, Any] | None] = field(name="llm_options", default=None)
    prompt_info: Later[dict[str, Any] | None] = None
    prompt_type: str | None = None
    relevance_label: Integer | None = None
    tokens_cut: dict[str, Integer] | None = None
    tokens: list[Integer] | None = None
    comments: dict[str, str] | None = None

    if TYPE_CHECKING:  # the slot
        _prompt_info: ClassVar[msgspec.Raw | msgspec.UnsetType]

    @property
    def prompt_record(self) -> bytes:
        """The bytes of ``prompt_info``, which are equal for most grades of a file; empty if it is missing."""
        raw = self._prompt_info
        return b"" if raw is UNSET else bytes(raw)


class RubricGrades(_GradesOfOneModel, frozen=True, gc=False, kw_only=True):
    """The grades that one model with one prompt gave a passage, for many bank entries.

    ``assignments`` are the nugget assignments of an answer; ``self_ratings`` are then the same assignments
    as ratings 2, 1 and 0.
    """

    correct: Later[list[Id]] = field(name="correctAnswered")
    wrong: Later[list[Id]] = field(name="wrongAnswered")
    answers: Later[list[tuple[Id, str]]] = field(default_factory=list)
    errors: Later[dict[str, Any] | list[Any] | None] = field(name="llm_response_errors", default=None)
    exam_ratio: Number | None = None
    self_ratings: list[SelfRating] | None = None
    assignments: list[NuggetAssignment] | None = None
    verifications: Unlisted[Any] = None
    answer: Unlisted[Any] = None

    @property
    def kind(self) -> str | None:
        """``question``, ``nugget`` or ``direct``; None if the file has neither a prompt type nor ratings."""
        kind = self.prompt_type
        if kind is not None:
            return "direct" if kind == "direct_grading" else kind
        return self.self_ratings[0].kind if self.self_ratings else None

    @property
    def is_rated(self) -> bool:
        """Whether the prompt gave ratings; without ratings, entries are only correct or wrong."""
        return self.self_ratings is not None

    def entry_ratings(self) -> dict[str, int]:
        """Return entry id to rating; without ratings, 1 for correct and 0 for wrong entries."""
        if (ratings := self.self_ratings) is not None:
            return {r._question_id or r._nugget_id or "": r.self_rating for r in ratings}
        return dict.fromkeys(self.wrong, 0) | dict.fromkeys(self.correct, 1)

    def graded_ids(self) -> set[str]:
        """Return the ids of the graded entries: those with a rating, and those marked correct or wrong."""
        return {*self.correct, *self.wrong, *self.entry_ratings()}

    def distributions(self) -> dict[str, Sequence[float]]:
        """Return entry id to the probabilities of the grades 0, 1, 2 ..., for the entries that have them."""
        return {r.entry_id: r.probabilities for r in self.self_ratings or () if r.probabilities is not None}

    def masses(self) -> dict[str, float]:
        """Return entry id to the mass of its soft grade, for the entries that have one."""
        return {r.entry_id: r.mass for r in self.self_ratings or () if r.mass is not None}

    def nugget_labels(self) -> list[tuple[str, str]] | None:
        """Return pairs of nugget id and assignment in file order; None if no nuggets were assigned."""
        if self.assignments is None:
            return None
        return [(item.nugget_id, item.assignment) for item in self.assignments]

    def error_of(self, entry_id: str) -> dict[str, Any] | None:
        """The reason why an entry is ungraded.

        Args:
            entry_id: Id of the entry.

        Returns:
            The error with its ``failure_reason``, or None if the entry has no error.
        """
        error = self.failures().get(entry_id)
        return dict(error) if isinstance(error, dict) else None

    def failures(self) -> dict[str, Any]:
        """Return entry id to error of the ungraded entries; empty if the file has errors in a list."""
        return self.errors if isinstance(self.errors, dict) else {}


class DirectGrade(_GradesOfOneModel, frozen=True, gc=False, kw_only=True):
    """A grade that a model gave a passage for the query itself, without bank entries.

    The soft grade has the fields of :class:`SelfRating`; ``expected`` of a yes/no prompt is the probability
    of yes.
    """

    correct: bool = field(name="correctAnswered")
    answer: str | None = None
    error: dict[str, Any] | None = field(name="llm_response_error", default=None)
    self_ratings: Integer | None = None
    expected: Number | None = None
    margin: Number | None = None
    probabilities: list[Number] | None = None
    mass: Number | None = None
    definition: SoftDefinition | None = None

    @property
    def kind(self) -> Literal["direct"]:
        """``"direct"``."""
        return "direct"

    @property
    def is_rated(self) -> bool:
        """Whether the grade is on a scale, not only yes or no."""
        return self.self_ratings is not None

    def entry_ratings(self) -> dict[str, int]:
        """Return the grade as the rating of the entry ``"direct"``; empty if grading failed."""
        if self.self_ratings is not None:
            return {DIRECT_ID: self.self_ratings}
        return {} if self.error else {DIRECT_ID: int(self.correct)}

    def failures(self) -> dict[str, Any]:
        """Return the error of the entry ``"direct"``; empty if it is graded."""
        return {DIRECT_ID: self.error} if self.error else {}

    def graded_ids(self) -> set[str]:
        """Return ``{"direct"}``; empty if grading failed."""
        return set(self.entry_ratings())

    def distributions(self) -> dict[str, Sequence[float]]:
        """Return the probabilities of the entry ``"direct"``; empty without a soft grade."""
        return {} if self.probabilities is None else {DIRECT_ID: self.probabilities}

    def masses(self) -> dict[str, float]:
        """Return the mass of the entry ``"direct"``; empty without a soft grade."""
        return {} if self.mass is None else {DIRECT_ID: self.mass}

    def nugget_labels(self) -> None:
        """Return None: a direct grade assigns no nuggets."""


AnyGrades = RubricGrades | DirectGrade
"""A set of grades."""


class SourceScore(StoredRecord, frozen=True, gc=False, kw_only=True):
    """A passage against which a claim was scored, with its score; None for a part of a joined source."""

    passage_id: Id
    score: Number | None = None


class ConsistencyGrade(_GradesOfOneModel, frozen=True, gc=False, kw_only=True):
    """The factual consistency of a claim with its sources, from 0 to 1; higher means more consistent.

    The claim is the whole answer of a system or one of its parts. It is stored with the passage that is the
    part, for a whole answer with the first part. The score of a part is the highest over its sources; the
    sources of a whole answer are joined. ``tokens_cut`` has the numbers of removed tokens of ``source`` and
    ``claim``. ``missing`` are cited passages that the file lacks. A claim without a score has an ``error``.
    """

    system: Id = field(name="method")
    claim: Literal["answer", "part"]
    score: Number | None = None
    sources: list[SourceScore] = field(default_factory=list)
    missing: list[Id] = field(default_factory=list)
    error: dict[str, Any] | None = field(name="llm_response_error", default=None)

    @property
    def source_ids(self) -> list[str]:
        """Ids of the sources, in order."""
        return [source.passage_id for source in self.sources]


class CitationSupport(StoredRecord, frozen=True, gc=False, kw_only=True):
    """How far a cited passage supports the part of an answer that cites it.

    ``support`` is None if the citation is ungraded, with the reason in ``error``. ``answer`` is the reply of
    the model.
    """

    citation: Id
    support: SupportLabel | None = None
    answer: str | None = None
    error: dict[str, Any] | None = field(name="llm_response_error", default=None)


class SupportGrades(_GradesOfOneModel, frozen=True, gc=False, kw_only=True):
    """The support of a part of an answer by the passages that it cites, graded by one model or person.

    It is stored with the passage that is the part. ``tokens_cut`` has citation ids. Cited passages that the
    file lacks have no grade; evaluations count them as no support.
    """

    supports: list[CitationSupport]


class CriterionRating(StoredRecord, frozen=True, gc=False, kw_only=True):
    """The rating of an answer by one criterion; None if it is ungraded, with the reason in ``error``."""

    criterion: Id
    rating: Integer | None = None
    error: dict[str, Any] | None = field(name="llm_response_error", default=None)


class CriteriaGrades(_GradesOfOneModel, frozen=True, gc=False, kw_only=True):
    """The ratings of a system's whole answer by several criteria, by one model or person.

    They are stored with the passage that is the first part of the answer. ``system`` is the name with the
    repeat. ``answer`` is the reply of the model.
    """

    system: Id = field(name="method")
    ratings: list[CriterionRating]
    answer: str | None = None

    @property
    def highest_levels(self) -> dict[str, int]:
        """Criterion to its highest level, for the criteria whose levels are recorded."""
        recorded = (self.prompt_info or {}).get("criteria")
        levels = recorded if isinstance(recorded, dict) else {}
        return {name: level for name, level in levels.items() if type(level) is int}


class Passage(StoredRecord, frozen=True, gc=False, kw_only=True):
    """A passage with its text, judgments, rankings and grades."""

    passage_id: Id = field(name="paragraph_id")
    text: str
    paragraph: Later[Any] = None
    data: PassageData = field(name="paragraph_data", default_factory=PassageData)
    rubric_grades: list[RubricGrades] | None = field(name="exam_grades", default=None)
    direct_grades: list[DirectGrade] | None = field(name="grades", default=None)
    consistency_grades: list[ConsistencyGrade] | None = None
    support_grades: list[SupportGrades] | None = None
    criteria_grades: list[CriteriaGrades] | None = None
    _origin: Any = field(name="(origin)", default=UNSET)  # where the passage was read; no key of a file

    @property
    def judgments(self) -> list[Judgment]:
        """Judgments of the passage; several people may have judged it."""
        return self.data.judgments

    @property
    def rankings(self) -> list[RankingEntry]:
        """Ranks and scores of the passage, one for each system that returned it."""
        return self.data.rankings

    @property
    def pool_depth(self) -> int | None:
        """The number of ranks of each run that were pooled, if these are fewer than scores use by default."""
        return self.data.pool_depth

    def grade_sets(self) -> Iterator[AnyGrades]:
        """Yield all sets of grades, rubric grades first, in file order."""
        yield from self.rubric_grades or ()
        yield from self.direct_grades or ()

    def add_grades(self, new: Sequence[AnyGrades]) -> None:
        """Append grades to the passage.

        Args:
            new: Sets of grades to append, each to :attr:`rubric_grades` or :attr:`direct_grades`.
        """
        self.add("rubric_grades", [grades for grades in new if isinstance(grades, RubricGrades)])
        self.add("direct_grades", [grades for grades in new if isinstance(grades, DirectGrade)])

    def add(self, name: str, new: Sequence[_GradesOfOneModel]) -> None:
        """Append records to a list of grades, given by its name."""
        if new:
            self.take(**{name: [*(getattr(self, name) or ()), *new]})

    def take(self, **lists: Sequence[Any]) -> None:
        """Replace lists of grades of this passage, given by name."""
        for name, grades in lists.items():
            force_setattr(self, f"_{name}", list(grades))

    def full(self) -> Passage:
        """Return the passage itself, as stored passages return theirs."""
        return self

    def dump(self) -> RawJson:
        """Return the passage as JSON; what was read from a file and is equal keeps its bytes."""
        if self._origin is UNSET:
            return encode(_without_empty(self))
        raw = self._origin.raw
        return splice(raw, parse_passage(raw), self)


def _without_empty(passage: Passage) -> Passage:
    """Return the passage without empty default lists, which reading its judgments and rankings makes."""
    lists = {name: getattr(passage.data, name) for name in ("judgments", "rankings")}
    empty = {name: UNSET for name, value in lists.items() if isinstance(value, Added) and not value}
    data = replace(passage.data, **empty)
    return replace(passage, data=UNSET if data == PassageData() else data)


class _Line(RecordSource):
    """The bytes of a line, from which passages were read."""

    def __init__(self, data: bytes, check: Callable[[], object], query_id: str) -> None:
        super().__init__(data, check)
        self.query_id = query_id

    @cached_property
    def parts(self) -> list[RawJson]:
        """The bytes of the passages."""
        return decode_list(decode_list(self.data)[1])


class _Origin:
    """The place of a passage in a file. It makes no difference to the comparison of passages."""

    __slots__ = ("line", "position")

    def __init__(self, line: _Line, position: int) -> None:
        self.line, self.position = line, position

    def __eq__(self, _other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    @property
    def raw(self) -> RawJson:
        """The passage as JSON."""
        return self.line.parts[self.position]


@dataclass
class QueryPassages:
    """One line of the file: a query and its passages."""

    query_id: str
    passages: list[Passage]

    @property
    def query_text(self) -> str:
        """The text of the query that is stored with its passages; empty if it is not stored."""
        return next((text for passage in self.passages if (text := passage.data.query_text)), "")

    @property
    def beyond_pool(self) -> BeyondPool | None:
        """Judgments and ranks beyond the pool; None in files that do not have them."""
        return next((found for passage in self.passages if (found := passage.data.beyond_pool)), None)

    def dump(self) -> bytes:
        """Return the line as compact JSON without the line end; keys that were never set are omitted.

        Known keys come first, in the order of the data model; unknown keys of a file are kept. Raises
        :class:`~exam_pp.errors.DataError` for a value that is nested too deeply to be written.
        """
        from pydantic import ValidationError  # noqa: PLC0415 - slow to import
        from pydantic_core import PydanticSerializationError  # noqa: PLC0415 - slow to import

        try:
            parts = [passage.dump() for passage in self.passages]
            line = b"[%b,[%b]]" % (encode_string(self.query_id), b",".join(parts))
            return _lax().dump_json(_validated(line), by_alias=True, exclude_unset=True)
        except (RecursionError, PydanticSerializationError) as error:
            raise DataError(TOO_DEEP, field=f"query {self.query_id}") from error
        except ShapeError as error:
            raise DataError(str(error), field=f"query {self.query_id}") from error
        except ValidationError as error:
            for passage in self.passages:
                if passage._origin is not UNSET:
                    passage._origin.line.check()
            first = error.errors(include_url=False, include_input=False)[0]
            raise DataError(sentence(first), field=f"query {self.query_id}") from error


def _validated(line: bytes) -> Any:
    from pydantic import ValidationError  # noqa: PLC0415 - slow to import

    try:
        return _lax().validate_json(line, by_alias=True, by_name=False)
    except ValidationError as error:
        if error.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid":
            raise
        return _lax().validate_python(json.loads(line), by_alias=True, by_name=False)


_FAST = msgspec.json.Decoder(tuple[Id, list[Passage]])
DECODER_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of the fast decoder, after which the lax one reads the line or raises a readable error."""


@cache
def _lax() -> TypeAdapter[tuple[str, list[Any]]]:
    from pydantic import ConfigDict, TypeAdapter  # noqa: PLC0415 - slow to import

    # pydantic writes unknown keys with the settings of the type adapter, not with those of the record. So the
    # adapter repeats the setting of `Record`.
    return TypeAdapter(tuple[Id, list[Passage]], config=ConfigDict(ser_json_inf_nan="constants"))


def decode_line(line: bytes, check: Callable[[], object] = lambda: None) -> QueryPassages | None:
    """Parse a line of JSON fast; returns None if only :func:`parse_line` can read it or name its error.

    Fields that are decoded later are not checked. ``check`` raises the error of an invalid one.
    """
    try:
        if not line.isascii():
            line.decode("utf-8")  # parts that are not decoded are not checked
        return _read(line, check, *_FAST.decode(line))
    except DECODER_ERRORS:
        return None


def parse_line(
    line: bytes | str, *, every_field: bool = False, check: Callable[[], object] = lambda: None
) -> QueryPassages:
    """Parse a line of JSON; raises :class:`pydantic.ValidationError`.

    With ``every_field``, fields are also checked that :func:`decode_line` does not check.
    """
    data = line.encode() if isinstance(line, str) else line
    query = decode_line(data, check)
    if query and not every_field:
        return query
    checked = _lax().validate_json(data, by_alias=True, by_name=False)
    return query or _read(data, check, *stored(checked))  # converting takes ten times as long as checking


def parse_object(value: Any, line: bytes | None = None) -> QueryPassages:
    """Convert a decoded line of JSON; raises :class:`pydantic.ValidationError`."""
    from pydantic_core import to_json  # noqa: PLC0415 - slow to import

    data = to_json(value, inf_nan_mode="constants") if line is None else line
    return _read(data, lambda: None, *stored(_lax().validate_python(value, by_alias=True, by_name=False)))


def _read(data: bytes, check: Callable[[], object], query_id: str, passages: list[Passage]) -> QueryPassages:
    line = _Line(data, check, query_id)
    for position, passage in enumerate(passages):  # no reference back, because structs are not collected
        force_setattr(passage, "_origin", _Origin(line, position))
    return QueryPassages(query_id, passages)


def parse_passage(raw: RawJson, check: Callable[[], object] = lambda: None) -> Passage:
    """Parse a passage as :func:`parse_line` does."""
    return parse_line(b'["", [%b]]' % raw, check=check).passages[0]


# Protocols of what metrics read: of whole queries, and of passages that are decoded at first use.


class PassageView(Protocol):
    """Fields of a passage that metrics read."""

    @property
    def passage_id(self) -> str:
        """The passage's id."""

    @property
    def text(self) -> str:
        """The passage's text."""

    @property
    def judgments(self) -> Sequence[Judgment]:
        """Judgments of the passage; several people may have judged it."""

    @property
    def rankings(self) -> Sequence[RankingEntry]:
        """Ranks and scores of the passage, one for each system that returned it."""

    @property
    def pool_depth(self) -> int | None:
        """The number of ranks of each run that were pooled, if these are fewer than scores use by default."""

    def grade_sets(self) -> Iterator[AnyGrades]:
        """Yield all sets of grades, rubric grades first, in file order."""


class QueryView(Protocol):
    """Fields of a query that metrics read."""

    @property
    def query_id(self) -> str:
        """The query's id."""

    @property
    def passages(self) -> Sequence[PassageView]:
        """Its passages, in file order."""

    @property
    def beyond_pool(self) -> BeyondPool | None:
        """Judgments and ranks beyond the pool; None in files that do not have them."""
