"""Sample of graded pairs, stratified by rating and query, or the pairs of a file of sampled pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice, zip_longest
from typing import NamedTuple, TypeVar

from exam_pp.cli.review.verification.base import Selection, Smallest, VerificationReport
from exam_pp.cli.review.verification.cards import card, judged
from exam_pp.phases.review.checked_passages import CheckedPassage, CheckedQuery
from exam_pp.phases.review.pairs_to_label import PairsToLabel
from exam_pp.rendering.document import Block, Cell, Heading, Table

T = TypeVar("T")


class Stratum(NamedTuple):
    """The pairs of a query that have the same rating."""

    rating: int
    query_id: str


class SampledPair(NamedTuple):
    """A passage and a bank entry, with the query (without passages)."""

    query: CheckedQuery
    entry_id: str
    passage: CheckedPassage


class Sample(Selection):
    """``size`` pairs of passage and entry, as evenly over ratings as the file allows, then over queries.

    A stratum is a rating of a query. Ratings take turns; within a rating, its queries take turns; within a
    stratum, pairs are ordered by a hash of seed, query, passage and entry. A seed therefore gives the
    same sample for any order of the file, and a larger sample contains the smaller sample. ``queries`` maps
    each rating to its queries.
    """

    def __init__(self, size: int, seed: int = 0, min_grade: int | None = None) -> None:
        self._size, self.seed, self._min_grade = size, seed, min_grade
        self.strata: dict[Stratum, Smallest[SampledPair]] = {}
        self.queries: dict[int, set[str]] = {}

    def add(self, query: CheckedQuery) -> None:
        """Count the pairs, and keep pairs that may be drawn."""
        bare = query.without_passages()
        for passage in query.passages:
            for entry_id, pair in passage.pairs.items():
                if pair.rating is None or (self._min_grade is not None and pair.rating < self._min_grade):
                    continue
                stratum = Stratum(pair.rating, query.query_id)
                drawn_from = self.strata.setdefault(stratum, Smallest())
                drawn_from.limit = self._most(stratum)
                key = self._hash(query.query_id, passage.passage_id, entry_id)
                drawn_from.add(key, SampledPair(bare, entry_id, passage))

    def _most(self, stratum: Stratum) -> int:
        """An upper bound for the pairs drawn from a stratum: each other rating and query takes a turn."""
        self.queries.setdefault(stratum.rating, set()).add(stratum.query_id)
        other_turns = len(self.queries) - 1 + len(self.queries[stratum.rating]) - 1
        return max(1, self._size - other_turns)

    def _hash(self, *names: str) -> tuple[bytes, tuple[str, ...]]:
        data = "\0".join((str(self.seed), *names)).encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=8).digest(), names

    @property
    def pairs(self) -> int:
        """The number of pairs that the sample is drawn from."""
        return sum(stratum.added for stratum in self.strata.values())

    def drawn(self) -> list[tuple[Stratum, SampledPair]]:
        """The sample; ratings take turns."""
        by_rating: dict[int, list[Stratum]] = {}
        for stratum in sorted(self.strata, key=lambda s: self._hash(str(s.rating), s.query_id)):
            by_rating.setdefault(stratum.rating, []).append(stratum)
        ratings = [
            _in_turn([[(stratum, pair) for pair in self.strata[stratum].items()] for stratum in strata])
            for _, strata in sorted(by_rating.items(), reverse=True)
        ]
        return list(islice(_in_turn(ratings), self._size))


def _in_turn(groups: Iterable[Iterable[T]]) -> Iterator[T]:
    """The first item of every group, then the second item of every group, until all are exhausted."""
    missing = object()
    for turn in zip_longest(*groups, fillvalue=missing):
        yield from (item for item in turn if item is not missing)  # type: ignore[misc]


def summary(selection: Sample) -> str:
    """The size of the sample, the number of graded pairs, and the seed."""
    return (
        f"{len(selection.drawn())} of {selection.pairs} graded pairs (seed {selection.seed}), as evenly over "
        "ratings as the file allows, then over queries."
    )


def blocks(selection: Sample) -> list[Block]:
    """A table of the ratings, then a card per pair."""
    drawn = selection.drawn()
    return [_ratings(selection, drawn), *_cards(pair for _, pair in drawn)] if drawn else []


def _cards(pairs: Iterable[SampledPair]) -> list[Block]:
    parts: list[Block] = []
    for number, (query, entry_id, passage) in enumerate(pairs, 1):
        label = f"{query.heading} — passage {passage.passage_id}: {judged(passage)}"
        rating = passage.pairs[entry_id].rating
        parts.append(Heading(f"{number}. rating {rating}: {query.entries[entry_id]}", level=2))
        parts += card(passage, label, [entry_id], query.entries)
    return parts


def _ratings(selection: Sample, drawn: Sequence[tuple[Stratum, SampledPair]]) -> Table:
    rows: list[list[Cell]] = []
    for rating, queries in sorted(selection.queries.items(), reverse=True):
        pairs = sum(selection.strata[Stratum(rating, query_id)].added for query_id in queries)
        rows.append([rating, pairs, len(queries), sum(stratum.rating == rating for stratum, _ in drawn)])
    return Table(("rating", "pairs", "queries", "sampled"), rows)


def table(selection: Sample) -> Table:
    """A row per pair; ``stratum_pairs`` is the size of its stratum, for weights."""
    weighted = ((pair, selection.strata[stratum].added) for stratum, pair in selection.drawn())
    return _table(weighted, "stratum_pairs")


def _table(pairs: Iterable[tuple[SampledPair, Cell]], weight: str, decimals: int = 3) -> Table:
    columns = (
        "query_id", "query", "entry_id", "entry", "passage_id", "rating", "source", "answer", "reply",
        "judgment", weight, "text",
    )  # fmt: skip
    rows: list[list[Cell]] = []
    for (query, entry_id, passage), value in pairs:
        pair = passage.pairs[entry_id]
        rows.append(
            [query.query_id, query.text or None, entry_id, query.entries[entry_id], passage.passage_id,
             pair.rating, pair.source, pair.answer, pair.reply, pair.judgment, value, passage.text]
        )  # fmt: skip
    return Table(columns, rows, decimals=decimals)


REPORT = VerificationReport("Sample of graded pairs", summary, blocks, table)


class GivenPairs(Selection):
    """The pairs of a sample that the graded file has, with their probabilities."""

    def __init__(self, pairs: PairsToLabel) -> None:
        self.pairs = pairs
        self.drawn: list[tuple[SampledPair, float]] = []
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
                    self.drawn.append((SampledPair(bare, entry_id, passage), probability))


_DECIMALS = 9
"""Decimals of probabilities, which can be small."""


def _given_summary(selection: GivenPairs) -> str:
    """The number of shown pairs, and how they were drawn."""
    sample = selection.pairs.sample
    return (
        f"{len(selection.drawn)} of {len(sample.pairs)} sampled pairs of {selection.pairs.path}, drawn from "
        f"{sample.size} graded pairs (--by {sample.by}, seed {sample.seed})."
    )


def _given_blocks(selection: GivenPairs) -> list[Block]:
    """A card per pair."""
    return _cards(pair for pair, _ in selection.drawn)


def _given_table(selection: GivenPairs) -> Table:
    """A row per pair, with the probability with which it was drawn."""
    return _table(selection.drawn, "probability", _DECIMALS)


GIVEN_REPORT = VerificationReport("Sampled pairs", _given_summary, _given_blocks, _given_table)
