"""The pairs of a file of sampled pairs, in the order of the graded file."""

from __future__ import annotations

from typing import NamedTuple

from exam_pp.phases.review.pairs_to_label import PairsToLabel
from exam_pp.phases.review.verification.base import Selection
from exam_pp.phases.review.verification.checked import CheckedQuery
from exam_pp.phases.review.verification.sample import SampledPair


class DrawnPair(NamedTuple):
    """A pair, and the probability with which it was drawn."""

    pair: SampledPair
    probability: float


class GivenPairs(Selection):
    """The pairs of a sample that the graded file has, with their probabilities."""

    def __init__(self, pairs: PairsToLabel) -> None:
        self.pairs = pairs
        self.drawn: list[DrawnPair] = []
        self._probabilities = {
            (pair.query_id, pair.passage_id, pair.entry_id): pair.probability for pair in pairs.sample.pairs
        }

    def add(self, query: CheckedQuery) -> None:
        """Keep the sampled pairs of the query."""
        bare = query.without_passages()
        for passage in query.passages:
            for entry_id in passage.pairs:
                probability = self._probabilities.get((query.query_id, passage.passage_id, entry_id))
                if probability is not None:
                    self.drawn.append(DrawnPair(SampledPair(bare, entry_id, passage), probability))
