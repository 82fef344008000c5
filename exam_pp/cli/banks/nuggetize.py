"""The command ``exam-pp nuggetize``, which makes test banks of nuggets from relevant passages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.completion import prompt_names
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    JOURNAL,
    NEW_BANK,
    OUTPUT_PATH,
    PASSAGES,
    QUERIES_FILE,
    QUERY_TEXTS,
    journal_options,
    log_summary,
    new_bank_options,
    prompt_file_option,
    repairs_option,
    required_output,
    take,
)
from exam_pp.cli.progress import progress
from exam_pp.cli.ranges import IntRange, IntRangeOrAll

if TYPE_CHECKING:
    from exam_pp.llm.base import ModelOptions


@click.command("nuggetize", cls=Command)
@PASSAGES
@required_output("Test bank to write.")
@click.option("--queries", type=QUERIES_FILE, required=True, help=QUERY_TEXTS)
@click.option(
    "--relevance",
    "source",
    type=click.Choice(["human", "model", "all"]),
    default="human",
    show_default=True,
    help="Source of relevance: the judgments (human), direct grades in PASSAGES (model), or none: every "
    "passage is relevant (all).",
)
@click.option(
    "--min-judgment",
    type=int,
    default=1,
    show_default=True,
    help="Lowest judgment or direct grade that counts as relevant.",
)
@click.option(
    "--grader",
    "judge",
    metavar="NAME",
    help="With --relevance model: the model that graded; required if there are several.",
)
@click.option(
    "--prompt-class",
    "judge_prompt",
    shell_complete=prompt_names,
    metavar="NAME",
    help="With --relevance model: the prompt of the direct grades.  [default: GradedRelevance]",
)
@click.option(
    "--system", "ranking", metavar="SYSTEM",
    help="Order passages by the ranking of this system.  [default: reciprocal rank fusion of all systems]",
)  # fmt: skip
@click.option(
    "--count", "max_nuggets", type=IntRange(1, 100), default=30, show_default=True,
    help="Maximum number of nuggets in the list of a query.",
)  # fmt: skip
@click.option(
    "-S max-words", "max_words", type=IntRange(1),
    help="Drop nuggets with more words; the prompt asks for at most 12.  [default: keep them]",
)  # fmt: skip
@click.option(
    "--drop-repeated",
    is_flag=True,
    help="Drop a nugget that occurs earlier in its list; case, spaces and final punctuation are ignored.",
)
@click.option(
    "-S window-size", "window_size", type=IntRangeOrAll(1), default=10, show_default=True,
    help="Number of passages that the model reads at a time, or all.",
)  # fmt: skip
@click.option(
    "-S iterations", "iterations", type=IntRange(1, 100), default=1, show_default=True,
    help="How often at most the passages update the list; a full or unchanged list ends this.",
)  # fmt: skip
@click.option(
    "--keep", type=IntRange(1), default=20, show_default=True,
    help="Maximum number of nuggets to keep for a query, vital nuggets first.",
)  # fmt: skip
@click.option(
    "--for-editing",
    is_flag=True,
    help="Write the whole list for manual editing: ignore --keep, and do not ask for importance.",
)
@repairs_option("whose importance labels cannot be read.")
@click.option(
    "--importance-model",
    metavar="MODEL",
    help="Model that labels the importance of the nuggets.  [default: the model of --model]",
)
@click.option(
    "--importance-pipeline",
    metavar="NAME",
    help="Backend of --importance-model.  [default: that of --model-pipeline]",
)
@click.option(
    "--importance-base-url",
    metavar="URL",
    help="URL of the endpoint of --importance-model.  [default: that of --base-url, with the same backend]",
)
@click.option(
    "--also trace", "trace", type=OUTPUT_PATH, metavar="FILE",
    help="Write the log of all model calls to this file (JSON lines) instead of storing it in the bank.",
)  # fmt: skip
@prompt_file_option(
    "TOML file with your own prompt for the list of nuggets or for their importance; may be repeated."
)
@new_bank_options
@model_options()
@journal_options
def command(passages: Path, output: Path, queries: Path, trace: Path | None, **options: Any) -> None:
    """Let a model extract nuggets from the relevant passages in PASSAGES (AutoNuggetizer).

    The model updates the list of nuggets of a query with ten passages at a time, in rank order. It then
    labels every nugget as vital or okay; the best nuggets are kept, vital nuggets first. For the importance
    of nuggets that exist already, use `exam-pp bank importance`. To continue an interrupted run, repeat the
    command.

    The prompts are long, so the model must have a long context: use --model-pipeline text-generation or
    openai.

    Example:

    \b
      exam-pp nuggetize passages.jsonl.gz --queries queries.jsonl -o new-nuggets.jsonl \\
        --model gpt-4o --model-pipeline openai
    """
    from exam_pp.graders.nuggetize import Nuggetizer
    from exam_pp.phases.banks.nuggetize import NuggetizeOptions, nuggetize_file, nuggetizer_prompts
    from exam_pp.phases.banks.relevant_passages import Relevance
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.prompts import GRADED_RELEVANCE
    from exam_pp.signals import STOP

    if options["source"] != "model":
        refuse_without("--relevance model", "judge", "judge_prompt")
    if options["source"] == "all":
        refuse_without("--relevance human or model", "min_judgment")
    model = take_model_options(options)
    importance_model = _importance_model(model, options)
    nuggetize_options = NuggetizeOptions(
        Relevance(
            **take(options, "source", "min_judgment", "judge", "ranking"),
            judge_prompt=options["judge_prompt"] or GRADED_RELEVANCE.name,
        ),
        Nuggetizer(
            **take(options, "max_nuggets", "keep", "max_words", "drop_repeated", "window_size", "iterations"),
            **take(options, "for_editing", "repairs"),
            **nuggetizer_prompts(choose_prompts((), options["prompt_files"])),
        ),
        **take(options, *NEW_BANK),
    )
    files = GradeFiles(passages, output, queries=queries, **take(options, *JOURNAL))
    with STOP.on_sigterm(), progress("Nuggetizing", "windows") as advance:
        summary = nuggetize_file(
            files,
            model,
            nuggetize_options,
            trace=trace,
            importance_model=importance_model,
            advance=advance,
        )
    log_summary(summary.lines())


def _importance_model(model: ModelOptions, options: dict[str, Any]) -> ModelOptions | None:
    """The model of --importance-model with the other options of ``model``, or None without that option."""
    names = ("importance_model", "importance_pipeline", "importance_base_url")
    name, pipeline, base_url = take(options, *names).values()
    if name is None:
        if pipeline or base_url:
            raise click.UsageError("--importance-pipeline and --importance-base-url need --importance-model.")
        return None
    if options["for_editing"]:
        raise click.UsageError("--for-editing asks for no importance: leave out --importance-model.")
    if base_url is None and pipeline in (None, model.pipeline):
        base_url = model.base_url
    return replace(model, model=name, pipeline=pipeline or model.pipeline, base_url=base_url, revision=None)
