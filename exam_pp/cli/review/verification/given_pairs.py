"""Report on the pairs of a file of sampled pairs."""

from __future__ import annotations

from typing import NamedTuple

from exam_pp.cli.review.verification.base import Selection, VerificationReport
from exam_pp.cli.review.verification.cards import card, judged
from exam_pp.cli.review.verification.sample import SampledPair
from exam_pp.phases.review.checked_passages import CheckedQuery
from exam_pp.phases.review.pairs_to_label import PairsToLabel
from exam_pp.rendering.document import Block, Heading, Table


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


_DECIMALS = 9
"""Decimals of probabilities, which can be small."""


def summary(selection: GivenPairs) -> str:
    """The number of shown pairs, and how they were drawn."""
    sample = selection.pairs.sample
    return (
        f"{len(selection.drawn)} of {len(sample.pairs)} sampled pairs of {selection.pairs.path}, drawn from "
        f"{sample.size} graded pairs (--by {sample.by}, seed {sample.seed})."
    )


def blocks(selection: GivenPairs) -> list[Block]:
    """A card per pair."""
    parts: list[Block] = []
    for number, ((query, entry_id, passage), _) in enumerate(selection.drawn, 1):
        label = f"{query.heading} — passage {passage.passage_id}: {judged(passage)}"
        rating = passage.pairs[entry_id].rating
        parts.append(Heading(f"{number}. rating {rating}: {query.entries[entry_id]}", level=2))
        parts += card(passage, label, [entry_id], query.entries)
    return parts


def table(selection: GivenPairs) -> Table:
    """A row per pair, with the probability with which it was drawn."""
    columns = (
        "query_id", "query", "entry_id", "entry", "passage_id", "rating", "source", "answer", "reply",
        "judgment", "probability", "text",
    )  # fmt: skip
    return Table(
        columns,
        [
            [query.query_id, query.text or None, entry_id, query.entries[entry_id], passage.passage_id,
             pair.rating, pair.source, pair.answer, pair.reply, pair.judgment, probability, passage.text]
            for (query, entry_id, passage), probability in selection.drawn
            for pair in [passage.pairs[entry_id]]
        ],
        decimals=_DECIMALS,
    )  # fmt: skip


REPORT = VerificationReport("Sampled pairs", summary, blocks, table)
