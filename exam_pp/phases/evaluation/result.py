"""The result of an evaluation: scores of systems, bounds and notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from exam_pp.errors import SelectionError
from exam_pp.metrics.score_ranges import Range, range_of
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM, Score, Scores
from exam_pp.text.wording import MAX_LISTED, counted, listed

if TYPE_CHECKING:
    import nanoarrow
    import pandas

    from exam_pp.metrics.entry_values import EntryValues
    from exam_pp.provenance import Provenance

PathLike = str | Path
MissingQueries = Literal["zero", "skip"]
"""A query without results of a system: it scores 0, or it is not in the means of the system."""


@dataclass
class Evaluation:
    """Scores of systems for each query, with bounds and notes.

    Attributes:
        scores: A score for each system, query and metric.
        notes: Sentences on anything that affects the numbers, such as skipped queries.
        best_case: Upper bounds of scores over all grades that ungraded pairs could have. Empty if all pairs
            are graded or the metric has no bounds.
        worst_case: Lower bounds. A score with only an upper bound is its own lower bound.
        entry_values: Metric to a function that returns, for each query, the scores of the systems (in the
            order of :attr:`systems`) on every bank entry.
        ranges: Metric to its lowest and highest possible score, if its name leaves them open
            (:func:`exam_pp.metrics.score_ranges.range_of`).
        provenance: Grader, bank, cutoff, threshold and number of queries; None if they are unknown.
    """

    scores: list[Score] | Scores = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    best_case: list[Score] | Scores = field(default_factory=list)
    worst_case: list[Score] | Scores = field(default_factory=list)
    entry_values: dict[str, Callable[[], list[EntryValues]]] = field(default_factory=dict)
    ranges: dict[str, Range] = field(default_factory=dict)
    provenance: Provenance | None = field(default=None, compare=False)

    @property
    def systems(self) -> list[str]:
        """Names of all systems, in order of appearance."""
        return list(dict.fromkeys(score.system for score in self.scores))

    def range_of(self, metric: str) -> Range | None:
        """The lowest and highest possible score of a metric.

        Args:
            metric: Name of the metric.

        Returns:
            Both ends; None if they are unknown.
        """
        return self.ranges.get(metric) or range_of(metric)

    def to_pandas(self) -> pandas.DataFrame:
        """The scores as a data frame; see :meth:`Tabular.to_pandas <exam_pp.results.Tabular.to_pandas>`."""
        return Scores(self.scores).to_pandas()

    def to_arrow(self) -> nanoarrow.Array:
        """The scores as an Arrow array; see :meth:`Tabular.to_arrow <exam_pp.results.Tabular.to_arrow>`."""
        return Scores(self.scores).to_arrow()


def check_names(query_ids: Iterable[str] = (), systems: Iterable[str] = ()) -> None:
    """Raise :class:`SelectionError` for the query id ``all`` and the system name ``_overall_``, if used."""
    for names, reserved, noun, use in (
        (query_ids, ALL_QUERIES, "query id", "the mean over queries"),
        (systems, OVERALL_SYSTEM, "system name", "the upper bound"),
    ):
        if reserved in names:
            raise SelectionError(f"The {noun} {reserved!r} is reserved for {use}; rename it in the input.")


def counted_names(names: Sequence[str], singular: str, plural: str) -> str:
    """A count with its noun and the first names: ``3 queries (a, b, c)``."""
    return f"{counted(len(names), singular, plural)} ({listed(names)})"


def missing_query_notes(missing: Mapping[str, Sequence[str]]) -> list[str]:
    """Notes on the queries for which each system has no results; a single note if there are many."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for system, query_ids in missing.items():
        if query_ids:
            groups.setdefault(tuple(query_ids), []).append(system)
    if len(groups) > MAX_LISTED:
        systems = [system for group in groups.values() for system in group]
        affected = counted_names(systems, "system", "systems")
        return [f"No results from {affected} for some queries: scored as empty rankings."]
    return [
        f"No results from {', '.join(systems)} for {counted_names(query_ids, 'query', 'queries')}: scored as "
        "an empty ranking."
        for query_ids, systems in groups.items()
    ]
