"""Replies that were not numbers, pairs without a grade and why, and prompts that were shortened."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from exam_pp.phases.review.verification.base import VerificationReport, omission, without_empty_columns
from exam_pp.phases.review.verification.checked import NOT_ASKED, CheckedQuery, GradedPair, shortened
from exam_pp.phases.review.verification.grading import CELL
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Table
from exam_pp.wording import counted

_REPLY = 90
"""Characters of a reply where replies are listed: enough to tell them apart."""

NOT_RECORDED = "not recorded"
"""The source of a rating in files that do not say how a reply was read."""


class _Found(NamedTuple):
    query_id: str
    entry_id: str
    entry: str
    pair: GradedPair

    @property
    def source(self) -> str | None:
        """How the rating was read; None without a rating."""
        if self.pair.rating is None:
            return None
        return self.pair.source if self.pair.source not in (None, "number") else NOT_RECORDED

    @property
    def read_now(self) -> str | None:
        """How the prompt's rule reads the reply, where that differs from what the file says."""
        again = self.pair.again
        if again is None or again == (self.pair.rating, self.pair.source):
            return None
        return again.source if again.rating is None else f"{again.rating} ({again.source})"


class _Reply(NamedTuple):
    rating: int
    source: str | None
    read_now: str | None
    text: str


class _Cut(NamedTuple):
    query_id: str
    passage_id: str
    prompts: int
    tokens: int


class Unparsed(VerificationReport):
    """What was not read as the model said it, or not said at all; of every kind ``limit`` rows.

    A reply is one that is no number where the file says so (``default-0``, ``default-1``), and where it
    does not name the rating as a number.
    """

    title = "Unparsed replies and ungraded pairs"

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._pairs = 0
        self._replies: Counter[_Reply] = Counter()
        self._reasons: Counter[str] = Counter()
        self._not_asked: Counter[tuple[str, str, str]] = Counter()
        self._example: dict[tuple[str, str], str] = {}
        self._not_numbers: list[_Found] = []
        self._ungraded: list[_Found] = []
        self._cut: list[_Cut] = []
        self._cut_passages = 0

    def add(self, query: CheckedQuery) -> None:
        """Keep what is special."""
        for passage in query.passages:
            for entry_id, words in query.entries.items():
                self._pairs += 1
                pair = passage.pairs.get(entry_id)
                if pair is None:
                    self._not_asked[query.query_id, entry_id, words] += 1
                    self._example.setdefault((query.query_id, entry_id), passage.passage_id)
                else:
                    self._look(_Found(query.query_id, entry_id, words, pair))
            if cut := [pair.tokens_cut for pair in passage.pairs.values() if pair.tokens_cut]:
                self._cut_passages += 1
                self._cut.append(_Cut(query.query_id, passage.passage_id, len(cut), max(cut)))
        self._cut.sort(key=lambda row: -row.tokens)
        for kept in (self._cut, self._ungraded, self._not_numbers):
            del kept[self._limit or len(kept) :]

    def _look(self, found: _Found) -> None:
        pair = found.pair
        if pair.rating is None:
            self._reasons[pair.reason or NOT_ASKED] += 1
            self._ungraded.append(found)
        elif pair.by_default or not pair.is_number:
            self._replies[_Reply(pair.rating, found.source, found.read_now, pair.reply or "")] += 1
            self._not_numbers.append(found)

    def summary(self) -> str:
        """How many of each kind."""
        replies, ungraded = self._replies.total(), self._reasons.total()
        not_asked = self._not_asked.total()
        if not (replies or ungraded or not_asked or self._cut_passages):
            return (
                f"Nothing to show: all {self._pairs} pairs are graded, by replies that were numbers, and no "
                "prompt was shortened."
            )
        shortened_passages = counted(self._cut_passages, "passage")
        cut = f" The prompts of {shortened_passages} were shortened." if self._cut_passages else ""
        return (
            f"{self._pairs} pairs: {replies} with a rating that is not a number in the reply, {ungraded} "
            f"ungraded, {not_asked} not asked.{cut}"
        )

    def blocks(self) -> list[Block]:
        """A section for each kind that occurs."""
        return [
            *self._reply_blocks(),
            *self._ungraded_blocks(),
            *self._not_asked_blocks(),
            *self._cut_blocks(),
        ]

    def _reply_blocks(self) -> list[Block]:
        if not self._replies:
            return []
        total = self._replies.total()
        blocks: list[Block] = [Heading(f"Replies that were not numbers ({total})")]
        if any(reply.read_now for reply in self._replies):
            blocks.append(
                Paragraph(
                    "Some ratings are not what the prompt's rule makes of the reply now (column `read now`): "
                    "they were read by another rule, or changed. `exam-pp reread` reads stored replies again."
                )
            )
        common = self._replies.most_common(self._limit)
        rows: list[list[Cell]] = [
            [count, reply.rating, reply.source, reply.read_now, shortened(reply.text, _REPLY)]
            for reply, count in common
        ]
        columns = ("pairs", "rating", "source", "read now", "reply")
        blocks.append(without_empty_columns(Table(columns, rows, title="Different replies")))
        blocks += omission(len(self._replies) - len(common), "reply", len(common))
        return blocks + _pairs_blocks("Pairs", self._not_numbers, total)

    def _ungraded_blocks(self) -> list[Block]:
        if not self._reasons:
            return []
        total = self._reasons.total()
        reasons: list[list[Cell]] = [[count, reason] for reason, count in self._reasons.most_common()]
        return [
            Heading(f"Ungraded pairs ({total})"),
            Table(("pairs", "reason"), reasons, title="Reasons"),
            *_pairs_blocks("Pairs", self._ungraded, total),
        ]

    def _not_asked_blocks(self) -> list[Block]:
        if not self._not_asked:
            return []
        common = self._not_asked.most_common(self._limit)
        rows: list[list[Cell]] = [
            [count, query_id, words, self._example[query_id, entry_id]]
            for (query_id, entry_id, words), count in common
        ]
        return [
            Heading(f"Pairs that the model was not asked about ({self._not_asked.total()})"),
            Table(("passages", "query_id", "entry", "for example"), rows),
            *omission(len(self._not_asked) - len(common), "entry", len(common)),
        ]

    def _cut_blocks(self) -> list[Block]:
        if not self._cut:
            return []
        return [
            Heading(f"Passages of which the model did not see the end ({self._cut_passages})"),
            Table(("query_id", "passage", "prompts", "most tokens cut"), self._cut),
            *omission(self._cut_passages - len(self._cut), "passage", len(self._cut)),
        ]

    def table(self) -> Table:
        """A row for each reply, ungraded pair and shortened passage; pairs not asked are not listed."""
        columns = (
            "kind", "query_id", "entry_id", "entry", "passage_id", "rating", "source", "read_now", "reply",
            "reason", "tokens_cut",
        )  # fmt: skip
        rows: list[list[Cell]] = []
        for kind, pairs in (("not a number", self._not_numbers), ("ungraded", self._ungraded)):
            for found in pairs:
                pair = found.pair
                rows.append(
                    [kind, found.query_id, found.entry_id, found.entry, pair.passage_id, pair.rating,
                     found.source, found.read_now, pair.reply, pair.reason, pair.tokens_cut or None]
                )  # fmt: skip
        for cut in self._cut:
            empty = [None] * 5
            rows.append(["shortened", cut.query_id, None, None, cut.passage_id, *empty, cut.tokens])
        return Table(columns, rows)


def _pairs_blocks(title: str, found: list[_Found], total: int) -> list[Block]:
    rows: list[list[Cell]] = [
        [
            one.pair.rating,
            one.source,
            one.read_now,
            one.pair.reply and shortened(one.pair.reply, CELL),
            one.pair.reason,
            one.query_id,
            one.pair.passage_id,
            shortened(one.entry, CELL),
        ]
        for one in found
    ]
    columns = ("rating", "source", "read now", "reply", "reason", "query_id", "passage", "entry")
    table = without_empty_columns(Table(columns, rows, title))
    return [table, *omission(total - len(found), "pair", len(found))]
