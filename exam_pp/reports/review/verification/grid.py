"""*Grid display*: passages × bank entries with grades and answers, by judgment and grade."""

from __future__ import annotations

from functools import partial

from exam_pp.phases.review.verification.checked import CheckedPassage, blank_pair, shortened
from exam_pp.phases.review.verification.grid import Grid, GridRows
from exam_pp.rendering.document import Block, Cell, Heading, Table
from exam_pp.reports.review.verification.base import VerificationReport, omission, without_empty_columns
from exam_pp.wording import counted

_TEXT = 40
"""Characters of a passage at the end of its row."""
_ANSWER = 80
"""Characters of an answer beside its grade."""


def grid_report(*, answers_in_cells: bool = False) -> VerificationReport[Grid]:
    """The answers are in the grid, for pages that wrap; else they are listed below it."""
    return VerificationReport("Grid", summary, partial(blocks, in_cells=answers_in_cells), table)


def summary(found: Grid) -> str:
    """How many passages there are, and how many are shown."""
    words = f"{counted(len(found.queries), 'query')}, {counted(found.passages, 'passage')}."
    if found.min_answers:
        shown = sum(rows.passages.added for rows in found.queries.values())
        words += f" {shown} of them cover {found.min_answers} or more entries."
    return words


def blocks(found: Grid, *, in_cells: bool) -> list[Block]:
    """For each query its entries, numbered, and the grid with a column for each number."""
    shown: list[Block] = []
    for rows in found.queries.values():
        passages = rows.passages.items()
        shown += [Heading(rows.query.heading), _legend(rows)]
        if passages:
            shown.append(_grid(rows, passages, in_cells=in_cells))
            if not in_cells:
                shown += _answers(rows, passages)
        shown += omission(rows.passages.omitted, "passage", len(passages))
    return shown


def table(found: Grid) -> Table:
    """A row for each pair, passage by passage."""
    columns = (
        "query_id", "passage_id", "judgment", "best_grade", "covered", "entry_id", "entry", "rating",
        "source", "answer", "reply", "reason", "text",
    )  # fmt: skip
    cells: list[list[Cell]] = []
    for rows in found.queries.values():
        for passage in rows.passages.items():
            covered = len(passage.reaching(rows.query.min_grade))
            known: list[Cell] = [
                rows.query.query_id, passage.passage_id, passage.judgment, passage.best_rating, covered,
            ]  # fmt: skip
            for entry_id, words in rows.entries.items():
                pair = passage.pairs.get(entry_id) or blank_pair(passage)
                cells.append(
                    [*known, entry_id, words, pair.rating, pair.source, pair.answer, pair.reply,
                     pair.reason, passage.text]
                )  # fmt: skip
    return Table(columns, cells)


def _legend(found: GridRows) -> Table:
    """The entries under their numbers, and how many passages cover each."""
    columns = ("#", f"passages ≥{found.query.min_grade}", "entry", "entry_id")
    rows: list[list[Cell]] = [
        [number, found.covering.get(entry_id, 0), words if words != entry_id else None, entry_id]
        for number, (entry_id, words) in enumerate(found.entries.items(), 1)
    ]
    return without_empty_columns(Table(columns, rows))


def _grid(rows: GridRows, passages: list[CheckedPassage], *, in_cells: bool) -> Table:
    """Covered cells are boxed; an empty cell is a pair without a grade."""
    least = rows.query.min_grade
    numbers = [str(number) for number, _ in enumerate(rows.entries, 1)]
    columns = ("judgment", "best", f"≥{least}", "passage", *numbers, "text")
    cells_of: list[list[Cell]] = []
    boxed: set[tuple[int, int]] = set()
    for passage in passages:
        cells: list[Cell] = []
        for column, entry_id in enumerate(rows.entries, 4):
            pair = passage.pairs.get(entry_id)
            rating = pair.rating if pair else None
            if rating is not None and rating >= least:
                boxed.add((len(cells_of), column))
            answer = pair.answer if pair and in_cells and rating is not None else None
            cells.append(f"{rating} · {shortened(answer, _ANSWER)}" if answer else rating)
        covered = len(passage.reaching(least))
        cells_of.append(
            [passage.judgment, passage.best_rating, covered, passage.passage_id, *cells,
             shortened(passage.text, _TEXT)]
        )  # fmt: skip
    return Table(columns, cells_of, boxed=boxed)


def _answers(rows: GridRows, passages: list[CheckedPassage]) -> list[Block]:
    """The extracted answers of the grades above zero, passage by passage."""
    number = {entry_id: position for position, entry_id in enumerate(rows.entries, 1)}
    cells: list[list[Cell]] = [
        [passage.passage_id, number[entry_id], pair.rating, shortened(pair.answer, _ANSWER)]
        for passage in passages
        for entry_id, pair in passage.pairs.items()
        if pair.rating and pair.answer
    ]
    return [Table(("passage", "#", "rating", "answer"), cells, title="Answers")] if cells else []
