"""``exam-pp analyze biases``: biases of the judges of games."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import confidence_option
from exam_pp.cli.options import FILE, emit_report, format_option, output_option


@click.command("biases", cls=Command)
@click.argument("games", nargs=-1, required=True, type=FILE)
@click.option(
    "--families",
    type=FILE,
    help="Families of models and systems (TOML or JSON), for the share of wins of the judge's own family.",
)
@confidence_option()
@format_option()
@output_option()
def command(
    *,
    games: tuple[Path, ...],
    families: Path | None,
    confidence: float,
    form: str,
    output: Path,
) -> None:
    """Measure whether judges prefer a place, the longer answer, or systems of their own family.

    For each judge and prompt of the GAMES: the share of wins of place A, of the longer answer and of the
    judge's own family, with intervals and tests over queries. If pairs of answers were compared in both
    orders, the flip rate is the share of pairs whose verdicts differ. GAMES are games files, as exam-pp or
    RAGElo writes them.

    A families file has a table for each family, such as `[gpt]`, with patterns: `models = ["gpt-*"]` for
    judges and `systems = ["*-gpt4"]` for systems.

    Examples:

    \b
      exam-pp analyze biases games.jsonl.gz
      exam-pp analyze biases games.jsonl.gz --families families.toml
    """
    from exam_pp.phases.tournaments.biases import game_biases
    from exam_pp.reports.tournaments.biases import biases_report

    result = game_biases(games, families=families, confidence=confidence)
    emit_report(biases_report(result, decimals=6 if form == "tsv" else 3), form, output, [*games, families])
