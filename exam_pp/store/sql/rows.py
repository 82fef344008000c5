"""Graded passages as flat rows, one query at a time: what fills the tables of :mod:`sql_tables`."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from exam_pp.data_model import DIRECT_ID, LEGACY_PROMPT_CLASS
from exam_pp.store.files import read_lines
from exam_pp.store.garbage_collector import no_collections
from exam_pp.store.passages.fields import JudgmentFields
from exam_pp.store.passages.passages import NOT_TAKEN, parse_query
from exam_pp.store.sql.tables import Row, TableName

Emit = Callable[[TableName, Row], None]
"""Takes a row of a table."""

# What the tables show of a line. The published keys; what a strict decoder does not take is read by the
# full reader first, so that both accept the same files.


class _Ranking(msgspec.Struct, gc=False):
    method: str
    rank: int
    score: float
    citations: list[str] | None = None


class _Data(msgspec.Struct, gc=False):
    judgments: list[JudgmentFields] = []
    rankings: list[_Ranking] = []


class _Rating(msgspec.Struct, gc=False):
    self_rating: int
    question_id: str | None = None
    nugget_id: str | None = None
    expected: float | None = None
    margin: float | None = None
    source: str | None = None


class _Assignment(msgspec.Struct, gc=False):
    nugget_id: str
    assignment: str


class _Set(msgspec.Struct, gc=False, kw_only=True):
    llm: str | None = None
    llm_options: dict[str, Any] | None = None
    prompt_info: dict[str, Any] | None = None
    prompt_type: str | None = None
    relevance_label: int | None = None
    tokens_cut: dict[str, int] | None = None

    @property
    def prompt_class(self) -> str:
        value = (self.prompt_info or {}).get("prompt_class")
        return ("" if value is None else str(value)) or LEGACY_PROMPT_CLASS

    @property
    def prompt_hash(self) -> str | None:
        value = (self.prompt_info or {}).get("prompt_hash")
        return None if value is None else str(value)


class _Rubric(_Set, gc=False, kw_only=True):
    correctAnswered: list[str]  # noqa: N815 - the file's own names, here and below
    wrongAnswered: list[str]  # noqa: N815
    answers: list[tuple[str, str]] = []
    llm_response_errors: dict[str, Any] | list[Any] | None = None
    self_ratings: list[_Rating] | None = None
    assignments: list[_Assignment] | None = None


class _Direct(_Set, gc=False, kw_only=True):
    correctAnswered: bool  # noqa: N815
    answer: str | None = None
    llm_response_error: dict[str, Any] | None = None
    self_ratings: int | None = None
    expected: float | None = None
    margin: float | None = None


class _Passage(msgspec.Struct, gc=False):
    paragraph_id: str
    text: str
    paragraph_data: _Data = msgspec.field(default_factory=_Data)
    exam_grades: list[_Rubric] | None = None
    grades: list[_Direct] | None = None


_Line = tuple[str, list[_Passage]]
_DECODER: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(_Line)
_ENCODER = msgspec.json.Encoder()


class _Pair(NamedTuple):
    """An entry that was asked; the last columns of ``ratings``."""

    rating: int | None
    is_rated: bool
    expected: float | None = None
    margin: float | None = None
    source: str | None = None
    assignment: str | None = None
    tokens_cut: int | None = None
    failure: str | None = None


class GradedRows:
    """Turns graded files into rows of the ``wanted`` tables, which ``emit`` takes.

    Before the rows of a line, ``expect`` gets the number of its bytes.
    ``queries`` and ``repeated`` hold the query ids that were seen, and those that a file has on several
    lines (with the file). Sets of grades are numbered over all files.
    """

    def __init__(
        self, wanted: Collection[TableName], emit: Emit, expect: Callable[[int], None] = lambda _size: None
    ) -> None:
        self._wanted = frozenset(wanted)
        self._emit = emit
        self._expect = expect
        self._grade_set = 0
        self.queries: dict[str, None] = {}
        self.repeated: set[tuple[str, str]] = set()

    def read(self, path: str | Path) -> None:
        """Read a file to its end; raises :class:`~exam_pp.errors.DataError` as the full reader does."""
        with no_collections():
            self._read(path)

    def _read(self, path: str | Path) -> None:
        file = shown_path(path)
        in_this_file: set[str] = set()
        for number, line in read_lines(path):
            self._expect(len(line))
            query_id, passages = _decode(line, path, number)
            if query_id in in_this_file:
                self.repeated.add((file, query_id))
            in_this_file.add(query_id)
            self.queries[query_id] = None
            seen: set[str] = set()
            for position, passage in enumerate(passages, 1):
                here = (file, query_id, passage.paragraph_id)
                if "passages" in self._wanted and passage.paragraph_id not in seen:
                    self._emit("passages", (*here, passage.text, number, position))
                seen.add(passage.paragraph_id)
                if self._wanted & {"grades", "ratings", "answers"}:
                    self._sets(here, passage)
            self._judgments_and_rankings((file, query_id), passages)

    def _judgments_and_rankings(self, where: tuple[str, str], passages: list[_Passage]) -> None:
        """What is said twice of a passage is one row: sums over joins would count it twice."""
        said: set[tuple[Any, ...]] = set()

        def once(table: TableName, row: tuple[Any, ...], citations: list[str] | None = None) -> bool:
            key = (table, row, None if citations is None else tuple(citations))
            new = key not in said
            said.add(key)
            return new

        for passage in passages:
            here, data = (*where, passage.paragraph_id), passage.paragraph_data
            for judgment in data.judgments if "judgments" in self._wanted else ():
                row = (*here, judgment.relevance, judgment.query_id, judgment.title_query)
                if once("judgments", row):
                    self._emit("judgments", row)
            for r in data.rankings if "rankings" in self._wanted else ():
                place = (*here, r.method, r.rank, r.score)
                if once("rankings", place, r.citations):
                    self._emit("rankings", (*place, r.citations))

    def _sets(self, here: tuple[str, str, str], passage: _Passage) -> None:
        sets: list[_Rubric | _Direct] = [*(passage.exam_grades or ()), *(passage.grades or ())]
        united: dict[tuple[str | None, str, str | None], dict[str, Row]] = {}
        keys = _united_keys(sets)
        for grades, key in zip(sets, keys, strict=True):
            self._grade_set += 1
            kind = _kind(grades)
            pairs = _direct_pairs(grades) if isinstance(grades, _Direct) else _rubric_pairs(grades)
            grader = (grades.llm, grades.prompt_class, kind)
            if "grades" in self._wanted:
                self._emit("grades", (self._grade_set, *here, *grader, *_summary(grades, pairs)))
            if "answers" in self._wanted:
                for entry_id, answer, failure in _answers(grades):
                    self._emit("answers", (self._grade_set, *here, entry_id, *grader, answer, failure))
            if "ratings" in self._wanted:
                rows = united.setdefault(key, {})
                for entry_id, pair in pairs.items():
                    if pair.rating is not None or entry_id not in rows:
                        rows[entry_id] = (self._grade_set, *here, entry_id, *grader, *pair)
        for rows in united.values():
            for row in rows.values():
                self._emit("ratings", row)


def shown_path(path: str | Path) -> str:
    """A path as text that a database takes, whatever the bytes of its name."""
    return os.fsencode(path).decode("utf-8", "replace")


def _decode(line: bytes, path: str | Path, number: int) -> _Line:
    try:
        query_id, passages = _DECODER.decode(line)
    except NOT_TAKEN:
        query = parse_query(line, str(path), number)
        objects = [passage.model_dump(by_alias=True, exclude_unset=True) for passage in query.passages]
        found: _Line = msgspec.convert((query.query_id, objects), _Line)
        return found
    if len({passage.paragraph_id for passage in passages}) < len(passages):
        parse_query(line, str(path), number)  # two texts under one id are refused
    return query_id, passages


def _united_keys(sets: list[_Rubric | _Direct]) -> list[tuple[str | None, str, str | None]]:
    """Model, prompt class and, where several versions of the prompt's words are there, their hash."""
    hashes: dict[tuple[str | None, str], set[str]] = {}
    for grades in sets:
        found = hashes.setdefault((grades.llm, grades.prompt_class), set())
        if grades.prompt_hash is not None:
            found.add(grades.prompt_hash)
    return [
        (g.llm, g.prompt_class, g.prompt_hash if len(hashes[g.llm, g.prompt_class]) > 1 else None)
        for g in sets
    ]


def _kind(grades: _Rubric | _Direct) -> str | None:
    if isinstance(grades, _Direct) or grades.prompt_type == "direct_grading":
        return "direct"
    if grades.prompt_type is not None:
        return grades.prompt_type
    first = grades.self_ratings[0] if grades.self_ratings else None
    if first is None:
        return None
    return "question" if first.question_id else "nugget"


def _rubric_pairs(grades: _Rubric) -> dict[str, _Pair]:
    errors = grades.llm_response_errors if isinstance(grades.llm_response_errors, dict) else {}
    cut: Mapping[str, int] = grades.tokens_cut or {}
    labels = {item.nugget_id: item.assignment for item in grades.assignments or ()}
    pairs: dict[str, _Pair] = {}
    if grades.self_ratings is not None:
        for r in grades.self_ratings:
            key = r.question_id or r.nugget_id or ""
            failure = _failure(errors[key]) if key in errors else None
            pairs[key] = _Pair(
                r.self_rating, True, r.expected, r.margin, r.source, labels.get(key), cut.get(key), failure
            )
    else:
        for key, rating in _correct_or_wrong(grades):
            failure = _failure(errors[key]) if key in errors else None
            pairs[key] = _Pair(rating, False, tokens_cut=cut.get(key), failure=failure)
    for key, error in errors.items():
        if key not in pairs:
            pairs[key] = _Pair(
                None, grades.self_ratings is not None, tokens_cut=cut.get(key), failure=_failure(error)
            )
    return pairs


def _correct_or_wrong(grades: _Rubric) -> Iterator[tuple[str, int]]:
    ratings = dict.fromkeys(grades.wrongAnswered, 0) | dict.fromkeys(grades.correctAnswered, 1)
    yield from ratings.items()


def _direct_pairs(grades: _Direct) -> dict[str, _Pair]:
    failed = grades.llm_response_error
    rated = grades.self_ratings is not None
    rating = grades.self_ratings if rated else None if failed else int(grades.correctAnswered)
    cut = (grades.tokens_cut or {}).get(DIRECT_ID)
    failure = _failure(failed) if failed else None
    return {DIRECT_ID: _Pair(rating, rated, grades.expected, grades.margin, None, None, cut, failure)}


def _summary(grades: _Rubric | _Direct, pairs: Mapping[str, _Pair]) -> Row:
    ratings = [pair.rating for pair in pairs.values() if pair.rating is not None]
    return (
        grades.prompt_hash,
        grades.self_ratings is not None,
        len(pairs),
        sum(rating > 0 for rating in ratings),
        len(pairs) - len(ratings),
        max(ratings, default=None),
        grades.relevance_label,
        _ENCODER.encode(grades.llm_options).decode() if grades.llm_options else None,
    )


def _answers(grades: _Rubric | _Direct) -> Iterator[tuple[str, str | None, str | None]]:
    """Entry id, reply and what failed; a reply that failed stands in the errors alone."""
    if isinstance(grades, _Direct):
        error = grades.llm_response_error
        if grades.answer is not None or error:
            answer = grades.answer if grades.answer is not None else _response(error)
            yield DIRECT_ID, answer, _failure(error) if error else None
        return
    errors = grades.llm_response_errors if isinstance(grades.llm_response_errors, dict) else {}
    answered = set()
    for key, answer in grades.answers:
        answered.add(key)
        yield key, answer, _failure(errors[key]) if key in errors else None
    for key, error in errors.items():
        if key not in answered:
            yield key, _response(error), _failure(error)


def _failure(error: Any) -> str:
    reason = error.get("failure_reason") if isinstance(error, dict) else error
    return reason if isinstance(reason, str) else _ENCODER.encode(error).decode()


def _response(error: Any) -> str | None:
    response = error.get("response") if isinstance(error, dict) else None
    return response if isinstance(response, str) else None
