"""The command ``exam-pp grade-citations``: whether cited passages support the answers that cite them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.completion import prompt_names
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    JOURNAL,
    PASSAGES,
    journal_options,
    log_summary,
    prompt_file_option,
    required_output,
    take,
)
from exam_pp.cli.progress import progress


@click.command("grade-citations", cls=Command)
@PASSAGES
@required_output("Graded file to write.")
@model_options()
@click.option(
    "--prompt-class",
    shell_complete=prompt_names,
    metavar="NAME",
    help="Prompt of the kind support.  [default: CitationSupport]",
)
@prompt_file_option("TOML file with your own prompt of the kind support.")
@click.option("--system", "systems", multiple=True, metavar="NAME", help="Only this system; may be repeated.")
@click.option(
    "--regrade", is_flag=True, help="Grade all citations again, also those with a grade in PASSAGES."
)
@journal_options
def command(passages: Path, output: Path, prompt_class: str | None, **options: Any) -> None:
    """Grade how far the passages that the answers in PASSAGES cite support the parts that cite them.

    The model reads each part of an answer with each passage that it cites, and chooses full_support,
    partial_support or no_support. Passages without text are not graded, and count as no support. `exam-pp
    evaluate citations` makes a leaderboard of precision and recall. To continue an interrupted run, repeat
    the command.

    Examples:

    \b
      exam-pp grade-citations cited.jsonl.gz -o new-citations.jsonl.gz --model fake
      exam-pp grade-citations cited.jsonl.gz -o citations-t5.jsonl.gz --model google/flan-t5-large
    """
    from exam_pp.phases.grading.grade_citations import CitationOptions, grade_citations
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.signals import STOP

    model = take_model_options(options)
    prompts = choose_prompts([prompt_class] if prompt_class else [], options["prompt_files"])
    if len(prompts) > 1:
        raise click.UsageError(
            "grade-citations asks with one prompt; use --prompt-class or --prompt-file once."
        )
    chosen = CitationOptions(prompts[0] if prompts else None, **take(options, "systems", "regrade"))
    files = GradeFiles(passages, output, **take(options, *JOURNAL))
    with STOP.on_sigterm(), progress("Grading", "requests") as advance:
        summary = grade_citations(files, model, chosen, advance)
    log_summary(summary.lines())
