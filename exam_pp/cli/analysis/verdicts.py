"""``exam-pp analyze verdicts``: agreement of judges on the same games."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.completion import model_names
from exam_pp.cli.leaderboard_options import SAMPLES, SEED
from exam_pp.cli.options import FILE, emit_report, format_option, output_option


@click.command("verdicts", cls=Command)
@click.argument("games", nargs=-1, required=True, type=FILE)
@click.option(
    "--grader",
    "graders",
    shell_complete=model_names,
    multiple=True,
    metavar="NAME",
    help="Compare only this model, or person (human:NAME); may be repeated.  [default: all]",
)
@SAMPLES
@SEED
@format_option()
@output_option()
def command(
    *, games: tuple[Path, ...], graders: tuple[str, ...], samples: int, seed: int, form: str, output: Path
) -> None:
    """Measure the agreement of judges, models and people, on the same games.

    GAMES are games files, as exam-pp or RAGElo writes them, such as one of a model and one of a person. For
    every two judges, the command writes the share of equal and of opposite verdicts, Cohen's κ with an
    interval, weighted κ, and the rank correlations. Two games are the same if they compare the same systems
    on the same query, in whatever places.

    Example:

    \b
      exam-pp analyze verdicts games.jsonl human-games.jsonl
    """
    from exam_pp.phases.analysis.verdicts import verdict_agreement
    from exam_pp.reports.analysis.verdicts import verdicts_report

    result = verdict_agreement(games, models=graders, samples=samples, seed=seed)
    emit_report(verdicts_report(result), form, output, games)
