"""``exam-pp canary-report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    GRADED,
    MIN_GRADE,
    SCRIPT_FORMATS,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    output_option,
)


@click.command("canary-report", cls=Command)
@GRADED
@MIN_GRADE
@filter_options
@format_option()
@output_option()
def command(*, graded: Path, min_grade: int | None, form: str, output: Path, **criteria: Any) -> None:
    """Show what every grader in GRADED gave to the canaries of `exam-pp canaries`.

    For each grader and canary: the mean rating, the share of pairs of passage and entry that are covered, and
    Cover, next to the same for the passages of all real systems, and for the unchanged passages (control).

    Examples:

    \b
      exam-pp canary-report graded-canaries.jsonl.gz
      exam-pp canary-report graded-canaries.jsonl.gz --min-grade 3 --format html -o canaries.html
    """
    from exam_pp.phases.trust.canary_report import canary_report
    from exam_pp.reports.trust.canaries import canary_grades_report

    result = canary_report(graded, grade_filter=grade_filter(**criteria), min_grade=min_grade)
    report = canary_grades_report(result, formatted=form not in SCRIPT_FORMATS)
    emit_report(report, form, output, [graded])
