"""Converting graded passages and games to rows of the SQL tables, one query at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET

from exam_pp.data_model import (
    DIRECT_ID,
    LEGACY_PROMPT_CLASS,
    CriteriaGrades,
    DirectGrade,
    Passage,
    RubricGrades,
    SupportGrades,
)
from exam_pp.plugins.sql.tables import Row, SqlValue, StoredName, TableName
from exam_pp.roles import role_of
from exam_pp.store.files import read_lines
from exam_pp.store.passages.graded_file import parse_query, without_garbage_collection

if TYPE_CHECKING:
    from exam_pp.games import QueryGames

Emit = Callable[[StoredName, Row], None]
"""A function that receives the name of a table and a row."""

AnyGrades = RubricGrades | DirectGrade
Grader = tuple[str | None, str]
"""Model and prompt class."""

_ENCODER = msgspec.json.Encoder()

_EMPTY = msgspec.Raw(b"{}")
_SOFT = ("expected", "margin", "mass", "source")
_NO_SUMMARY, _NO_PAIRS, _NO_REPLIES = (None,) * 6, (0, *(None,) * 9), (0, None, None, None)
"""Columns of tables that the statement does not read."""

Errors = Mapping[str, Any]
"""The errors of a set by entry."""
Values = Sequence[SqlValue] | None
"""A list in ``stored.grade_sets``, in the order of the entries; None if all values are NULL."""


class _EntryLists:
    """Numbers the lists of entries of a query: sets of the same entries share a list."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._count = 0
        self.of_query: dict[frozenset[str], tuple[int, list[str]]] = {}

    def of(self, entries: Collection[str]) -> tuple[int, list[str]]:
        """Return the number of the list of these entries, which are different, and the list."""
        key = frozenset(entries)
        known = self.of_query.get(key)
        if known is None:
            known = self.of_query[key] = self.new(list(entries))
        return known

    def new(self, entries: list[str]) -> tuple[int, list[str]]:
        """Emit a list that may have an entry twice."""
        self._count += 1
        self._emit("stored.entry_lists", (self._count, entries))
        return self._count, entries


class GradedRows:
    """Reads graded files and games files and passes the rows of ``tables`` to ``emit``.

    ``expect`` is called with the number of bytes of a line before its rows. ``queries`` are the query ids so
    far, with their texts if a games file has them, ``repeated`` the pairs (file, query id) that occur on
    several lines. Sets of grades are numbered over all files.
    """

    def __init__(
        self,
        tables: Collection[TableName],
        emit: Emit,
        expect: Callable[[int], None] = lambda _size: None,
    ) -> None:
        self._tables = frozenset(tables)
        self._summaries, self._ratings, self._answers = (
            name in self._tables for name in ("grades", "ratings", "answers")
        )
        self._emit = emit
        self._expect = expect
        self._grade_set = 0
        self._entry_lists = _EntryLists(emit)
        self.queries: dict[str, str | None] = {}
        self.repeated: set[tuple[str, str]] = set()

    def read(self, path: str | Path) -> None:
        """Read a whole file; raises :class:`~exam_pp.errors.DataError` as the full reader does."""
        with without_garbage_collection():
            lines = self._announced(read_lines(path))
            first = next(lines, None)
            lines = lines if first is None else chain([first], lines)
            if first is not None and first[1].startswith(b"{"):
                from exam_pp.store.games_files import games_in, is_games_line

                if is_games_line(first[1]):
                    self._add_games(games_in(lines, path), path)
                    return
            self._read_passages(lines, path)

    def _announced(self, lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        for number, line in lines:
            self._expect(len(line))
            yield number, line

    def _add_games(self, queries: Iterable[QueryGames], path: str | Path) -> None:
        for query in queries:
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
            self.queries[query_id] = self.queries.get(query_id) or query.query_text or None
            self._entry_lists.of_query.clear()
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
        if "judgments" in self._tables:
            judged = (
                (*where, passage.passage_id, j.relevance, j.query_id, j.title_query)
                for passage in passages
                for j in passage.judgments
            )
            for row in dict.fromkeys(judged):
                self._emit("judgments", row)
        if "rankings" in self._tables:
            ranked = (
                (
                    *(*where, passage.passage_id, r.method, r.rank, r.score),
                    None if r.citations is None else tuple(r.citations),
                    role_of(where[1], passage.passage_id, r),
                    r.repeat,
                )
                for passage in passages
                for r in passage.data.rankings
            )
            for ranking in dict.fromkeys(ranked):
                self._emit("rankings", ranking)

    def _emit_grade_sets(self, here: tuple[str, str, str], passage: Passage) -> None:
        sets = [*passage.grade_sets()]
        graders = [(grades.model, grades.prompt_class or LEGACY_PROMPT_CLASS) for grades in sets]
        all_errors = [*map(_errors, sets)]
        all_ratings = [*map(_ratings_of, sets, all_errors)]
        counting: Sequence[Collection[str]] = all_ratings
        if len(set(graders)) < len(sets):
            counting = _counting_entries(_merge_keys(graders, sets), all_ratings)
        of_sets = zip(sets, graders, all_errors, all_ratings, counting, strict=True)
        for grades, grader, errors, ratings, entries in of_sets:
            self._grade_set += 1
            head = (self._grade_set, *here, *grader, grades.kind, grades.prompt_hash, grades.is_rated)
            summary = _summary(grades, ratings) if self._summaries else _NO_SUMMARY
            pairs = self._pairs(grades, ratings, entries, errors) if self._ratings else _NO_PAIRS
            replies = self._replies(grades, errors) if self._answers else _NO_REPLIES
            self._emit("stored.grade_sets", (*head, *summary, *pairs, *replies))

    def _pairs(
        self, grades: AnyGrades, ratings: Mapping[str, int | None], entries: Collection[str], errors: Errors
    ) -> Row:
        """Return the columns of the table ``ratings``, for the entries that count."""
        number, order = self._entry_lists.of(entries)
        extras = _extras(grades, order)
        return (len(order), number, [*map(ratings.get, order)], *extras, _failures(order, errors))

    def _replies(self, grades: AnyGrades, errors: Errors) -> Row:
        """Return the columns of the table ``answers``; replies of failures come from the errors."""
        replies: list[tuple[str, str | None]] = []
        if isinstance(grades, RubricGrades):
            replies += grades.answers or ()
        elif grades.answer is not None:
            replies.append((DIRECT_ID, grades.answer))
        texts = dict(replies)
        missing = {key: _response(error) for key, error in errors.items() if key not in texts}
        if len(texts) == len(replies):
            texts |= missing
            number, order = self._entry_lists.of(texts)
            return (len(order), number, [*map(texts.get, order)], _failures(order, errors))
        replies += missing.items()
        number, order = self._entry_lists.new([key for key, _ in replies])
        return (len(order), number, [text for _, text in replies], _failures(order, errors))

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


def _merge_keys(graders: Sequence[Grader], sets: Sequence[AnyGrades]) -> list[tuple[Grader, str | None]]:
    """Return the grader and, if there are several versions of its prompt, the prompt's hash for each set."""
    hashes: dict[Grader, set[str]] = {}
    for grader, grades in zip(graders, sets, strict=True):
        versions = hashes.setdefault(grader, set())
        if grades.prompt_hash is not None:
            versions.add(grades.prompt_hash)
    return [
        (grader, grades.prompt_hash if len(hashes[grader]) > 1 else None)
        for grader, grades in zip(graders, sets, strict=True)
    ]


def _counting_entries(
    keys: Sequence[Hashable], all_ratings: Sequence[Mapping[str, int | None]]
) -> list[list[str]]:
    """Return the entries of each set that count in ``ratings``.

    Of several sets with the same key, the last rating of an entry counts, or else its first failure.
    """
    counting: dict[tuple[Hashable, str], int] = {}
    for number, (key, ratings) in enumerate(zip(keys, all_ratings, strict=True)):
        for entry_id, rating in ratings.items():
            if rating is not None or (key, entry_id) not in counting:
                counting[key, entry_id] = number
    return [
        [entry_id for entry_id in ratings if counting[key, entry_id] == number]
        for number, (key, ratings) in enumerate(zip(keys, all_ratings, strict=True))
    ]


def _ratings_of(grades: AnyGrades, errors: Errors) -> Mapping[str, int | None]:
    """Return the ratings by entry; None for an entry without a rating."""
    ratings = grades.entry_ratings()
    return dict.fromkeys([*ratings, *errors]) | ratings if errors else ratings


def _soft_grades(grades: AnyGrades) -> Mapping[str, object]:
    """Return the objects with the attributes :data:`_SOFT` by entry, of those that have one."""
    if isinstance(grades, DirectGrade):
        return {DIRECT_ID: grades}
    ratings: Sequence[Any] = grades.self_ratings or ()
    return {
        r.entry_id: r
        for r in ratings  # the slots, which are read a million times
        if r._expected is not UNSET
        or r._margin is not UNSET
        or r._mass is not UNSET
        or r._source is not UNSET
    }


def _extras(grades: AnyGrades, entries: Sequence[str]) -> Row:
    """Return the columns from ``expected`` to ``tokens_cut``, which most sets of grades lack."""
    soft, labels, cut = _soft_grades(grades), grades.nugget_labels(), grades.tokens_cut
    of_entry = dict(labels) if labels else {}
    return (
        *([getattr(soft.get(key), name, None) for key in entries] if soft else None for name in _SOFT),
        [*map(of_entry.get, entries)] if labels else None,
        [*map(cut.get, entries)] if cut else None,
    )


def _summary(grades: AnyGrades, ratings_of: Mapping[str, int | None]) -> Row:
    ratings = [rating for rating in ratings_of.values() if rating is not None]
    return (
        len(ratings_of),
        sum(rating > 0 for rating in ratings),
        len(ratings_of) - len(ratings),
        max(ratings, default=None),
        grades.relevance_label,
        _ENCODER.encode(grades.model_options).decode() if grades.model_options else None,
    )


def _errors(grades: AnyGrades) -> Errors:
    if isinstance(grades, DirectGrade):
        return {DIRECT_ID: grades.error} if grades.error else {}
    raw: Any = grades
    if raw._errors is UNSET or raw._errors == _EMPTY:  # most sets: not decoded
        return {}
    errors = grades.errors
    return errors if isinstance(errors, dict) else {}


def _failures(entries: Sequence[str], errors: Errors) -> Values:
    return [_failure(errors[key]) if key in errors else None for key in entries] if errors else None


def _failure(error: Any) -> str:
    reason = error.get("failure_reason") if isinstance(error, dict) else error
    return reason if isinstance(reason, str) else _ENCODER.encode(error).decode()


def _response(error: Any) -> str | None:
    response = error.get("response") if isinstance(error, dict) else None
    return response if isinstance(response, str) else None
