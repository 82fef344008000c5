"""Report on replies that were not numbers, ungraded pairs with reasons, and shortened prompts."""

from __future__ import annotations

from exam_pp.phases.review.verification.checked import shortened
from exam_pp.phases.review.verification.unparsed import CheckedPair, Unparsed
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Table
from exam_pp.reports.review.verification.base import VerificationReport, omission, without_empty_columns
from exam_pp.reports.review.verification.pairs import CELL
from exam_pp.text.wording import counted

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
