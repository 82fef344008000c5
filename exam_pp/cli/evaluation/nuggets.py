"""``exam-pp evaluate nuggets``: the nugget scores of answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.leaderboard_options import QUERIES, LeaderboardOutput, leaderboard_options
from exam_pp.cli.options import (
    FILE,
    FILES,
    OUTPUT_PATH,
    SCRIPT_FORMATS,
    emit,
    emit_figure,
    emit_report,
    filter_options,
    grade_filter,
    log_notes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exam_pp.phases.evaluation.nugget_leaderboard import Condition

BANKS = click.option(
    "--bank", "banks", type=FILE, multiple=True, help="Nuggets; one bank, or one for each file, in order."
)
CONDITIONS = click.option(
    "--condition",
    "names",
    multiple=True,
    help="What a condition is called; for each grader and file, in order. [default: grader or file]",
)
RUN_TYPES = click.option(
    "--run-types", type=FILE, help="Type of every run, such as AG or RAG: TSV `run<TAB>type`."
)


@click.command("nuggets")
@click.argument("graded", nargs=-1, required=True, type=FILES)
@BANKS
@QUERIES
@CONDITIONS
@click.option("--system", "systems", multiple=True, help="Only this system; may be repeated.")
@RUN_TYPES
@click.option(
    "--plot-length",
    type=OUTPUT_PATH,
    help="Also draw V_strict against answer length, with the Pareto front (.png or .svg).",
)
@leaderboard_options("jsonl", "nuggetizer", official=False)
@filter_options
def command(
    *,
    graded: tuple[Path, ...],
    banks: tuple[Path, ...],
    queries: Path | None,
    names: tuple[str, ...],
    systems: tuple[str, ...],
    run_types: Path | None,
    plot_length: Path | None,
    board: LeaderboardOutput,
    **criteria: Any,
) -> None:
    """Nugget scores of answers: V, W and A, strict and not, and the length L.

    Systems are those whose answers in GRADED have nugget assignments. Means are over the queries of the
    bank; without an answer a system scores 0. Several graders (a model and a person, say) and several
    files, also files of scores or folders of them, are conditions side by side.

    `--format jsonl` writes rows of system, query_id, metric and value; `--format nuggetizer` the metrics
    file of AutoNuggetizer, of a single run.
    """
    from exam_pp.phases.evaluation.nugget_leaderboard import (
        nugget_leaderboard,
        read_conditions,
        score_files,
    )

    if board.intervals == "nested":
        raise click.UsageError("Nugget scores have --intervals queries alone.")
    conditions = read_conditions(
        graded, banks, names=names, grade_filter=grade_filter(**criteria), queries=queries, runs=systems
    )
    inputs = [*(file for source in graded for file in score_files(source)), *banks, queries, run_types]
    _draw(conditions, board, plot_length, run_types, inputs)
    if board.form in ("jsonl", "nuggetizer", "trec_eval"):
        _write_rows(conditions, board, inputs)
    elif board.per_query:
        from exam_pp.reports.evaluation.leaderboards import per_query_report

        only = _only(conditions, "--per-query")
        emit_report(per_query_report(only.evaluation, "Nugget scores"), board.form, board.output, inputs)
    else:
        from exam_pp.reports.evaluation.nugget_leaderboard import nugget_report

        formatted = board.form not in SCRIPT_FORMATS
        found = nugget_leaderboard(
            conditions, run_types=run_types, statistics=board.statistics, every_metric=not formatted
        )
        report = nugget_report(found, formatted=formatted, narrow=board.form == "text")
        emit_report(report, board.form, board.output, inputs)


def _only(conditions: Sequence[Condition], what: str) -> Condition:
    if len(conditions) > 1:
        held = ", ".join(condition.name for condition in conditions)
        raise click.UsageError(
            f"{what} is for one condition, not {len(conditions)} ({held}): name one file, and choose a "
            "grader with --model or --prompt-class."
        )
    return conditions[0]


def _write_rows(conditions: Sequence[Condition], board: LeaderboardOutput, inputs: list[Path | None]) -> None:
    from exam_pp.phases.evaluation.nugget_leaderboard import metrics_lines, rows_with_means
    from exam_pp.store.trec.score_rows import write_score_rows

    condition = _only(conditions, f"--format {board.form}")
    if board.form == "trec_eval":
        from exam_pp.reports.evaluation.score_layouts import trec_eval_text

        emit(trec_eval_text(condition.evaluation, per_query=board.per_query), board.output, inputs)
    elif board.form == "nuggetizer":
        systems = condition.evaluation.systems
        if len(systems) > 1:
            raise click.UsageError(
                f"--format nuggetizer holds one run, not {len(systems)}: choose it with --system."
            )
        emit(metrics_lines(condition), board.output, inputs)
    else:
        rows = rows_with_means(condition.evaluation)
        write_score_rows(rows, board.output, inputs=[path for path in inputs if path is not None])
    log_notes(condition.evaluation.notes)


def _draw(
    conditions: Sequence[Condition],
    board: LeaderboardOutput,
    plot_length: Path | None,
    run_types: Path | None,
    inputs: list[Path | None],
) -> None:
    """The figures that were asked for, of the first condition."""
    board.draw(conditions[0].primary, inputs)
    if plot_length is not None:
        from exam_pp.reports.analysis.nugget_conditions import length_figure
        from exam_pp.store.trec.run_types import read_run_types

        types = read_run_types(run_types) if run_types is not None else {}
        emit_figure(length_figure(conditions[0], types), plot_length, inputs)
