"""``exam-pp grade``."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import prompt_file_option
from exam_pp.cli.progress import progress

log = logging.getLogger(__name__)


@click.command("grade")
@click.argument("passages", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, allow_dash=True), required=True, help="Graded file."
)
@click.option("--bank", type=click.Path(path_type=Path), help="Test bank with questions or nuggets.")
@click.option(
    "--queries", type=click.Path(path_type=Path),
    help="Texts of the queries, for direct prompts (JSON, JSONL or TSV; default: the bank's).",
)  # fmt: skip
@click.option(
    "--prompt-class", "prompt_classes", multiple=True,
    help="Prompt to grade with; may be repeated (see `exam-pp list prompts`).",
)  # fmt: skip
@prompt_file_option("TOML file with a prompt of your own to grade with; may be repeated.")
@model_options()
@click.option("--soft/--no-soft", default=True, show_default=True, help="Store expected rating and margin.")
@click.option(
    "--unparsed",
    type=click.Choice(["default", "ungraded", "published"]),
    default="default",
    show_default=True,
    help="What replies that are no number become.",
)
@click.option("--regrade", is_flag=True, help="Ask again what the file already answers.")
@click.option("--retry-failed", is_flag=True, help="Ask again what failed before this run was interrupted.")
@click.option("--max-queries", type=click.IntRange(1), help="Only the first queries.")
@click.option("--max-paragraphs", type=click.IntRange(1), help="Only the first passages of each query.")
@click.option(
    "--journal", "journal_file", type=click.Path(path_type=Path), help="Reply journal (default: next to -o)."
)
@click.option("--keep-journal", is_flag=True, help="Keep the journal once the output stands.")
def command(
    passages: Path, output: Path, bank: Path | None, prompt_classes: tuple[str, ...], **options: Any
) -> None:
    """Let a model grade every passage in PASSAGES against every entry of the bank, or directly.

    Grades of earlier runs are kept, and pairs that they answer are not asked again. A run that was
    interrupted, however it ended, continues when the same command is given again.
    """
    from exam_pp.phases.grade import GradeOptions
    from exam_pp.phases.grade_file import GradeFiles, grade_file
    from exam_pp.phases.prompt_files import choose_prompts

    if not prompt_classes and not options["prompt_files"]:
        raise click.UsageError("Name a prompt with --prompt-class or --prompt-file.")
    model = take_model_options(options)
    what = GradeOptions(
        prompts=choose_prompts(prompt_classes, options["prompt_files"]),
        unparsed=options["unparsed"],
        soft=options["soft"],
        regrade=options["regrade"],
        max_queries=options["max_queries"],
        max_paragraphs=options["max_paragraphs"],
    )
    where = GradeFiles(
        passages,
        output,
        bank,
        options["journal_file"],
        options["keep_journal"],
        options["retry_failed"],
        options["queries"],
    )
    with progress("Grading", "pairs") as advance:
        summary = grade_file(where, model, what, advance)
    for line in summary.lines():
        log.info("%s", line)
