"""Report on the pairs of a file of sampled pairs."""

from __future__ import annotations

from exam_pp.phases.review.verification.given_pairs import GivenPairs
from exam_pp.rendering.document import Block, Heading, Table
from exam_pp.reports.review.verification.base import VerificationReport
from exam_pp.reports.review.verification.cards import card, judged

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
