"""Converting graded passages and games to rows of the SQL tables, one query at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from exam_pp.data_model import (
    DIRECT_ID,
    LEGACY_PROMPT_CLASS,
    CriteriaGrades,
    DirectGrade,
    DirectMixin,
    Passage,
    RubricGrades,
    SupportGrades,
)
from exam_pp.games import QueryGames
from exam_pp.roles import role_of
from exam_pp.store.files import read_lines
from exam_pp.store.games import games_in, is_games_line
from exam_pp.store.garbage_collector import without_garbage_collection
from exam_pp.store.passages.graded_file import DECODER_ERRORS, check_ids, parse_query
from exam_pp.store.passages.structs import (
    CriteriaFields,
    DetailedDirect,
    DetailedPassage,
    DetailedRubric,
    SupportFields,
)
from exam_pp.store.sql.tables import Row, SqlValue, StoredName, TableName

Emit = Callable[[StoredName, Row], None]
"""A function that receives the name of a table and a row."""

# Lines that the fast decoder rejects are parsed in full, so SQL accepts the same files as other commands.
AnyPassage = Passage | DetailedPassage
AnyRubric = RubricGrades | DetailedRubric
AnyDirect = DirectGrade | DetailedDirect
Grader = tuple[str | None, str]
"""Model and prompt class."""

_DECODER = msgspec.json.Decoder(tuple[str, list[DetailedPassage]])
_ENCODER = msgspec.json.Encoder()

# The columns of `stored.grade_sets` that only one of the views has, if the statement does not name it.
_NOT_SOFT = (None,) * 4
_NO_SUMMARY: Row = (None,) * 6
_NO_PAIRS: Row = (0, *((None,) * 9))
_NO_REPLIES: Row = (0, None, None, None)


Values = Sequence[SqlValue] | None
"""A list in ``stored.grade_sets``: None, or short, if the values that it lacks are NULL."""


class _Pairs(NamedTuple):
    """The pairs of a set of grades, in the order of the columns of ``stored.grade_sets``.

    Entries without a rating come last; ``rating`` ends before them.
    """

    entry_id: list[str]
    rating: tuple[int, ...]
    expected: Values = None
    margin: Values = None
    mass: Values = None
    source: Values = None
    assignment: Values = None
    tokens_cut: Values = None
    failure: Values = None

    def summary(self) -> Row:
        """Return the numbers of asked, correct and ungraded entries, and the best rating."""
        asked = len(self.entry_id)
        correct = sum(rating > 0 for rating in self.rating)
        return (asked, correct, asked - len(self.rating), max(self.rating, default=None))

    def columns(self, positions: Sequence[int] | None = None) -> Row:
        """Return the number of pairs and their lists; ``positions`` selects pairs, by default all."""
        if positions is None:
            return (len(self.entry_id), *self)
        return (len(positions), *(_selected(values, positions) for values in self))


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
            query_id, passages = _decode(line, path, number)
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

    def _judgments_and_rankings(self, where: tuple[str, str], passages: Sequence[AnyPassage]) -> None:
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

    def _emit_grade_sets(self, here: tuple[str, str, str], passage: AnyPassage) -> None:
        sets: list[AnyRubric | AnyDirect] = [*(passage.rubric_grades or ()), *(passage.direct_grades or ())]
        graders = [(grades.model, grades.prompt_class or LEGACY_PROMPT_CLASS) for grades in sets]
        pairs = [_direct_pairs(g) if isinstance(g, DirectMixin) else _rubric_pairs(g) for g in sets]
        counting: Sequence[Sequence[int] | None] = [None] * len(sets)
        if len(set(graders)) < len(sets):
            counting = _counting_pairs(_merge_keys(graders, sets), pairs)
        for grades, grader, of_set, positions in zip(sets, graders, pairs, counting, strict=True):
            self._grade_set += 1
            summary, rated, replied = _NO_SUMMARY, _NO_PAIRS, _NO_REPLIES
            if "grades" in self._tables:
                options = grades.model_options
                encoded = _ENCODER.encode(options).decode() if options else None
                summary = (*of_set.summary(), grades.relevance_label, encoded)
            if "ratings" in self._tables:
                rated = of_set.columns(positions)
            if "answers" in self._tables:
                replied = _replies(grades, rated[1] or ())
            prompt = (grades.kind, grades.prompt_hash, grades.is_rated)
            row = (self._grade_set, *here, *grader, *prompt, *summary, *rated, *replied)
            self._emit("stored.grade_sets", row)

    def _emit_supports(
        self, here: tuple[str, str, str], sets: Sequence[SupportGrades] | Sequence[SupportFields]
    ) -> None:
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
    sets: Sequence[CriteriaGrades] | Sequence[CriteriaFields],
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


def _decode(line: bytes, path: str | Path, number: int) -> tuple[str, Sequence[AnyPassage]]:
    try:
        query_id, passages = _DECODER.decode(line)
    except DECODER_ERRORS:
        query = parse_query(line, str(path), number)
        return query.query_id, query.passages
    check_ids(passages, str(path), number)
    return query_id, passages


def _merge_keys(
    graders: Sequence[Grader], sets: Sequence[AnyRubric | AnyDirect]
) -> list[tuple[Grader, str | None]]:
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


def _counting_pairs(keys: Sequence[Hashable], pairs: Sequence[_Pairs]) -> list[list[int]]:
    """Return the positions of the pairs that count in ``ratings`` for each set.

    Of several sets with the same key, the last rating of an entry counts, or else its first failure.
    """
    counting: dict[tuple[Hashable, str], int] = {}
    for number, (key, of_set) in enumerate(zip(keys, pairs, strict=True)):
        for position, entry_id in enumerate(of_set.entry_id):
            if position < len(of_set.rating) or (key, entry_id) not in counting:
                counting[key, entry_id] = number
    return [
        [place for place, entry_id in enumerate(of_set.entry_id) if counting[key, entry_id] == number]
        for number, (key, of_set) in enumerate(zip(keys, pairs, strict=True))
    ]


_OF_RATING = attrgetter("self_rating", "expected", "margin", "mass", "source")


def _rubric_pairs(grades: AnyRubric) -> _Pairs:
    errors = grades.errors if isinstance(grades.errors, dict) else {}
    cut: Mapping[str, int] = grades.tokens_cut or {}
    labels = {item.nugget_id: item.assignment for item in grades.assignments or ()}
    if grades.self_ratings:
        rated = {r.entry_id: r for r in grades.self_ratings}
        entries, (ratings, *soft) = list(rated), zip(*map(_OF_RATING, rated.values()), strict=True)
    else:
        by_entry = grades.entry_ratings()
        entries, ratings, soft = list(by_entry), tuple(by_entry.values()), []
    if errors:
        entries = list(dict.fromkeys([*entries, *errors]))
    return _Pairs(
        entries,
        ratings,
        *(map(_or_none, soft) if soft else _NOT_SOFT),
        [labels.get(key) for key in entries[: len(ratings)]] if labels else None,
        [cut.get(key) for key in entries] if cut else None,
        _failures(entries, errors),
    )


def _direct_pairs(grades: AnyDirect) -> _Pairs:
    cut = grades.tokens_cut or {}
    errors = {DIRECT_ID: grades.error} if grades.error else {}
    return _Pairs(
        [DIRECT_ID],
        tuple(grades.entry_ratings().values()),
        *([value] for value in (grades.expected, grades.margin, grades.mass)),
        tokens_cut=[cut.get(DIRECT_ID)],
        failure=_failures([DIRECT_ID], errors),
    )


def _replies(grades: AnyRubric | AnyDirect, entries: Any) -> Row:
    """Return the last columns of ``stored.grade_sets``; replies of failures come from the errors.

    Replies to all ``entries`` of the pairs are in their order, so that the ids are stored once.
    """
    if isinstance(grades, DirectMixin):
        errors = {DIRECT_ID: grades.error} if grades.error else {}
        answers = [] if grades.answer is None else [(DIRECT_ID, grades.answer)]
    else:
        errors = grades.errors if isinstance(grades.errors, dict) else {}
        answers = grades.answers
    by_entry: dict[str, str | None] = dict(answers)
    is_unique = len(by_entry) == len(answers)
    if errors:
        by_entry = {key: _response(error) for key, error in errors.items()} | by_entry
    if is_unique and len(by_entry) == len(entries) and by_entry.keys() == set(entries):
        texts = [by_entry[key] for key in entries]
        return (len(texts), None, texts, _failures(entries, errors))
    failed = [(key, by_entry[key]) for key in errors if key not in dict(answers)]
    ids = [key for key, _ in (*answers, *failed)]
    return (len(ids), ids, [text for _, text in (*answers, *failed)], _failures(ids, errors))


def _failures(entries: Sequence[str], errors: Mapping[str, Any]) -> Values:
    if not errors:
        return None
    return [_failure(errors[key]) if key in errors else None for key in entries]


def _or_none(values: tuple[Any, ...]) -> Values:
    return None if values.count(None) == len(values) else values


def _selected(values: Values, positions: Sequence[int]) -> Values:
    return None if values is None else [values[n] if n < len(values) else None for n in positions]


def _failure(error: Any) -> str:
    reason = error.get("failure_reason") if isinstance(error, dict) else error
    return reason if isinstance(reason, str) else _ENCODER.encode(error).decode()


def _response(error: Any) -> str | None:
    response = error.get("response") if isinstance(error, dict) else None
    return response if isinstance(response, str) else None
