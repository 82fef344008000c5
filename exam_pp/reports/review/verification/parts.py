"""Parts of verification reports, such as the card of a passage with its marked answers and best entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from exam_pp.phases.review.checked_file import CheckedFile
from exam_pp.phases.review.checked_passages import (
    UNGRADED,
    CheckedPassage,
    CheckedQuery,
    GradedPair,
    text_start,
)
from exam_pp.rendering.document import Block, Cell, Paragraph, Quote, Report, Table
from exam_pp.text.highlight import answer_spans, merge_spans
from exam_pp.text.wording import counted

CELL = 56
"""Characters of a text in a table for the terminal."""


def verification_report(title: str, checked: CheckedFile, summary: str, blocks: Iterable[Block]) -> Report:
    """A report: a sentence with counts over all pairs or passages, shown or not, and then the blocks."""
    made = checked.provenance
    title = f"{title}: {made.prompt_classes[0]} by {made.models[0]}"
    return Report(title, [Paragraph(summary), *blocks], made)


def omission(count: int, noun: str, shown: int) -> list[Block]:
    """A line with the number of items that are not shown; empty for 0. ``noun`` is the singular."""
    if not count:
        return []
    name = f"more {noun}" if shown else noun
    return [Paragraph(f"{counted(count, name)} {'is' if count == 1 else 'are'} not shown.")]


def without_empty_columns(table: Table) -> Table:
    """The table without columns that are empty in every row."""
    kept = [i for i, _ in enumerate(table.columns) if any(row[i] not in (None, "") for row in table.rows)]
    if not table.rows:
        return table
    columns = [table.columns[i] for i in kept]
    return Table(columns, [[row[i] for i in kept] for row in table.rows], table.title, table.decimals)


def pair_table(pairs: Sequence[GradedPair], *, width: int = CELL, title: str = "") -> Table:
    """The table of an entry's passages; ``width`` is the number of characters shown of each passage."""
    rows: list[tuple[Cell, ...]] = [
        (
            pair.rating,
            pair.answer and text_start(pair.answer, CELL),
            pair.judgment,
            pair.passage_id,
            note(pair),
            text_start(pair.text, width),
        )
        for pair in pairs
    ]
    columns = ("rating", "answer", "judgment", "passage", "note", "text")
    return without_empty_columns(Table(columns, rows, title))


def note(pair: GradedPair) -> str:
    """The note on a pair: the reason for a missing rating, a default rule, an unusual reply; else empty."""
    reply = f'"{text_start(pair.reply, CELL)}"' if pair.reply is not None else ""
    if pair.rating is None:
        mark = f"{UNGRADED}: {pair.reason}" if pair.asked else pair.reason
    else:
        mark = pair.source if pair.source not in (None, "number") else ""
    return " ".join(part for part in (mark, f"reply {reply}" if reply else "") if part)


_ENTRIES = 5
"""Entries that a card shows."""
_LONGEST = 3000
"""Characters of a passage that a card shows, about a page."""


def passage_cards(
    found: Sequence[tuple[CheckedQuery, CheckedPassage]], min_grade: int, limit: int | None
) -> list[Block]:
    """Cards of the first ``limit`` passages, and how many more there are.

    A card has the passage with its marked answers, and a table of its best entries above 0.
    """
    blocks: list[Block] = []
    shown = found[:limit]
    for number, (query, passage) in enumerate(shown, 1):
        pairs = [(query.entries.get(key, key), passage.pairs[key]) for key in passage.reaching(1)[:_ENTRIES]]
        answers = [pair.answer for _, pair in pairs if pair.answer]
        text = card_text(passage.text)
        label = (
            f"{number}. {query.heading} — passage {passage.passage_id}: judged {passage.judgment}, "
            f"best grade {passage.best_rating}, "
            f"covers {len(passage.reaching(min_grade))} of {len(query.entries)}"
        )
        blocks.append(
            Quote(text, label, merge_spans(s for each in answers for s in answer_spans(text, each)))
        )
        rows = [
            (pair.rating, pair.answer and text_start(pair.answer, CELL), note(pair), entry)
            for entry, pair in pairs
        ]
        if rows:
            blocks.append(without_empty_columns(Table(("rating", "answer", "note", "entry"), rows)))
    return [*blocks, *omission(len(found) - len(shown), "passage", len(shown))]


def card_text(text: str) -> str:
    """The part of a text that a card shows."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]} … ({len(text) - _LONGEST} more characters)"


ROW = (
    "query_id", "query", "passage_id", "judgment", "best_grade", "covered", "entry_id", "entry", "answer",
    "text",
)  # fmt: skip


def row(query: CheckedQuery, passage: CheckedPassage, min_grade: int) -> list[Cell]:
    """The columns :data:`ROW`: a passage with its number of covered entries and its best entry."""
    key = next((key for _, key in passage.rated()), None)
    entry = [None, None, None] if key is None else [key, query.entries.get(key), passage.pairs[key].answer]
    covered = len(passage.reaching(min_grade))
    return [
        query.query_id,
        query.text or None,
        passage.passage_id,
        passage.judgment,
        passage.best_rating,
        covered,
        *entry,
        passage.text,
    ]
