"""Selection, removal of parts and renaming in passages files and games files, in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.phases.passages.filter import FilterOptions, filter_step
from exam_pp.phases.passages.games import (
    RewrittenGames,
    filter_games,
    rename_games,
    rewrite_games,
    strip_games,
)
from exam_pp.phases.passages.rename import Renaming, rename_step
from exam_pp.phases.passages.strip import StripOptions, strip_step
from exam_pp.phases.passages.transform import Rewritten, in_turn, rewrite
from exam_pp.store.games import is_games_file


@dataclass(frozen=True)
class Changes:
    """Changes of a file, in this order: parts to keep, parts to remove, and new names.

    ``required_queries`` are those of ``keep`` that must be in the file.
    """

    keep: FilterOptions = field(default_factory=FilterOptions)
    remove: StripOptions = field(default_factory=StripOptions)
    names: Renaming = field(default_factory=Renaming)
    required_queries: Collection[str] = ()


@dataclass(frozen=True)
class Changed:
    """The numbers of queries and passages or games, and the number of removed parts of each type."""

    rewritten: Rewritten | RewrittenGames
    removed: Counter[str]


def change_file(source: Path, output: Path, changes: Changes, *, inputs: Collection[Path] = ()) -> Changed:
    """Write a passages file or games file with the changes; unchanged parts of passages keep their bytes.

    ``inputs`` are further files that must not be overwritten. Raises
    :class:`~exam_pp.errors.SelectionError` for names that are not in the file, or if no part is kept.
    """
    removed: Counter[str] = Counter()
    keeps_all = changes.keep == FilterOptions()
    renamed = str(source) if keeps_all else f"The selected part of {source}"
    # A filter without conditions would drop queries without passages.
    needed = (not keeps_all, changes.remove != StripOptions(), changes.names != Renaming())
    if is_games_file(source):
        games = (
            filter_games(source, changes.keep, changes.required_queries),
            strip_games(source, changes.remove, removed),
            rename_games(renamed, changes.names),
        )
        of_games = in_turn([step for step, is_needed in zip(games, needed, strict=True) if is_needed])
        return Changed(rewrite_games(source, output, of_games, inputs=inputs), removed)
    passages = (
        filter_step(source, changes.keep, changes.required_queries),
        strip_step(source, changes.remove, removed),
        rename_step(renamed, changes.names),
    )
    step = in_turn([step for step, is_needed in zip(passages, needed, strict=True) if is_needed])
    return Changed(rewrite(source, output, step.change, check=step.check, inputs=inputs), removed)
