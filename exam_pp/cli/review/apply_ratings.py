"""``exam-pp apply-ratings``: add human ratings of answers by criteria from spreadsheets."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.completion import prompt_names
from exam_pp.cli.options import FILE, log_summary, required_output
from exam_pp.cli.ranges import IntRange


@click.command("apply-ratings", cls=Command)
@click.argument("graded", type=FILE)
@click.argument("spreadsheets", nargs=-1, required=True, type=FILE)
@required_output("Graded file to write.")
@click.option("--reviewer", metavar="NAME", required=True, help="Name of the person who rated the answers.")
@click.option(
    "--prompt-class",
    shell_complete=prompt_names,
    metavar="NAME",
    help="Prompt class of the ratings; required if GRADED has ratings by criteria of several.  [default: "
    "that of the ratings in GRADED, or CriteriaRatings]",
)
@click.option(
    "--max-rating",
    type=IntRange(1),
    help="Highest rating of the scale, which starts at 0.  [default: that of the ratings in GRADED, or 2]",
)
def command(
    graded: Path,
    spreadsheets: tuple[Path, ...],
    output: Path,
    reviewer: str,
    prompt_class: str | None,
    max_rating: int | None,
) -> None:
    """Add a person's ratings of answers by criteria to GRADED, as grades by `human:NAME`.

    SPREADSHEETS are CSV files with the columns query_id and system, and a column for each criterion; or with
    the columns query_id, system, criterion and rating. A column comment is optional, an empty cell is no
    rating. `exam-pp analyze graders --per-criterion` compares the ratings with those of models, `exam-pp
    analyze paired` compares systems by them.

    Example:

    \b
      exam-pp apply-ratings answers.jsonl.gz ratings.csv --reviewer ann -o rated-by-ann.jsonl.gz
    """
    from exam_pp.phases.review.criteria_spreadsheet import apply_criteria_ratings

    summary = apply_criteria_ratings(
        graded, spreadsheets, output, reviewer=reviewer, prompt_class=prompt_class, max_rating=max_rating
    )
    log_summary(summary.lines())
