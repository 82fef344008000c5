"""Converting graded passages and games to rows of the SQL tables, one query at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from exam_pp.data_model import (
    DIRECT_ID,
    CriteriaGrades,
    DirectGrade,
    Passage,
    RubricGrades,
    SupportGrades,
)
from exam_pp.games import QueryGames
from exam_pp.grade_filter import GradeKey
from exam_pp.roles import role_of
from exam_pp.store.files import read_lines
from exam_pp.store.games_files import games_in, is_games_line
from exam_pp.store.passages.graded_file import parse_query, without_garbage_collection
from exam_pp.store.sql.tables import Row, TableName

Emit = Callable[[TableName, Row], None]
"""A function that receives the name of a table and a row."""

_ENCODER = msgspec.json.Encoder()


class _Pair(NamedTuple):
    """The last columns of the table ``ratings``, for one passage and entry."""

    rating: int | None
    is_rated: bool
    expected: float | None = None
    margin: float | None = None
    mass: float | None = None
    source: str | None = None
    assignment: str | None = None
    tokens_cut: int | None = None
    failure: str | None = None


class GradedRows:
    """Reads graded files and games files and passes the rows of ``tables`` to ``emit``.

    ``expect`` is called with the number of bytes of a line before its rows. ``queries`` are the query ids so
    far, with their texts if a games file has them, ``repeated`` the pairs (file, query id) that occur on
    several lines. Sets of grades are numbered over all files.
    """

    def __init__(
        self, tables: Collection[TableName], emit: Emit, expect: Callable[[int], None] = lambda _size: None
    ) -> None:
        self._tables = frozenset(tables)
        self._emit = emit
        self._expect = expect
        self._grade_set = 0
        self.queries: dict[str, str | None] = {}
        self.repeated: set[tuple[str, str]] = set()

    def read(self, path: str | Path) -> None:
        """Read a whole file; raises :class:`~exam_pp.errors.DataError` as the full reader does."""
        with without_garbage_collection():
            lines = self._announced(read_lines(path))
            first = next(lines, None)
            lines = lines if first is None else chain([first], lines)
            if first is not None and is_games_line(first[1]):
                self._read_games(lines, path)
            else:
                self._read_passages(lines, path)

    def _announced(self, lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        for number, line in lines:
            self._expect(len(line))
            yield number, line

    def _read_games(self, lines: Iterable[tuple[int, bytes]], path: str | Path) -> None:
        for query in games_in(lines, path):
            self.queries[query.query_id] = self.queries.get(query.query_id) or query.query_text
            if "games" in self._tables:
                for row in _game_rows(shown_path(path), query):
                    self._emit("games", row)

    def _read_passages(self, lines: Iterable[tuple[int, bytes]], path: str | Path) -> None:
        file = shown_path(path)
        earlier_ids: set[str] = set()
        for number, line in lines:
            query = parse_query(line, str(path), number)
            query_id, passages = query.query_id, query.passages
            if query_id in earlier_ids:
                self.repeated.add((file, query_id))
            earlier_ids.add(query_id)
            self.queries.setdefault(query_id, None)
            criteria: dict[tuple[Any, ...], Row] = {}
            seen: set[str] = set()
            for position, passage in enumerate(passages, 1):
                here = (file, query_id, passage.passage_id)
                if "passages" in self._tables and passage.passage_id not in seen:
                    self._emit("passages", (*here, passage.text, number, position))
                seen.add(passage.passage_id)
                if self._tables & {"grades", "ratings", "answers"}:
                    self._emit_grade_sets(here, passage)
                if "supports" in self._tables and passage.support_grades:
                    self._emit_supports(here, passage.support_grades)
                if "criteria" in self._tables and passage.criteria_grades:
                    _add_criteria(criteria, here[:2], passage.criteria_grades)
            for row in criteria.values():
                self._emit("criteria", row)
            self._judgments_and_rankings((file, query_id), passages)

    def _judgments_and_rankings(self, where: tuple[str, str], passages: Sequence[Passage]) -> None:
        """Emit duplicate judgments and rankings once, because joins would count them twice."""
        seen: set[tuple[Any, ...]] = set()

        def is_new(table: TableName, row: tuple[Any, ...], citations: list[str] | None = None) -> bool:
            key = (table, row, None if citations is None else tuple(citations))
            new = key not in seen
            seen.add(key)
            return new

        for passage in passages:
            here = (*where, passage.passage_id)
            for judgment in passage.judgments if "judgments" in self._tables else ():
                row = (*here, judgment.relevance, judgment.query_id, judgment.title_query)
                if is_new("judgments", row):
                    self._emit("judgments", row)
            for r in passage.data.rankings if "rankings" in self._tables else ():
                role = role_of(where[1], passage.passage_id, r)
                ranking = (*here, r.method, r.rank, r.score, role, r.repeat)
                if is_new("rankings", ranking, r.citations):
                    self._emit("rankings", (*ranking[:6], r.citations, *ranking[6:]))

    def _emit_grade_sets(self, here: tuple[str, str, str], passage: Passage) -> None:
        sets: list[RubricGrades | DirectGrade] = [
            *(passage.rubric_grades or ()),
            *(passage.direct_grades or ()),
        ]
        merged: dict[tuple[str | None, str, str | None], dict[str, Row]] = {}
        keys = _merge_keys(sets)
        for grades, key in zip(sets, keys, strict=True):
            self._grade_set += 1
            pairs = _direct_pairs(grades) if isinstance(grades, DirectGrade) else _rubric_pairs(grades)
            grader = (*key[:2], grades.kind)
            if "grades" in self._tables:
                self._emit("grades", (self._grade_set, *here, *grader, *_summary(grades, pairs)))
            if "answers" in self._tables:
                for entry_id, answer, failure in _answers(grades):
                    self._emit("answers", (self._grade_set, *here, entry_id, *grader, answer, failure))
            if "ratings" in self._tables:
                rows = merged.setdefault(key, {})
                for entry_id, pair in pairs.items():
                    if pair.rating is not None or entry_id not in rows:
                        rows[entry_id] = (self._grade_set, *here, entry_id, *grader, *pair)
        for rows in merged.values():
            for row in rows.values():
                self._emit("ratings", row)

    def _emit_supports(self, here: tuple[str, str, str], sets: Sequence[SupportGrades]) -> None:
        rows: dict[tuple[str, str | None, str | None], Row] = {}
        for grades in sets:
            cut = grades.tokens_cut or {}
            for item in grades.supports:
                key = (item.citation, grades.model, grades.prompt_class)
                failure = _failure(item.error) if item.error else None
                if item.support is not None or key not in rows:
                    rows[key] = (*here, *key, item.support, item.answer, cut.get(item.citation), failure)
        for row in rows.values():
            self._emit("supports", row)


def _add_criteria(
    rows: dict[tuple[Any, ...], Row],
    where: tuple[str, str],
    sets: Sequence[CriteriaGrades],
) -> None:
    """Add the ratings of answers to the rows of a query; a failure does not replace a rating."""
    for grades in sets:
        for item in grades.ratings:
            key = (grades.system, grades.model, grades.prompt_class, item.criterion)
            if item.rating is not None or key not in rows:
                rows[key] = (*where, *key, item.rating, _failure(item.error) if item.error else None)


def _game_rows(file: str, query: QueryGames) -> Iterator[Row]:
    for of_judge in query.game_sets:
        for game in of_judge.games:
            answer = game.answer if game.answer is not None else _response(game.error)
            failure = _failure(game.error) if game.error else None
            systems = (game.system_a, game.system_b, game.repeat_a, game.repeat_b)
            verdict = (game.winner, game.order, game.decided_by, game.words_a, game.words_b, answer, failure)
            yield (file, query.query_id, of_judge.model, of_judge.prompt_class, *systems, *verdict)


def shown_path(path: str | Path) -> str:
    """Return a path as valid Unicode for a database; invalid bytes are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def _merge_keys(sets: Sequence[RubricGrades | DirectGrade]) -> list[tuple[str | None, str, str | None]]:
    """Return model, prompt class and, if there are several versions of the prompt, its hash for each set."""
    keys = [(grades.model, GradeKey.of(grades).prompt_class) for grades in sets]
    hashes: dict[tuple[str | None, str], set[str]] = {}
    for key, grades in zip(keys, sets, strict=True):
        versions = hashes.setdefault(key, set())
        if grades.prompt_hash is not None:
            versions.add(grades.prompt_hash)
    return [
        (*key, grades.prompt_hash if len(hashes[key]) > 1 else None)
        for key, grades in zip(keys, sets, strict=True)
    ]


def _rubric_pairs(grades: RubricGrades) -> dict[str, _Pair]:
    errors = grades.errors if isinstance(grades.errors, dict) else {}
    cut: Mapping[str, int] = grades.tokens_cut or {}
    labels = {item.nugget_id: item.assignment for item in grades.assignments or ()}
    pairs: dict[str, _Pair] = {}
    if grades.self_ratings is not None:
        for r in grades.self_ratings:
            key = r.entry_id
            failure = _failure(errors[key]) if key in errors else None
            soft = (r.expected, r.margin, r.mass)
            pairs[key] = _Pair(r.self_rating, True, *soft, r.source, labels.get(key), cut.get(key), failure)
    else:
        for key, rating in grades.entry_ratings().items():
            failure = _failure(errors[key]) if key in errors else None
            pairs[key] = _Pair(rating, False, tokens_cut=cut.get(key), failure=failure)
    for key, error in errors.items():
        if key not in pairs:
            pairs[key] = _Pair(None, grades.is_rated, tokens_cut=cut.get(key), failure=_failure(error))
    return pairs


def _direct_pairs(grades: DirectGrade) -> dict[str, _Pair]:
    rating = grades.entry_ratings().get(DIRECT_ID)
    cut = (grades.tokens_cut or {}).get(DIRECT_ID)
    failure = _failure(grades.error) if grades.error else None
    soft = (grades.expected, grades.margin, grades.mass)
    return {DIRECT_ID: _Pair(rating, grades.is_rated, *soft, None, None, cut, failure)}


def _summary(grades: RubricGrades | DirectGrade, pairs: Mapping[str, _Pair]) -> Row:
    ratings = [pair.rating for pair in pairs.values() if pair.rating is not None]
    return (
        grades.prompt_hash,
        grades.is_rated,
        len(pairs),
        sum(rating > 0 for rating in ratings),
        len(pairs) - len(ratings),
        max(ratings, default=None),
        grades.relevance_label,
        _ENCODER.encode(grades.model_options).decode() if grades.model_options else None,
    )


def _answers(grades: RubricGrades | DirectGrade) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield entry id, reply and failure reason; replies of failures come from the errors."""
    if isinstance(grades, DirectGrade):
        error = grades.error
        if grades.answer is not None or error:
            answer = grades.answer if grades.answer is not None else _response(error)
            yield DIRECT_ID, answer, _failure(error) if error else None
        return
    errors = grades.errors if isinstance(grades.errors, dict) else {}
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
