"""``exam-pp analyze sweep``: correlation of every setting with an official leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.leaderboard_options import BANK, OFFICIAL, SAMPLES, SEED, TOP, measures_option, runs_option
from exam_pp.cli.options import (
    CUTOFF,
    FILE,
    GRADED,
    METHOD_NAME,
    ONLY_QUERIES,
    emit,
    emit_figure,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    output_option,
    plot_option,
)


@click.command("sweep", cls=Command)
@GRADED
@click.option("--official", type=FILE, required=True, help=OFFICIAL)
@BANK
@click.option(
    "--by",
    type=click.Choice(["team"]),
    help="Also correlate Cover without the entries of each team that wrote some of the bank (RAGTIME 2026).",
)
@ONLY_QUERIES
@runs_option("for Rubric-Qrels")
@METHOD_NAME
@measures_option("nDCG@10")
@click.option(
    "--min-grade",
    "min_grades",
    type=int,
    multiple=True,
    help="Lowest grade that covers an entry; may be repeated.  [default: 1, 2, 3, 4 and 5]",
)
@CUTOFF
@TOP
@click.option(
    "--intervals",
    type=click.Choice(["queries", "systems"]),
    help="Add 95 % confidence intervals of every coefficient: for other queries, or for other systems.",
)
@SAMPLES
@SEED
@filter_options
@format_option("published")
@output_option()
@plot_option("Kendall's τ over the thresholds")
def command(
    *,
    graded: Path,
    official: Path,
    bank: Path | None,
    by: str | None,
    queries: Path | None,
    runs: tuple[Path, ...],
    method_name: Any,
    measures: tuple[str, ...],
    min_grades: tuple[int, ...],
    cutoff: int | None,
    top_systems: int,
    intervals: Any,
    samples: int,
    seed: int,
    plot: Path | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Correlate the leaderboards of all prompts, thresholds and measures with an official leaderboard.

    The command evaluates all models and prompts in GRADED, unless --grader or --prompt selects.
    `--format published` writes the layout of the published `*.correlation.tsv` files.

    Example:

    \b
      exam-pp analyze sweep two-models.jsonl.gz --official official.json --runs runs
    """
    if by is not None and bank is None:
        raise click.UsageError("--by team needs --bank.")
    if not runs:
        refuse_without("--runs", "method_name", "measures")
    if intervals is None:
        refuse_without("--intervals", "samples", "seed")
    elif form == "published":
        raise click.UsageError("--intervals is not available with --format published.")
    from exam_pp.phases.analysis.sweep import DEFAULT_MIN_GRADES, sweep
    from exam_pp.reports.analysis.correlation import sweep_picture, sweep_report
    from exam_pp.reports.analysis.legacy_tsv import published_sweep
    from exam_pp.store.trec.runs import run_files

    result = sweep(
        graded,
        official,
        runs=runs or None,
        bank=bank,
        by_team=by is not None,
        grade_filter=grade_filter(**criteria),
        queries=queries,
        measures=measures or ("nDCG@10",),
        min_grades=min_grades or DEFAULT_MIN_GRADES,
        cutoff=cutoff,
        top=top_systems,
        method=method_name,
        intervals=intervals,
        samples=samples,
        seed=seed,
    )
    inputs = [graded, official, bank, queries, *run_files(runs)]
    if plot is not None:
        emit_figure([sweep_picture(result)], plot, inputs)
    if form == "published":
        emit(published_sweep(result), output, inputs)
    else:
        report = sweep_report(result, decimals=6 if form == "tsv" else 3)
        emit_report(report, form, output, inputs)
