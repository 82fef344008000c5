"""Where the judgment of people and the grades of the model contradict each other, worst first."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from exam_pp.phases.review.verification.base import Smallest, VerificationReport, omission
from exam_pp.phases.review.verification.cards import ROW, card, judged, nearest, row
from exam_pp.phases.review.verification.checked import CheckedPassage, CheckedQuery
from exam_pp.rendering.document import Block, Heading, Table

LOW = "judged relevant, graded low"
HIGH = "judged non-relevant, graded high"

_ENTRIES = 5
"""Entries shown with a passage, best first."""


class _Found(NamedTuple):
    query: CheckedQuery
    passage: CheckedPassage


class Disagreements(VerificationReport):
    """Passages on different sides of the two thresholds, at most ``limit`` in each direction.

    People put a passage on the relevant side from the judgment ``min_judgment`` on (the highest of several
    counts), the model from the grade on that covers an entry. How bad a disagreement is: the steps of the
    judgment from its threshold and those of the best grade from its, together; then, for passages
    graded high, the number of entries covered. Among equally bad ones the queries take turns.
    """

    title = "Disagreements of judgments and grades"
    needs_judgments = True

    def __init__(self, min_judgment: int = 1, limit: int | None = None) -> None:
        self._min_judgment = min_judgment
        self._found = {LOW: Smallest[_Found](limit), HIGH: Smallest[_Found](limit)}
        self._turns: Counter[tuple[str, tuple[bool, int, int]]] = Counter()
        self._both = 0
        self._min_grade = 0

    def add(self, query: CheckedQuery) -> None:
        """Keep the worst passages."""
        bare = query.without_passages()
        for passage in query.passages:
            relevance, best = passage.relevance, passage.best_rating
            if relevance is None or best is None:
                continue
            self._both += 1
            self._min_grade = query.min_grade
            relevant, covering = relevance >= self._min_judgment, best >= query.min_grade
            if relevant == covering:
                continue
            steps = abs(relevance - self._min_judgment) + abs(best - query.min_grade)
            badness = (relevant, steps, len(passage.reaching(query.min_grade)))
            self._turns[query.query_id, badness] += 1
            turn = self._turns[query.query_id, badness]
            key = (-badness[1], -badness[2], turn, query.query_id, passage.passage_id)
            self._found[LOW if relevant else HIGH].add(key, _Found(bare, passage))

    def summary(self) -> str:
        """How many passages disagree, in each direction."""
        low, high = self._found[LOW].added, self._found[HIGH].added
        if not self._both:
            return "No passage has both a judgment and a grade."
        words = (
            f"Of {self._both} passages with a judgment and a grade, {low} are judged {self._min_judgment} or "
            f"higher and have no grade of {self._min_grade} or higher; {high} are judged lower and have one"
        )
        return f"{words}." if low or high else f"{words}: judgments and grades agree."

    def blocks(self) -> list[Block]:
        """A card for each passage, in two sections."""
        blocks: list[Block] = []
        for direction, found in self._found.items():
            if not found.added:
                continue
            blocks.append(Heading(f"{direction[0].upper()}{direction[1:]} ({found.added})"))
            items = found.items()
            for number, (query, passage) in enumerate(items, 1):
                covered = len(passage.reaching(query.min_grade))
                label = (
                    f"{number}. {query.heading} — passage {passage.passage_id}: {judged(passage)}, "
                    f"best grade {passage.best_rating}, covers {covered} of {len(query.entries)}"
                )
                blocks += card(passage, label, nearest(passage, _ENTRIES), query.entries)
            blocks += omission(found.omitted, "passage", len(items))
        return blocks

    def table(self) -> Table:
        """A row for each passage, with its best entry."""
        rows = [
            [direction, *row(query, passage)]
            for direction, found in self._found.items()
            for query, passage in found.items()
        ]
        return Table(("direction", *ROW), rows)
