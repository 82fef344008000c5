"""Reading and writing graded passages, one query at a time."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec
from pydantic import ValidationError

from exam_pp.data_model import (
    DIRECT_ID,
    Passage,
    QueryPassages,
    QueryView,
    dump_line,
    parse_line,
    parse_object,
)
from exam_pp.errors import DataError
from exam_pp.store.files import atomic_output, read_lines
from exam_pp.store.validation import sentence

log = logging.getLogger(__name__)


def read_passages(path: str | Path) -> Iterator[QueryPassages]:
    """The queries of a passages file, in file order, as full objects.

    Raises :class:`DataError` with file, line and field for anything that is not in the format.
    """
    for number, line in read_lines(path):
        yield parse_query(line, str(path), number)


def read_passages_for_metrics(path: str | Path) -> Iterator[QueryView]:
    """As :func:`read_passages`, but only the fields that metrics read: several times faster.

    The objects are read-only views. A line that the fast decoder does not take is read in full, so
    that the same errors are reported; fields that metrics do not read (answers, model options, soft
    margins) are not checked.
    """
    for number, line in read_lines(path):
        try:
            query_id, passages = _DECODER.decode(line)
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
            yield parse_query(line, str(path), number)
        else:
            _check_ids(passages, str(path), number)
            yield _Query(query_id, passages)


@contextmanager
def passages_writer(path: str | Path, *, inputs: Iterable[str | Path] = ()) -> Iterator[PassagesWriter]:
    """A writer whose file appears when the block ends without an error."""
    with atomic_output(path, inputs=inputs) as stream:
        yield PassagesWriter(stream)


class PassagesWriter:
    """Writes one query a line."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def write(self, query: QueryPassages) -> None:
        """Append a query."""
        self._stream.write(dump_line(query) + b"\n")


def _check_ids(passages: Sequence[Passage | _Passage], file: str, number: int) -> None:
    """Two texts under one id could not be told apart by their grades."""
    texts: dict[str, str] = {}
    for position, passage in enumerate(passages, 1):
        if texts.setdefault(passage.passage_id, passage.text) != passage.text:
            raise DataError(
                f"the id {passage.passage_id!r} stands for two different texts.",
                file=file, line=number, field=f"passage {position} paragraph_id",
            )  # fmt: skip


def parse_query(line: bytes, file: str, number: int) -> QueryPassages:
    """A line of a passages file, as :func:`read_passages` reads it; raises :class:`DataError`."""
    query = _parse_strict(line, file, number)
    _check_ids(query.passages, file, number)
    return query


def _parse_strict(line: bytes, file: str, number: int) -> QueryPassages:
    try:
        return parse_line(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            return _parse_lenient(line, file, number)
        raise DataError(sentence(first), file=file, line=number, field=_field(first["loc"])) from error


def _parse_lenient(line: bytes, file: str, number: int) -> QueryPassages:
    """Lines that Python's json module reads and a strict decoder does not: lone surrogates, mostly."""
    try:
        value = json.loads(line)
    except UnicodeDecodeError as error:
        raise DataError("is not UTF-8 text.", file=file, line=number) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not a line of JSON ({error}).", file=file, line=number) from error
    log.warning("%s, line %d: characters that are not Unicode (lone surrogates) were replaced", file, number)
    try:
        return parse_object(_without_surrogates(value))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise DataError(sentence(first), file=file, line=number, field=_field(first["loc"])) from error


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if not value.isascii() else value
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return value


def _field(loc: Sequence[int | str]) -> str:
    """``(1, 0, 'text')`` as ``passage 1 text`` (the first element of the location is the pair)."""
    names = [part for part in loc if not (isinstance(part, str) and part.startswith("function-"))]
    if not names:
        return ""
    if names[0] == 0:
        return "query id"
    if len(names) > 1 and isinstance(names[1], int):
        path = ".".join(str(part + 1 if isinstance(part, int) else part) for part in names[2:])
        return f"passage {names[1] + 1}{' ' + path if path else ''}"
    return "passages"


# The fields that metrics read, and those that the format requires, for msgspec: the protocols of
# `data_model`, decoded without the rest.
# `gc=False` keeps the garbage collector from walking a million small objects that hold no cycles.


class _Judgment(msgspec.Struct, gc=False, frozen=True):
    paragraphId: str  # noqa: N815 - the file's own names, here and below
    query: str
    relevance: int
    titleQuery: str  # noqa: N815

    @property
    def query_id(self) -> str:
        return self.query


class _Ranking(msgspec.Struct, gc=False, frozen=True):
    method: str
    paragraphId: str  # noqa: N815
    queryId: str  # noqa: N815
    rank: int
    score: float


class _Data(msgspec.Struct, gc=False, frozen=True):
    judgments: list[_Judgment] = []
    rankings: list[_Ranking] = []


class _PromptInfo(msgspec.Struct, gc=False, frozen=True):
    prompt_class: str | None = None
    prompt_hash: str | None = None


class _SelfRating(msgspec.Struct, gc=False, frozen=True):
    self_rating: int
    question_id: str | None = None
    nugget_id: str | None = None
    probabilities: list[float] | None = None


class _Assignment(msgspec.Struct, gc=False, frozen=True):
    nugget_id: str
    assignment: str


class _Grades(msgspec.Struct, gc=False, frozen=True):
    llm: str | None = None
    prompt_info: _PromptInfo | None = None
    prompt_type: str | None = None

    @property
    def model(self) -> str | None:
        return self.llm

    @property
    def prompt_class(self) -> str | None:
        return self.prompt_info.prompt_class if self.prompt_info else None

    @property
    def prompt_hash(self) -> str | None:
        return self.prompt_info.prompt_hash if self.prompt_info else None


class _Rubric(_Grades, gc=False, frozen=True, kw_only=True):
    correctAnswered: list[str]  # noqa: N815
    wrongAnswered: list[str]  # noqa: N815
    self_ratings: list[_SelfRating] | None = None
    assignments: list[_Assignment] | None = None

    @property
    def is_rated(self) -> bool:
        return self.self_ratings is not None

    def entry_ratings(self) -> dict[str, int]:
        if self.self_ratings is not None:
            return {r.question_id or r.nugget_id or "": r.self_rating for r in self.self_ratings}
        return dict.fromkeys(self.wrongAnswered, 0) | dict.fromkeys(self.correctAnswered, 1)

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


class _Direct(_Grades, gc=False, frozen=True, kw_only=True):
    correctAnswered: bool  # noqa: N815
    self_ratings: int | None = None
    llm_response_error: dict[str, Any] | None = None
    probabilities: list[float] | None = None

    @property
    def is_rated(self) -> bool:
        return self.self_ratings is not None

    def entry_ratings(self) -> dict[str, int]:
        if self.self_ratings is not None:
            return {DIRECT_ID: self.self_ratings}
        return {} if self.llm_response_error else {DIRECT_ID: int(self.correctAnswered)}

    def distributions(self) -> dict[str, Sequence[float]]:
        return {} if self.probabilities is None else {DIRECT_ID: self.probabilities}

    def nugget_labels(self) -> None:
        return None


class _Passage(msgspec.Struct, gc=False, frozen=True):
    paragraph_id: str
    text: str
    paragraph_data: _Data = _Data()
    exam_grades: list[_Rubric] | None = None
    grades: list[_Direct] | None = None

    @property
    def passage_id(self) -> str:
        return self.paragraph_id

    @property
    def judgments(self) -> list[_Judgment]:
        return self.paragraph_data.judgments

    @property
    def rankings(self) -> list[_Ranking]:
        return self.paragraph_data.rankings

    def grade_sets(self) -> Iterator[_Rubric | _Direct]:
        yield from self.exam_grades or ()
        yield from self.grades or ()


class _Query(msgspec.Struct, gc=False, frozen=True):
    query_id: str
    passages: list[_Passage]


_DECODER = msgspec.json.Decoder(tuple[str, list[_Passage]])
