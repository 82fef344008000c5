"""Report of the grades that each grader gave to canaries."""

from __future__ import annotations

from collections.abc import Iterator

from exam_pp.phases.trust.canary_report import REAL, CanaryGrades, CanaryReport
from exam_pp.rendering.document import Cell, Paragraph, Report, Table

_COLUMNS = (
    "canary", "passages", "pairs", "mean rating", "control mean", "covered", "control covered", "Cover",
)  # fmt: skip


def canary_grades_report(result: CanaryReport, *, formatted: bool = True) -> Report:
    """The grades of each canary, and of the real passages, for every grader.

    With ``formatted``, every grader has a table with its name as title; otherwise the only table has columns
    of the grader.
    """
    graders = list(dict.fromkeys((row.grader, row.min_grade) for row in result.rows))
    if formatted:
        tables = [
            Table(
                _COLUMNS,
                [_cells(row) for row in result.rows if row.grader == grader],
                title=f"{grader.model}, {grader.prompt_class}, covered from {min_grade}",
            )
            for grader, min_grade in graders
        ]
    else:
        rows: list[list[Cell]] = [
            [row.grader.model, row.grader.prompt_class, row.min_grade, *_cells(row)] for row in result.rows
        ]
        tables = [Table(["grader", "prompt class", "min grade", *_COLUMNS], rows, decimals=6)]
    notes = [
        "pairs: graded pairs of passage and entry. covered: the share of them with a rating of at least the "
        "threshold. Cover: the share of the entries of a query that the passages cover, as a mean over "
        "queries.",
        "control: canary:original for doubled and negated, canary:other-query for injections and authority, "
        "on the same queries.",
        *_not_graded(result),
    ]
    return Report("Grades of canaries", [*tables, *map(Paragraph, notes)], result.provenance)


def _not_graded(result: CanaryReport) -> Iterator[str]:
    """A sentence on each grader that graded real passages only."""
    for grader in dict.fromkeys(row.grader for row in result.rows):
        if not any(row.ratings for row in result.rows if row.grader == grader and row.canary != REAL):
            yield (
                f"{grader.model}, {grader.prompt_class}, graded no canary: grade the file again to see what "
                "it gives them."
            )


def _cells(row: CanaryGrades) -> list[Cell]:
    control = row.control
    return [
        row.canary,
        row.passages,
        len(row.ratings),
        row.mean,
        None if control is None else control.mean,
        row.covered,
        None if control is None else control.covered,
        row.cover,
    ]
