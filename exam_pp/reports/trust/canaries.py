"""Report of the grades that each grader gave to canaries."""

from __future__ import annotations

from exam_pp.phases.trust.canary_report import CanaryReport
from exam_pp.rendering.document import Paragraph, Report, Table


def canary_grades_report(result: CanaryReport, *, decimals: int = 3) -> Report:
    """A table with a row for each grader and canary, and one for the real passages of each grader."""
    table = Table(
        [
            "grader", "prompt class", "canary", "passages", "graded pairs", "mean rating", "min grade",
            "covered", "Cover",
        ],
        [
            [
                row.grader.model, row.grader.prompt_class, row.canary, row.passages, len(row.ratings),
                row.mean, row.min_grade, row.covered, row.cover,
            ]
            for row in result.rows
        ],
        decimals=decimals,
    )  # fmt: skip
    notes = [
        "covered: share of the graded pairs of passage and entry with a rating of at least the min grade.",
        "Cover: share of the entries of a query that the passages of a canary cover, as a mean over queries.",
        "canary:doubled and canary:negated change canary:original; injections and canary:authority are added "
        "to canary:other-query.",
    ]
    return Report("Grades of canaries", [table, *map(Paragraph, notes)], result.provenance)
