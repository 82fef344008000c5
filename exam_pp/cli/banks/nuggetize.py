"""``exam-pp nuggetize``: test banks of nuggets from relevant passages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    JOURNAL,
    NEW_BANK,
    PASSAGES,
    QUERIES_FILE,
    QUERY_TEXTS,
    journal_options,
    log_summary,
    new_bank_options,
    required_output,
    take,
)
from exam_pp.cli.progress import progress


@click.command("nuggetize")
@PASSAGES
@required_output("Test bank.")
@click.option("--queries", type=QUERIES_FILE, required=True, help=QUERY_TEXTS)
@click.option(
    "--judgments",
    "source",
    type=click.Choice(["human", "umbrela"]),
    default="human",
    show_default=True,
    help="Who says which passages are relevant: people, or the grades of the prompt Umbrela in PASSAGES.",
)
@click.option(
    "--min-judgment", type=int, default=1, show_default=True, help="Judgment from which a passage is used."
)
@click.option("--judge", help="Model whose UMBRELA labels are used, where the file holds several.")
@click.option(
    "--ranking", metavar="SYSTEM",
    help="Take the passages in the order of this system.  [default: reciprocal rank fusion of all]",
)  # fmt: skip
@click.option(
    "--max-nuggets", type=click.IntRange(1, 100), default=30, show_default=True,
    help="How many nuggets the list of a query may have.",
)  # fmt: skip
@click.option(
    "--max-words", type=click.IntRange(1), default=12, show_default=True,
    help="Longer nuggets are left out of the list.",
)  # fmt: skip
@click.option(
    "--keep", type=click.IntRange(1), default=20, show_default=True,
    help="How many nuggets of a query are kept, vital ones first.",
)  # fmt: skip
@click.option(
    "--for-editing", is_flag=True, help="Stop before importance and cut: the whole list, for people to edit."
)
@click.option(
    "--repairs", type=click.IntRange(0, 5), default=2, show_default=True,
    help="How often labels that cannot be read are asked for again.",
)  # fmt: skip
@click.option(
    "--trace", type=click.Path(path_type=Path),
    help="Write what every window did to this file (JSON lines), and not into the bank's info.",
)  # fmt: skip
@new_bank_options
@model_options()
@journal_options
def command(passages: Path, output: Path, queries: Path, trace: Path | None, **options: Any) -> None:
    """Let a model make nuggets of the relevant passages in PASSAGES (AutoNuggetizer).

    The list of a query is updated with ten passages at a time, in rank order; then every nugget is labelled
    vital or okay, and the first ones are kept. A run that was interrupted continues when the same command is
    given again.

    The prompts list many texts, so the model must be one for long contexts: --model-pipeline text-generation
    or openai.
    """
    from exam_pp.graders.nuggetize import Nuggetizer
    from exam_pp.phases.banks.nuggetize import NuggetizeOptions, nuggetize_file
    from exam_pp.phases.banks.relevant_passages import Relevance
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.phases.grading.signals import STOP

    model = take_model_options(options)
    what = NuggetizeOptions(
        Relevance(**take(options, "source", "min_judgment", "judge", "ranking")),
        Nuggetizer(**take(options, "max_nuggets", "keep", "max_words", "for_editing", "repairs")),
        **take(options, *NEW_BANK),
    )
    where = GradeFiles(passages, output, queries=queries, **take(options, *JOURNAL))
    with STOP.on_sigterm(), progress("Nuggetizing", "windows") as advance:
        summary = nuggetize_file(where, model, what, trace=trace, advance=advance)
    log_summary(summary.lines())
