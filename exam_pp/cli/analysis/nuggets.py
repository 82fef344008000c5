"""``exam-pp analyze nuggets``: agreement of two conditions of nugget evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.evaluation.nuggets import BANKS, CONDITIONS, RUN_TYPES, SCORING_RULES
from exam_pp.cli.options import (
    FIGURE_PATH,
    FILES,
    ONLY_QUERIES,
    emit_figure,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    output_option,
    plot_option,
    take,
)


@click.command("nuggets", cls=Command)
@click.argument("files", nargs=-1, required=True, type=FILES)
@BANKS
@ONLY_QUERIES
@CONDITIONS
@RUN_TYPES
@SCORING_RULES
@plot_option("V_strict of the first condition against the second")
@click.option(
    "--plot length",
    "plot_length",
    type=FIGURE_PATH,
    help="Also draw V_strict of the second condition against answer length, with the Pareto front (.svg).",
)
@filter_options
@format_option()
@output_option()
def command(
    *,
    files: tuple[Path, ...],
    banks: tuple[Path, ...],
    queries: Path | None,
    names: tuple[str, ...],
    run_types: Path | None,
    plot: Path | None,
    plot_length: Path | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Measure the agreement of two conditions of nugget evaluation: Kendall's τ for every metric.

    A condition is, for example, automatic or manual assignment. FILES are graded answers with their --bank:
    one file with two graders, or two files. They can also be scores: a file of `exam-pp evaluate nuggets`
    (jsonl, or TSV with --per-query), a folder with a metrics file of AutoNuggetizer for each run, or a table
    with a header.

    τ is computed over runs, over all pairs of query and run, and for each query, averaged; with --run-types
    also for the runs of each type, with their mean scores. A truncated run id (`...`) is matched with the
    full run id.

    Example:

    \b
      exam-pp analyze nuggets assigned.jsonl.gz assigned-2.jsonl.gz --bank nuggets.jsonl
    """
    from exam_pp.phases.analysis.nugget_conditions import compare_conditions, two_conditions
    from exam_pp.phases.evaluation.nugget_leaderboard import ScoringRules, read_conditions, score_files
    from exam_pp.reports.analysis.nugget_conditions import conditions_picture, length_picture, meta_report

    rules = ScoringRules(**take(criteria, "cutoff", "missing_queries", "role"))
    conditions = read_conditions(
        files, banks, names=names, grade_filter=grade_filter(**criteria), queries=queries, rules=rules
    )
    types: dict[str, str] = {}
    if run_types is not None:
        from exam_pp.store.trec.run_types import read_run_types

        types = read_run_types(run_types)
    agreement = compare_conditions(*two_conditions(conditions), types)
    inputs = [*(file for source in files for file in score_files(source)), *banks, queries, run_types]
    report = meta_report(agreement, decimals=6 if form == "tsv" else 3)
    if plot is not None:
        emit_figure([conditions_picture(agreement, types)], plot, inputs)
    if plot_length is not None:
        emit_figure([length_picture(agreement.second, types)], plot_length, inputs)
    emit_report(report, form, output, inputs)
