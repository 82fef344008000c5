"""Report on a sample of graded pairs, stratified by rating and query."""

from __future__ import annotations

from collections.abc import Sequence

from exam_pp.phases.review.verification.sample import Sample, SampledPair, Stratum
from exam_pp.rendering.document import Block, Cell, Heading, Table
from exam_pp.reports.review.verification.base import VerificationReport
from exam_pp.reports.review.verification.cards import card, judged


def summary(selection: Sample) -> str:
    """The size of the sample, the number of graded pairs, and the seed."""
    return (
        f"{len(selection.drawn())} of {selection.pairs} graded pairs (seed {selection.seed}), as evenly over "
        "ratings as the file allows, then over queries."
    )


def blocks(selection: Sample) -> list[Block]:
    """A table of the ratings, then a card per pair."""
    drawn = selection.drawn()
    if not drawn:
        return []
    parts: list[Block] = [_ratings(selection, drawn)]
    for number, (stratum, pair) in enumerate(drawn, 1):
        entry = pair.query.entries[pair.entry_id]
        label = f"{pair.query.heading} — passage {pair.passage.passage_id}: {judged(pair.passage)}"
        parts.append(Heading(f"{number}. rating {stratum.rating}: {entry}", level=2))
        parts += card(pair.passage, label, [pair.entry_id], pair.query.entries)
    return parts


def _ratings(selection: Sample, drawn: Sequence[tuple[Stratum, SampledPair]]) -> Table:
    rows: list[list[Cell]] = []
    for rating, queries in sorted(selection.queries.items(), reverse=True):
        pairs = sum(selection.strata[Stratum(rating, query_id)].added for query_id in queries)
        rows.append([rating, pairs, len(queries), sum(stratum.rating == rating for stratum, _ in drawn)])
    return Table(("rating", "pairs", "queries", "sampled"), rows)


def table(selection: Sample) -> Table:
    """A row per pair; ``stratum_pairs`` is the size of its stratum, for weights."""
    columns = (
        "query_id", "query", "entry_id", "entry", "passage_id", "rating", "source", "answer", "reply",
        "judgment", "stratum_pairs", "text",
    )  # fmt: skip
    rows: list[list[Cell]] = []
    for stratum, (query, entry_id, passage) in selection.drawn():
        pair = passage.pairs[entry_id]
        rows.append(
            [query.query_id, query.text or None, entry_id, query.entries[entry_id], passage.passage_id,
             pair.rating, pair.source, pair.answer, pair.reply, pair.judgment,
             selection.strata[stratum].added, passage.text]
        )  # fmt: skip
    return Table(columns, rows)


REPORT = VerificationReport("Sample of graded pairs", summary, blocks, table)
