"""Report on passages on which judgments and grades disagree, worst first."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from exam_pp.cli.review.verification.base import Selection, Smallest, VerificationReport, omission
from exam_pp.cli.review.verification.cards import ROW, card, judged, nearest, row
from exam_pp.phases.review.checked_passages import CheckedPassage, CheckedQuery
from exam_pp.rendering.document import Block, Heading, Table

LOW = "judged relevant, graded low"
HIGH = "judged non-relevant, graded high"


class Disagreement(NamedTuple):
    """A passage with its query (without passages)."""

    query: CheckedQuery
    passage: CheckedPassage


class Disagreements(Selection):
    """Passages that are judged relevant and graded low, or vice versa; at most ``limit`` in each direction.

    A passage is judged relevant if its highest judgment is at least ``min_judgment``, and graded high if it
    covers an entry. Passages are sorted by the distance of the judgment from ``min_judgment`` plus the
    distance of the best grade from ``min_grade``, then by the number of covered entries; among ties,
    queries take turns. ``both`` counts the passages with a judgment and a grade.
    """

    needs_judgments = True

    def __init__(self, min_judgment: int = 1, limit: int | None = None) -> None:
        self.min_judgment = min_judgment
        self.directions = {LOW: Smallest[Disagreement](limit), HIGH: Smallest[Disagreement](limit)}
        self._turns: Counter[tuple[str, tuple[bool, int, int]]] = Counter()
        self.both = 0
        self.min_grade = 0

    def add(self, query: CheckedQuery) -> None:
        """Keep the worst passages."""
        bare = query.without_passages()
        for passage in query.passages:
            relevance, best = passage.relevance, passage.best_rating
            if relevance is None or best is None:
                continue
            self.both += 1
            self.min_grade = query.min_grade
            relevant, covering = relevance >= self.min_judgment, best >= query.min_grade
            if relevant == covering:
                continue
            steps = abs(relevance - self.min_judgment) + abs(best - query.min_grade)
            badness = (relevant, steps, len(passage.reaching(query.min_grade)))
            self._turns[query.query_id, badness] += 1
            turn = self._turns[query.query_id, badness]
            key = (-badness[1], -badness[2], turn, query.query_id, passage.passage_id)
            self.directions[LOW if relevant else HIGH].add(key, Disagreement(bare, passage))


_ENTRIES = 5
"""Entries shown with a passage, best first."""


def summary(selection: Disagreements) -> str:
    """The number of disagreements in each direction."""
    low, high = selection.directions[LOW].added, selection.directions[HIGH].added
    if not selection.both:
        return "No passage has both a judgment and a grade."
    counts = (
        f"Of {selection.both} passages with a judgment and a grade, {low} are judged "
        f"{selection.min_judgment} or higher and have no grade of {selection.min_grade} or higher; {high} "
        "are judged lower and have such a grade"
    )
    return f"{counts}." if low or high else f"{counts}: judgments and grades agree."


def blocks(selection: Disagreements) -> list[Block]:
    """A card for each passage, in two sections."""
    parts: list[Block] = []
    for direction, passages in selection.directions.items():
        if not passages.added:
            continue
        parts.append(Heading(f"{direction[0].upper()}{direction[1:]} ({passages.added})"))
        items = passages.items()
        for number, (query, passage) in enumerate(items, 1):
            covered = len(passage.reaching(query.min_grade))
            label = (
                f"{number}. {query.heading} — passage {passage.passage_id}: {judged(passage)}, "
                f"best grade {passage.best_rating}, covers {covered} of {len(query.entries)}"
            )
            parts += card(passage, label, nearest(passage, _ENTRIES), query.entries)
        parts += omission(passages.omitted, "passage", len(items))
    return parts


def table(selection: Disagreements) -> Table:
    """A row per passage, with its best entry."""
    rows = [
        [direction, *row(query, passage)]
        for direction, passages in selection.directions.items()
        for query, passage in passages.items()
    ]
    return Table(("direction", *ROW), rows)


REPORT = VerificationReport("Disagreements of judgments and grades", summary, blocks, table)
