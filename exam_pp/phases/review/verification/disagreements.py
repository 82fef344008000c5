"""Passages on which the judgments of people and the grades of the model disagree, worst first."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from exam_pp.phases.review.verification.base import Selection, Smallest
from exam_pp.phases.review.verification.checked import CheckedPassage, CheckedQuery

LOW = "judged relevant, graded low"
HIGH = "judged non-relevant, graded high"


class Disagreement(NamedTuple):
    """A passage with its query, which holds no passages."""

    query: CheckedQuery
    passage: CheckedPassage


class Disagreements(Selection):
    """Passages on different sides of the two thresholds, at most ``limit`` in each direction.

    People put a passage on the relevant side from the judgment ``min_judgment`` on (the highest of several
    counts), the model from the grade on that covers an entry. How bad a disagreement is: the steps of the
    judgment from its threshold and those of the best grade from its, together; then, for passages
    graded high, the number of entries covered. Among equally bad ones the queries take turns.
    ``both`` counts the passages with a judgment and a grade.
    """

    needs_judgments = True

    def __init__(self, min_judgment: int = 1, limit: int | None = None) -> None:
        self.min_judgment = min_judgment
        self.found = {LOW: Smallest[Disagreement](limit), HIGH: Smallest[Disagreement](limit)}
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
            self.found[LOW if relevant else HIGH].add(key, Disagreement(bare, passage))
