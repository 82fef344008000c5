"""``exam-pp evaluate report``: a page with the whole evaluation, and a folder with its tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import MEASURE_FILE, OFFICIAL, SEED, measures_option, runs_option
from exam_pp.cli.options import (
    CUTOFF,
    FILE,
    GRADED,
    METHOD_NAME,
    MIN_GRADE,
    MIN_RELEVANT,
    ROLE,
    OutputPath,
    filter_options,
    grade_filter,
    log_summary,
)


@click.command("report", cls=Command)
@GRADED
@click.option(
    "--bank",
    "banks",
    type=FILE,
    multiple=True,
    help="Test bank whose queries and entries are evaluated; may be repeated, such as for questions and for "
    "nuggets.  [default: the entries with grades]",
)
@runs_option("for Rubric-Qrels", default="the rankings in GRADED")
@METHOD_NAME
@click.option(
    "--official",
    type=FILE,
    help=f"{OFFICIAL}  [default: ranks by the first measure on the judgments]",
)
@click.option("--qrels", type=FILE, help="Qrels file with manual judgments, instead of those in GRADED.")
@measures_option("nDCG@10, RR")
@MEASURE_FILE
@MIN_GRADE
@MIN_RELEVANT
@CUTOFF
@ROLE
@SEED
@click.option(
    "--review/--no-review",
    default=True,
    show_default=True,
    help="Also write review.html, so that queries on the page link to the passages and grades behind their "
    "scores. It has all texts: use --no-review for texts that must not be shared, and for files that do not "
    "fit into memory.",
)
@filter_options
@click.option(
    "-o", "--output", type=OutputPath(folders=True, files=False), required=True, help="Folder to write."
)
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    graded: Path,
    banks: tuple[Path, ...],
    runs: tuple[Path, ...],
    method_name: Any,
    official: Path | None,
    qrels: Path | None,
    measures: tuple[str, ...],
    measure_file: Path | None,
    min_grade: int | None,
    min_relevant: int,
    cutoff: int | None,
    role: Any,
    seed: int,
    review: bool,
    output: Path,
    **criteria: Any,
) -> None:
    """Write the whole evaluation as one page: leaderboards, correlation, agreement and provenance.

    Open index.html in the folder. The page needs no other file, so it can be mailed alone; the tables are
    also files for scripts. Sections without inputs, such as the correlation without official ranks, are named
    at the end of the page, with the missing input. If GRADED has grades of several models or prompts,
    each of them has its own leaderboards.

    Example:

    \b
      exam-pp evaluate report graded.jsonl.gz --bank questions.jsonl --runs runs \\
        --official official.json -o report
    """
    # Threads for products of small matrices only wait for each other. numpy is not imported yet.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from exam_pp.cli.command_line import command_line, refuse_without
    from exam_pp.phases.evaluation.leaderboards import Statistics
    from exam_pp.phases.evaluation.own_measures import read_measures
    from exam_pp.reports.analysis.evaluation_page import write_evaluation
    from exam_pp.reports.analysis.report_folder import Sources

    if not runs:
        refuse_without("--runs", "method_name")
    sources = Sources(
        graded,
        banks,
        runs,
        official,
        qrels,
        grade_filter(**criteria),
        measures or ("nDCG@10", "RR"),
        min_grade,
        min_relevant,
        cutoff,
        review=review,
        rubric_measures=read_measures(measure_file),
        command=command_line(context, without=["output"]),
        role=role,
        method=method_name,
    )
    index = write_evaluation(sources, output, Statistics("queries", significance=True, seed=seed))
    log_summary([f"Written: {index}"])
