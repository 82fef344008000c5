"""``exam-pp verify``: reports for people who check how the model graded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.options import GRADED, emit, filter_options, format_option, grade_filter, output_option


@click.group(name="verify")
def command() -> None:
    """Reports for people who check how the model graded."""


@command.command()
@GRADED
@click.option("--bank", type=click.Path(path_type=Path), help="The test bank, for the words of its entries.")
@click.option("--query", "queries", multiple=True, metavar="ID", help="Only this query; may be repeated.")
@filter_options
@click.option(
    "--answers-class",
    metavar="NAME",
    help="The prompt whose answers explain the ratings (default: any without a scale).",
)
@click.option("--min-grade", type=int, help="Only passages with at least this rating.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many passages for each entry.")
@format_option()
@output_option()
def grading(
    graded: Path, bank: Path | None, form: str, output: Path, answers_class: str | None, **options: Any
) -> None:
    """List, for every bank entry, the passages of GRADED by rating.

    Each comes with the extracted answer, where the same model was also asked for one, the manual
    judgment, and the model's raw reply where it was not just a number. Ratings that the default rule
    gave and ungraded pairs are marked.
    """
    from exam_pp.phases.verify import GradingOptions, verify_grading
    from exam_pp.prompts import PROMPTS
    from exam_pp.reports.render import render

    if answers_class is not None and answers_class in PROMPTS:
        answers_class = PROMPTS.get(answers_class).name
    shown = GradingOptions(
        answers_class,
        options.pop("queries"),
        options.pop("min_grade"),
        options.pop("limit"),
        flat=form in ("tsv", "json"),
    )
    report = verify_grading(graded, grade_filter(**options), bank=bank, options=shown)
    emit(render(report, form), output, inputs=[graded, bank])
