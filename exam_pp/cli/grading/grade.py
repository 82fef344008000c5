"""``exam-pp grade``."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.grading.status import status
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    FILE,
    JOURNAL,
    PASSAGES,
    QUERIES_FILE,
    UNPARSED,
    emit,
    format_option,
    journal_options,
    log_summary,
    prompt_file_option,
    required_output,
    take,
)
from exam_pp.cli.progress import progress

if TYPE_CHECKING:
    from exam_pp.llm import ModelOptions
    from exam_pp.phases.grading.grade import GradeOptions
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.phases.grading.sharding import Shard

NOTHING_TO_ASK = 3
"""Exit code of ``--plan`` where every pair is answered."""
_HOW = ("unparsed", "soft", "regrade", "repairs", "max_queries", "max_paragraphs", "only_unjudged")
"""Options that are fields of ``GradeOptions``."""


@click.command("grade")
@PASSAGES
@required_output("Graded file.")
@click.option("--bank", type=FILE, help="Test bank with questions or nuggets.")
@click.option(
    "--queries", type=QUERIES_FILE,
    help="Texts of the queries, for direct prompts (JSON, JSONL or TSV; default: the bank's).",
)  # fmt: skip
@click.option(
    "--prompt-class", "prompt_classes", multiple=True,
    help="Prompt to grade with; may be repeated (see `exam-pp list prompts`).",
)  # fmt: skip
@prompt_file_option("TOML file with a prompt of your own to grade with; may be repeated.")
@model_options()
@click.option(
    "--soft/--no-soft", default=None,
    help="Store soft grades.  [default: yes, unless they take as long as the grades: CTranslate2]",
)  # fmt: skip
@UNPARSED
@click.option(
    "--repairs",
    type=click.IntRange(0, 5),
    default=2,
    show_default=True,
    help="How often a list of labels that cannot be read is asked for again (NuggetAssignment).",
)
@click.option("--regrade", is_flag=True, help="Ask again what the file already answers.")
@click.option(
    "--only-unjudged", is_flag=True, help="Grade only passages without a judgment, to fill holes of qrels."
)
@click.option("--max-queries", type=click.IntRange(1), help="Only the first queries; OUTPUT holds no others.")
@click.option(
    "--max-paragraphs",
    type=click.IntRange(1),
    help="Only the first passages of each query; OUTPUT holds no others.",
)
@journal_options
@click.option(
    "--shard", "shard_text", metavar="I/N",
    help="Grade and write the I-th of N parts of about equal work; unite them with `exam-pp merge`.",
)  # fmt: skip
@click.option(
    "--status", "status_file", type=click.Path(path_type=Path), help="Keep a JSON file for dashboards there."
)
@click.option(
    "--plan", "planned", is_flag=True,
    help="Only count what is to be asked, time a sample, and tell how long it will take.",
)  # fmt: skip
@format_option()
def command(
    passages: Path, output: Path, bank: Path | None, prompt_classes: tuple[str, ...], **options: Any
) -> None:
    """Let a model grade every passage in PASSAGES against every entry of the bank, or directly.

    Grades of earlier runs are kept, and pairs that they answer are not asked again. A run that was
    interrupted, however it ended, continues when the same command is given again.

    Several GPUs and machines work together under `accelerate launch -m exam_pp grade ...`: the output is
    that of one process.

    --plan writes nothing but its report (in the form of --format), and ends with exit code 0 if there is
    something to ask, 3 if there is nothing.
    """
    from exam_pp.phases.grading.grade import GradeOptions
    from exam_pp.phases.grading.grading_run import GradeFiles, check_status
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.phases.grading.sharding import Shard

    if not prompt_classes and not options["prompt_files"]:
        raise click.UsageError("Name a prompt with --prompt-class or --prompt-file.")
    model = take_model_options(options, in_process_group=True)
    what = GradeOptions(choose_prompts(prompt_classes, options["prompt_files"]), **take(options, *_HOW))
    where = GradeFiles(passages, output, bank, **take(options, *JOURNAL, "queries"))
    shard = Shard.parse(options["shard_text"]) if options["shard_text"] else None
    if options["status_file"]:
        check_status(options["status_file"], where, options["prompt_files"])
    if options["planned"]:
        _plan(where, model, what, shard, options["form"])
    else:
        _grade(where, model, what, shard, options["status_file"])


def _grade(
    files: GradeFiles, model: ModelOptions, what: GradeOptions, shard: Shard | None, status_file: Path | None
) -> None:
    from exam_pp.phases.grading.distributed import process_group_from_environment
    from exam_pp.phases.grading.grading_run import grade_file
    from exam_pp.phases.grading.signals import STOP

    with STOP.on_sigterm(), process_group_from_environment() as group:
        if not group.leads:
            logging.getLogger().setLevel(logging.WARNING)
            status_file = None
        with progress("Grading", "pairs") as bar, status(status_file, "Grading", "pairs") as report:

            def advance(steps: int, total: int | None) -> None:
                bar(steps, total)
                report(steps, total)

            summary = grade_file(files, model, what, advance, shard=shard, group=group)
    log_summary(summary.lines())


def _plan(files: GradeFiles, model: ModelOptions, what: GradeOptions, shard: Shard | None, form: str) -> None:
    from exam_pp.phases.grading.plan import plan_grading
    from exam_pp.rendering.render import render
    from exam_pp.reports.grading.plan import plan_report

    plan = plan_grading(files, model, what, shard=shard)
    emit(render(plan_report(plan), form), Path("-"))
    if not plan.requests:
        sys.exit(NOTHING_TO_ASK)
