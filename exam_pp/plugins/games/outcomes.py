"""Outcomes of games between systems as arrays, and their counts by query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from exam_pp.errors import SelectionError
from exam_pp.formats.exam_pp_files import read_any_games
from exam_pp.games import Game, GameSet, QueryGames
from exam_pp.grade_filter import AnswerFilter, GradeKey, check_one
from exam_pp.metrics.entry_values import Floats, Ints
from exam_pp.phases.evaluation.result import PathLike, check_names
from exam_pp.roles import System
from exam_pp.text.wording import listed


class Outcome(NamedTuple):
    """The outcome of a played game; ungraded games have none."""

    query_id: str
    system_a: str
    system_b: str
    score: float


@dataclass(frozen=True)
class Outcomes:
    """Outcomes by column: numbers of query and systems, and the score of system a, of every game."""

    systems: list[str]
    query_ids: list[str]
    query: Ints
    a: Ints
    b: Ints
    score: Floats

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Outcomes:
        """The columns of outcomes."""
        systems: dict[str, int] = {}
        queries: dict[str, int] = {}
        rows = [
            (
                queries.setdefault(game.query_id, len(queries)),
                systems.setdefault(game.system_a, len(systems)),
                systems.setdefault(game.system_b, len(systems)),
            )
            for game in outcomes
        ]
        numbers = np.array(rows, dtype=np.int64).reshape(-1, 3)
        score = np.array([game.score for game in outcomes], dtype=float)
        query, a, b = np.ascontiguousarray(numbers.T)
        return cls(list(systems), list(queries), query, a, b, score)

    def __len__(self) -> int:
        return len(self.score)

    def wins(self) -> Floats:
        """Numbers of wins, systems × systems: of the row's system against the column's."""
        counts = np.zeros((len(self.systems), len(self.systems)))
        for winner, loser, of_winner in ((self.a, self.b, 1.0), (self.b, self.a, 0.0)):
            won = self.score == of_winner
            np.add.at(counts, (winner[won], loser[won]), 1)
        return counts

    def ties(self) -> Floats:
        """Numbers of ties, systems × systems, symmetric."""
        counts = np.zeros((len(self.systems), len(self.systems)))
        tied = self.score == 0.5
        for row, column in ((self.a, self.b), (self.b, self.a)):
            np.add.at(counts, (row[tied], column[tied]), 1)
        return counts

    def half_wins(self) -> Floats:
        """Numbers of wins with ties as half wins of both, as :meth:`wins`."""
        return self.wins() + self.ties() / 2

    def half_wins_by_query(self) -> sparse.csr_array:
        """The half wins of each query, queries × (systems × systems) in a single dimension.

        Most systems do not meet on a query, so the matrix is sparse.
        """
        size = len(self.systems)
        cells = np.concatenate([self.a * size + self.b, self.b * size + self.a])
        wins = np.concatenate([self.score, 1 - self.score])
        places = np.concatenate([self.query, self.query]), cells
        return sparse.coo_array((wins, places), shape=(len(self.query_ids), size**2)).tocsr()

    def groups(self) -> list[list[str]]:
        """The systems that are connected by games, directly or through other systems."""
        games = sparse.coo_array((np.ones(len(self)), (self.a, self.b)), shape=(len(self.systems),) * 2)
        number, group_of = connected_components(games, directed=False)
        return [
            [system for system, of in zip(self.systems, group_of, strict=True) if of == group]
            for group in range(number)
        ]


@dataclass
class JudgedGames:
    """The games of one judge.

    ``ungraded``: Number of games that were not played, for lack of a verdict. ``copies``: Number of games
    that equal an earlier game, with the same reply; they do not count.
    """

    outcomes: list[Outcome]
    judge: GradeKey
    systems: list[str]
    ungraded: int = 0
    both_orders: int = 0
    flips: int = 0
    copies: int = 0
    sources: list[str] = field(default_factory=list)
    games: dict[str, list[Game]] = field(default_factory=dict, repr=False)


def distinct_games(
    games: Iterable[PathLike | QueryGames],
) -> Iterator[tuple[str, GameSet, Game, bool]]:
    """The query, set and game of all games, and whether each is the first one with its places and reply."""
    known: set[int] = set()
    lines = ([item] if isinstance(item, QueryGames) else read_any_games(item) for item in games)
    for query in chain.from_iterable(lines):
        for of_judge in query.game_sets:
            for game in of_judge.games:
                result = (game.order, game.winner, game.answer)
                key = hash((query.query_id, of_judge.judge, of_judge.prompt_hash, game.a, game.b, *result))
                yield query.query_id, of_judge, game, key not in known
                known.add(key)


def judged_games(
    source: Iterable[PathLike | QueryGames], selection: AnswerFilter | None = None
) -> JudgedGames:
    """Read the selected games of one judge.

    ``selection``: The games to select, by names of systems with or without their repeat. None: all.
    """
    chosen = selection or AnswerFilter()
    items = list(source)
    sources = [str(item) for item in items if isinstance(item, PathLike)] or ["the input"]
    judges: dict[tuple[GradeKey, str | None], None] = {}
    by_query: dict[str, list[Game]] = defaultdict(list)
    named: set[str] = set()
    copies = 0
    for query_id, of_judge, game, is_first in distinct_games(items):
        named |= {str(game.a), str(game.b), game.system_a, game.system_b}
        if chosen.accepts(of_judge) and all(chosen.selects(str(s), s.name) for s in (game.a, game.b)):
            judges[of_judge.judge, of_judge.prompt_hash] = None
            copies += not is_first
            if is_first:
                by_query[query_id].append(game)
    where = listed(sources)
    if unknown := [system for system in chosen.systems if system not in named]:
        raise SelectionError(f"The system {unknown[0]!r} of --system plays no games in {where}.")
    judge = _single(list(judges), where)
    result = JudgedGames([], judge, [], copies=copies, sources=sources, games=dict(by_query))
    systems: dict[str, None] = {}
    for query_id, of_query in by_query.items():
        systems |= dict.fromkeys(name for game in of_query for name in (game.system_a, game.system_b))
        for first, second in _pairs(of_query):
            score = first.score
            if second is not None and score is not None and second.score is not None:
                is_same = score == 1 - second.score
                result.both_orders += 1
                result.flips += not is_same
                score = score if is_same else 0.5
            elif second is not None or first.order is not None:
                score = None
            if score is None:
                result.ungraded += 1
            else:
                result.outcomes.append(Outcome(query_id, first.system_a, first.system_b, score))
    result.systems = list(systems)
    check_names(by_query, systems)
    return result


def _single(judges: list[tuple[GradeKey, str | None]], where: str) -> GradeKey:
    """The judge of the selected games; raises SelectionError unless there is one with one prompt."""
    if not judges:
        raise SelectionError(f"{where}: the options select no games.")
    keys = list(dict.fromkeys(judge for judge, _ in judges))
    options = [f"--grader {model!r}" + (f" --prompt {prompt!r}" if prompt else "") for model, prompt in keys]
    check_one(options, f"{where} has games by several judges")
    if len(judges) > 1:
        hashes = sorted(prompt_hash for _, prompt_hash in judges if prompt_hash is not None)
        raise SelectionError(
            f"The games in {where} were made with several versions of the prompt; choose one with "
            f"--grades hash: {', '.join(hashes)}."
        )
    return keys[0]


def _pairs(games: Iterable[Game]) -> Iterator[tuple[Game, Game | None]]:
    """The games of a query, each with that of the same answers in the other order, if there is one."""
    waiting: dict[tuple[System, System], list[Game]] = defaultdict(list)
    for game in games:
        if game.order is None:
            yield game, None
        elif partners := waiting[game.b, game.a]:
            yield partners.pop(0), game
        else:
            waiting[game.a, game.b].append(game)
    for alone in waiting.values():
        for game in alone:
            yield game, None
