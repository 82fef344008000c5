"""Replies that were not numbers, ungraded pairs, and shortened prompts."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from exam_pp.phases.review.verification.base import Selection
from exam_pp.phases.review.verification.checked import NOT_ASKED, CheckedQuery, GradedPair

NOT_RECORDED = "not recorded"
"""The source of a rating if the file does not record it."""


class CheckedPair(NamedTuple):
    """A passage and a bank entry."""

    query_id: str
    entry_id: str
    entry: str
    pair: GradedPair

    @property
    def source(self) -> str | None:
        """The rule by which the rating was read; None without a rating."""
        if self.pair.rating is None:
            return None
        return self.pair.source if self.pair.source not in (None, "number") else NOT_RECORDED

    @property
    def read_now(self) -> str | None:
        """The reading of the reply by the prompt's current rule; None if it equals the file's rating."""
        again = self.pair.again
        if again is None or again == (self.pair.rating, self.pair.source):
            return None
        return again.source if again.rating is None else f"{again.rating} ({again.source})"


class Reply(NamedTuple):
    """A reply with its reading in the file; ``read_now`` as in :attr:`CheckedPair.read_now`."""

    rating: int
    source: str | None
    read_now: str | None
    text: str


class ShortenedPassage(NamedTuple):
    """The number of shortened prompts of a passage, and the highest number of tokens that were cut."""

    query_id: str
    passage_id: str
    prompts: int
    tokens: int


class Unparsed(Selection):
    """Replies that were not numbers, ungraded pairs and shortened prompts; ``limit`` rows of each kind.

    A reply is not a number if the file says so (``default-0``, ``default-1``), or if it does not contain the
    rating as a number. ``replies``, ``reasons`` (of ungraded pairs) and ``not_asked`` (query, entry and its
    text) count all pairs; ``example`` has a passage for every entry that was not asked. ``not_numbers``,
    ``ungraded`` and ``cut`` hold the first pairs and passages of each kind.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.pairs = 0
        self.replies: Counter[Reply] = Counter()
        self.reasons: Counter[str] = Counter()
        self.not_asked: Counter[tuple[str, str, str]] = Counter()
        self.example: dict[tuple[str, str], str] = {}
        self.not_numbers: list[CheckedPair] = []
        self.ungraded: list[CheckedPair] = []
        self.cut: list[ShortenedPassage] = []
        self.cut_passages = 0

    def add(self, query: CheckedQuery) -> None:
        """Count the pairs, and keep the first ``limit`` of each kind."""
        for passage in query.passages:
            for entry_id, text in query.entries.items():
                self.pairs += 1
                pair = passage.pairs.get(entry_id)
                if pair is None:
                    self.not_asked[query.query_id, entry_id, text] += 1
                    self.example.setdefault((query.query_id, entry_id), passage.passage_id)
                else:
                    self._classify(CheckedPair(query.query_id, entry_id, text, pair))
            if cut := [pair.tokens_cut for pair in passage.pairs.values() if pair.tokens_cut]:
                self.cut_passages += 1
                self.cut.append(ShortenedPassage(query.query_id, passage.passage_id, len(cut), max(cut)))
        self.cut.sort(key=lambda row: -row.tokens)
        for rows in (self.cut, self.ungraded, self.not_numbers):
            del rows[self.limit or len(rows) :]

    def _classify(self, checked: CheckedPair) -> None:
        pair = checked.pair
        if pair.rating is None:
            self.reasons[pair.reason or NOT_ASKED] += 1
            self.ungraded.append(checked)
        elif pair.by_default or not pair.is_number:
            self.replies[Reply(pair.rating, checked.source, checked.read_now, pair.reply or "")] += 1
            self.not_numbers.append(checked)
