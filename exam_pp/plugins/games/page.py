"""The page to compare answers blind: games in drawn places, without names of systems."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from exam_pp.data_model import Passage, QueryPassages, is_human
from exam_pp.errors import DataError, SelectionError
from exam_pp.phases.evaluation.result import counted_names
from exam_pp.phases.passages.sample import random_key
from exam_pp.rendering.page_parts import asset
from exam_pp.reports.review.page import SHARED_SCRIPTS, block, page_of, review_asset
from exam_pp.roles import System, SystemOutput, outputs_of
from exam_pp.store.games_files import read_games
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.text.wording import counted, listed, no_query

log = logging.getLogger(__name__)

DIGITS = 20
"""Hexadecimal digits of the id of a game, which are 80 bits: enough for billions of games without a clash."""

Pairs = set[frozenset[System]]


@dataclass(frozen=True)
class OpenGame:
    """Two answers to a query in the places A and B.

    The id is a hash of the seed, the query, the systems in their places, and the texts of the answers. So
    decisions fit only the answers that were read, and the id reveals nothing without the seed.
    """

    query_id: str
    a: SystemOutput
    b: SystemOutput
    game_id: str

    @property
    def pair(self) -> frozenset[System]:
        """Both systems, in whatever places."""
        return frozenset((self.a.key, self.b.key))


def open_games(query: QueryPassages, seed: int) -> Iterator[OpenGame]:
    """The games between all answers that a person can compare: of two systems, with two different texts."""

    def key(a: SystemOutput, b: SystemOutput, *texts: str) -> str:
        return random_key(seed, json.dumps([query.query_id, *a.key, *b.key, *texts]))

    for pair in combinations(answers_of(query), 2):
        a, b = sorted(pair, key=lambda output: (output.system, output.repeat or 0))
        if a.system != b.system and "" not in (a.text, b.text) and a.text != b.text:
            if int(key(a, b)[-1], 16) % 2:
                a, b = b, a
            yield OpenGame(query.query_id, a, b, key(a, b, a.text, b.text)[:DIGITS])


def answers_of(query: QueryPassages) -> list[SystemOutput]:
    """The answers in a line of a passages file, also empty ones."""
    return [output for output in outputs_of(query).values() if output.answered]


@dataclass(frozen=True)
class GamesMaterial:
    """Data of a page of games.

    ``head`` is JSON that the page shows at once. ``queries`` has the games of each query of the head: texts,
    and for each game indexes of texts.
    """

    head: Mapping[str, Any]
    queries: Sequence[Mapping[str, Any]]

    @property
    def size(self) -> str:
        """The numbers of games and queries."""
        games = counted(sum(len(query["games"]) for query in self.queries), "game")
        return f"{games} of {counted(len(self.queries), 'query')}"


def review_games(
    passages: Path,
    *,
    queries_file: Path | None = None,
    games: Path | None = None,
    queries: Collection[str] = (),
    systems: Collection[str] = (),
    games_per_query: int | None = None,
    grader: str | None = None,
    only_ungraded: bool = False,
    top: int = 10,
    seed: int = 0,
    reviewer: str = "",
) -> GamesMaterial:
    """Collect the games of a page.

    Places, order and ids depend only on the seed and on the answers, not on ``games`` or on other options.
    Games with an empty answer, or between equal texts, are left out.

    ``queries_file``: Texts of the queries; None for those in ``games``. ``games``: Games file, whose games
    are shown; None for the games between all systems. ``queries``: Ids of the queries to show; empty for all.
    ``systems``: Systems whose answers are compared, with or without a repeat; empty for all.
    ``games_per_query``: Number of games to draw for each query with the seed; None for all. ``grader``: Only
    games of this judge; None for those of all models. ``only_ungraded``: Only games without a winner.
    ``reviewer``: Name of the reviewer, which can be changed on the page.
    """
    texts, wanted = ({}, None) if games is None else _wanted(games, queries, grader, only_ungraded)
    texts |= read_query_texts(queries_file) if queries_file else {}
    shown: dict[str, list[OpenGame]] = {}
    skipped, textless, present, known = 0, [], set[str](), set[str]()
    for query in read_passages(passages):
        known.add(query.query_id)
        if queries and query.query_id not in queries:
            continue
        answers = answers_of(query)
        present |= {name for output in answers for name in (output.system, output.name)}
        # pop: the queries that remain at the end are missing in the passages file.
        pairs = None if wanted is None else wanted.pop(query.query_id, set())
        players = {system for pair in pairs or () for system in pair}
        if missing := sorted(map(str, players - {output.key for output in answers})):
            raise DataError(
                f"names the system {missing[0]!r}, which has no answer in {passages}; name the passages file "
                "of the games.",
                file=str(games), field=f"query {query.query_id}",
            )  # fmt: skip
        asked = {
            frozenset((a.key, b.key))
            for a, b in combinations(answers, 2)
            if a.system != b.system
            and (not systems or all({each.system, each.name} & {*systems} for each in (a, b)))
        }
        asked = asked if pairs is None else asked & pairs
        chosen = [game for game in open_games(query, seed) if game.pair in asked]
        skipped += len(asked) - len(chosen)
        if not texts.get(query.query_id, "").strip():
            texts[query.query_id] = query.query_text
        if chosen and not texts[query.query_id].strip():
            textless.append(query.query_id)
        elif chosen:
            # Ids are hashes, so the first games are a random sample that ignores the order of the file.
            shown.setdefault(query.query_id, []).extend(sorted(chosen, key=lambda game: game.game_id))
    # Before the other errors, because a mistyped name is often their cause.
    if unknown := [query_id for query_id in queries if query_id not in known]:
        raise SelectionError(no_query(passages, unknown[0], known))
    if wanted:
        names = counted_names(list(wanted), "query", "queries")
        raise DataError(f"has games of {names} not in {passages}.", file=str(games))
    if unknown := [system for system in systems if system not in present]:
        raise SelectionError(
            f"{passages} has no answers of the system {unknown[0]!r}; its systems with answers: "
            f"{listed(sorted(present)) or 'none'}."
        )
    if textless:
        raise SelectionError(
            f"{queries_file or games or passages} has no text of "
            f"{counted_names(textless, 'query', 'queries')}; name another file with --queries."
        )
    if not shown:
        chosen_by = "without a winner (--only ungraded) that a person can compare"
        raise SelectionError(
            f"{passages} has no query with different answers of two systems."
            if games is None
            else f"{games} has no games {chosen_by}."
            if only_ungraded
            else f"{games} has no games that a person can compare with the chosen options."
        )
    if skipped:
        left = counted(skipped, "pair of answers is", "pairs of answers are")
        log.info("%s left out, because one is empty or both have the same text.", left)
    by_query = {query_id: of_query[:games_per_query] for query_id, of_query in shown.items()}
    ids = {query_id: [game.game_id for game in of_query] for query_id, of_query in by_query.items()}
    head = {
        "passages": passages.name,
        # Identifies the games of the page.
        "page": hashlib.sha256("".join(key for keys in ids.values() for key in keys).encode()).hexdigest(),
        "reviewer": reviewer,
        "queries": [
            {"id": query_id, "text": texts[query_id], "games": of_query} for query_id, of_query in ids.items()
        ],
    }
    return GamesMaterial(head, [_chunk(of_query, top) for of_query in by_query.values()])


def _wanted(
    path: Path, queries: Collection[str], grader: str | None, only_ungraded: bool
) -> tuple[dict[str, str], dict[str, Pairs]]:
    """The texts of queries, and the pairs of systems by query in the games of models, or of one judge."""
    texts: dict[str, str] = {}
    wanted: dict[str, Pairs] = {}
    judges: dict[str, None] = {}
    for query in read_games(path):
        if query.query_text:
            texts[query.query_id] = query.query_text
        judges |= dict.fromkeys(game_set.judge.model for game_set in query.game_sets)
        if queries and query.query_id not in queries:
            continue
        games = [
            game
            for game_set in query.game_sets
            if (not is_human(game_set.model) if grader is None else game_set.model == grader)
            for game in game_set.games
        ]
        decided = {game.pair for game in games if only_ungraded and game.winner is not None}
        if pairs := {game.pair for game in games} - decided:
            wanted[query.query_id] = pairs
    if grader is not None and grader not in judges:
        raise SelectionError(
            f"{path} has no games of {grader!r} (--grader); its judges: {listed(list(judges))}."
        )
    return texts, wanted


def _chunk(games: Sequence[OpenGame], top: int) -> dict[str, Any]:
    """The games of a query as indexes of texts, in an order that reveals no system."""
    texts: dict[str, int] = {}

    def index(text: str) -> int:
        return texts.setdefault(text, len(texts))

    def answer(output: SystemOutput, numbers: Mapping[str, int]) -> list[list[Any]]:
        """The parts with text: the index of the text, and the numbers of the cited passages."""
        return [
            [index(part.passage.text), [numbers[key] for key in part.citations if key in numbers]]
            for part in output.parts
            if part.passage.text.strip()
        ]

    def content(game: OpenGame) -> dict[str, Any]:
        passages = _passages(game, top)
        numbers = {passage.passage_id: number for number, passage in enumerate(passages)}
        sides = {"a": answer(game.a, numbers), "b": answer(game.b, numbers)}
        return sides | {"passages": [index(passage.text) for passage in passages]}

    return {"games": [content(game) for game in games], "texts": list(texts)}


def _passages(game: OpenGame, top: int) -> list[Passage]:
    """The cited passages, A's first; then the retrieved ones in an order without meaning."""
    cited = {key: passage for output in (game.a, game.b) for key, passage in output.cited.items()}
    retrieved = {
        passage.passage_id: passage for output in (game.a, game.b) for passage in output.retrieved[:top]
    }
    order = sorted(retrieved, key=lambda key: random_key(0, game.game_id, key))
    by_id = cited | {key: retrieved[key] for key in order if key not in cited}
    return [passage for passage in by_id.values() if passage.text.strip()]


_SCRIPTS = ("games_data.js", "games_work.js", "games_view.js", "games_keys.js", "games_main.js")
"""The files of the page's script behind those that it shares with the review page, in this order."""
_asset = partial(asset, package="exam_pp.plugins.games")


def render_games(material: GamesMaterial) -> str:
    """The HTML of the page; the games of each query are a block of their own."""
    queries = (block(f"query-{index}", games) for index, games in enumerate(material.queries))
    return page_of(
        "exam-pp review-games",
        [*map(review_asset, SHARED_SCRIPTS), *map(_asset, _SCRIPTS)],
        [review_asset("style.css"), _asset("games.css")],
        [block("head", material.head), *queries],
    )
