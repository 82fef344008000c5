"""``exam-pp evaluate rubric``, also called ``evaluate nuggets``: scores of answers from graded entries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import (
    MEASURE_FILE,
    LeaderboardOutput,
    leaderboard_options,
    missing_queries_option,
)
from exam_pp.cli.options import (
    FIGURE_PATH,
    FILE,
    FILES,
    ONLY_QUERIES,
    ROLE,
    SCRIPT_FORMATS,
    emit,
    emit_figure,
    emit_report,
    filter_options,
    grade_filter,
    log_notes,
    take,
    together,
)
from exam_pp.cli.ranges import IntRange
from exam_pp.metrics.measures import MEASURES
from exam_pp.reports.evaluation.short_names import with_short_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exam_pp.phases.evaluation.nugget_leaderboard import Condition

BANKS = click.option(
    "--bank",
    "banks",
    type=FILE,
    multiple=True,
    help="Test bank of the nuggets; use once for all files, or once for each file in order.",
)
CONDITIONS = click.option(
    "--name",
    "names",
    multiple=True,
    metavar="NAME",
    help="Name of a condition; use once for each condition in order.  [default: name of the grader or file]",
)
RUN_TYPES = click.option(
    "--run-types", type=FILE, help="Type of each run, such as AG or RAG, to show it (TSV `run<TAB>type`)."
)
SCORING_RULES = together(
    click.option(
        "--cutoff",
        type=IntRange(min=1),
        help="Depth to which the rankings are evaluated, for retrieved passages.  [default: all ranks]",
    ),
    missing_queries_option("an answer"),
    ROLE,
)
"""The fields of ``ScoringRules``."""


@click.command("rubric", cls=Command)
@click.argument("graded", nargs=-1, required=True, type=FILES)
@BANKS
@ONLY_QUERIES
@CONDITIONS
@click.option(
    "-m",
    "--measure",
    "measures",
    type=click.Choice(list(MEASURES)),
    multiple=True,
    metavar="NAME",
    help="Measure of `exam-pp list measures`; may be repeated, and the first sorts.  [default: V, W and A]",
)
@MEASURE_FILE
@click.option("--system", "systems", multiple=True, metavar="NAME", help="Only this system; may be repeated.")
@RUN_TYPES
@click.option(
    "--plot length",
    "plot_length",
    type=FIGURE_PATH,
    help="Also draw V_strict against answer length, with the Pareto front (.svg).",
)
@SCORING_RULES
@click.option(
    "--canaries",
    is_flag=True,
    help="With the systems that `exam-pp canaries` added, and in tables with two artificial runs: one "
    "supports every nugget (_all_nuggets_), one has empty answers (_empty_answers_).",
)
@leaderboard_options("jsonl", "nuggetizer", official=False)
@filter_options
def command(
    *,
    graded: tuple[Path, ...],
    banks: tuple[Path, ...],
    queries: Path | None,
    names: tuple[str, ...],
    measures: tuple[str, ...],
    measure_file: Path | None,
    systems: tuple[str, ...],
    run_types: Path | None,
    plot_length: Path | None,
    output: LeaderboardOutput,
    **criteria: Any,
) -> None:
    """Score answers by their nuggets: V, W and A, strict and lenient, and the length L.

    V is the share of vital nuggets that the answer supports, and A that of all nuggets. W counts vital
    nuggets fully and okay nuggets half. Partial support scores 0 in V_strict, W_strict and A_strict, and 0.5
    in V, W and A. L is the number of words. Means are over the queries of the bank. Below the runs, Min,
    Median and Max are over the runs of each query, averaged over the queries.

    GRADED holds answers with nugget assignments. Every grader of a file is a condition. Further files, also
    score files and folders of score files, are further conditions of the same table.

    `--format jsonl` writes rows of system, query_id, metric and value. `--format nuggetizer` writes the
    metrics file of AutoNuggetizer for a single run. `evaluate nuggets` is another name of this command.

    Examples:

    \b
      exam-pp evaluate nuggets assigned.jsonl.gz --bank nuggets.jsonl
      exam-pp evaluate nuggets assigned.jsonl.gz assigned-2.jsonl.gz --bank nuggets.jsonl \\
        --name lexical --name random
    """
    from exam_pp.phases.evaluation.nugget_leaderboard import (
        ScoringRules,
        nugget_leaderboard,
        read_conditions,
        score_files,
    )
    from exam_pp.phases.evaluation.own_measures import read_measures
    from exam_pp.reports.evaluation.leaderboards import below_verdict, scores_by_query, verdict_first

    rules = ScoringRules(**take(criteria, "cutoff", "missing_queries", "role", "canaries"))
    conditions = read_conditions(
        graded,
        banks,
        names=names,
        grade_filter=grade_filter(**criteria),
        queries=queries,
        runs=systems,
        rules=rules,
        measures=[*measures, *read_measures(measure_file)],
    )
    inputs = [
        *(file for source in graded for file in score_files(source)),
        *banks,
        queries,
        run_types,
        measure_file,
    ]
    _draw(conditions, output, plot_length, run_types, inputs)
    if output.form in ("jsonl", "nuggetizer", "trec_eval"):
        _write_rows(conditions, output, inputs)
    elif output.per_query:
        condition = _single_condition(conditions, "--per-query")
        report = scores_by_query(condition.evaluation, condition.title, output.written)
        emit_report(report, output.form, output.path, inputs)
    else:
        from exam_pp.reports.evaluation.nugget_leaderboard import nugget_report

        formatted = output.form not in SCRIPT_FORMATS
        leaderboard = nugget_leaderboard(
            conditions,
            run_types=run_types,
            statistics=output.written.statistics_of(conditions[0].evaluation),
            every_metric=not formatted,
            sanity=rules.canaries,
        )
        report = nugget_report(leaderboard, formatted=formatted, narrow=output.form == "text")
        if len(conditions) == 1:
            standings = leaderboard.conditions[0][1]
            first = verdict_first(standings, output.written)
            report = below_verdict(first, report, standings, output.written)
        emit_report(report, output.form, output.path, inputs)


def _single_condition(conditions: Sequence[Condition], option: str) -> Condition:
    if len(conditions) > 1:
        names = with_short_names(", ".join(condition.name for condition in conditions))
        raise click.UsageError(
            f"{option} needs a single condition, but there are {len(conditions)} ({names}); use one file, "
            "and select a grader with --grader or --prompt."
        )
    return conditions[0]


def _write_rows(
    conditions: Sequence[Condition], output: LeaderboardOutput, inputs: list[Path | None]
) -> None:
    from exam_pp.metrics.leaderboard import with_means
    from exam_pp.reports.evaluation.leaderboards import marked, text_of
    from exam_pp.store.trec.scores import write_score_rows

    condition = _single_condition(conditions, f"--format {output.form}")
    systems = condition.evaluation.systems
    if output.form == "nuggetizer" and len(systems) > 1:
        raise click.UsageError(
            f"--format nuggetizer needs a single run, but there are {len(systems)}; use --system."
        )
    if output.form == "jsonl":
        rows = with_means(marked(condition.evaluation).scores)
        write_score_rows(rows, output.path, inputs=[path for path in inputs if path is not None])
    else:
        emit(text_of(condition.evaluation, output.written), output.path, inputs)
    log_notes(condition.evaluation.notes)


def _draw(
    conditions: Sequence[Condition],
    output: LeaderboardOutput,
    plot_length: Path | None,
    run_types: Path | None,
    inputs: list[Path | None],
) -> None:
    """Draw the figures of --plot and --plot length for the first condition."""
    from exam_pp.reports.evaluation.leaderboards import plotted

    first = conditions[0].evaluation.of_metrics(*conditions[0].metrics[:1])
    output.draw(plotted(first, output.written), inputs)
    if plot_length is not None:
        from exam_pp.reports.analysis.nugget_conditions import length_picture
        from exam_pp.store.trec.ranks import read_run_types

        types = read_run_types(run_types) if run_types is not None else {}
        emit_figure([length_picture(conditions[0], types)], plot_length, inputs)
