"""Merging of games files by query, judge and pair of systems."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from exam_pp.cli.options import log_notes, log_summary
from exam_pp.errors import DataError, SelectionError
from exam_pp.games import Game, GameSet, QueryGames
from exam_pp.models import Record
from exam_pp.phases.passages.merge import MergedFile, order_of
from exam_pp.roles import System
from exam_pp.store.files import read_lines
from exam_pp.store.games_files import is_games_file, read_games, write_games
from exam_pp.store.inputs import reading
from exam_pp.store.passages.raw_passages import RawQuery, read_raw_passages
from exam_pp.text.wording import counted


@dataclass
class MergedGames:
    """Counts for the summary: ``equal`` games were in several files, ``replaced`` games were ungraded."""

    files: int = 0
    queries: int = 0
    games: int = 0
    equal: int = 0
    replaced: int = 0

    def lines(self) -> Iterator[str]:
        """Yield a message about games that are in several files."""
        if self.equal:
            yield f"{counted(self.equal, 'game is', 'games are')} in several files and kept once."
        if self.replaced:
            games = counted(self.replaced, "ungraded game is", "ungraded games are")
            yield f"{games} replaced by the game of another file."


class _Judge(NamedTuple):
    """The values that make two sets of games results of the same judge."""

    model: str | None
    prompt_class: str | None
    prompt_hash: str | None

    @classmethod
    def of(cls, games: GameSet) -> _Judge:
        return cls(games.model, games.prompt_class, games.prompt_hash)

    def __str__(self) -> str:
        return " ".join(filter(None, (self.model or "(no model)", self.prompt_class)))


class _Pairing(NamedTuple):
    """A game without its result."""

    judge: _Judge
    a: System
    b: System
    order: int | None

    @classmethod
    def of(cls, game: Game, of_judge: GameSet) -> _Pairing:
        return cls(_Judge.of(of_judge), game.a, game.b, game.order)

    def __str__(self) -> str:
        order = "" if self.order is None else f" in order {self.order}"
        return f"{str(self.a)!r} against {str(self.b)!r}{order} by {self.judge}"


@dataclass
class _Result:
    """A game of the merged query, and the file and the set of games from which it comes."""

    path: Path
    of_judge: GameSet
    game: Game

    def values(self) -> dict[str, str]:
        """The values of the game and its set as JSON, by key; null is the same as a missing key."""
        values = _values(self.of_judge, "games") | _values(self.game)
        return {key: json.dumps(value, sort_keys=True) for key, value in values.items() if value is not None}


def are_games(files: Sequence[Path]) -> bool:
    """Whether the files are games files; empty files, such as shards without queries, do not count.

    Raises :class:`SelectionError` if some are games files and others are not.
    """
    kinds = {path: is_games_file(path) for path in files if not _is_empty(path)}
    if len(set(kinds.values())) > 1:
        games, other = (next(path for path in kinds if kinds[path] is kind) for kind in (True, False))
        raise SelectionError(f"{games} is a games file, but {other} is not; merge files of one kind.")
    return any(kinds.values())


def _is_empty(path: Path) -> bool:
    return next(read_lines(path), None) is None


@reading()
def merge_games(
    files: Sequence[Path], output: Path, like: Path | None = None, *, strict: bool = False
) -> MergedGames:
    """Merge games files by query, judge and pair of systems.

    Sets of games that differ only in their games are joined. A game that is in several files is kept once,
    and a graded game replaces the ungraded game of another file. Queries are in the order of ``like``, a
    games file or passages file, or without it in the order of their first occurrence. Memory is needed only
    for queries whose order differs between the files.

    Raises :class:`DataError` for a game with two results, two values of another field of a query, a query of
    ``like`` that no file has, and with ``strict`` for a graded game that would replace an ungraded one.
    """

    def read(path: Path) -> Iterator[QueryGames]:
        return iter(()) if _is_empty(path) else read_games(path)

    parts = [MergedFile(path, read) for path in files]
    first: Iterable[QueryGames | RawQuery] = ()
    if like is not None:
        first = read_games(like) if is_games_file(like) else read_raw_passages(like)
    order = order_of(parts, like, (query.query_id for query in first))
    summary = MergedGames(len(files))

    def merged() -> Iterator[QueryGames]:
        for query_id in order:
            query = _merge([(part.path, line) for part in parts for line in part.take(query_id)], summary)
            summary.queries += 1
            summary.games += sum(len(of_judge.games) for of_judge in query.game_sets)
            yield query
        if strict and summary.replaced:
            raise DataError(" ".join(summary.lines()))

    write_games(merged(), output, inputs=[*files, *([like] if like else [])])
    return summary


def _merge(lines: Sequence[tuple[Path, QueryGames]], summary: MergedGames) -> QueryGames:
    """Merge the lines of a query, each with its file."""
    first_path, query = lines[0]
    if len(lines) == 1:
        return query
    header = _values(query, "game_sets")
    results: dict[_Pairing, list[_Result]] = defaultdict(list)
    for path, line in lines:
        for key, value in _values(line, "game_sets").items():
            if value is not None and header.setdefault(key, value) not in (None, value):
                problem = f"query {query.query_id!r} has another value of {key} than in {first_path}"
                raise DataError(f"{problem}; merge only games of the same queries.", file=str(path))
            header[key] = header[key] if value is None else value
        earlier = {pairing: list(of_pairing) for pairing, of_pairing in results.items()}
        for of_judge in line.game_sets:
            for game in of_judge.games:
                pairing = _Pairing.of(game, of_judge)
                result = _Result(path, of_judge, game)
                _add(result, earlier.get(pairing, []), results[pairing], query.query_id, summary)
    return QueryGames.model_validate(
        header | {"game_sets": _sets(lines, results)}, by_alias=True, by_name=False
    )


def _add(
    new: _Result, earlier: Sequence[_Result], results: list[_Result], query_id: str, summary: MergedGames
) -> None:
    """Add a game to the results, unless an earlier file has it; raises :class:`DataError` if they differ."""
    if any(new.values() == old.values() for old in earlier):
        summary.equal += 1
    elif not earlier:
        results.append(new)
    elif new.game.winner is None:
        summary.replaced += 1
    elif all(old.game.winner is None for old in earlier):
        summary.replaced += len(earlier)
        results[:] = [*(result for result in results if result not in earlier), new]
    else:
        old = next(old for old in earlier if old.game.winner is not None)
        before, after = old.values(), new.values()
        keys = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
        raise DataError(
            f"the game {_Pairing.of(new.game, new.of_judge)} of query {query_id!r} differs from that in "
            f"{old.path} ({', '.join(keys)}); keep it in one of the files only, as with `exam-pp filter`.",
            file=str(new.path),
        )


def _sets(
    lines: Sequence[tuple[Path, QueryGames]], results: Mapping[_Pairing, Sequence[_Result]]
) -> list[GameSet]:
    """Return the sets of games in the order of the files; sets with equal values share one."""
    kept = {id(result.game) for of_pairing in results.values() for result in of_pairing}
    sets: dict[str, GameSet] = {}
    emptied: set[str] = set()
    for _, line in lines:
        for of_judge in line.game_sets:
            key = json.dumps(_values(of_judge, "games"), sort_keys=True)
            joined = sets.setdefault(key, of_judge.model_copy(update={"games": []}))
            joined.games.extend(game for game in of_judge.games if id(game) in kept)
            emptied |= {key} if of_judge.games else set()
    return [of_judge for key, of_judge in sets.items() if of_judge.games or key not in emptied]


def _values(record: Record, *without: str) -> dict[str, Any]:
    return record.model_dump(by_alias=True, exclude_unset=True, exclude=set(without))


def merge(files: Sequence[Path], output: Path, like: Path | None, *, strict: bool) -> bool:
    """Merge games files, and log what was merged; returns whether the files are games files."""
    if not are_games(files):
        return False
    merged = merge_games(files, output, like, strict=strict)
    log_notes(merged.lines())
    contents = f"{counted(merged.queries, 'query')}, {counted(merged.games, 'game')}"
    log_summary([f"Merged {counted(merged.files, 'file')}: {contents}. Written: {output}"])
    return True
