"""``exam-pp review-games``: write the page to compare answers blind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    FILE,
    ONLY_QUERY,
    PASSAGES,
    QUERIES_FILE,
    QUERY_TEXTS,
    emit,
    log_summary,
    required_output,
)
from exam_pp.cli.ranges import IntRange

if TYPE_CHECKING:
    from exam_pp.phases.review.review_games import GamesMaterial


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
def command(
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
    from exam_pp.phases.review.review_games import GamesOptions, review_games

    if games is None and (options["grader"] is not None or options["only_ungraded"]):
        raise click.UsageError("--grader and --only choose games of --games.")
    chosen = GamesOptions(**options)
    material = review_games(passages, queries=queries_file, games=games, options=chosen)
    emit(render_games(material), output, [passages, queries_file, games])
    if str(output) != "-":
        size = output.stat().st_size / 1e6
        log_summary(
            [
                f"Page with {material.size}: {output} ({size:.1f} MB). Open it in a browser.",
                f"Then: exam-pp apply {passages} edits.json --seed {chosen.seed} -o games.jsonl.gz",
            ]
        )


_OWN_SCRIPTS = ("games_data.js", "games_work.js", "games_view.js", "games_keys.js", "games_main.js")
"""The files of the page's script behind those that it shares with the review page, in this order."""


def render_games(material: GamesMaterial) -> str:
    """The HTML of the page; the games of each query are a block of their own."""
    from exam_pp.reports.review.page import SHARED_SCRIPTS, page_of

    return page_of(
        "exam-pp review-games",
        (*SHARED_SCRIPTS, *_OWN_SCRIPTS),
        ("style.css", "games.css"),
        _blocks(material),
    )


def _blocks(material: GamesMaterial) -> Iterator[str]:
    from exam_pp.reports.review.page import block

    yield block("head", material.head)
    for index, games in enumerate(material.queries):
        yield block(f"query-{index}", games)
