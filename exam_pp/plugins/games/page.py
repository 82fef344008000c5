"""Data of the page of games: answers to compare, in drawn places and without names of systems."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from typing import Any

from exam_pp.data_model import Passage, QueryPassages, is_human
from exam_pp.errors import DataError, SelectionError
from exam_pp.games import GameSet
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


@dataclass(frozen=True)
class GamesOptions:
    """Options of a page of games.

    ``queries``: Ids of the queries to show; empty for all. ``systems``: Systems whose answers are compared,
    with or without a repeat; empty for all. ``games_per_query``: Number of games to draw for each query with
    the seed; None for all. ``grader``: Only games of this judge; None for those of all models.
    ``only_ungraded``: Only games without a winner. ``reviewer``: Name of the reviewer, which can be changed
    on the page.
    """

    queries: Collection[str] = ()
    systems: Collection[str] = ()
    games_per_query: int | None = None
    grader: str | None = None
    only_ungraded: bool = False
    top: int = 10
    seed: int = 0
    reviewer: str = ""


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


@dataclass
class _Wanted:
    """The games of a games file: for each query, pairs of systems; and texts of queries."""

    file: Path
    pairs: dict[str, set[frozenset[System]]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


def review_games(
    passages: Path,
    *,
    queries: Path | None = None,
    games: Path | None = None,
    options: GamesOptions | None = None,
) -> GamesMaterial:
    """Collect the games of a page.

    ``queries``: Texts of the queries; None for those in ``games``. ``games``: Games file, whose games are
    shown; None for the games between all systems. Returns the data of the page. Places, order and ids depend
    only on the seed and on the answers, not on ``games`` or on other options. Games with an empty answer, or
    between equal texts, are left out.
    """
    options = options or GamesOptions()
    wanted = None if games is None else _wanted(games, options)
    texts = dict(wanted.texts if wanted else {}) | (read_query_texts(queries) if queries else {})
    shown: dict[str, list[OpenGame]] = {}
    skipped, textless, systems, known = 0, [], set[str](), set[str]()
    for query in read_passages(passages):
        known.add(query.query_id)
        if options.queries and query.query_id not in options.queries:
            continue
        answers = QueryAnswers.of(query)
        systems |= {name for output in answers.outputs for name in (output.system, output.name)}
        # pop: the queries that remain at the end are missing in the passages file.
        pairs = None if wanted is None else wanted.pairs.pop(query.query_id, set())
        if wanted is not None and pairs:
            _check_systems(pairs, answers, wanted.file, passages)
        chosen = [game for game in answers.games(options.seed) if _is_chosen(game, pairs, options.systems)]
        skipped += _not_comparable(answers, pairs, options.systems)
        if not texts.get(query.query_id, "").strip():
            texts[query.query_id] = query.query_text
        if chosen and not texts[query.query_id].strip():
            textless.append(query.query_id)
        elif chosen:
            # Ids are hashes, so the first games are a random sample that ignores the order of the file.
            shown.setdefault(query.query_id, []).extend(sorted(chosen, key=lambda game: game.game_id))
    # Before the other errors, because a mistyped name is often their cause.
    _check_known(passages, options, known, systems, wanted)
    if textless:
        source = queries or games or passages
        raise SelectionError(
            f"{source} has no text of {counted_names(textless, 'query', 'queries')}; name another file with "
            "--queries."
        )
    if not shown:
        raise SelectionError(_no_games(passages, games, options))
    if skipped:
        left = counted(skipped, "pair of answers is", "pairs of answers are")
        log.info("%s left out, because one is empty or both have the same text.", left)
    by_query = {query_id: games[: options.games_per_query] for query_id, games in shown.items()}
    head = _head(passages, texts, by_query, options.reviewer)
    return GamesMaterial(head, [_chunk(games, options.top) for games in by_query.values()])


def _head(
    passages: Path, texts: Mapping[str, str], games: Mapping[str, Sequence[OpenGame]], reviewer: str
) -> dict[str, Any]:
    """The data outside of the packed chunks; ``page`` identifies the games of the page."""
    ids = {query_id: [game.game_id for game in of_query] for query_id, of_query in games.items()}
    return {
        "passages": passages.name,
        "page": hashlib.sha256("".join(chain.from_iterable(ids.values())).encode()).hexdigest(),
        "reviewer": reviewer,
        "queries": [
            {"id": query_id, "text": texts[query_id], "games": of_query} for query_id, of_query in ids.items()
        ],
    }


def _wanted(path: Path, options: GamesOptions) -> _Wanted:
    """The games of models, or of one judge, in a games file."""
    wanted = _Wanted(path)
    judges: dict[str, None] = {}
    for query in read_games(path):
        if query.query_text:
            wanted.texts[query.query_id] = query.query_text
        judges |= dict.fromkeys(game_set.judge.model for game_set in query.game_sets)
        if options.queries and query.query_id not in options.queries:
            continue
        chosen = [game_set for game_set in query.game_sets if _is_judge(game_set, options.grader)]
        games = [game for game_set in chosen for game in game_set.games]
        decided = {game.pair for game in games if options.only_ungraded and game.winner is not None}
        pairs = {game.pair for game in games} - decided
        if pairs:
            wanted.pairs[query.query_id] = pairs
    if options.grader is not None and options.grader not in judges:
        raise SelectionError(
            f"{path} has no games of {options.grader!r} (--grader); its judges: {listed(list(judges))}."
        )
    return wanted


def _is_judge(game_set: GameSet, grader: str | None) -> bool:
    return not is_human(game_set.model) if grader is None else game_set.model == grader


def _is_chosen(game: OpenGame, pairs: Collection[frozenset[System]] | None, systems: Collection[str]) -> bool:
    if pairs is not None and game.pair not in pairs:
        return False
    return all(_plays(output, systems) for output in (game.a, game.b))


def _plays(output: SystemOutput, systems: Collection[str]) -> bool:
    return not systems or not {output.system, output.name}.isdisjoint(systems)


def _not_comparable(
    answers: QueryAnswers, pairs: Collection[frozenset[System]] | None, systems: Collection[str]
) -> int:
    """The number of pairs of answers that no person can compare."""
    outputs = [output for output in answers.outputs if _plays(output, systems)]
    return sum(
        not comparable(a, b)
        for a, b in combinations(outputs, 2)
        if a.system != b.system and (pairs is None or frozenset((a.key, b.key)) in pairs)
    )


def _check_systems(
    pairs: Iterable[frozenset[System]], answers: QueryAnswers, file: Path, passages: Path
) -> None:
    known = {output.key for output in answers.outputs}
    for name in sorted(str(system) for pair in pairs for system in pair if system not in known):
        raise DataError(
            f"names the system {name!r}, which has no answer in {passages}; name the passages file of the "
            "games.",
            file=str(file), field=f"query {answers.query_id}",
        )  # fmt: skip


def _check_known(
    passages: Path, options: GamesOptions, known: set[str], systems: set[str], wanted: _Wanted | None
) -> None:
    for query_id in options.queries:
        if query_id not in known:
            raise SelectionError(no_query(passages, query_id, known))
    if wanted is not None and wanted.pairs:
        missing = counted_names(list(wanted.pairs), "query", "queries")
        raise DataError(f"has games of {missing} not in {passages}.", file=str(wanted.file))
    for system in options.systems:
        if system not in systems:
            raise SelectionError(
                f"{passages} has no answers of the system {system!r}; its systems with answers: "
                f"{listed(sorted(systems)) or 'none'}."
            )


def _no_games(passages: Path, games: Path | None, options: GamesOptions) -> str:
    if games is not None and options.only_ungraded:
        return f"{games} has no games without a winner (--only ungraded) that a person can compare."
    if games is not None:
        return f"{games} has no games that a person can compare with the chosen options."
    return f"{passages} has no query with different answers of two systems."


def _chunk(games: Sequence[OpenGame], top: int) -> dict[str, Any]:
    """The games of a query as indexes of texts, in an order that reveals no system."""
    texts: dict[str, int] = {}
    return {"games": [_game(game, top, texts) for game in games], "texts": list(texts)}


def _game(game: OpenGame, top: int, texts: dict[str, int]) -> dict[str, Any]:
    passages = _passages(game, top)
    numbers = {passage.passage_id: number for number, passage in enumerate(passages)}
    answers = {"a": _answer(game.a, numbers, texts), "b": _answer(game.b, numbers, texts)}
    return answers | {"passages": [_index(passage.text, texts) for passage in passages]}


def _answer(output: SystemOutput, numbers: Mapping[str, int], texts: dict[str, int]) -> list[list[Any]]:
    """The parts with text: the index of the text, and the numbers of the cited passages."""
    return [
        [_index(part.passage.text, texts), [numbers[key] for key in part.citations if key in numbers]]
        for part in output.parts
        if part.passage.text.strip()
    ]


def _passages(game: OpenGame, top: int) -> list[Passage]:
    """The cited passages, A's first; then the retrieved ones in an order without meaning."""
    cited = {key: passage for output in (game.a, game.b) for key, passage in output.cited.items()}
    retrieved = {
        passage.passage_id: passage for output in (game.a, game.b) for passage in output.retrieved[:top]
    }
    order = sorted(retrieved, key=lambda key: random_key(0, game.game_id, key))
    by_id = cited | {key: retrieved[key] for key in order if key not in cited}
    return [passage for passage in by_id.values() if passage.text.strip()]


def _index(text: str, texts: dict[str, int]) -> int:
    return texts.setdefault(text, len(texts))


DIGITS = 20
"""Hexadecimal digits of the id of a game, which are 80 bits: enough for billions of games without a clash."""


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


@dataclass(frozen=True)
class QueryAnswers:
    """The answers of systems to a query."""

    query_id: str
    outputs: list[SystemOutput]

    @classmethod
    def of(cls, query: QueryPassages) -> QueryAnswers:
        """The answers in a line of a passages file, also empty ones."""
        return cls(query.query_id, [output for output in outputs_of(query).values() if output.answered])

    def games(self, seed: int) -> Iterator[OpenGame]:
        """The games between all answers that a person can compare."""
        for first, second in combinations(self.outputs, 2):
            if comparable(first, second):
                yield self._game(first, second, seed)

    def _game(self, first: SystemOutput, second: SystemOutput, seed: int) -> OpenGame:
        a, b = sorted((first, second), key=lambda output: (output.system, output.repeat or 0))
        if int(self._key(seed, a, b)[-1], 16) % 2:
            a, b = b, a
        return OpenGame(self.query_id, a, b, self._key(seed, a, b, a.text, b.text)[:DIGITS])

    def _key(self, seed: int, a: SystemOutput, b: SystemOutput, *texts: str) -> str:
        names = [self.query_id, a.system, a.repeat, b.system, b.repeat, *texts]
        return random_key(seed, json.dumps(names))


def comparable(first: SystemOutput, second: SystemOutput) -> bool:
    """Whether a person can prefer an answer: of two systems, both with text, and not the same text."""
    return first.system != second.system and "" not in (first.text, second.text) and first.text != second.text


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
