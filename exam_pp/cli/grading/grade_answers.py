"""The command ``exam-pp grade-answers``: ratings of whole answers by criteria."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    FILE,
    JOURNAL,
    PASSAGES,
    QUERIES_FILE,
    QUERY_TEXTS,
    journal_options,
    log_summary,
    required_output,
    take,
)
from exam_pp.cli.progress import progress
from exam_pp.cli.ranges import IntRange


@click.command("grade-answers", cls=Command)
@PASSAGES
@required_output("Graded file to write.")
@click.option("--queries", type=QUERIES_FILE, required=True, help=QUERY_TEXTS)
@click.option(
    "--criteria",
    "criteria_file",
    type=FILE,
    help="TOML file with your own criteria.  [default: the four criteria of RAGElo]",
)
@model_options()
@click.option("--system", "systems", multiple=True, metavar="NAME", help="Only this system; may be repeated.")
@click.option(
    "--max-passages",
    type=IntRange(1),
    help="Show the model only the first retrieved passages, at most this many, and those that the answer "
    "cites.",
)
@click.option("--regrade", is_flag=True, help="Rate all answers again, also those with ratings in PASSAGES.")
@journal_options
def command(passages: Path, output: Path, queries: Path, criteria_file: Path | None, **options: Any) -> None:
    """Rate the whole answers in PASSAGES by criteria, such as relevance, accuracy and completeness.

    The model reads the query, the documents that the system retrieved or cited, and the answer, and rates
    all criteria in one reply. The default are the criteria of RAGElo, from 0 to 2, whose text is about
    sensors; `exam-pp show prompt RAGEloCriteria --as-file` prints them as a file for --criteria, to be
    changed. If a prompt is too long for the model, the last documents are cut. An empty answer gets the
    lowest ratings without a model call. `exam-pp evaluate criteria` makes a leaderboard. To continue an
    interrupted run, repeat the command.

    Examples:

    \b
      exam-pp grade-answers cited.jsonl.gz --queries queries.jsonl -o new-rated.jsonl.gz --model fake
      exam-pp grade-answers cited.jsonl.gz --queries queries.jsonl --criteria criteria.toml \\
        -o rated-gpt.jsonl.gz --model gpt-4o --model-pipeline openai
    """
    from exam_pp.phases.grading.grade_answers import AnswerOptions, grade_answers, read_criteria_file
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.signals import STOP

    model = take_model_options(options)
    criteria = None if criteria_file is None else read_criteria_file(criteria_file)
    chosen = AnswerOptions(criteria, **take(options, "systems", "max_passages", "regrade"))
    files = GradeFiles(passages, output, queries=queries, **take(options, *JOURNAL))
    with STOP.on_sigterm(), progress("Grading", "requests") as advance:
        summary = grade_answers(files, model, chosen, advance)
    log_summary(summary.lines())
