"""``exam-pp evaluate judgments``: leaderboard of runs by manual judgments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import (
    FACETS,
    LeaderboardOutput,
    leaderboard_options,
    run_options,
)
from exam_pp.cli.options import FILE, ONLY_QUERIES


@click.command("judgments", cls=Command)
@click.argument("source", metavar="GRADED|QRELS", type=FILE)
@ONLY_QUERIES
@click.option(
    "--min-judgment",
    type=int,
    help="Lowest relevant judgment for measures that have a level, such as P, AP and RR.  [default: 1]",
)
@FACETS
@run_options(required=True)
@leaderboard_options("official", official=False)
def command(
    *,
    source: Path,
    queries: Path | None,
    facets: Any,
    min_judgment: int | None,
    runs: tuple[Path, ...],
    measures: tuple[str, ...],
    method_name: Any,
    output: LeaderboardOutput,
) -> None:
    """Score run files by manual judgments.

    The argument is a passages file with judgments, or a qrels file. `--format official` writes the ranks of
    the systems as JSON, for `exam-pp analyze correlation --official`.

    Examples:

    \b
      exam-pp evaluate judgments qrels.txt --runs runs -m nDCG@10 -m RR
      exam-pp evaluate judgments qrels.txt --runs runs --format official -o ranks.json
    """
    from exam_pp.metrics.trec_measures import of_subtopics
    from exam_pp.phases.evaluation.inputs import loaded
    from exam_pp.phases.evaluation.judgments import (
        is_passages,
        judgment_provenance,
        judgments,
        pool_notes,
        subtopic_judgments,
    )
    from exam_pp.phases.evaluation.score_runs import score_runs
    from exam_pp.store.trec.runs import run_files

    if output.form == "official" and output.per_query:
        raise click.UsageError("--format official does not support --per-query.")
    is_file_of_passages = is_passages(source)
    judged = loaded(source) if is_file_of_passages else source
    evaluation = score_runs(
        subtopic_judgments(source, queries)
        if of_subtopics(measures) and not is_file_of_passages
        else judgments(judged, queries=queries, facets=facets),
        runs,
        measures or ("nDCG@10",),
        min_grade=min_judgment,
        method=method_name,
    )
    evaluation.notes += pool_notes(judged)
    evaluation.provenance = judgment_provenance(source, evaluation)
    output.write(evaluation, "Manual judgments", [source, queries, *run_files(runs)])
