"""Report on passages on which judgments and grades disagree, worst first."""

from __future__ import annotations

from exam_pp.phases.review.verification.disagreements import HIGH, LOW, Disagreements
from exam_pp.rendering.document import Block, Heading, Table
from exam_pp.reports.review.verification.base import VerificationReport, omission
from exam_pp.reports.review.verification.cards import ROW, card, judged, nearest, row

_ENTRIES = 5
"""Entries shown with a passage, best first."""


def summary(selection: Disagreements) -> str:
    """The number of disagreements in each direction."""
    low, high = selection.directions[LOW].added, selection.directions[HIGH].added
    if not selection.both:
        return "No passage has both a judgment and a grade."
    counts = (
        f"Of {selection.both} passages with a judgment and a grade, {low} are judged "
        f"{selection.min_judgment} or higher and have no grade of {selection.min_grade} or higher; {high} "
        "are judged lower and have such a grade"
    )
    return f"{counts}." if low or high else f"{counts}: judgments and grades agree."


def blocks(selection: Disagreements) -> list[Block]:
    """A card for each passage, in two sections."""
    parts: list[Block] = []
    for direction, passages in selection.directions.items():
        if not passages.added:
            continue
        parts.append(Heading(f"{direction[0].upper()}{direction[1:]} ({passages.added})"))
        items = passages.items()
        for number, (query, passage) in enumerate(items, 1):
            covered = len(passage.reaching(query.min_grade))
            label = (
                f"{number}. {query.heading} — passage {passage.passage_id}: {judged(passage)}, "
                f"best grade {passage.best_rating}, covers {covered} of {len(query.entries)}"
            )
            parts += card(passage, label, nearest(passage, _ENTRIES), query.entries)
        parts += omission(passages.omitted, "passage", len(items))
    return parts


def table(selection: Disagreements) -> Table:
    """A row per passage, with its best entry."""
    rows = [
        [direction, *row(query, passage)]
        for direction, passages in selection.directions.items()
        for query, passage in passages.items()
    ]
    return Table(("direction", *ROW), rows)


REPORT = VerificationReport("Disagreements of judgments and grades", summary, blocks, table)
