"""Scores of systems with what a reader has to know about them: what all ways of evaluating give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from exam_pp.errors import SelectionError
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM, Score, Scores
from exam_pp.wording import LISTED, counted, listed

if TYPE_CHECKING:
    import nanoarrow
    import pandas

    from exam_pp.metrics.entry_values import EntryValues

PathLike = str | Path


@dataclass
class Evaluation:
    """Scores of systems, per query, and what a reader has to know about them.

    ``worst_case`` and ``best_case`` are the least and the most that the scores could be if everything
    ungraded had a grade; they are empty where nothing is ungraded or a metric has no bounds, and a score
    that has a best case alone is its own worst case. ``entry_values`` gives,
    for a metric by its name, what the systems of :attr:`systems` reach on every bank entry, query by query.
    """

    scores: list[Score] | Scores = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    best_case: list[Score] | Scores = field(default_factory=list)
    worst_case: list[Score] | Scores = field(default_factory=list)
    entry_values: dict[str, Callable[[], list[EntryValues]]] = field(default_factory=dict)

    @property
    def systems(self) -> list[str]:
        """All systems, in order of appearance."""
        return list(dict.fromkeys(score.system for score in self.scores))

    def to_pandas(self) -> pandas.DataFrame:
        """The scores as :meth:`Tabular.to_pandas <exam_pp.frames.Tabular.to_pandas>` gives them."""
        return Scores(self.scores).to_pandas()

    def to_arrow(self) -> nanoarrow.Array:
        """The scores as :meth:`Tabular.to_arrow <exam_pp.frames.Tabular.to_arrow>` gives them."""
        return Scores(self.scores).to_arrow()


def check_names(query_ids: Iterable[str] = (), systems: Iterable[str] = ()) -> None:
    """Raise :class:`SelectionError` for a query or system whose name a leaderboard has another use for."""
    for found, name, use in (
        (query_ids, ALL_QUERIES, "query is called 'all', as leaderboards call the mean over queries"),
        (systems, OVERALL_SYSTEM, "system is called '_overall_', as leaderboards call the upper bound"),
    ):
        if name in found:
            raise SelectionError(f"A {use}: give it another name.")


def some(names: Sequence[str], one: str, many: str) -> str:
    """``3 queries (a, b, c)``, with the first few names."""
    return f"{counted(len(names), one, many)} ({listed(names)})"


def returned_nothing(missing: Mapping[str, Sequence[str]]) -> list[str]:
    """Notes on the queries (if any) that each system returned nothing for; where there are many, one note."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for system, query_ids in missing.items():
        if query_ids:
            groups.setdefault(tuple(query_ids), []).append(system)
    if len(groups) > LISTED:
        systems = [system for group in groups.values() for system in group]
        words = some(systems, "system", "systems")
        return [f"Nothing returned for some queries, scored as an empty ranking there: {words}."]
    return [
        f"Nothing returned for {some(query_ids, 'query', 'queries')}, scored as an empty ranking: "
        f"{', '.join(systems)}."
        for query_ids, systems in groups.items()
    ]
