"""``exam-pp export``: export of games from scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Group
from exam_pp.cli.game_options import GAMES_BY, SCORED, scored_games, scored_options
from exam_pp.cli.options import (
    FILE,
    filter_options,
    grade_filter,
    log_notes,
    log_summary,
    output_option,
    take,
)
from exam_pp.wording import counted

_OUTPUT = output_option("File to write.  [default: standard output]")


@click.group(name="export", cls=Group)
def command() -> None:
    """Export games from scores."""


@command.command()
@click.argument("scored", nargs=-1, required=True, type=FILE)
@click.option("-m", "--measure", metavar="NAME", help=f"Measure that decides the games: {GAMES_BY}")
@scored_options
@click.option(
    "--name",
    "grader_name",
    metavar="NAME",
    help="Name of the grader to store.  [default: the grader of the grades; the file name of scores]",
)
@filter_options
@_OUTPUT
def games(
    *,
    scored: tuple[Path, ...],
    measure: str | None,
    grader_name: str | None,
    output: Path,
    **options: Any,
) -> None:
    """Write games between the systems of a graded file or of files of scores, decided by their scores.

    For each query and two systems, the system with the higher score wins. SCORED is a graded file, whose
    grades are scored as by `exam-pp evaluate cover` and `exam-pp evaluate nuggets`, or files with scores of
    single queries: of `exam-pp evaluate ... --per-query`, `trec_eval -q` or JSON lines. MeanRating is the
    mean over the entries of the highest grade of a system's passages.

    Examples:

    \b
      exam-pp export games graded.jsonl.gz --bank questions.jsonl -o graded-games.jsonl.gz
      exam-pp export games ndcg.tsv -m nDCG@10 --tie-margin 0.05 -o ndcg-games.jsonl.gz
    """
    from exam_pp.store.games import write_games

    chosen = take(options, *SCORED)
    result = scored_games(
        scored,
        grade_filter(**options),
        measure=measure,
        measure_option="--measure",
        grader_name=grader_name,
        **chosen,
    )
    log_notes(result.notes)
    inputs = [path for path in (*scored, chosen["bank"], chosen["queries"]) if path is not None]
    write_games(result.queries, output, inputs=inputs)
    log_summary(
        [f"Wrote {counted(result.games, 'game')} of {counted(result.systems, 'system')} to {output}: "
         f"{counted(result.ties, 'tie')}."]
    )  # fmt: skip
