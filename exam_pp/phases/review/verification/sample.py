"""A sample of pairs for a person to check, stratified by rating and query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice, zip_longest
from typing import NamedTuple, TypeVar

from exam_pp.phases.review.verification.base import Smallest, VerificationReport
from exam_pp.phases.review.verification.cards import card, judged
from exam_pp.phases.review.verification.checked import CheckedPassage, CheckedQuery
from exam_pp.rendering.document import Block, Cell, Heading, Table

T = TypeVar("T")


class _Stratum(NamedTuple):
    rating: int
    query_id: str


class _Pair(NamedTuple):
    query: CheckedQuery
    entry_id: str
    passage: CheckedPassage


class Sample(VerificationReport):
    """``size`` pairs of passage and entry, as evenly over ratings as the file allows, then over queries.

    Strata are a rating and a query. Ratings take turns, within a rating its queries do, and within a stratum
    the pairs come in the order of a hash of seed, query, passage and entry: so a seed always gives the
    same sample, whatever the order of the file, and a larger sample holds the smaller one.
    """

    title = "Sample"

    def __init__(self, size: int, seed: int = 0, min_grade: int | None = None) -> None:
        self._size, self._seed, self._min_grade = size, seed, min_grade
        self._strata: dict[_Stratum, Smallest[_Pair]] = {}
        self._queries: dict[int, set[str]] = {}

    def add(self, query: CheckedQuery) -> None:
        """Count the pairs; keep those that may be drawn."""
        bare = query.without_passages()
        for passage in query.passages:
            for entry_id, pair in passage.pairs.items():
                if pair.rating is None or (self._min_grade is not None and pair.rating < self._min_grade):
                    continue
                stratum = _Stratum(pair.rating, query.query_id)
                drawn_from = self._strata.setdefault(stratum, Smallest())
                drawn_from.limit = self._most(stratum)
                key = self._hash(query.query_id, passage.passage_id, entry_id)
                drawn_from.add(key, _Pair(bare, entry_id, passage))

    def _most(self, stratum: _Stratum) -> int:
        """How many pairs may come from a stratum: other ratings, and queries of its own, have their turns."""
        self._queries.setdefault(stratum.rating, set()).add(stratum.query_id)
        others = len(self._queries) - 1 + len(self._queries[stratum.rating]) - 1
        return max(1, self._size - others)

    def _hash(self, *names: str) -> tuple[bytes, tuple[str, ...]]:
        words = "\0".join((str(self._seed), *names)).encode("utf-8", "surrogatepass")
        return blake2b(words, digest_size=8).digest(), names

    def summary(self) -> str:
        """How large the sample is, of how many pairs, and its seed."""
        pairs = sum(stratum.added for stratum in self._strata.values())
        return (
            f"{len(self._drawn())} of {pairs} graded pairs (seed {self._seed}), as evenly over ratings as "
            "the file allows, then over queries."
        )

    def blocks(self) -> list[Block]:
        """A table of the ratings, then a card for each pair."""
        drawn = self._drawn()
        if not drawn:
            return []
        blocks: list[Block] = [self._ratings(drawn)]
        for number, (stratum, pair) in enumerate(drawn, 1):
            words = pair.query.entries[pair.entry_id]
            label = f"{pair.query.heading} — passage {pair.passage.passage_id}: {judged(pair.passage)}"
            blocks.append(Heading(f"{number}. rating {stratum.rating}: {words}", level=2))
            blocks += card(pair.passage, label, [pair.entry_id], pair.query.entries)
        return blocks

    def _ratings(self, drawn: Sequence[tuple[_Stratum, _Pair]]) -> Table:
        rows: list[list[Cell]] = []
        for rating, queries in sorted(self._queries.items(), reverse=True):
            pairs = sum(self._strata[_Stratum(rating, query_id)].added for query_id in queries)
            rows.append([rating, pairs, len(queries), sum(stratum.rating == rating for stratum, _ in drawn)])
        return Table(("rating", "pairs", "queries", "sampled"), rows)

    def table(self) -> Table:
        """A row for each pair; ``stratum_pairs`` is the size of what it was drawn from, for weights."""
        columns = (
            "query_id", "query", "entry_id", "entry", "passage_id", "rating", "source", "answer", "reply",
            "judgment", "stratum_pairs", "text",
        )  # fmt: skip
        rows: list[list[Cell]] = []
        for stratum, (query, entry_id, passage) in self._drawn():
            pair = passage.pairs[entry_id]
            rows.append(
                [query.query_id, query.text or None, entry_id, query.entries[entry_id], passage.passage_id,
                 pair.rating, pair.source, pair.answer, pair.reply, pair.judgment,
                 self._strata[stratum].added, passage.text]
            )  # fmt: skip
        return Table(columns, rows)

    def _drawn(self) -> list[tuple[_Stratum, _Pair]]:
        by_rating: dict[int, list[_Stratum]] = {}
        for stratum in sorted(self._strata, key=lambda of: self._hash(str(of.rating), of.query_id)):
            by_rating.setdefault(stratum.rating, []).append(stratum)
        ratings = [
            _in_turn([[(stratum, pair) for pair in self._strata[stratum].items()] for stratum in strata])
            for _, strata in sorted(by_rating.items(), reverse=True)
        ]
        return list(islice(_in_turn(ratings), self._size))


def _in_turn(groups: Iterable[Iterable[T]]) -> Iterator[T]:
    """The first of every group, then the second of every group, as far as they go."""
    nothing = object()
    for turn in zip_longest(*groups, fillvalue=nothing):
        yield from (item for item in turn if item is not nothing)  # type: ignore[misc]
