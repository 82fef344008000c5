"""The command ``exam-pp compare``: games between the answers of systems, played by a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    FILE,
    JOURNAL,
    MAX_QUERIES,
    PASSAGES,
    QUERIES_FILE,
    QUERY_TEXTS,
    journal_options,
    model_names,
    prompt_file_option,
    prompt_option,
    reply_option,
    required_output,
    take,
    take_reply,
)
from exam_pp.cli.progress import asking
from exam_pp.cli.ranges import IntRange

if TYPE_CHECKING:
    from exam_pp.phases.tournaments.compare import CompareOptions

_OPTIONS = (
    "evidence",
    "answers_cite",
    "factors",
    "min_relevance",
    "systems",
    "max_queries",
    "games_per_query",
    "both_orders",
    "seed",
    "same_text_is_tie",
    "unparsed",
)


@click.command("compare", cls=Command)
@PASSAGES
@required_output("Games file to write.")
@click.option("--queries", type=QUERIES_FILE, help=f"{QUERY_TEXTS}  [default: those in PASSAGES]")
@model_options()
@reply_option("verdict")
@prompt_option("Prompt of the kind pair; pairwise-choice is short, for small models.  [default: pairwise]")
@prompt_file_option("TOML file with your own prompt of the kind pair.")
@click.option(
    "--factors",
    metavar="TEXT",
    help="Factors that the judge considers, as the end of a sentence.  [default: those of the paper]",
)
@click.option(
    "--answers-cite",
    is_flag=True,
    help="Say in the prompt that the answers cite documents by their ids in square brackets.",
)
@click.option(
    "--unparsed",
    type=click.Choice(["ungraded", "chat"]),
    default="ungraded",
    show_default=True,
    help="Replies without a verdict in double brackets: no winner (ungraded), or the winner of a "
    "sentence such as 'final verdict: A' (chat).",
)
@click.option(
    "--evidence",
    type=click.Choice(["text", "reason", "both", "none"]),
    help="Documents beside the answers: those that either system retrieved or cites, best first, as "
    "texts, as the reasons of direct grades for their relevance, as both, or no documents.  [default: "
    "text]",
)
@click.option(
    "--min-judgment",
    "min_relevance",
    type=int,
    metavar="LABEL",
    help="Show only documents with at least this label of direct grades; the paper uses 2.  [default: "
    "show all]",
)
@click.option(
    "--grades reasons-grader",
    "reasons_grader",
    shell_complete=model_names,
    metavar="NAME",
    help="Take labels and reasons of documents from direct grades by this model or reviewer.",
)
@prompt_option(
    "Take labels and reasons of documents from direct grades with this prompt.",
    "reasons_class",
    option="--grades reasons",
)
@click.option(
    "--system",
    "systems",
    multiple=True,
    metavar="NAME",
    help="Only games between these systems; may be repeated.",
)
@click.option(
    "--games-per-query",
    type=IntRange(1),
    help="Number of pairs of systems that are drawn for each query; the paper uses 15.  [default: all pairs]",
)
@click.option("--both-orders", is_flag=True, help="Play each game twice, with each answer in place A once.")
@click.option(
    "--same-text-is-tie", is_flag=True, help="Answers with the same words tie without a model call."
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Seed of the draws of pairs, repeats and places.",
)
@click.option(
    "--games",
    type=FILE,
    help="Games file to extend: its games are kept, and games by the same model with the same prompt and "
    "answers are not played again.",
)
@MAX_QUERIES
@journal_options
def command(passages: Path, output: Path, queries: Path | None, **options: Any) -> None:
    """Let a model decide which of two answers in PASSAGES to the same query is better.

    For each query, every pair of systems with an answer plays a game. The answer in place A is drawn. A reply
    without a verdict leaves its game ungraded, which is not a tie. An empty answer loses against a text
    without a model call. To continue an interrupted run, repeat the command.

    Examples:

    \b
      exam-pp compare answers.jsonl.gz --queries queries.jsonl -o new-games.jsonl.gz --model fake
      exam-pp compare answers.jsonl.gz --queries queries.jsonl -o new-games.jsonl.gz \\
        --games-per-query 15 --both-orders --model gpt-4o --model-pipeline openai
    """
    from exam_pp.phases.tournaments.compare import CompareFiles, compare

    take_reply(options)
    model = take_model_options(options)
    chosen = _compare_options(options)
    files = CompareFiles(passages, output, queries=queries, **take(options, *JOURNAL, "games"))
    asking("Comparing", "games", lambda advance: compare(files, model, chosen, advance))


def _compare_options(options: dict[str, Any]) -> CompareOptions:
    """Take the options of a comparison out of those of a command."""
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.phases.tournaments.compare import CompareOptions
    from exam_pp.prompts.base import with_aliases

    uses_grades = options["evidence"] in ("reason", "both") or options["min_relevance"] is not None
    if not uses_grades and (options["reasons_grader"] or options["reasons_class"]):
        raise click.UsageError(
            "--grades reasons-grader and --grades reasons have an effect only with --evidence reason, "
            "--evidence both or --min-judgment."
        )
    names = [options["prompt_class"]] if options["prompt_class"] else []
    prompts = choose_prompts(names, options["prompt_files"])
    if len(prompts) > 1:
        raise click.UsageError("A game has one prompt; use --prompt or --prompt-file once.")
    reasons = with_aliases(GradeFilter(options["reasons_grader"], options["reasons_class"]))
    return CompareOptions(prompts[0] if prompts else None, reasons=reasons, **take(options, *_OPTIONS))
