"""``exam-pp compare`` and ``exam-pp review-games``: games between answers, by a model or by people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    FILE,
    JOURNAL,
    MAX_QUERIES,
    ONLY_QUERY,
    PASSAGES,
    QUERIES_FILE,
    QUERY_TEXTS,
    emit,
    journal_options,
    log_summary,
    prompt_file_option,
    prompt_option,
    reply_option,
    required_output,
    take,
    take_reply,
)
from exam_pp.cli.progress import asking
from exam_pp.cli.ranges import IntRange

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
    "games",
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
    help="Games file: games in it with a winner, by the same model with the same prompt and options, are not "
    "played; `exam-pp merge` merges it with the new games.",
)
@MAX_QUERIES
@journal_options
def compare_command(passages: Path, output: Path, queries: Path | None, **options: Any) -> None:
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
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.phases.grading.prompt_files import choose_prompts
    from exam_pp.plugins.games.compare import CompareOptions, compare

    take_reply(options)
    model = take_model_options(options)
    names = [options["prompt_class"]] if options["prompt_class"] else []
    prompts = choose_prompts(names, options["prompt_files"])
    if len(prompts) > 1:
        raise click.UsageError("A game has one prompt; use --prompt or --prompt-file once.")
    chosen = CompareOptions(prompts[0] if prompts else None, **take(options, *_OPTIONS))
    files = GradeFiles(passages, output, queries=queries, **take(options, *JOURNAL))
    asking("Comparing", "games", lambda advance: compare(files, model, chosen, advance))


@click.command("review-games", cls=Command)
@PASSAGES
@click.option(
    "--queries",
    "queries_file",
    type=QUERIES_FILE,
    help=f"{QUERY_TEXTS}  [default: those in --games, or in PASSAGES]",
)
@required_output("HTML file to write.")
@click.option(
    "--games", type=FILE, help="Games file: show the games that models judged in it, and no others."
)
@click.option("--grader", metavar="NAME", help="Only games of this judge in --games.  [default: all models]")
@click.option(
    "--only",
    "only_ungraded",
    type=click.Choice(["ungraded"]),
    callback=lambda _context, _option, value: value is not None,
    help="Only games in --games without a winner.",
)
@ONLY_QUERY
@click.option(
    "--system",
    "systems",
    multiple=True,
    metavar="NAME",
    help="Only games between these systems; may be repeated.",
)
@click.option(
    "--games-per-query",
    type=IntRange(min=1),
    help="Number of games that are drawn for each query.  [default: all]",
)
@click.option(
    "--top",
    type=IntRange(min=0),
    default=10,
    show_default=True,
    help="Retrieved passages of each system to show, down to this rank; cited ones are always shown.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Seed of the places A and B, of the order, and of the drawn games. `exam-pp apply` needs it.",
)
@click.option(
    "--reviewer", default="", metavar="NAME", help="Name of the reviewer, which can be changed on the page."
)
def review_command(
    *, passages: Path, queries_file: Path | None, output: Path, games: Path | None, **options: Any
) -> None:
    """Write an HTML page to compare the answers in PASSAGES without names of systems.

    The page opens from disk in any browser of 2023 or later, without a network. It shows a query with two
    answers and their passages; the reviewer decides which answer is better, with buttons or keys. The page
    has no names or ids, and the places A and B are drawn at random. The reviewer saves the decisions as an
    edits file, which `exam-pp apply` turns into games.

    To compare people with a model, use --games with the games of the model.

    Examples:

    \b
      exam-pp review-games answers.jsonl.gz --queries queries.jsonl --games-per-query 3 --seed 7 -o page.html
      exam-pp review-games answers.jsonl.gz --queries queries.jsonl --games games.jsonl.gz -o page.html
    """
    from exam_pp.plugins.games.page import render_games, review_games

    if games is None and (options["grader"] is not None or options["only_ungraded"]):
        raise click.UsageError("--grader and --only choose games of --games.")
    material = review_games(passages, queries_file=queries_file, games=games, **options)
    emit(render_games(material), output, [passages, queries_file, games])
    if str(output) != "-":
        size = output.stat().st_size / 1e6
        log_summary(
            [
                f"Page with {material.size}: {output} ({size:.1f} MB). Open it in a browser.",
                f"Then: exam-pp apply {passages} edits.json --seed {options['seed']} -o games.jsonl.gz",
            ]
        )
