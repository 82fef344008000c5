"""``exam-pp apply-games``: turn decisions of reviewers on answers into games."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import FILE, PASSAGES, QUERIES_FILE, QUERY_TEXTS, log_summary, required_output


@click.command("apply-games", cls=Command)
@PASSAGES
@click.argument("edits", nargs=-1, required=True, type=FILE)
@required_output("Games file to write.")
@click.option("--games", type=FILE, help="Games file to which the games are added.  [default: a new file]")
@click.option("--queries", type=QUERIES_FILE, help=f"{QUERY_TEXTS}  [default: those in --games]")
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed that was given to `exam-pp review-games`."
)
@click.option(
    "--reviewer",
    metavar="NAME",
    help="Name of the reviewer, for a single EDITS file.  [default: the name in EDITS]",
)
def command(
    passages: Path,
    edits: tuple[Path, ...],
    output: Path,
    games: Path | None,
    queries: Path | None,
    seed: int,
    reviewer: str | None,
) -> None:
    """Turn the decisions of reviewers on answers in PASSAGES into games by `human:NAME`.

    EDITS are files that the page of `exam-pp review-games` saves. Skipped games are left out. A decision that
    does not fit the answers in PASSAGES, or contradicts another one of the same reviewer, is refused, and
    then no file is written.

    Examples:

    \b
      exam-pp apply-games answers.jsonl.gz game-edits.json --seed 7 -o human.jsonl.gz
      exam-pp apply-games answers.jsonl.gz game-edits.json --seed 7 --games games.jsonl.gz -o all.jsonl.gz
    """
    from exam_pp.phases.review.apply_games import apply_games

    summary = apply_games(passages, edits, output, games=games, queries=queries, reviewer=reviewer, seed=seed)
    log_summary(summary.lines())
