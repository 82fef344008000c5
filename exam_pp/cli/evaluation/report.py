"""``exam-pp evaluate report``: a folder with all reports of an evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import BANK, OFFICIAL, SEED, measures_option, runs_option
from exam_pp.cli.options import (
    CUTOFF,
    FILE,
    GRADED,
    MIN_GRADE,
    MIN_RELEVANT,
    filter_options,
    grade_filter,
    log_summary,
)


@click.command("report", cls=Command)
@GRADED
@BANK
@runs_option("for Rubric-Qrels")
@click.option(
    "--official",
    type=FILE,
    help=f"{OFFICIAL}  [default: with --runs, ranks by the first measure on the judgments]",
)
@click.option("--qrels", type=FILE, help="Qrels file with manual judgments, instead of those in GRADED.")
@measures_option("nDCG@10, RR")
@MIN_GRADE
@MIN_RELEVANT
@CUTOFF
@SEED
@filter_options
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write."
)
def command(
    *,
    graded: Path,
    bank: Path | None,
    runs: tuple[Path, ...],
    official: Path | None,
    qrels: Path | None,
    measures: tuple[str, ...],
    min_grade: int | None,
    min_relevant: int,
    cutoff: int,
    seed: int,
    output: Path,
    **criteria: Any,
) -> None:
    """Write a full evaluation report: leaderboards, significance, correlation, agreement and figures.

    Start with index.html in the folder. Parts whose inputs are missing, such as the correlation without
    official ranks, are skipped.

    Example:

    \b
      exam-pp evaluate report graded.jsonl.gz --bank questions.jsonl --runs runs \\
        --official official.json -o report
    """
    from exam_pp.phases.evaluation.uncertainty import Statistics
    from exam_pp.reports.analysis.report_folder import Sources, write_evaluation

    sources = Sources(
        graded,
        bank,
        runs or None,
        official,
        qrels,
        grade_filter(**criteria),
        measures or ("nDCG@10", "RR"),
        min_grade,
        min_relevant,
        cutoff,
    )
    index = write_evaluation(sources, output, Statistics("nested", significance=True, seed=seed))
    log_summary([f"Written: {index}"])
