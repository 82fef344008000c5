"""``exam-pp nuggetize``, which makes test banks of nuggets, or labels the importance of entries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    JOURNAL,
    NEW_BANK,
    PASSAGES,
    QUERIES_FILE,
    QUERY_TEXTS,
    journal_options,
    new_bank_options,
    prompt_file_option,
    prompt_option,
    repairs_option,
    required_output,
    take,
)
from exam_pp.cli.progress import asking
from exam_pp.cli.ranges import IntRange, IntRangeOrAll

if TYPE_CHECKING:
    from exam_pp.llm.base import ModelOptions
    from exam_pp.phases.banks.relevant_passages import RelevanceSource
    from exam_pp.phases.grading.grading_run import GradeFiles

_OF_PASSAGES = ("min_judgment", "judge", "judge_prompt", "ranking")
_OF_NEW_NUGGETS = (
    *_OF_PASSAGES,
    "max_nuggets",
    "max_words",
    "window_size",
    "iterations",
    "only",
    *NEW_BANK,
)
"""Parameters without an effect on the entries of a bank."""


@click.command("nuggetize", cls=Command)
@PASSAGES
@required_output("Test bank to write.")
@click.option(
    "--queries",
    type=QUERIES_FILE,
    help=f"{QUERY_TEXTS}  [default: the texts in PASSAGES]",
)
@click.option(
    "--from",
    "source",
    type=click.Choice(["references"]),
    help="PASSAGES is a test bank of reference answers, such as `exam-pp bank import` makes of an export: "
    "the nuggets are their facts.",
)
@click.option(
    "--min-judgment",
    type=IntRangeOrAll(0),
    default=1,
    show_default=True,
    help="Lowest judgment that counts as relevant; with --grader or --prompt, lowest direct grade. "
    "With all, every passage is relevant.",
)
@click.option(
    "--grader",
    "judge",
    metavar="NAME",
    help="Relevance by the direct grades of this model; required if several graded with the prompt.",
)
@prompt_option(
    "Relevance by the direct grades with this prompt.  [default: with --grader relevance, else the "
    "judgments]",
    "judge_prompt",
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
    "-S window-size", "window_size", type=IntRangeOrAll(1), default=10, show_default=True,
    help="Number of passages that the model reads at a time, or all.",
)  # fmt: skip
@click.option(
    "-S iterations", "iterations", type=IntRange(1, 100), default=1, show_default=True,
    help="How often at most the passages update the list; a full or unchanged list ends this.",
)  # fmt: skip
@click.option(
    "--keep", type=IntRange(1),
    help="Maximum number of nuggets to keep for a query or facet, vital nuggets first.  [default: "
    "20 of new nuggets; all of a bank, in its order]",
)  # fmt: skip
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(["nuggets"]),
    help="Only the whole list of nuggets, without importance: for editing, or for another model to label.",
)
@click.option(
    "--regrade",
    "relabel",
    is_flag=True,
    help="Ask again for the importance of entries of a bank that have one.",
)
@repairs_option("whose importance labels cannot be read.")
@prompt_file_option(
    "TOML file with your own prompt for the list of nuggets or for their importance; may be repeated."
)
@new_bank_options
@model_options()
@journal_options
def command(passages: Path, output: Path, queries: Path | None, source: str | None, **options: Any) -> None:
    """Let a model extract nuggets from the relevant passages in PASSAGES, and label them (AutoNuggetizer).

    The model updates the list of nuggets of a query with ten passages at a time, in rank order. It then
    labels every nugget as vital or okay; the best nuggets are kept, vital nuggets first. To continue an
    interrupted run, repeat the command.

    PASSAGES may also be a test bank, with edited, imported or generated nuggets or questions. Then the model
    only labels the entries without an importance; the prompt shows the query and ten entries at a time.
    With --from references, the bank has reference answers, and the model extracts their facts.

    The prompts are long, so the model must have a long context: use --model-pipeline text-generation or
    openai.

    Examples:

    \b
      exam-pp nuggetize passages.jsonl.gz --queries queries.jsonl -o new-nuggets.jsonl \\
        --model gpt-4o --model-pipeline openai
      exam-pp nuggetize nuggets.jsonl -o labelled.jsonl --regrade --keep 20 \\
        --model gpt-4o --model-pipeline openai
    """
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.store.banks.bank_json import is_bank_file

    model = take_model_options(options)
    files = GradeFiles(passages, output, queries=queries, **take(options, *JOURNAL))
    if source:
        refuse_without("a passages file", *_OF_PASSAGES, "queries", "relabel")
        _extract(files, model, source="references", **options)
    elif is_bank_file(passages):
        refuse_without("a passages file", *_OF_NEW_NUGGETS)
        _label(files, model, **take(options, "relabel", "keep", "repairs", "prompt_files"))
    else:
        refuse_without("a test bank", "relabel")
        _extract(files, model, **options)


def _extract(
    files: GradeFiles, model: ModelOptions, *, source: RelevanceSource | None = None, **options: Any
) -> None:
    from exam_pp.graders.nuggetize import Nuggetizer
    from exam_pp.phases.banks.nuggetize import NuggetizeOptions, nuggetize_file, nuggetizer_prompts
    from exam_pp.phases.banks.relevant_passages import Relevance
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.prompts.direct import GRADED_RELEVANCE

    if options["min_judgment"] is None:
        refuse_without("a number as --min-judgment", "judge", "judge_prompt")
    if options["only"]:
        refuse_without("importance, so leave out --only nuggets", "keep")
    by_grades = options["judge"] or options["judge_prompt"]
    source = source or ("all" if options["min_judgment"] is None else "model" if by_grades else "human")
    nuggetize_options = NuggetizeOptions(
        Relevance(
            source,
            options["min_judgment"] or 0,
            **take(options, "judge", "ranking"),
            judge_prompt=options["judge_prompt"] or GRADED_RELEVANCE.name,
        ),
        Nuggetizer(
            **take(options, "max_nuggets", "max_words", "window_size", "iterations", "repairs"),
            **({} if options["keep"] is None else take(options, "keep")),
            for_editing=bool(options["only"]),
            of_references=source == "references",
            **nuggetizer_prompts(choose_prompts((), options["prompt_files"])),
        ),
        **take(options, *NEW_BANK),
    )
    asking(
        "Nuggetizing",
        "windows",
        lambda advance: nuggetize_file(files, model, nuggetize_options, advance=advance),
    )


def _label(files: GradeFiles, model: ModelOptions, *, prompt_files: tuple[Path, ...], **options: Any) -> None:
    from exam_pp.phases.banks.importance import ImportanceOptions, importance_file
    from exam_pp.phases.banks.nuggetize import nuggetizer_prompts
    from exam_pp.phases.grading.prompt_files import choose_prompts

    prompts = nuggetizer_prompts(choose_prompts((), prompt_files))
    if "creation" in prompts:
        raise click.UsageError(
            "A test bank needs a --prompt-file with a prompt for importance (reading = 'importance')."
        )
    importance_options = ImportanceOptions(
        **options, **({"prompt": prompts["importance"]} if prompts else {})
    )
    asking(
        "Labelling",
        "entries",
        lambda advance: importance_file(
            replace(files, bank=files.passages), model, importance_options, advance=advance
        ),
    )
