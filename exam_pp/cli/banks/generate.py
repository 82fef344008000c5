"""The command group ``exam-pp generate``, which writes test banks from queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Group
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    JOURNAL,
    NEW_BANK,
    QUERIES_FILE,
    journal_options,
    log_summary,
    new_bank_options,
    prompt_file_option,
    required_output,
    take,
    together,
)
from exam_pp.cli.progress import progress
from exam_pp.cli.ranges import IntRange

_generate_options = together(
    click.argument("queries", type=QUERIES_FILE),
    required_output("Test bank to write."),
    click.option(
        "--count",
        type=IntRange(1, 100),
        help="Maximum number of entries per query or facet.  [default: 10 for a query, unlimited for a "
        "facet]",
    ),
    click.option("--no-facets", is_flag=True, help="Ignore facets, and generate entries for whole queries."),
    click.option(
        "--repairs",
        type=IntRange(0, 5),
        default=1,
        show_default=True,
        help="Number of retries after a reply without a list.",
    ),
    click.option(
        "--top-ups",
        type=IntRange(0, 10),
        default=2,
        show_default=True,
        help="Number of further requests if a list has fewer entries than requested; they stop when a reply "
        "has no new entry. Prompts for facets request no number.",
    ),
    prompt_file_option(
        "TOML file with your own prompt; may be repeated: one with {subtopic} for facets, one without it."
    ),
    new_bank_options,
    model_options(),
    journal_options,
)


@click.group("generate", cls=Group)
def command() -> None:
    """Let a model write a test bank: questions or nuggets for every query."""


@command.command("questions")
@_generate_options
def questions_command(**options: Any) -> None:
    """Let a model write exam questions for QUERIES.

    QUERIES is a file of queries, or irds:NAME for a data set of ir_datasets. The prompts are those of the
    workbench paper: TREC DL style for a query, and TREC CAR style for each facet of a query with facets.
    --prompt-file replaces them. To continue an interrupted run, repeat the command.

    Example:

    \b
      exam-pp generate questions queries.jsonl -o new-questions.jsonl \\
        --model gpt-4o --model-pipeline openai
    """
    _run("question", **options)


@command.command("nuggets")
@_generate_options
def nuggets_command(**options: Any) -> None:
    """Let a model write nuggets (key facts of a few words) for QUERIES.

    QUERIES is a file of queries, or irds:NAME for a data set of ir_datasets. The model lists nuggets for a
    query, or for each facet of a query with facets. To make nuggets from relevant passages instead, use
    `exam-pp nuggetize`. To continue an interrupted run, repeat the command.

    Example:

    \b
      exam-pp generate nuggets queries.jsonl -o new-nuggets.jsonl \\
        --model gpt-4o --model-pipeline openai
    """
    _run("nugget", **options)


def _run(kind: Any, *, queries: Path, output: Path, **options: Any) -> None:
    from exam_pp.phases.banks.generate import GenerateOptions, generate_file
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.phases.grading.signals import STOP

    model = take_model_options(options)
    generate_options = GenerateOptions(
        kind,
        facets=not options["no_facets"],
        prompts=choose_prompts((), options["prompt_files"]),
        **take(options, "count", "repairs", "top_ups", *NEW_BANK),
    )
    with STOP.on_sigterm(), progress("Generating", "replies") as advance:
        summary = generate_file(
            queries, output, model, generate_options, **take(options, *JOURNAL), advance=advance
        )
    log_summary(summary.lines())
