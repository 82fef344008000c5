"""``exam-pp evaluate factual-consistency``: leaderboard of the factual consistency of answers."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.completion import model_names, prompt_names
from exam_pp.cli.leaderboard_options import LeaderboardOutput, leaderboard_options
from exam_pp.cli.options import GRADED, ONLY_QUERIES


@click.command("factual-consistency", cls=Command)
@GRADED
@ONLY_QUERIES
@click.option("--grader", shell_complete=model_names, metavar="NAME", help="Only scores by this model.")
@click.option(
    "--prompt-class",
    shell_complete=prompt_names,
    metavar="NAME",
    help="Only scores with this prompt class.",
)
@click.option("--system", "systems", multiple=True, metavar="NAME", help="Only this system; may be repeated.")
@leaderboard_options()
def command(
    *,
    graded: Path,
    queries: Path | None,
    grader: str | None,
    prompt_class: str | None,
    systems: tuple[str, ...],
    output: LeaderboardOutput,
) -> None:
    """Score systems by how consistent their answers are with the sources.

    The scores are those of `exam-pp grade`. FactualConsistency is the score of whole answers against
    all their sources together, and FactualConsistency_parts the mean over the parts, each with its highest
    score over its sources. Higher means more consistent. Claims without a score are in no mean; a note counts
    them with their reasons.

    Example:

    \b
      exam-pp evaluate factual-consistency scored.jsonl.gz
    """
    from exam_pp.phases.evaluation.factual_consistency import ConsistencyFilter, factual_consistency
    from exam_pp.phases.evaluation.inputs import query_ids

    evaluation = factual_consistency(
        graded,
        selection=ConsistencyFilter(grader, prompt_class, systems),
        queries=None if queries is None else query_ids(queries),
    )
    output.write(evaluation, "Factual consistency", [graded, queries])
