"""``exam-pp analyze sweep``: the agreement of every setting with an official leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.leaderboard_options import BANK, QUERIES, SAMPLES, SEED, TOP, measures_option
from exam_pp.cli.options import (
    CUTOFF,
    FILE,
    FILES,
    GRADED,
    emit,
    emit_figure,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    output_option,
    plot_option,
)


@click.command("sweep")
@GRADED
@click.option(
    "--official", type=FILE, required=True, help="Official ranks (JSON or TSV), or a leaderboard of scores."
)
@BANK
@QUERIES
@click.option("--runs", type=FILES, help="Folder of run files: Rubric-Qrels too.")
@measures_option("nDCG@10")
@click.option(
    "--min-grade", "min_grades", type=int, multiple=True, help="Threshold; may be repeated. [default: 1 to 5]"
)
@CUTOFF
@TOP
@click.option(
    "--intervals",
    type=click.Choice(["queries", "systems"]),
    help="95 % intervals of every figure, resampling queries or systems.",
)
@SAMPLES
@SEED
@filter_options
@format_option("published")
@output_option()
@plot_option("Kendall's tau-b over thresholds")
def command(
    *,
    graded: Path,
    official: Path,
    bank: Path | None,
    queries: Path | None,
    runs: Path | None,
    measures: tuple[str, ...],
    min_grades: tuple[int, ...],
    cutoff: int,
    top: int,
    intervals: Any,
    samples: int,
    seed: int,
    plot: Path | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """How well every setting agrees with the official leaderboard: prompts × thresholds × measures.

    Every prompt class that GRADED holds is tried, unless the filter names one. `--format published` is
    the layout of the published `*.correlation.tsv` files.
    """
    from exam_pp.phases.analysis.sweep import DEFAULT_MIN_GRADES, sweep
    from exam_pp.reports.analysis.legacy_tsv import published_sweep
    from exam_pp.reports.analysis.sweep import sweep_figure, sweep_report

    found = sweep(
        graded,
        official,
        runs=runs,
        bank=bank,
        grade_filter=grade_filter(**criteria),
        queries=queries,
        measures=measures or ("nDCG@10",),
        min_grades=min_grades or DEFAULT_MIN_GRADES,
        cutoff=cutoff,
        top=top,
        intervals=intervals,
        samples=samples,
        seed=seed,
    )
    inputs = [graded, official, bank, queries]
    if plot is not None:
        emit_figure(sweep_figure(found), plot, inputs)
    if form == "published":
        emit(published_sweep(found), output, inputs)
    else:
        report = sweep_report(found, decimals=6 if form == "tsv" else 3)
        emit_report(report, form, output, inputs)
