"""Decisions of people from edits files, as games by ``human:REVIEWER`` in a games file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.errors import DataError, SelectionError
from exam_pp.games import Game, GameSet, QueryGames
from exam_pp.phases.evaluation.result import counted_names
from exam_pp.plugins.games.page import OpenGame, open_games
from exam_pp.roles import System
from exam_pp.store.edits import HumanGame, check_one_file, read_edits, reviewer_name, warn_of_similar_names
from exam_pp.store.files import check_output
from exam_pp.store.games_files import read_games, write_games
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.text.wording import counted, noted

PROMPT_TYPE = "game"

Decisions = dict[str, dict[str, tuple[HumanGame, Path]]]
"""Reviewer to id of a game to the decision with its file."""


@dataclass
class AppliedGames:
    """Counts for the summary, by reviewer.

    ``games`` that were added, ``ties`` among them, and ``skipped`` ones; ``replaced`` games of the games file
    with another winner.
    """

    reviewers: dict[str, Counter[str]] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """The summary, a sentence per line."""
        for name, counts in self.reviewers.items():
            ties = counts["ties"]
            tied = f", {ties} of them {'a tie' if ties == 1 else 'ties'}" if ties else ""
            yield f"{counted(counts['games'], 'game')} added as {name}{tied}."
            yield from noted(counts["skipped"], "{} not added.", "skipped game was", "skipped games were")
            yield from noted(
                counts["replaced"], "{} another winner than in the games file: the later one counts.",
                "game has", "games have",
            )  # fmt: skip


def apply_games(
    passages: Path,
    edits: Sequence[Path],
    output: Path,
    *,
    games: Path | None = None,
    queries: Path | None = None,
    reviewer: str | None = None,
    seed: int = 0,
) -> AppliedGames:
    """Write a games file with the decisions of people, alone or added to the games of another file.

    A later decision of a reviewer on the same two answers replaces the earlier one in ``games``, so applying
    the same edits twice gives the same file. All decisions are checked before the output is written.

    ``games``: Games file whose games are kept; None for a new file. ``reviewer``: Name of the reviewer;
    replaces the name in the edits file, of which there must be only one.
    """
    check_one_file(reviewer, edits)
    inputs = [passages, *edits, *(path for path in (games, queries) if path is not None)]
    check_output(output, inputs)
    decisions = _read_decisions(edits, reviewer)
    known = _open_games(passages, decisions, seed)
    summary = AppliedGames()
    new = _new_games(decisions, known, summary)
    texts = read_query_texts(queries) if queries is not None else {}
    merged = list(_merged(games, new, texts, summary))
    warn_of_similar_names(decisions, (known.model for query in merged for known in query.game_sets))
    write_games(merged, output, inputs=inputs)
    return summary


def _read_decisions(edits: Sequence[Path], reviewer: str | None) -> Decisions:
    decisions: Decisions = {}
    for path in edits:
        contents = read_edits(path)
        if not contents.games:
            raise SelectionError(f"{path} has no games.")
        of_reviewer = decisions.setdefault(reviewer_name(reviewer, contents, path), {})
        for number, decision in enumerate(contents.games, 1):
            earlier, file = of_reviewer.get(decision.game_id, (decision, path))
            if None not in (earlier.winner, decision.winner) and earlier.winner != decision.winner:
                raise DataError(
                    f"decides the game {decision.game_id!r} of the query {decision.query_id!r} as "
                    f"{decision.winner!r}, but {file} as {earlier.winner!r}; remove one of them.",
                    file=str(path), field=f"games.{number}",
                )  # fmt: skip
            if decision.winner is not None or earlier.winner is None:
                of_reviewer[decision.game_id] = (decision, path)
    if all(item.winner is None for items in decisions.values() for item, _ in items.values()):
        raise SelectionError(f"No game is decided in {', '.join(map(str, edits))}; all are skipped.")
    return decisions


def _open_games(passages: Path, decisions: Decisions, seed: int) -> dict[str, OpenGame]:
    """The decided games by id, in the order of the passages file."""
    wanted: dict[str, dict[str, Path]] = {}
    for of_reviewer in decisions.values():
        for decision, path in of_reviewer.values():
            wanted.setdefault(decision.query_id, {})[decision.game_id] = path
    known: dict[str, OpenGame] = {}
    for query in read_passages(passages):
        if query.query_id in wanted:
            ids = wanted[query.query_id]
            games = open_games(query, seed)
            known |= {game.game_id: game for game in games if game.game_id in ids}
    for query_id, ids in wanted.items():
        unknown = [key for key in ids if key not in known or known[key].query_id != query_id]
        if unknown:
            names = counted_names(unknown, "game", "games")
            raise DataError(
                f"decides {names} of the query {query_id!r} that {passages} and --seed {seed} do not give; "
                "name the passages file and the seed of `exam-pp review-games`.",
                file=str(ids[unknown[0]]), field="games",
            )  # fmt: skip
    return known


def _new_games(
    decisions: Decisions, known: Mapping[str, OpenGame], summary: AppliedGames
) -> dict[str, dict[str, list[Game]]]:
    """Query id to reviewer to games, in the order of the passages file."""
    new: dict[str, dict[str, list[Game]]] = {}
    for reviewer, of_reviewer in decisions.items():
        counts = summary.reviewers[reviewer] = Counter()
        for game in (game for game_id, game in known.items() if game_id in of_reviewer):
            decision, _ = of_reviewer[game.game_id]
            if decision.winner is None:
                counts["skipped"] += 1
                continue
            counts["games"] += 1
            counts["ties"] += decision.winner == "C"
            values = {
                "system_a": game.a.system, "system_b": game.b.system, "repeat_a": game.a.repeat,
                "repeat_b": game.b.repeat, "winner": decision.winner, "decided_by": "person",
                "words_a": len(game.a.text.split()), "words_b": len(game.b.text.split()),
                "comment": decision.comment,
            }  # fmt: skip
            made = Game.model_validate({key: value for key, value in values.items() if value is not None})
            new.setdefault(game.query_id, {}).setdefault(reviewer, []).append(made)
    order = dict.fromkeys(game.query_id for game in known.values())
    return {query_id: new[query_id] for query_id in order if query_id in new}


def _merged(
    games: Path | None,
    new: dict[str, dict[str, list[Game]]],
    texts: Mapping[str, str],
    summary: AppliedGames,
) -> Iterator[QueryGames]:
    """The queries of the games file with the new games, then queries that it lacks."""
    for query in read_games(games) if games is not None else ():
        for reviewer, of_reviewer in new.pop(query.query_id, {}).items():
            _add(query, reviewer, of_reviewer, summary.reviewers[reviewer])
        yield query
    for query_id, by_reviewer in new.items():
        query = QueryGames(query_id=query_id, game_sets=[])
        if query_id in texts:
            query.query_text = texts[query_id]
        for reviewer, of_reviewer in by_reviewer.items():
            _add(query, reviewer, of_reviewer, summary.reviewers[reviewer])
        yield query


def _add(query: QueryGames, reviewer: str, new: list[Game], counts: Counter[str]) -> None:
    """Add games to those of the reviewer; a game between the same answers is replaced."""
    pairs = {game.pair: game for game in new}
    own = next((known for known in query.game_sets if known.model == reviewer), None)
    if own is None:
        own = GameSet(model=reviewer, prompt_type=PROMPT_TYPE, games=[])
        query.game_sets = [*query.game_sets, own]
    games, rest = [], dict(pairs)
    for known in own.games:
        if known.pair not in pairs:
            games.append(known)
        elif known.pair in rest:
            games.append(rest.pop(known.pair))
            counts["replaced"] += _winner(known) != _winner(pairs[known.pair])
    own.games = [*games, *rest.values()]


def _winner(game: Game) -> System | None:
    """The better system; None for a tie."""
    return {"A": game.a, "B": game.b}.get(game.winner or "")
