"""``exam-pp grade-panel``: grade passages with several graders."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    FILE,
    PASSAGES,
    QUERIES_FILE,
    QUERY_FORMATS,
    bank_option,
    log_summary,
    part_to_grade,
    required_output,
)
from exam_pp.cli.progress import Advance, progress


@click.command("grade-panel", cls=Command)
@PASSAGES
@click.option(
    "--config", "panel", required=True, type=FILE, help="TOML file with a table [[grader]] for each grader."
)
@required_output("Graded file to write.")
@bank_option("Test bank with the questions or nuggets to grade.")
@click.option(
    "--queries", type=QUERIES_FILE,
    help=f"Texts of the queries, for direct prompts ({QUERY_FORMATS}).  [default: those of the bank]",
)  # fmt: skip
@part_to_grade
@click.option(
    "--retry-failed", is_flag=True, help="Send requests again that failed before the run was interrupted."
)
@click.option(
    "--base-url",
    "servers",
    multiple=True,
    metavar="URL",
    help="Server that graders of the panel may use, named again here; may be repeated.  [default: "
    "OPENAI_BASE_URL, else https://api.openai.com/v1]",
)
def command(
    *, passages: Path, panel: Path, output: Path, bank: Path | None, queries: Path | None, **options: Any
) -> None:
    """Grade PASSAGES with the graders of a panel, one after the other, into one file.

    A panel file has a table for each grader. Its keys are the options of `exam-pp grade`, with _ in place of
    -, and its settings for -M: model, prompt_class (one or a list), and others such as model_pipeline,
    base_url, reply and temperature. A server that a panel names gets passages and the key only if --base-url
    or OPENAI_BASE_URL names it, too. Paths are below the folder of the panel:

    \b
      [[grader]]
      model = "google/flan-t5-large"
      prompt_class = "self-rated"
      [[grader]]
      model = "lexical"
      prompt_class = "self-rated"

    Grades that PASSAGES already holds are kept and not computed again, also those of reviewers. Each grader
    has a journal of its own. To continue an interrupted run, repeat the command: until the output is
    complete, the folder OUTPUT.panel keeps the grades of the finished graders.

    `exam-pp analyze panel` compares the graders, and `exam-pp consensus` adds their consensus.

    Example:

    \b
      exam-pp grade-panel passages.jsonl.gz --config panel.toml --bank questions.jsonl -o panel.jsonl.gz
    """
    from exam_pp.phases.grading.distributed import refuse_process_group
    from exam_pp.phases.grading.grade import GradeOptions
    from exam_pp.phases.trust.grade_panel import PanelFiles, grade_panel
    from exam_pp.signals import STOP

    refuse_process_group()

    def shown(title: str) -> AbstractContextManager[Advance]:
        return progress(title, "pairs")

    retry_failed, servers = options.pop("retry_failed"), options.pop("servers")
    files = PanelFiles(passages, output, bank, queries=queries, retry_failed=retry_failed, panel=panel)
    with STOP.on_sigterm():
        grade_panel(files, GradeOptions([], **options), shown, servers=servers)
    if str(output) != "-":
        log_summary([f"Written: {output}"])
