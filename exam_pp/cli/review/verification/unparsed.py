"""Report on replies that were not numbers, ungraded pairs with reasons, and shortened prompts."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from exam_pp.cli.review.verification.base import (
    Selection,
    VerificationReport,
    omission,
    without_empty_columns,
)
from exam_pp.cli.review.verification.cards import CELL
from exam_pp.phases.review.checked_passages import NOT_ASKED, CheckedQuery, GradedPair, shortened
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Table
from exam_pp.text.wording import counted

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


_REPLY = 90
"""Characters of a reply in the list of replies."""


def summary(selection: Unparsed) -> str:
    """The number of pairs of each kind."""
    replies, ungraded = selection.replies.total(), selection.reasons.total()
    not_asked = selection.not_asked.total()
    if not (replies or ungraded or not_asked or selection.cut_passages):
        return (
            f"All {selection.pairs} pairs are graded, all replies are numbers, and no prompt was shortened."
        )
    shortened_passages = counted(selection.cut_passages, "passage")
    cut = f" The prompts of {shortened_passages} were shortened." if selection.cut_passages else ""
    return (
        f"{selection.pairs} pairs: {replies} with a rating that is not a number in the reply, {ungraded} "
        f"ungraded, {not_asked} not asked.{cut}"
    )


def blocks(selection: Unparsed) -> list[Block]:
    """A section per kind that occurs."""
    return [
        *_reply_blocks(selection),
        *_ungraded_blocks(selection),
        *_not_asked_blocks(selection),
        *_cut_blocks(selection),
    ]


def _reply_blocks(selection: Unparsed) -> list[Block]:
    if not selection.replies:
        return []
    total = selection.replies.total()
    blocks: list[Block] = [Heading(f"Replies that were not numbers ({total})")]
    if any(reply.read_now for reply in selection.replies):
        blocks.append(
            Paragraph(
                "Some ratings differ from the current reading of the reply by the prompt's rule (column "
                "`read now`): they were read by another rule, or changed. `exam-pp reread` reads stored "
                "replies again."
            )
        )
    common = selection.replies.most_common(selection.limit)
    rows: list[list[Cell]] = [
        [count, reply.rating, reply.source, reply.read_now, shortened(reply.text, _REPLY)]
        for reply, count in common
    ]
    columns = ("pairs", "rating", "source", "read now", "reply")
    blocks.append(without_empty_columns(Table(columns, rows, title="Different replies")))
    blocks += omission(len(selection.replies) - len(common), "reply", len(common))
    return blocks + _pairs_blocks(selection.not_numbers, total)


def _ungraded_blocks(selection: Unparsed) -> list[Block]:
    if not selection.reasons:
        return []
    total = selection.reasons.total()
    reasons: list[list[Cell]] = [[count, reason] for reason, count in selection.reasons.most_common()]
    return [
        Heading(f"Ungraded pairs ({total})"),
        Table(("pairs", "reason"), reasons, title="Reasons"),
        *_pairs_blocks(selection.ungraded, total),
    ]


def _not_asked_blocks(selection: Unparsed) -> list[Block]:
    if not selection.not_asked:
        return []
    common = selection.not_asked.most_common(selection.limit)
    rows: list[list[Cell]] = [
        [count, query_id, text, selection.example[query_id, entry_id]]
        for (query_id, entry_id, text), count in common
    ]
    return [
        Heading(f"Pairs that were not asked ({selection.not_asked.total()})"),
        Table(("passages", "query_id", "entry", "for example"), rows),
        *omission(len(selection.not_asked) - len(common), "entry", len(common)),
    ]


def _cut_blocks(selection: Unparsed) -> list[Block]:
    if not selection.cut:
        return []
    return [
        Heading(f"Passages with shortened prompts ({selection.cut_passages})"),
        Table(("query_id", "passage", "shortened prompts", "most tokens cut"), selection.cut),
        *omission(selection.cut_passages - len(selection.cut), "passage", len(selection.cut)),
    ]


def table(selection: Unparsed) -> Table:
    """A row per reply, ungraded pair and shortened passage; pairs that were not asked are not listed."""
    columns = (
        "kind", "query_id", "entry_id", "entry", "passage_id", "rating", "source", "read_now", "reply",
        "reason", "tokens_cut",
    )  # fmt: skip
    rows: list[list[Cell]] = []
    for kind, pairs in (("not a number", selection.not_numbers), ("ungraded", selection.ungraded)):
        for checked in pairs:
            pair = checked.pair
            rows.append(
                [kind, checked.query_id, checked.entry_id, checked.entry, pair.passage_id, pair.rating,
                 checked.source, checked.read_now, pair.reply, pair.reason, pair.tokens_cut or None]
            )  # fmt: skip
    for cut in selection.cut:
        empty = [None] * 5
        rows.append(["shortened", cut.query_id, None, None, cut.passage_id, *empty, cut.tokens])
    return Table(columns, rows)


def _pairs_blocks(pairs: list[CheckedPair], total: int) -> list[Block]:
    rows: list[list[Cell]] = [
        [
            checked.pair.rating,
            checked.source,
            checked.read_now,
            checked.pair.reply and shortened(checked.pair.reply, CELL),
            checked.pair.reason,
            checked.query_id,
            checked.pair.passage_id,
            shortened(checked.entry, CELL),
        ]
        for checked in pairs
    ]
    columns = ("rating", "source", "read now", "reply", "reason", "query_id", "passage", "entry")
    table = without_empty_columns(Table(columns, rows, "Pairs"))
    return [table, *omission(total - len(pairs), "pair", len(pairs))]


REPORT = VerificationReport("Unparsed replies and ungraded pairs", summary, blocks, table)
