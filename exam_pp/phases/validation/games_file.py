"""Checks of games files, alone and against the passages file whose answers were compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from exam_pp.errors import DataError
from exam_pp.games import Game, GameSet, QueryGames
from exam_pp.phases.validation.by_reading import add_problems
from exam_pp.phases.validation.checks import Findings
from exam_pp.phases.validation.grades import Note
from exam_pp.roles import System, outputs_of
from exam_pp.store.files import read_lines
from exam_pp.store.games import parse_games
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.wording import counted


class Answers(NamedTuple):
    """A passages file, and the systems, with repeats, that answered each of its queries."""

    passages: Path
    systems: Mapping[str, Collection[System]]


def read_answers(path: Path) -> Answers:
    """Read which systems answered which queries of a passages file, one query at a time."""
    systems: dict[str, set[System]] = defaultdict(set)
    for query in read_passages(path):
        systems[query.query_id] |= {out.key for out in outputs_of(query).values() if out.answered}
    return Answers(path, dict(systems))


def check_games(path: Path, findings: Findings, answers: Answers | None = None) -> str:
    """Check a games file with one query in memory at a time; returns a summary of its contents.

    With ``answers``, every system of a game must have answered the query.
    """
    checker = _Checker(str(path), findings, answers)
    for number, line in read_lines(path):
        checker.line(number, line)
    if not checker.first_line and not findings.has(str(path)):
        findings.add("empty", str(path), None, "", "has no queries")
    judges = counted(len(checker.judges), "judge")
    return f"{counted(len(checker.first_line), 'query')}, {counted(checker.games, 'game')}, {judges}"


@dataclass
class _Checker:
    file: str
    findings: Findings
    answers: Answers | None
    first_line: dict[str, int] = field(default_factory=dict)
    judges: set[str] = field(default_factory=set)
    games: int = 0

    def line(self, number: int, line: bytes) -> None:
        """Check a line; problems become findings, so that the next line is checked, too."""
        query = self._parsed(number, line)
        if query is None:
            return

        def note(check: str, where: str, message: str) -> None:
            location = f"query {query.query_id}" + (f", {where}" if where else "")
            self.findings.add(check, self.file, number, location, message)

        if query.query_id in self.first_line:
            problem = f"is also on line {self.first_line[query.query_id]}; exam-pp merge joins games files"
            where = f"query {query.query_id}"
            self.findings.add("duplicate-query", self.file, number, where, problem, "error")
        self.first_line.setdefault(query.query_id, number)
        if not any(of_judge.games for of_judge in query.game_sets):
            where = f"query {query.query_id}"
            self.findings.add("empty", self.file, number, where, "has no games", "warning")
        for of_judge in query.game_sets:
            self.judges.add(_judge(of_judge))
            self.games += len(of_judge.games)
        _check_repeated_games(query, note)
        _check_orders(query, note)
        _check_ungraded(query, note)
        _check_words(query, note)
        if self.answers is not None:
            _check_systems(query, self.answers, note)

    def _parsed(self, number: int, line: bytes) -> QueryGames | None:
        try:
            return parse_games(line, self.file, number)
        except DataError as error:
            if isinstance(error.__cause__, ValidationError):
                add_problems(error.__cause__, Path(self.file), number, self.findings)
            else:
                self.findings.add("duplicate-key", self.file, number, "", error.problem.rstrip("."))
            return None


def _judge(of_judge: GameSet) -> str:
    return " ".join(filter(None, (of_judge.model or "(no model)", of_judge.prompt_class)))


def _by_judge(query: QueryGames) -> Iterator[tuple[str, list[Game]]]:
    """Yield the games of each model and version of a prompt, which may be in several sets."""
    games: dict[tuple[str, str | None], list[Game]] = defaultdict(list)
    for of_judge in query.game_sets:
        games[_judge(of_judge), of_judge.prompt_hash] += of_judge.games
    for (judge, _), of_judge_games in games.items():
        yield judge, of_judge_games


def _places(game: Game) -> str:
    return f"{game.a} against {game.b}"


def _check_repeated_games(query: QueryGames, note: Note) -> None:
    for judge, games in _by_judge(query):
        times = Counter((game.a, game.b, game.order) for game in games)
        for (one, two, order), count in times.items():
            if count > 1:
                in_order = "" if order is None else f" in order {order}"
                note(
                    "repeated-game",
                    judge,
                    f"has {one} against {two}{in_order} {count} times; equal replies count once",
                )


def _check_orders(query: QueryGames, note: Note) -> None:
    for judge, games in _by_judge(query):
        ordered = {(game.a, game.b, game.order) for game in games if game.order is not None}
        for one, two, order in sorted(ordered, key=str):
            if (two, one, 3 - order) not in ordered:
                place = f"has {one} against {two} in order {order}"
                note("missing-order", judge, f"{place}, but not {two} against {one} in order {3 - order}")


def _check_ungraded(query: QueryGames, note: Note) -> None:
    for judge, games in _by_judge(query):
        for game in games:
            if game.winner is None and not game.error:
                note("ungraded", judge, f"{_places(game)} has neither a winner nor an error")


def _check_words(query: QueryGames, note: Note) -> None:
    words: dict[System, set[int]] = defaultdict(set)
    for of_judge in query.game_sets:
        for game in of_judge.games:
            for name, number in ((game.a, game.words_a), (game.b, game.words_b)):
                words[name] |= set() if number is None else {number}
    for name, numbers in words.items():
        if len(numbers) > 1:
            listed = " and ".join(map(str, sorted(numbers)))
            note("word-counts", "", f"the answer of {name} has {listed} words in different games")


def _check_systems(query: QueryGames, answers: Answers, note: Note) -> None:
    systems = answers.systems.get(query.query_id)
    if systems is None:
        note("unknown-system", "", f"is not in {answers.passages}, so its systems have no answers")
        return
    played = (name for of_judge in query.game_sets for game in of_judge.games for name in (game.a, game.b))
    for name in dict.fromkeys(played):
        if name not in systems:
            note("unknown-system", "", f"the system {name} has games, but no answer in {answers.passages}")
