"""Report on passages on which judgments and grades disagree, worst first."""

from __future__ import annotations

from collections import Counter

from exam_pp.phases.review.checked_file import CheckedFile
from exam_pp.phases.review.checked_passages import CheckedPassage, CheckedQuery
from exam_pp.rendering.document import Block, Heading, Report, Table
from exam_pp.reports.review.verification.parts import ROW, passage_cards, row, verification_report

LOW = "judged relevant, graded low"
HIGH = "judged non-relevant, graded high"

_Disagreement = tuple[tuple[int, int, int, str, str], CheckedQuery, CheckedPassage]
"""A key, by which the worst passages come first, and the passage with its query."""


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
            relevance, best = passage.judgment, passage.best_rating
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
            directions[LOW if relevant else HIGH].append((key, query, passage))
    for items in directions.values():
        items.sort(key=lambda item: item[0])
    low, high = map(len, directions.values())
    counts = (
        f"Of {both} passages with a judgment and a grade, {low} are judged {min_judgment} or higher and have "
        f"no grade of {checked.min_grade} or higher; {high} are judged lower and have such a grade"
    )
    summary = f"{counts}." if low or high else f"{counts}: judgments and grades agree."
    blocks: list[Block] = [_table(directions, checked.min_grade, limit)] if flat else []
    for direction, items in directions.items() if not flat else ():
        if items:
            blocks.append(Heading(f"{direction[0].upper()}{direction[1:]} ({len(items)})"))
            blocks += passage_cards([item[1:] for item in items], checked.min_grade, limit)
    return verification_report(
        "Disagreements of judgments and grades",
        checked,
        summary if both else "No passage has both a judgment and a grade.",
        blocks,
    )


def _table(directions: dict[str, list[_Disagreement]], min_grade: int, limit: int | None) -> Table:
    rows = [
        [direction, *row(query, passage, min_grade)]
        for direction, items in directions.items()
        for _, query, passage in items[:limit]
    ]
    return Table(("direction", *ROW), rows)
