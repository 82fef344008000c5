"""``exam-pp analyze``: compare leaderboards."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.options import (
    GRADED,
    emit,
    filter_options,
    format_option,
    grade_filter,
    output_option,
    plot_option,
)

if TYPE_CHECKING:
    from exam_pp.reports.document import Report

log = logging.getLogger(__name__)

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group("analyze")
def command() -> None:
    """Compare leaderboards."""


@command.command("correlation")
@click.argument("leaderboard", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--official",
    type=click.Path(path_type=Path),
    required=True,
    help="Official ranks (JSON or TSV), or another leaderboard of scores.",
)
@click.option(
    "--top", type=click.IntRange(min=1), default=5, show_default=True, help="k of the top-k overlap."
)
@click.option(
    "--intervals",
    type=click.Choice(["queries", "systems"]),
    help="95 % intervals, resampling queries (LEADERBOARD written with --per-query) or systems.",
)
@click.option(
    "--samples", type=click.IntRange(min=100), default=2000, show_default=True, help="Bootstrap samples."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the samples.")
@click.option(
    "--per-query",
    is_flag=True,
    help="One row for every query too; both files were written with --per-query.",
)
@plot_option("the first measure against the official ranks")
@format_option()
@output_option()
def correlation_command(
    *,
    leaderboard: Path,
    official: Path,
    top: int,
    intervals: Any,
    samples: int,
    seed: int,
    per_query: bool,
    plot: Path | None,
    form: str,
    output: Path,
) -> None:
    """How well LEADERBOARD agrees with an official one: one row for every measure.

    LEADERBOARD is what `exam-pp evaluate ... --format tsv` (or json) wrote, or any table with a header
    whose first column names the systems.
    """
    from exam_pp.phases.analyze import correlation, query_correlation

    if per_query and intervals is not None:
        raise click.UsageError("--per-query has no --intervals: a query is a single observation.")
    decimals = 6 if form == "tsv" else 3
    if per_query:
        report = query_correlation(leaderboard, official, top=top, decimals=decimals)
    else:
        report = correlation(
            leaderboard,
            official,
            top=top,
            decimals=decimals,
            intervals=intervals,
            samples=samples,
            seed=seed,
        )
    if plot is not None:
        from exam_pp.phases.analyze import boards
        from exam_pp.phases.figures import rank_figure, write_figure

        scores, ranks = boards(leaderboard, official)
        measure = next(iter(scores))
        write_figure(rank_figure(scores[measure], ranks, measure), plot, [leaderboard, official])
    _emit(report, form, output, [leaderboard, official])


@command.command("sweep")
@GRADED
@click.option("--official", type=_FILE, required=True, help="Official ranks (JSON or TSV).")
@click.option("--bank", type=_FILE, help="Test bank: which entries and queries count.")
@click.option("--runs", type=click.Path(path_type=Path), help="Folder of run files: Rubric-Qrels too.")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    help="Measure on the runs, by its name in ir-measures or trec_eval; repeatable. [default: nDCG@10]",
)
@click.option(
    "--min-grade", "min_grades", type=int, multiple=True, help="Threshold; repeatable. [default: 1 to 5]"
)
@click.option(
    "--cutoff", type=click.IntRange(min=1), default=20, show_default=True, help="Ranks that Cover counts."
)
@filter_options
@format_option("text", "tsv", "json", "md", "published")
@output_option()
@plot_option("Kendall's tau-b over thresholds")
def sweep_command(
    *,
    graded: Path,
    official: Path,
    bank: Path | None,
    runs: Path | None,
    measures: tuple[str, ...],
    min_grades: tuple[int, ...],
    cutoff: int,
    plot: Path | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """How well every setting agrees with the official leaderboard: prompts × thresholds × measures.

    Every prompt class that GRADED holds is tried, unless the filter names one. `--format published` is
    the layout of the published `*.correlation.tsv` files.
    """
    from exam_pp.phases.sweep import DEFAULT_MIN_GRADES, published_sweep, sweep, sweep_report

    settings = sweep(
        graded,
        official,
        runs=runs,
        bank=bank,
        grade_filter=grade_filter(**criteria),
        measures=measures or ("nDCG@10",),
        min_grades=min_grades or DEFAULT_MIN_GRADES,
        cutoff=cutoff,
    )
    inputs = [graded, official, bank]
    if plot is not None:
        from exam_pp.phases.figures import sweep_figure, write_figure

        write_figure(sweep_figure(settings), plot, inputs)
    if form == "published":
        emit(published_sweep(settings, official), output, inputs)
    else:
        report = sweep_report(settings, official, decimals=6 if form == "tsv" else 3)
        _emit(report, form, output, inputs)


@command.command("agreement")
@GRADED
@click.option("--qrels", type=_FILE, help="Judgments, in place of those in GRADED.")
@click.option("--bank", type=_FILE, help="Test bank: which entries count.")
@click.option(
    "--min-relevant-judgment",
    type=int,
    default=1,
    show_default=True,
    help="Judgment from which a passage is relevant (TREC DL: 2).",
)
@click.option(
    "--min-answers",
    multiple=True,
    type=click.IntRange(min=1),
    help="Label by the k-th best rating; repeatable. [default: 1]",
)
@click.option(
    "--label-rule", help="Label by a rule in place of the k-th best, such as '2nd>=5:3, 2nd>=4:1, else 0'."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the intervals.")
@filter_options
@format_option("text", "tsv", "json", "md", "latex")
@output_option()
def agreement_command(
    *,
    graded: Path,
    qrels: Path | None,
    bank: Path | None,
    min_relevant_judgment: int,
    min_answers: tuple[int, ...],
    label_rule: str | None,
    seed: int,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """How labels from grades agree with the judgments of people: tables of counts and Cohen's κ.

    For ratings, the published tables: every grade (GRADED), merged grades (MERGE), relevant from grade 1
    (LENIENT) and from grade 4 (STRICT, as in the workbench paper's Table 5).
    """
    from exam_pp.metrics.labels import LabelRule
    from exam_pp.phases.agreement import agreement, rated_passages

    if label_rule is not None and min_answers:
        raise click.UsageError("--label-rule replaces --min-answers.")
    rule = None if label_rule is None else LabelRule.parse(label_rule)
    passages = rated_passages(graded, qrels=qrels, bank=bank, grade_filter=grade_filter(**criteria))
    report = agreement(
        passages, min_relevant=min_relevant_judgment, min_answers=min_answers or (1,), rule=rule, seed=seed
    )
    _emit(report, form, output, [graded, qrels, bank])


@command.command("graders")
@GRADED
@click.option("--bank", type=_FILE, help="Test bank: which entries count.")
@click.option(
    "--label-rule",
    help="Label by a rule in place of the best rating, such as '2nd>=5:3, 2nd>=4:1, else 0'.",
)
@filter_options
@format_option("text", "tsv", "json", "md", "latex")
@output_option()
@plot_option("weighted κ of every two graders")
def graders_command(
    *,
    graded: Path,
    bank: Path | None,
    label_rule: str | None,
    plot: Path | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """How several graders in one file agree with each other, and with the judgments.

    A grader is a model with a prompt class. Rows are pairs of graders with Cohen's κ, weighted κ and
    Krippendorff's α; a second table has α over all of them.
    """
    from exam_pp.metrics.labels import LabelRule
    from exam_pp.phases.agreement import graders

    rule = None if label_rule is None else LabelRule.parse(label_rule)
    report = graders(graded, bank=bank, grade_filter=grade_filter(**criteria), labelling=rule)
    if plot is not None:
        from exam_pp.phases.figures import graders_figure, write_figure

        write_figure(graders_figure(report), plot, [graded, bank])
    _emit(report, form, output, [graded, bank])


def _emit(report: Report, form: str, output: Path, inputs: list[Path | None]) -> None:
    """Write a report; notes that the format has no room for go to standard error."""
    from exam_pp.reports.document import Paragraph
    from exam_pp.reports.render import render

    if form == "tsv":
        for block in report.blocks:
            if isinstance(block, Paragraph):
                log.warning("%s", block.text)
    emit(render(report, form), output, inputs)
