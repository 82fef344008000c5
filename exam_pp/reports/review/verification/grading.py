"""Verify-grading report (workbench paper, section 4.4): passages of every entry by rating, with answers."""

from __future__ import annotations

from exam_pp.phases.review.checked_file import CheckedFile
from exam_pp.phases.review.checked_passages import GradedPair, blank_pair
from exam_pp.rendering.document import Block, Cell, Heading, Report, Table
from exam_pp.reports.review.verification.parts import omission, pair_table, verification_report
from exam_pp.text.wording import counted

_COLUMNS = (
    "query_id", "entry_id", "entry", "rating", "source", "answer", "judgment", "passage_id", "reply",
    "reason", "text",
)  # fmt: skip


def grading(
    checked: CheckedFile, *, min_grade: int | None = None, limit: int | None = None, flat: bool = False
) -> Report:
    """A table per bank entry: its first ``limit`` passages with at least the rating ``min_grade``.

    With ``flat``, one table with a row per shown pair.
    """
    entries = 0
    pairs: list[GradedPair] = []
    blocks: list[Block] = []
    rows: list[list[Cell]] = []
    for query in checked.queries:
        entries += len(query.entries)
        blocks.append(Heading(query.heading))
        for entry_id, text in query.entries.items():
            of_entry = [passage.pairs.get(entry_id) or blank_pair(passage) for passage in query.passages]
            of_entry.sort(key=lambda pair: -1 if pair.rating is None else pair.rating, reverse=True)
            pairs += of_entry
            shown = [
                pair
                for pair in of_entry
                if min_grade is None or (pair.rating is not None and pair.rating >= min_grade)
            ][:limit]
            if flat:
                rows += [
                    [query.query_id, entry_id, text, pair.rating, pair.source, pair.answer, pair.judgment,
                     pair.passage_id, pair.reply, pair.reason, pair.text]
                    for pair in shown
                ]  # fmt: skip
                continue
            blocks.append(Heading(text, level=2))
            if shown:
                blocks.append(pair_table(shown))
            blocks += omission(len(of_entry) - len(shown), "passage", len(shown))
    odd_replies = sum(pair.rating is not None and pair.reply is not None for pair in pairs)
    summary = (
        f"{counted(len(checked.queries), 'query')}, {counted(entries, 'entry')}, "
        f"{counted(len(pairs), 'pair')}: {odd_replies} with a reply that is not just the rating "
        f"({sum(pair.by_default for pair in pairs)} of them marked as read by the default rule), "
        f"{sum(pair.asked and pair.rating is None for pair in pairs)} ungraded, "
        f"{sum(not pair.asked for pair in pairs)} not asked."
    )
    return verification_report(
        "Verify grading", checked, summary, [Table(_COLUMNS, rows)] if flat else blocks
    )
