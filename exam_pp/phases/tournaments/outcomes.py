"""Outcomes of the games in games files, by the judge that decided them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from exam_pp.errors import SelectionError
from exam_pp.formats.exam_pp_files import read_any_games
from exam_pp.games import Game, GameSet, QueryGames
from exam_pp.grade_filter import AnswerFilter, GradeKey, check_one
from exam_pp.metrics.outcomes import Outcome
from exam_pp.phases.evaluation.result import PathLike, check_names
from exam_pp.roles import System
from exam_pp.text.wording import listed


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


def read_all(games: Iterable[PathLike | QueryGames]) -> Iterator[QueryGames]:
    """The queries of games files, or of objects, one after the other."""
    for item in games:
        if isinstance(item, QueryGames):
            yield item
        else:
            yield from read_any_games(item)


def distinct_games(
    games: Iterable[PathLike | QueryGames],
) -> Iterator[tuple[str, GameSet, Game, bool]]:
    """The query, set and game of all games, and whether each is the first one with its places and reply."""
    known: set[int] = set()
    for query in read_all(games):
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
                result.outcomes.append(Outcome(query_id, first.system_a, first.system_b, score, judge))
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
