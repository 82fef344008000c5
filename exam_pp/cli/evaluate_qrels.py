"""``exam-pp evaluate qrels``: relevance labels from grades, and leaderboards of runs by them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.leaderboard_options import (
    BANK,
    FILE,
    QUERIES,
    LeaderboardOutput,
    leaderboard_options,
    run_options,
)
from exam_pp.cli.options import GRADED, filter_options, grade_filter, log_notes


@click.command("qrels")
@GRADED
@BANK
@QUERIES
@click.option(
    "--label",
    type=click.Choice(["max", "count", "binary"]),
    default="max",
    show_default=True,
    help="Highest grade; number of entries graded at least --min-grade; or whether there is one.",
)
@click.option(
    "--min-grade",
    type=int,
    help="Threshold of count and binary [default: 4; 1 for prompts without a scale]; for max, the "
    "relevance level of measures that have one.",
)
@run_options(required=False)
@click.option(
    "--rankings", is_flag=True, help="In place of --runs: a leaderboard of the rankings that GRADED holds."
)
@click.option(
    "--qrels", "qrels_output", type=click.Path(path_type=Path), help="With --runs: also write the qrels here."
)
@click.option(
    "--fill-holes",
    type=FILE,
    help="Qrels of people: their lines stay, and passages that they did not judge get labels from grades.",
)
@leaderboard_options(
    "published",
    output_help="Write the qrels (with --runs: the leaderboard) here instead of standard output.",
)
@filter_options
def command(
    *,
    graded: Path,
    bank: Path | None,
    queries: Path | None,
    label: Any,
    min_grade: int | None,
    runs: Path | None,
    rankings: bool,
    measures: tuple[str, ...],
    method_name: Any,
    qrels_output: Path | None,
    fill_holes: Path | None,
    board: LeaderboardOutput,
    **criteria: Any,
) -> None:
    """Rubric-Qrels: a relevance label for every graded passage, as a trec_eval qrels file.

    With --runs, the leaderboard of the run files under these qrels.
    """
    from exam_pp.phases import evaluate
    from exam_pp.store.trec import write_qrels

    _check_usage(board, scored=runs is not None or rankings, measures=measures, qrels_output=qrels_output)
    if runs is not None and rankings:
        raise click.UsageError("--rankings takes the place of --runs.")
    inputs = [path for path in (graded, bank, queries) if path is not None]
    labels = evaluate.qrels(
        graded,
        bank=bank,
        grade_filter=grade_filter(**criteria),
        label=label,
        min_grade=min_grade,
        queries=queries,
    )
    qrels, write = labels.qrels, partial(write_qrels, labels.qrels)
    if fill_holes is not None:
        from exam_pp.phases import fill_holes as filling

        filled = filling.fill_holes(fill_holes, labels.qrels)
        labels.notes += filled.notes
        inputs.append(fill_holes)
        qrels, write = filled.qrels, partial(filling.write_filled, filled)
    if runs is None and not rankings:
        log_notes(labels.notes)
        write(board.output, inputs=inputs)
        return
    from exam_pp.phases.score_runs import score_rankings, score_runs
    from exam_pp.store.trec import run_files

    # Counts and 0/1 labels have passed the threshold already; only grades are compared with it.
    level = min_grade if label == "max" else None
    names = measures or ("nDCG@10",)
    if runs is None:
        evaluation = score_rankings(qrels, graded, names, min_grade=level)
    else:
        evaluation = score_runs(qrels, runs, names, min_grade=level, method=method_name)
        inputs += run_files(runs)
    evaluation.notes[:0] = labels.notes
    if qrels_output is not None:
        write(qrels_output, inputs=inputs)
    board.write(evaluation, f"Rubric-Qrels ({label})", inputs)


def _check_usage(
    board: LeaderboardOutput, *, scored: bool, measures: tuple[str, ...], qrels_output: Path | None
) -> None:
    """Options that only a leaderboard has a use for, and two outputs in one file."""
    if not scored and (measures or qrels_output or board.per_query or board.plot or board.official):
        raise click.UsageError(
            "-m, --qrels, --official, --plot and --per-query go with --runs or --rankings."
        )
    if board.form == "published" and (board.per_query or not scored):
        raise click.UsageError(
            "--format published is the layout of a leaderboard: with --runs, not --per-query."
        )
    if qrels_output is not None and qrels_output == board.output:
        raise click.UsageError("--qrels and -o name the same file.")
