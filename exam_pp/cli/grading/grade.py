"""The command ``exam-pp grade``, which grades passages with a model."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.completion import prompt_names
from exam_pp.cli.grading.status import status
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    ANSWER_MATCH,
    JOURNAL,
    OUTPUT_PATH,
    PASSAGES,
    QUERIES_FILE,
    QUERY_FORMATS,
    bank_option,
    emit_rendered,
    format_option,
    journal_options,
    log_summary,
    part_to_grade,
    prompt_file_option,
    repairs_option,
    required_output,
    take,
    unparsed_option,
)
from exam_pp.cli.progress import progress

if TYPE_CHECKING:
    from exam_pp.llm import ModelOptions
    from exam_pp.phases.grading.grade import GradeOptions, PairCounts
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.phases.grading.sharding import Shard

GRADE_POLICY = "chat for text-generation, openai and openai-completions, else default"
NO_REQUESTS = 3
"""Exit code of ``--plan`` if no requests are left to send."""
_GRADE_OPTIONS = (
    "unparsed",
    "soft",
    "regrade",
    "repairs",
    "max_queries",
    "max_passages",
    "only_unjudged",
    "role",
    "calibrate",
)
"""Options that are fields of ``GradeOptions``."""


@click.command("grade", cls=Command)
@PASSAGES
@required_output("Graded file to write.")
@bank_option("Test bank with the questions or nuggets to grade.")
@click.option(
    "--queries", type=QUERIES_FILE,
    help=f"Texts of the queries, for direct prompts ({QUERY_FORMATS}).  [default: those of the bank]",
)  # fmt: skip
@click.option(
    "--prompt-class", "prompt_classes", shell_complete=prompt_names, multiple=True, metavar="NAME",
    help="Prompt to grade with (see `exam-pp list prompts`); may be repeated.",
)  # fmt: skip
@prompt_file_option("TOML file with your own prompt to grade with; may be repeated.")
@model_options()
@click.option(
    "--soft/--no-soft", default=None,
    help="Store soft grades (probabilities).  [default: --soft; --no-soft with CTranslate2, where they "
    "double the "
    "time]",
)  # fmt: skip
@click.option(
    "--choose",
    is_flag=True,
    help="Take the likeliest label of the scale as the grade, without a written reply.",
)
@click.option(
    "--calibrate",
    is_flag=True,
    help="With --choose, divide the likelihoods of the labels by those without a passage (one more call per "
    "bank entry).",
)
@unparsed_option(GRADE_POLICY)
@ANSWER_MATCH
@repairs_option("whose labels cannot be read (only for the prompt NuggetAssignment).")
@click.option("--regrade", is_flag=True, help="Grade all pairs again, also those with a grade in PASSAGES.")
@part_to_grade
@journal_options
@click.option(
    "--shard", "shard_text", metavar="I/N",
    help="Grade and write only shard I (1 to N) of N shards of about equal work; `exam-pp merge` merges "
    "them.",
)  # fmt: skip
@click.option(
    "--status",
    "status_file",
    type=OUTPUT_PATH,
    metavar="FILE",
    help="Write the progress to this JSON file every few seconds, for dashboards.",
)
@click.option(
    "--plan", "planned", is_flag=True,
    help="Do not grade; count the requests, time a sample, and estimate the total time.",
)  # fmt: skip
@format_option(help_text="Format of the report of --plan.")
def command(
    passages: Path, output: Path, bank: Path | None, prompt_classes: tuple[str, ...], **options: Any
) -> None:
    """Let a model grade every passage in PASSAGES against every bank entry of its query, or directly.

    The prompt decides what is graded: questions or nuggets of --bank, or the passage for its query (a direct
    prompt). Grades that PASSAGES already holds are kept and not computed again. To continue an interrupted
    run, repeat the command.

    To use several GPUs or machines, run `accelerate launch -m exam_pp grade ...`. The output is the same as
    with one process.

    With --plan, the command writes a report to standard output instead of -o. It keeps the replies to its
    sample in the journal, so that the grading does not ask for them again. The exit code is 0 if requests
    are left to send, and 3 if no requests are left.

    Examples:

    \b
      exam-pp grade passages.jsonl.gz --bank questions.jsonl -o new-graded.jsonl.gz \\
        --prompt-class QuestionSelfRatedUnanswerablePromptWithChoices --model google/flan-t5-large
      exam-pp grade passages.jsonl.gz --queries queries.jsonl -o new-labelled.jsonl.gz \\
        --prompt-class GradedRelevance --model gpt-4o --model-pipeline openai
    """
    from exam_pp.phases.grading.grade import GradeOptions
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.phases.grading.sharding import Shard
    from exam_pp.prompts.answer_key import with_answer_match

    if not prompt_classes and not options["prompt_files"]:
        raise click.UsageError(
            "grade needs --prompt-class or --prompt-file. For ratings of questions, use --prompt-class "
            "QuestionSelfRatedUnanswerablePromptWithChoices; `exam-pp list prompts` shows all prompts."
        )
    model = take_model_options(options, in_process_group=True)
    chosen = choose_prompts(prompt_classes, options["prompt_files"])
    prompts = [with_answer_match(prompt, options["answer_match"]) for prompt in chosen]
    grade_options = GradeOptions(prompts, **take(options, *_GRADE_OPTIONS))
    files = GradeFiles(passages, output, bank, **take(options, *JOURNAL, "queries"))
    shard = Shard.parse(options["shard_text"]) if options["shard_text"] else None
    if options["planned"]:
        _plan(files, model, grade_options, shard, options["form"])
    else:
        _grade(files, model, grade_options, shard, options["status_file"])


def _grade(
    files: GradeFiles,
    model: ModelOptions,
    options: GradeOptions,
    shard: Shard | None,
    status_file: Path | None,
) -> None:
    from exam_pp.phases.grading.distributed import process_group_from_environment
    from exam_pp.phases.grading.grading_run import grade_file
    from exam_pp.signals import STOP

    with STOP.on_sigterm(), process_group_from_environment() as group:
        if not group.leads:
            logging.getLogger().setLevel(logging.WARNING)
            status_file = None
        with progress("Grading", "pairs") as bar, status(status_file, "Grading", "pairs") as report:

            def advance(steps: int, total: int | None) -> None:
                bar(steps, total)
                report.advance(steps, total)

            def start(counts: PairCounts) -> None:
                bar(counts.from_journal, counts.total)
                report.start(counts)

            summary = grade_file(files, model, options, advance, on_counts=start, shard=shard, group=group)
    log_summary(summary.lines())


def _plan(
    files: GradeFiles, model: ModelOptions, options: GradeOptions, shard: Shard | None, form: str
) -> None:
    from exam_pp.phases.grading.distributed import process_group_from_environment
    from exam_pp.phases.grading.plan import plan_grading
    from exam_pp.reports.grading.plan import plan_report

    with process_group_from_environment() as group:
        if not group.leads:  # A second process would find the journal in use.
            return
        plan = plan_grading(files, model, options, shard=shard)
    emit_rendered(plan_report(plan), form, Path("-"))
    if not plan.requests:
        sys.exit(NO_REQUESTS)
