"""Report on passages on which judgments and grades disagree, worst first."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from exam_pp.phases.review.checked_file import CheckedFile
from exam_pp.phases.review.checked_passages import CheckedPassage, CheckedQuery
from exam_pp.rendering.document import Block, Heading, Report, Table
from exam_pp.reports.review.verification.parts import (
    ROW,
    judged,
    nearest,
    omission,
    passage_card,
    row,
    verification_report,
)

LOW = "judged relevant, graded low"
HIGH = "judged non-relevant, graded high"

_ENTRIES = 5
"""Entries shown with a passage, best first."""


class _Disagreement(NamedTuple):
    """A passage with its query; the worst passages have the lowest ``key``."""

    key: tuple[int, int, int, str, str]
    query: CheckedQuery
    passage: CheckedPassage
    covered: int


def disagreements(
    checked: CheckedFile, *, min_judgment: int = 1, limit: int | None = None, flat: bool = False
) -> Report:
    """Passages that are judged relevant and graded low, or vice versa; at most ``limit`` in each direction.

    A passage is judged relevant if its highest judgment is at least ``min_judgment``, and graded high if it
    covers an entry. Passages are sorted by the distance of the judgment from ``min_judgment`` plus the
    distance of the best grade from the threshold, then by the number of covered entries; among ties, queries
    take turns. With ``flat``, one table with a row per passage and its best entry.
    """
    directions: dict[str, list[_Disagreement]] = {LOW: [], HIGH: []}
    turns: Counter[tuple[str, bool, int, int]] = Counter()
    both = 0
    for query in checked.queries:
        for passage in query.passages:
            relevance, best = passage.relevance, passage.best_rating
            if relevance is None or best is None:
                continue
            both += 1
            relevant = relevance >= min_judgment
            if relevant == (best >= checked.min_grade):
                continue
            steps = abs(relevance - min_judgment) + abs(best - checked.min_grade)
            covered = len(passage.reaching(checked.min_grade))
            turn = (query.query_id, relevant, steps, covered)
            turns[turn] += 1
            key = (-steps, -covered, turns[turn], query.query_id, passage.passage_id)
            directions[LOW if relevant else HIGH].append(_Disagreement(key, query, passage, covered))
    for items in directions.values():
        items.sort(key=lambda item: item.key)
    low, high = map(len, directions.values())
    counts = (
        f"Of {both} passages with a judgment and a grade, {low} are judged {min_judgment} or higher and have "
        f"no grade of {checked.min_grade} or higher; {high} are judged lower and have such a grade"
    )
    summary = f"{counts}." if low or high else f"{counts}: judgments and grades agree."
    return verification_report(
        "Disagreements of judgments and grades",
        checked,
        summary if both else "No passage has both a judgment and a grade.",
        [_table(directions, checked.min_grade, limit)] if flat else _blocks(directions, limit),
    )


def _table(directions: dict[str, list[_Disagreement]], min_grade: int, limit: int | None) -> Table:
    rows = [
        [direction, *row(item.query, item.passage, min_grade)]
        for direction, items in directions.items()
        for item in items[:limit]
    ]
    return Table(("direction", *ROW), rows)


def _blocks(directions: dict[str, list[_Disagreement]], limit: int | None) -> list[Block]:
    """A card for each passage, in two sections."""
    blocks: list[Block] = []
    for direction, items in directions.items():
        if not items:
            continue
        blocks.append(Heading(f"{direction[0].upper()}{direction[1:]} ({len(items)})"))
        shown = items[:limit]
        for number, (_, query, passage, covered) in enumerate(shown, 1):
            label = (
                f"{number}. {query.heading} — passage {passage.passage_id}: {judged(passage)}, "
                f"best grade {passage.best_rating}, covers {covered} of {len(query.entries)}"
            )
            blocks += passage_card(passage, label, nearest(passage, _ENTRIES), query.entries)
        blocks += omission(len(items) - len(shown), "passage", len(shown))
    return blocks
