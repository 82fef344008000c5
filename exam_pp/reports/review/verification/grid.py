"""Grid report: passages × bank entries with grades and answers, sorted by judgment and grade."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from exam_pp.phases.review.checked_file import CheckedFile
from exam_pp.phases.review.checked_passages import (
    UNGRADED,
    CheckedPassage,
    CheckedQuery,
    GradedPair,
    blank_pair,
    text_start,
)
from exam_pp.rendering.document import Block, Cell, Heading, Report, Table
from exam_pp.reports.review.verification.parts import omission, verification_report, without_empty_columns
from exam_pp.text.wording import counted

_KEPT = 112
"""Characters of a passage in the table for scripts."""
_PAGE = 3000
"""Characters of a passage behind the cells of a heat map, about a page."""
_TEXT = 40
"""Characters of a passage at the end of its row."""
_ANSWER = 80
"""Characters of an answer in the table below the grid."""
_PASSAGE = 3
"""Column of the passage ids."""
_FIRST_ENTRY = 4
"""Column of the first entry."""


class _Rows(NamedTuple):
    """The shown passages of a query, the number of others, and by entry all passages that cover it."""

    query: CheckedQuery
    passages: Sequence[CheckedPassage]
    omitted: int
    covering: Counter[str]


def grid(
    checked: CheckedFile,
    *,
    min_answers: int = 0,
    limit: int | None = None,
    form: str = "text",
    flat: bool = False,
) -> Report:
    """The first ``limit`` passages of every query that cover at least ``min_answers`` entries, as a grid.

    Passages are sorted by judgment (the highest of several; unjudged passages last), best grade, number of
    covered entries, and the sum of their grades. HTML shows a heat map with the texts behind each cell.
    All other formats have the answers in a table below the grid.
    With ``flat``, one table with a row per pair, ordered by passage.
    """
    grids: list[_Rows] = []
    passages = covering = 0
    for query in checked.queries:
        reached = [(passage.reaching(checked.min_grade), passage) for passage in query.passages]
        kept = [passage for entries, passage in reached if len(entries) >= min_answers]
        kept.sort(key=lambda passage: _order(passage, checked.min_grade))
        passages += len(query.passages)
        covering += len(kept)
        characters = _PAGE if form == "html" else _KEPT
        shown = [replace(passage, text=text_start(passage.text, characters)) for passage in kept[:limit]]
        covered = Counter(
            entry_id
            for passage in query.passages
            for entry_id, pair in passage.pairs.items()
            if pair.rating is not None and pair.rating >= checked.min_grade
        )
        grids.append(_Rows(query, shown, len(kept) - len(shown), covered))
    summary = f"{counted(len(grids), 'query')}, {counted(passages, 'passage')}."
    if min_answers:
        summary += f" {covering} of them cover {min_answers} or more entries."
    blocks = [_table(grids, checked.min_grade)] if flat else _blocks(grids, checked.min_grade, form)
    return verification_report("Grid of passages and bank entries", checked, summary, blocks)


def _order(passage: CheckedPassage, min_grade: int) -> tuple[int, int, int, int, str]:
    relevance, best = passage.judgment, passage.best_rating
    return (
        1_000_000 if relevance is None else -relevance,
        1 if best is None else -best,
        -len(passage.reaching(min_grade)),
        -sum(pair.rating or 0 for pair in passage.pairs.values()),
        passage.passage_id,
    )


def _table(grids: Sequence[_Rows], min_grade: int) -> Table:
    columns = (
        "query_id", "passage_id", "judgment", "best_grade", "covered", "entry_id", "entry", "rating",
        "source", "answer", "reply", "reason", "text",
    )  # fmt: skip
    cells: list[list[Cell]] = []
    for query, passages, *_ in grids:
        for passage in passages:
            passage_cells: list[Cell] = [
                query.query_id, passage.passage_id, passage.judgment, passage.best_rating,
                len(passage.reaching(min_grade)),
            ]  # fmt: skip
            for entry_id, text in query.entries.items():
                pair = passage.pairs.get(entry_id) or blank_pair(passage)
                cells.append(
                    [*passage_cells, entry_id, text, pair.rating, pair.source, pair.answer, pair.reply,
                     pair.reason, passage.text]
                )  # fmt: skip
    return Table(columns, cells)


def _blocks(grids: Sequence[_Rows], min_grade: int, form: str) -> list[Block]:
    """For each query its numbered entries, and a heat map or the grid with a column for each number."""
    blocks: list[Block] = []
    best = [passage.best_rating or 0 for rows in grids for passage in rows.passages]
    highest = max(1, min_grade, *best)
    for rows in grids:
        blocks += [Heading(rows.query.heading), _legend(rows, min_grade)]
        if rows.passages and form == "html":
            blocks.append(_heat_map(rows, min_grade, highest))
        elif rows.passages:
            blocks += [_grid(rows, min_grade), *_answers(rows)]
        blocks += omission(rows.omitted, "passage", len(rows.passages))
    return blocks


def _legend(rows: _Rows, min_grade: int) -> Table:
    """The entries with their numbers, and how many passages cover each."""
    columns = ("#", f"passages ≥{min_grade}", "entry", "entry_id")
    cells: list[list[Cell]] = [
        [number, rows.covering[entry_id], text if text != entry_id else None, entry_id]
        for number, (entry_id, text) in enumerate(rows.query.entries.items(), 1)
    ]
    return without_empty_columns(Table(columns, cells))


def _grid(rows: _Rows, min_grade: int) -> Table:
    """The grid; covered cells are boxed, mistakes have a mark, and ungraded pairs have empty cells."""
    numbers = [str(number) for number, _ in enumerate(rows.query.entries, 1)]
    columns = ("judgment", "best", f"≥{min_grade}", "passage", *numbers, "text")
    cells_of: list[list[Cell]] = []
    boxed: set[tuple[int, int]] = set()
    for passage in rows.passages:
        cells: list[Cell] = []
        for column, entry_id in enumerate(rows.query.entries, _FIRST_ENTRY):
            pair = passage.pairs.get(entry_id)
            rating = pair.rating if pair else None
            made = rating is not None and rating >= min_grade
            if pair and made and not pair.to_avoid:
                boxed.add((len(cells_of), column))
            cells.append(f"{rating} !" if pair and made and pair.to_avoid else rating)
        covered = len(passage.reaching(min_grade))
        cells_of.append(
            [passage.judgment, passage.best_rating, covered, passage.passage_id, *cells,
             text_start(passage.text, _TEXT)]
        )  # fmt: skip
    return Table(columns, cells_of, boxed=boxed)


def _heat_map(rows: _Rows, min_grade: int, highest: int) -> Table:
    """The grid as a heat map; the darkest shade is the rating ``highest``, and covered cells are boxed."""
    grid = _grid(rows, min_grade)
    order = [_PASSAGE, *(column for column in range(len(grid.columns)) if column != _PASSAGE)]
    shades: dict[tuple[int, int], int] = {}
    details: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for row, passage in enumerate(rows.passages):
        details[row, 0] = [("text", passage.text)]
        for column, entry_id in enumerate(rows.query.entries, _FIRST_ENTRY):
            pair = passage.pairs.get(entry_id)
            if pair is None:
                continue
            if pair.rating is not None:
                shades[row, column] = max(0, min(5, round(5 * pair.rating / highest)))
            if texts := _texts_of(pair):
                details[row, column] = texts
    return replace(
        grid,
        columns=[grid.columns[column] for column in order],
        rows=[[cells[column] for column in order] for cells in grid.rows],
        shades=shades,
        box=f"covered: {min_grade} or higher",
        hints=dict(enumerate(rows.query.entries.values(), _FIRST_ENTRY)),
        details=details,
        details_title="Passages, answers and replies",
    )


def _texts_of(pair: GradedPair) -> list[tuple[str, str]]:
    """The texts behind a rating: answer, reply, rule, and the reason for a missing rating."""
    rule = pair.source if pair.source not in (None, "number", UNGRADED) else None
    texts = (("answer", pair.answer), ("reply", pair.reply), ("rule", rule), (UNGRADED, pair.reason))
    return [(label, text) for label, text in texts if text]


def _answers(rows: _Rows) -> list[Block]:
    """The extracted answers of pairs with a rating above 0, ordered by passage."""
    number = {entry_id: position for position, entry_id in enumerate(rows.query.entries, 1)}
    cells: list[list[Cell]] = [
        [passage.passage_id, number[entry_id], pair.rating, text_start(pair.answer, _ANSWER)]
        for passage in rows.passages
        for entry_id, pair in passage.pairs.items()
        if pair.rating and pair.answer
    ]
    return [Table(("passage", "#", "rating", "answer"), cells, title="Answers")] if cells else []
