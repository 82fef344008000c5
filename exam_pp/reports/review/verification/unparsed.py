"""Replies that were not numbers, pairs without a grade and why, and prompts that were shortened."""

from __future__ import annotations

from exam_pp.phases.review.verification.checked import shortened
from exam_pp.phases.review.verification.unparsed import CheckedPair, Unparsed
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Table
from exam_pp.reports.review.verification.base import VerificationReport, omission, without_empty_columns
from exam_pp.reports.review.verification.pairs import CELL
from exam_pp.wording import counted

_REPLY = 90
"""Characters of a reply where replies are listed: enough to tell them apart."""


def summary(found: Unparsed) -> str:
    """How many of each kind."""
    replies, ungraded = found.replies.total(), found.reasons.total()
    not_asked = found.not_asked.total()
    if not (replies or ungraded or not_asked or found.cut_passages):
        return (
            f"Nothing to show: all {found.pairs} pairs are graded, by replies that were numbers, and no "
            "prompt was shortened."
        )
    shortened_passages = counted(found.cut_passages, "passage")
    cut = f" The prompts of {shortened_passages} were shortened." if found.cut_passages else ""
    return (
        f"{found.pairs} pairs: {replies} with a rating that is not a number in the reply, {ungraded} "
        f"ungraded, {not_asked} not asked.{cut}"
    )


def blocks(found: Unparsed) -> list[Block]:
    """A section for each kind that occurs."""
    return [
        *_reply_blocks(found),
        *_ungraded_blocks(found),
        *_not_asked_blocks(found),
        *_cut_blocks(found),
    ]


def _reply_blocks(found: Unparsed) -> list[Block]:
    if not found.replies:
        return []
    total = found.replies.total()
    blocks: list[Block] = [Heading(f"Replies that were not numbers ({total})")]
    if any(reply.read_now for reply in found.replies):
        blocks.append(
            Paragraph(
                "Some ratings are not what the prompt's rule makes of the reply now (column `read now`): "
                "they were read by another rule, or changed. `exam-pp reread` reads stored replies again."
            )
        )
    common = found.replies.most_common(found.limit)
    rows: list[list[Cell]] = [
        [count, reply.rating, reply.source, reply.read_now, shortened(reply.text, _REPLY)]
        for reply, count in common
    ]
    columns = ("pairs", "rating", "source", "read now", "reply")
    blocks.append(without_empty_columns(Table(columns, rows, title="Different replies")))
    blocks += omission(len(found.replies) - len(common), "reply", len(common))
    return blocks + _pairs_blocks("Pairs", found.not_numbers, total)


def _ungraded_blocks(found: Unparsed) -> list[Block]:
    if not found.reasons:
        return []
    total = found.reasons.total()
    reasons: list[list[Cell]] = [[count, reason] for reason, count in found.reasons.most_common()]
    return [
        Heading(f"Ungraded pairs ({total})"),
        Table(("pairs", "reason"), reasons, title="Reasons"),
        *_pairs_blocks("Pairs", found.ungraded, total),
    ]


def _not_asked_blocks(found: Unparsed) -> list[Block]:
    if not found.not_asked:
        return []
    common = found.not_asked.most_common(found.limit)
    rows: list[list[Cell]] = [
        [count, query_id, words, found.example[query_id, entry_id]]
        for (query_id, entry_id, words), count in common
    ]
    return [
        Heading(f"Pairs that the model was not asked about ({found.not_asked.total()})"),
        Table(("passages", "query_id", "entry", "for example"), rows),
        *omission(len(found.not_asked) - len(common), "entry", len(common)),
    ]


def _cut_blocks(found: Unparsed) -> list[Block]:
    if not found.cut:
        return []
    return [
        Heading(f"Passages of which the model did not see the end ({found.cut_passages})"),
        Table(("query_id", "passage", "prompts", "most tokens cut"), found.cut),
        *omission(found.cut_passages - len(found.cut), "passage", len(found.cut)),
    ]


def table(found: Unparsed) -> Table:
    """A row for each reply, ungraded pair and shortened passage; pairs not asked are not listed."""
    columns = (
        "kind", "query_id", "entry_id", "entry", "passage_id", "rating", "source", "read_now", "reply",
        "reason", "tokens_cut",
    )  # fmt: skip
    rows: list[list[Cell]] = []
    for kind, pairs in (("not a number", found.not_numbers), ("ungraded", found.ungraded)):
        for one in pairs:
            pair = one.pair
            rows.append(
                [kind, one.query_id, one.entry_id, one.entry, pair.passage_id, pair.rating,
                 one.source, one.read_now, pair.reply, pair.reason, pair.tokens_cut or None]
            )  # fmt: skip
    for cut in found.cut:
        empty = [None] * 5
        rows.append(["shortened", cut.query_id, None, None, cut.passage_id, *empty, cut.tokens])
    return Table(columns, rows)


def _pairs_blocks(title: str, found: list[CheckedPair], total: int) -> list[Block]:
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


REPORT = VerificationReport("Unparsed replies and ungraded pairs", summary, blocks, table)
