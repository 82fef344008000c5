"""*Grid display*: passages × bank entries with grades and answers, by judgment and grade."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from exam_pp.phases.review.verification.base import (
    Smallest,
    VerificationReport,
    omission,
    without_empty_columns,
)
from exam_pp.phases.review.verification.checked import CheckedPassage, CheckedQuery, blank_pair, shortened
from exam_pp.phases.review.verification.grading import CELL
from exam_pp.rendering.document import Block, Cell, Heading, Table
from exam_pp.wording import counted

_TEXT = 40
"""Characters of a passage at the end of its row."""
_ANSWER = 80
"""Characters of an answer beside its grade."""


class Grid(VerificationReport):
    """Of every query, the first ``limit`` passages in which ``min_answers`` entries are covered.

    Passages are sorted by judgment (the highest of several; unjudged ones last), best grade, number of
    entries covered, and the sum of their grades. ``answers_in_cells`` puts the answers into the grid, for
    pages that wrap; else they are listed below it.
    """

    title = "Grid"

    def __init__(
        self, min_answers: int = 0, limit: int | None = None, *, answers_in_cells: bool = False
    ) -> None:
        self._min_answers, self._limit, self._in_cells = min_answers, limit, answers_in_cells
        self._queries: dict[str, _Rows] = {}
        self._passages = 0

    def add(self, query: CheckedQuery) -> None:
        """Keep the rows that are shown."""
        rows = self._queries.get(query.query_id)
        if rows is None:
            rows = _Rows(query.without_passages(), dict(query.entries), Smallest(self._limit))
            self._queries[query.query_id] = rows
        rows.entries.update(query.entries)
        for passage in query.passages:
            self._passages += 1
            covered = passage.reaching(query.min_grade)
            for entry_id in covered:
                rows.covering[entry_id] = rows.covering.get(entry_id, 0) + 1
            if len(covered) >= self._min_answers:
                start = shortened(passage.text, 2 * CELL)
                rows.passages.add(_order(passage, len(covered)), replace(passage, text=start))

    def summary(self) -> str:
        """How many passages there are, and how many are shown."""
        words = f"{counted(len(self._queries), 'query')}, {counted(self._passages, 'passage')}."
        if self._min_answers:
            found = sum(rows.passages.added for rows in self._queries.values())
            words += f" {found} of them cover {self._min_answers} or more entries."
        return words

    def blocks(self) -> list[Block]:
        """For each query its entries, numbered, and the grid with a column for each number."""
        blocks: list[Block] = []
        for rows in self._queries.values():
            passages = rows.passages.items()
            blocks += [Heading(rows.query.heading), rows.legend()]
            if passages:
                blocks.append(_grid(rows, passages, in_cells=self._in_cells))
                if not self._in_cells:
                    blocks += _answers(rows, passages)
            blocks += omission(rows.passages.omitted, "passage", len(passages))
        return blocks

    def table(self) -> Table:
        """A row for each pair, passage by passage."""
        columns = (
            "query_id", "passage_id", "judgment", "best_grade", "covered", "entry_id", "entry", "rating",
            "source", "answer", "reply", "reason", "text",
        )  # fmt: skip
        cells: list[list[Cell]] = []
        for rows in self._queries.values():
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


@dataclass
class _Rows:
    query: CheckedQuery
    entries: dict[str, str]
    passages: Smallest[CheckedPassage]
    covering: dict[str, int] = field(default_factory=dict)

    def legend(self) -> Table:
        """The entries under their numbers, and how many passages cover each."""
        columns = ("#", f"passages ≥{self.query.min_grade}", "entry", "entry_id")
        rows: list[list[Cell]] = [
            [number, self.covering.get(entry_id, 0), words if words != entry_id else None, entry_id]
            for number, (entry_id, words) in enumerate(self.entries.items(), 1)
        ]
        return without_empty_columns(Table(columns, rows))


def _order(passage: CheckedPassage, covered: int) -> tuple[int, int, int, int, str]:
    relevance, best = passage.relevance, passage.best_rating
    return (
        1_000_000 if relevance is None else -relevance,
        1 if best is None else -best,
        -covered,
        -sum(pair.rating or 0 for pair in passage.pairs.values()),
        passage.passage_id,
    )


def _grid(rows: _Rows, passages: list[CheckedPassage], *, in_cells: bool) -> Table:
    """Covered cells are boxed; an empty cell is a pair without a grade."""
    least = rows.query.min_grade
    numbers = [str(number) for number, _ in enumerate(rows.entries, 1)]
    columns = ("judgment", "best", f"≥{least}", "passage", *numbers, "text")
    table: list[list[Cell]] = []
    boxed: set[tuple[int, int]] = set()
    for passage in passages:
        cells: list[Cell] = []
        for column, entry_id in enumerate(rows.entries, 4):
            pair = passage.pairs.get(entry_id)
            rating = pair.rating if pair else None
            if rating is not None and rating >= least:
                boxed.add((len(table), column))
            answer = pair.answer if pair and in_cells and rating is not None else None
            cells.append(f"{rating} · {shortened(answer, _ANSWER)}" if answer else rating)
        covered = len(passage.reaching(least))
        table.append(
            [passage.judgment, passage.best_rating, covered, passage.passage_id, *cells,
             shortened(passage.text, _TEXT)]
        )  # fmt: skip
    return Table(columns, table, boxed=boxed)


def _answers(rows: _Rows, passages: list[CheckedPassage]) -> list[Block]:
    """The extracted answers of the grades above zero, passage by passage."""
    number = {entry_id: position for position, entry_id in enumerate(rows.entries, 1)}
    cells: list[list[Cell]] = [
        [passage.passage_id, number[entry_id], pair.rating, shortened(pair.answer, _ANSWER)]
        for passage in passages
        for entry_id, pair in passage.pairs.items()
        if pair.rating and pair.answer
    ]
    return [Table(("passage", "#", "rating", "answer"), cells, title="Answers")] if cells else []
