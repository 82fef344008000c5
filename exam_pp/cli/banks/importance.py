"""The command ``exam-pp bank importance``, which labels the entries of a bank as vital or okay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    FILE,
    JOURNAL,
    QUERIES_FILE,
    QUERY_TEXTS,
    journal_options,
    log_summary,
    prompt_file_option,
    repairs_option,
    required_output,
    take,
)
from exam_pp.cli.progress import progress
from exam_pp.cli.ranges import IntRange


@click.command("importance", cls=Command)
@click.argument("bank", type=FILE)
@required_output("Test bank to write.")
@click.option("--queries", type=QUERIES_FILE, help=f"{QUERY_TEXTS}  [default: those in BANK]")
@click.option(
    "--regrade", "relabel", is_flag=True, help="Ask again for the importance of entries that have one."
)
@click.option(
    "--keep",
    type=IntRange(1),
    help="Sort the entries of each query or facet, vital entries first, and keep at most this number.  "
    "[default: all, in the order of BANK]",
)
@repairs_option("whose importance labels cannot be read.")
@prompt_file_option("TOML file with your own prompt for the importance.")
@model_options()
@journal_options
def command(bank: Path, output: Path, queries: Path | None, **options: Any) -> None:
    """Let a model label the nuggets or questions of BANK as vital or okay.

    The prompt is that of AutoNuggetizer: it shows the query and ten entries at a time, without passages. Use
    it for nuggets that were edited, imported or generated. Entries with an importance are not asked. To
    continue an interrupted run, repeat the command.

    Example:

    \b
      exam-pp bank importance nuggets.jsonl -o labelled.jsonl --regrade --keep 20 \\
        --model gpt-4o --model-pipeline openai
    """
    from exam_pp.phases.banks.importance import ImportanceOptions, importance_file
    from exam_pp.phases.banks.nuggetize import nuggetizer_prompts
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.signals import STOP

    model = take_model_options(options)
    prompts = nuggetizer_prompts(choose_prompts((), options.pop("prompt_files")))
    if "creation" in prompts:
        raise click.UsageError("--prompt-file needs a prompt for importance (reading = 'importance').")
    importance_options = ImportanceOptions(
        **take(options, "relabel", "keep", "repairs"),
        **({"prompt": prompts["importance"]} if prompts else {}),
    )
    files = GradeFiles(bank, output, bank=bank, queries=queries, **take(options, *JOURNAL))
    with STOP.on_sigterm(), progress("Labelling", "entries") as advance:
        summary = importance_file(files, model, importance_options, advance=advance)
    log_summary(summary.lines())
