"""Report on replies that were not numbers, ungraded pairs with reasons, and shortened prompts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from exam_pp.phases.review.checked_file import CheckedFile
from exam_pp.phases.review.checked_passages import NOT_ASKED, GradedPair, text_start
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Report, Table
from exam_pp.reports.review.verification.parts import (
    CELL,
    omission,
    verification_report,
    without_empty_columns,
)
from exam_pp.text.wording import counted

_NOT_RECORDED = "not recorded"
"""The source of a rating if the file does not record it."""
_REPLY = 90
"""Characters of a reply in the list of replies."""


class _Pair(NamedTuple):
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
        return self.pair.source if self.pair.source not in (None, "number") else _NOT_RECORDED

    @property
    def read_now(self) -> str | None:
        """The reading of the reply by the prompt's current rule; None if it equals the file's rating."""
        again = self.pair.again
        if again is None or again == (self.pair.rating, self.pair.source):
            return None
        return again.source if again.rating is None else f"{again.rating} ({again.source})"


class _Shortened(NamedTuple):
    """The number of shortened prompts of a passage, and the highest number of tokens that were cut."""

    query_id: str
    passage_id: str
    prompts: int
    tokens: int


def unparsed(checked: CheckedFile, *, limit: int | None = None, flat: bool = False) -> Report:
    """Replies that were not numbers, ungraded pairs and shortened prompts; ``limit`` rows of each kind.

    A reply is not a number if the file says so (``default-0``, ``default-1``), or if it does not contain the
    rating as a number. Pairs that were not asked are counted, with a passage for each entry. With ``flat``,
    one table with a row per reply, ungraded pair and shortened passage.
    """
    pairs: list[_Pair] = []
    not_asked: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    cut: list[_Shortened] = []
    for query in checked.queries:
        for passage in query.passages:
            for entry_id, text in query.entries.items():
                if pair := passage.pairs.get(entry_id):
                    pairs.append(_Pair(query.query_id, entry_id, text, pair))
                else:
                    not_asked[query.query_id, entry_id, text].append(passage.passage_id)
            if tokens := [pair.tokens_cut for pair in passage.pairs.values() if pair.tokens_cut]:
                cut.append(_Shortened(query.query_id, passage.passage_id, len(tokens), max(tokens)))
    cut.sort(key=lambda row: -row.tokens)
    ungraded = [item for item in pairs if item.pair.rating is None]
    not_numbers = [
        item
        for item in pairs
        if item.pair.rating is not None and (item.pair.by_default or not item.pair.is_number)
    ]
    unasked = sum(map(len, not_asked.values()))
    total = len(pairs) + unasked
    summary = (
        f"{total} pairs: {len(not_numbers)} with a rating that is not a number in the reply, "
        f"{len(ungraded)} ungraded, {unasked} not asked."
    )
    if cut:
        summary += f" The prompts of {counted(len(cut), 'passage')} were shortened."
    elif not (not_numbers or ungraded or unasked):
        summary = f"All {total} pairs are graded, all replies are numbers, and no prompt was shortened."
    blocks = (
        [_table(not_numbers[:limit], ungraded[:limit], cut[:limit])]
        if flat
        else [
            *_reply_blocks(not_numbers, limit),
            *_ungraded_blocks(ungraded, limit),
            *_not_asked_blocks(not_asked, limit),
            *_cut_blocks(cut, limit),
        ]
    )
    return verification_report("Unparsed replies and ungraded pairs", checked, summary, blocks)


def _table(not_numbers: Sequence[_Pair], ungraded: Sequence[_Pair], cut: Sequence[_Shortened]) -> Table:
    columns = (
        "kind", "query_id", "entry_id", "entry", "passage_id", "rating", "source", "read_now", "reply",
        "reason", "tokens_cut",
    )  # fmt: skip
    rows: list[list[Cell]] = []
    for kind, pairs in (("not a number", not_numbers), ("ungraded", ungraded)):
        rows += [
            [kind, item.query_id, item.entry_id, item.entry, item.pair.passage_id, item.pair.rating,
             item.source, item.read_now, item.pair.reply, item.pair.reason, item.pair.tokens_cut or None]
            for item in pairs
        ]  # fmt: skip
    for row in cut:
        empty = [None] * 5
        rows.append(["shortened", row.query_id, None, None, row.passage_id, *empty, row.tokens])
    return Table(columns, rows)


def _reply_blocks(not_numbers: Sequence[_Pair], limit: int | None) -> list[Block]:
    if not not_numbers:
        return []
    blocks: list[Block] = [Heading(f"Replies that were not numbers ({len(not_numbers)})")]
    if any(item.read_now for item in not_numbers):
        blocks.append(
            Paragraph(
                "Some ratings differ from the current reading of the reply by the prompt's rule (column "
                "`read now`): they were read by another rule, or changed. `exam-pp reread` reads stored "
                "replies again."
            )
        )
    replies = Counter(
        (item.pair.rating, item.source, item.read_now, item.pair.reply or "") for item in not_numbers
    )
    common = replies.most_common(limit)
    rows: list[list[Cell]] = [
        [count, rating, source, read_now, text_start(reply, _REPLY)]
        for (rating, source, read_now, reply), count in common
    ]
    columns = ("pairs", "rating", "source", "read now", "reply")
    blocks.append(without_empty_columns(Table(columns, rows, title="Different replies")))
    blocks += omission(len(replies) - len(common), "reply", len(common))
    return blocks + _pairs_blocks(not_numbers, limit)


def _ungraded_blocks(ungraded: Sequence[_Pair], limit: int | None) -> list[Block]:
    if not ungraded:
        return []
    reasons = Counter(item.pair.reason or NOT_ASKED for item in ungraded)
    rows: list[list[Cell]] = [[count, reason] for reason, count in reasons.most_common()]
    return [
        Heading(f"Ungraded pairs ({len(ungraded)})"),
        Table(("pairs", "reason"), rows, title="Reasons"),
        *_pairs_blocks(ungraded, limit),
    ]


def _not_asked_blocks(
    not_asked: Mapping[tuple[str, str, str], Sequence[str]], limit: int | None
) -> list[Block]:
    if not not_asked:
        return []
    entries = sorted(not_asked.items(), key=lambda item: -len(item[1]))
    rows: list[list[Cell]] = [
        [len(passages), query_id, entry, passages[0]] for (query_id, _, entry), passages in entries[:limit]
    ]
    return [
        Heading(f"Pairs that were not asked ({sum(map(len, not_asked.values()))})"),
        Table(("passages", "query_id", "entry", "for example"), rows),
        *omission(len(entries) - len(rows), "entry", len(rows)),
    ]


def _cut_blocks(cut: Sequence[_Shortened], limit: int | None) -> list[Block]:
    if not cut:
        return []
    shown = cut[:limit]
    return [
        Heading(f"Passages with shortened prompts ({len(cut)})"),
        Table(("query_id", "passage", "shortened prompts", "most tokens cut"), shown),
        *omission(len(cut) - len(shown), "passage", len(shown)),
    ]


def _pairs_blocks(pairs: Sequence[_Pair], limit: int | None) -> list[Block]:
    shown = pairs[:limit]
    rows: list[list[Cell]] = [
        [
            item.pair.rating,
            item.source,
            item.read_now,
            item.pair.reply and text_start(item.pair.reply, CELL),
            item.pair.reason,
            item.query_id,
            item.pair.passage_id,
            text_start(item.entry, CELL),
        ]
        for item in shown
    ]
    columns = ("rating", "source", "read now", "reply", "reason", "query_id", "passage", "entry")
    table = without_empty_columns(Table(columns, rows, "Pairs"))
    return [table, *omission(len(pairs) - len(shown), "pair", len(shown))]
