"""``exam-pp generate``: test banks from queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.groups import Group
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    JOURNAL,
    NEW_BANK,
    QUERIES_FILE,
    journal_options,
    log_summary,
    new_bank_options,
    required_output,
    take,
    together,
)
from exam_pp.cli.progress import progress

_generate_options = together(
    click.argument("queries", type=QUERIES_FILE),
    required_output("Test bank."),
    click.option(
        "--count",
        type=click.IntRange(1, 100),
        help="How many to ask for and to keep.  [default: 10 for a query, all for a facet]",
    ),
    click.option("--no-facets", is_flag=True, help="Ask about whole queries even where they have facets."),
    click.option(
        "--repairs",
        type=click.IntRange(0, 5),
        default=1,
        show_default=True,
        help="How often a reply without a list is asked for again.",
    ),
    new_bank_options,
    model_options(),
    journal_options,
)


@click.group("generate", cls=Group)
def command() -> None:
    """Let a model write the test bank: questions or nuggets for every query."""


@command.command("questions")
@_generate_options
def questions_command(**options: Any) -> None:
    """Write exam questions for the QUERIES: a file, or irds:NAME for a data set of ir_datasets.

    The words are those of the workbench paper: TREC DL style for a query, TREC CAR style for each facet
    of a query that has facets. A run that was interrupted continues when the same command is given again.
    """
    _run("question", **options)


@command.command("nuggets")
@_generate_options
def nuggets_command(**options: Any) -> None:
    """Write nuggets (key facts of a few words) for the QUERIES; see `exam-pp generate questions`."""
    _run("nugget", **options)


def _run(kind: Any, *, queries: Path, output: Path, **options: Any) -> None:
    from exam_pp.phases.banks.generate import GenerateOptions, generate_file
    from exam_pp.phases.grading.signals import STOP

    model = take_model_options(options)
    what = GenerateOptions(
        kind, facets=not options["no_facets"], **take(options, "count", "repairs", *NEW_BANK)
    )
    with STOP.on_sigterm(), progress("Generating", "replies") as advance:
        summary = generate_file(queries, output, model, what, **take(options, *JOURNAL), advance=advance)
    log_summary(summary.lines())
