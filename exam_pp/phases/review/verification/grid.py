"""Grid of passages × bank entries, sorted by judgment and grade."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from exam_pp.phases.review.verification.base import Selection, Smallest
from exam_pp.phases.review.verification.checked import CheckedPassage, CheckedQuery, shortened

_KEPT = 112
"""Characters of a passage that are kept for tables."""


class Grid(Selection):
    """The first ``limit`` passages of every query that cover at least ``min_answers`` entries.

    ``characters`` is the number of characters that are kept of each passage. Passages are sorted by judgment
    (the highest of several; unjudged passages last), best grade, number of covered entries, and the sum of
    their grades.
    """

    def __init__(self, min_answers: int = 0, limit: int | None = None, characters: int = _KEPT) -> None:
        self.min_answers, self._limit, self._characters = min_answers, limit, characters
        self.queries: dict[str, GridRows] = {}
        self.passages = 0

    def add(self, query: CheckedQuery) -> None:
        """Keep the rows that are shown."""
        rows = self.queries.get(query.query_id)
        if rows is None:
            rows = GridRows(query.without_passages(), dict(query.entries), Smallest(self._limit))
            self.queries[query.query_id] = rows
        rows.entries.update(query.entries)
        for passage in query.passages:
            self.passages += 1
            covered = passage.reaching(query.min_grade)
            for entry_id in covered:
                rows.covering[entry_id] = rows.covering.get(entry_id, 0) + 1
            if len(covered) >= self.min_answers:
                start = shortened(passage.text, self._characters)
                rows.passages.add(_order(passage, len(covered)), replace(passage, text=start))


@dataclass
class GridRows:
    """The shown passages of a query; ``covering`` counts, by entry, all passages that cover it."""

    query: CheckedQuery
    entries: dict[str, str]
    passages: Smallest[CheckedPassage]
    covering: dict[str, int] = field(default_factory=dict)


def _order(passage: CheckedPassage, covered: int) -> tuple[int, int, int, int, str]:
    relevance, best = passage.relevance, passage.best_rating
    return (
        1_000_000 if relevance is None else -relevance,
        1 if best is None else -best,
        -covered,
        -sum(pair.rating or 0 for pair in passage.pairs.values()),
        passage.passage_id,
    )
