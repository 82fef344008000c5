"""Grid report: passages × bank entries with grades and answers, sorted by judgment and grade."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

from exam_pp.cli.review.verification.base import (
    Selection,
    Smallest,
    VerificationReport,
    omission,
    without_empty_columns,
)
from exam_pp.phases.review.checked_passages import (
    UNGRADED,
    CheckedPassage,
    CheckedQuery,
    GradedPair,
    blank_pair,
    shortened,
)
from exam_pp.rendering.document import Block, Cell, Heading, Table
from exam_pp.text.wording import counted

_KEPT = 112
"""Characters of a passage that are kept for tables."""


class Grid(Selection):
    """The first ``limit`` passages of every query that cover at least ``min_answers`` entries.

    ``characters`` is the number of characters that are kept of each passage. Passages are sorted by judgment
    (the highest of several; unjudged passages last), best grade, number of covered entries, and the sum of
    their grades.
    """

    def __init__(self, min_answers: int = 0, limit: int | None = None, characters: int = _KEPT) -> None:
        self.min_answers, self._limit, self._characters = min_answers, limit, characters
        self.queries: dict[str, GridRows] = {}
        self.passages = 0

    def add(self, query: CheckedQuery) -> None:
        """Keep the rows that are shown."""
        rows = self.queries.get(query.query_id)
        if rows is None:
            rows = GridRows(query.without_passages(), dict(query.entries), Smallest(self._limit))
            self.queries[query.query_id] = rows
        rows.entries.update(query.entries)
        for passage in query.passages:
            self.passages += 1
            covered = passage.reaching(query.min_grade)
            for entry_id in covered:
                rows.covering[entry_id] = rows.covering.get(entry_id, 0) + 1
            if len(covered) >= self.min_answers:
                start = shortened(passage.text, self._characters)
                rows.passages.add(_order(passage, len(covered)), replace(passage, text=start))


@dataclass
class GridRows:
    """The shown passages of a query; ``covering`` counts, by entry, all passages that cover it."""

    query: CheckedQuery
    entries: dict[str, str]
    passages: Smallest[CheckedPassage]
    covering: dict[str, int] = field(default_factory=dict)


def _order(passage: CheckedPassage, covered: int) -> tuple[int, int, int, int, str]:
    relevance, best = passage.relevance, passage.best_rating
    return (
        1_000_000 if relevance is None else -relevance,
        1 if best is None else -best,
        -covered,
        -sum(pair.rating or 0 for pair in passage.pairs.values()),
        passage.passage_id,
    )


_TEXT = 40
"""Characters of a passage at the end of its row."""
_ANSWER = 80
"""Characters of an answer next to its grade."""
_PASSAGE = 3
"""Column of the passage ids."""
_FIRST_ENTRY = 4
"""Column of the first entry."""


PAGE = 3000
"""Characters of a passage that a heat map keeps, about a page."""


def grid_report(form: str = "text") -> VerificationReport[Grid]:
    """The report for an output format.

    HTML shows a heat map with the texts behind each cell. Markdown, which wraps cells, has the answers in
    the grid; other formats have them in a table below it.
    """
    return VerificationReport("Grid of passages and bank entries", summary, partial(blocks, form=form), table)


def summary(selection: Grid) -> str:
    """The numbers of queries and passages, and of passages with enough covered entries."""
    text = f"{counted(len(selection.queries), 'query')}, {counted(selection.passages, 'passage')}."
    if selection.min_answers:
        shown = sum(rows.passages.added for rows in selection.queries.values())
        text += f" {shown} of them cover {selection.min_answers} or more entries."
    return text


def blocks(selection: Grid, *, form: str) -> list[Block]:
    """For each query its numbered entries, and a heat map or the grid with a column for each number."""
    parts: list[Block] = []
    highest = max(chain((1,), (_highest(rows) for rows in selection.queries.values())))
    for rows in selection.queries.values():
        passages = rows.passages.items()
        parts += [Heading(rows.query.heading), _legend(rows)]
        if passages and form == "html":
            parts.append(_heat_map(rows, passages, highest))
        elif passages:
            parts.append(_grid(rows, passages, in_cells=form == "md"))
            parts += [] if form == "md" else _answers(rows, passages)
        parts += omission(rows.passages.omitted, "passage", len(passages))
    return parts


def table(selection: Grid) -> Table:
    """A row per pair, ordered by passage."""
    columns = (
        "query_id", "passage_id", "judgment", "best_grade", "covered", "entry_id", "entry", "rating",
        "source", "answer", "reply", "reason", "text",
    )  # fmt: skip
    cells: list[list[Cell]] = []
    for rows in selection.queries.values():
        for passage in rows.passages.items():
            covered = len(passage.reaching(rows.query.min_grade))
            passage_cells: list[Cell] = [
                rows.query.query_id, passage.passage_id, passage.judgment, passage.best_rating, covered,
            ]  # fmt: skip
            for entry_id, text in rows.entries.items():
                pair = passage.pairs.get(entry_id) or blank_pair(passage)
                cells.append(
                    [*passage_cells, entry_id, text, pair.rating, pair.source, pair.answer, pair.reply,
                     pair.reason, passage.text]
                )  # fmt: skip
    return Table(columns, cells)


def _legend(rows: GridRows) -> Table:
    """The entries with their numbers, and how many passages cover each."""
    columns = ("#", f"passages ≥{rows.query.min_grade}", "entry", "entry_id")
    cells: list[list[Cell]] = [
        [number, rows.covering.get(entry_id, 0), text if text != entry_id else None, entry_id]
        for number, (entry_id, text) in enumerate(rows.entries.items(), 1)
    ]
    return without_empty_columns(Table(columns, cells))


def _grid(rows: GridRows, passages: list[CheckedPassage], *, in_cells: bool) -> Table:
    """The grid; covered cells are boxed, and ungraded pairs have empty cells."""
    min_grade = rows.query.min_grade
    numbers = [str(number) for number, _ in enumerate(rows.entries, 1)]
    columns = ("judgment", "best", f"≥{min_grade}", "passage", *numbers, "text")
    cells_of: list[list[Cell]] = []
    boxed: set[tuple[int, int]] = set()
    for passage in passages:
        cells: list[Cell] = []
        for column, entry_id in enumerate(rows.entries, _FIRST_ENTRY):
            pair = passage.pairs.get(entry_id)
            rating = pair.rating if pair else None
            if rating is not None and rating >= min_grade:
                boxed.add((len(cells_of), column))
            answer = pair.answer if pair and in_cells and rating is not None else None
            cells.append(f"{rating} · {shortened(answer, _ANSWER)}" if answer else rating)
        covered = len(passage.reaching(min_grade))
        cells_of.append(
            [passage.judgment, passage.best_rating, covered, passage.passage_id, *cells,
             shortened(passage.text, _TEXT)]
        )  # fmt: skip
    return Table(columns, cells_of, boxed=boxed)


def _highest(rows: GridRows) -> int:
    """The threshold, or the highest rating if that is higher."""
    ratings = (passage.best_rating or 0 for passage in rows.passages.items())
    return max(chain((rows.query.min_grade,), ratings))


def _heat_map(rows: GridRows, passages: list[CheckedPassage], highest: int) -> Table:
    """The grid as a heat map; the darkest shade is the rating ``highest``, and covered cells are boxed."""
    grid = _grid(rows, passages, in_cells=False)
    order = [_PASSAGE, *(column for column in range(len(grid.columns)) if column != _PASSAGE)]
    shades: dict[tuple[int, int], int] = {}
    details: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for row, passage in enumerate(passages):
        details[row, 0] = [("text", passage.text)]
        for column, entry_id in enumerate(rows.entries, _FIRST_ENTRY):
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
        box=f"covered: {rows.query.min_grade} or higher",
        hints=dict(enumerate(rows.entries.values(), _FIRST_ENTRY)),
        details=details,
        details_title="Passages, answers and replies",
    )


def _texts_of(pair: GradedPair) -> list[tuple[str, str]]:
    """The texts behind a rating: answer, reply, rule, and the reason for a missing rating."""
    rule = pair.source if pair.source not in (None, "number", UNGRADED) else None
    texts = (("answer", pair.answer), ("reply", pair.reply), ("rule", rule), (UNGRADED, pair.reason))
    return [(label, text) for label, text in texts if text]


def _answers(rows: GridRows, passages: list[CheckedPassage]) -> list[Block]:
    """The extracted answers of pairs with a rating above 0, ordered by passage."""
    number = {entry_id: position for position, entry_id in enumerate(rows.entries, 1)}
    cells: list[list[Cell]] = [
        [passage.passage_id, number[entry_id], pair.rating, shortened(pair.answer, _ANSWER)]
        for passage in passages
        for entry_id, pair in passage.pairs.items()
        if pair.rating and pair.answer
    ]
    return [Table(("passage", "#", "rating", "answer"), cells, title="Answers")] if cells else []
