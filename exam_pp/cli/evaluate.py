"""``exam-pp evaluate``: scores, qrels and leaderboards."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

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
    from exam_pp.phases.evaluate import Evaluation
    from exam_pp.phases.uncertainty import Statistics

log = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., Any])

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


def _bank_options(function: F) -> F:
    for option in (
        click.option("--queries", type=_FILE, help="Only the queries of this file (JSON, JSONL or TSV)."),
        click.option("--bank", type=_FILE, help="Test bank: which entries and queries count."),
    ):
        function = option(function)
    return function


def _run_options(required: bool) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        for option in (
            click.option(
                "--run-name",
                type=click.Choice(["stem", "tag"]),
                default="stem",
                show_default=True,
                help="Name systems by their run file, or by the tag in it.",
            ),
            click.option(
                "-m",
                "--measure",
                "measures",
                multiple=True,
                help="Measure, by its name in ir-measures or trec_eval; repeatable. [default: nDCG@10]",
            ),
            click.option(
                "--runs",
                type=click.Path(path_type=Path),
                required=required,
                help="Folder of run files: make a leaderboard.",
            ),
        ):
            function = option(function)
        return function

    return decorate


_OFFICIAL = click.option(
    "--official", type=_FILE, help="Official ranks (JSON or TSV): a column of them, and correlations."
)
_PER_QUERY = click.option("--per-query", is_flag=True, help="One row for each system, query and measure.")


def _statistics_options(function: F) -> F:
    for option in (
        click.option("--seed", type=int, default=0, show_default=True, help="Seed of samples and tests."),
        click.option(
            "--samples",
            type=click.IntRange(min=100),
            default=2000,
            show_default=True,
            help="Number of bootstrap samples.",
        ),
        click.option(
            "--confidence",
            type=click.FloatRange(0.5, 1, max_open=True),
            default=0.95,
            show_default=True,
            help="Of intervals; tests use 1 minus it as α.",
        ),
        click.option(
            "--significance",
            is_flag=True,
            help="Letters: systems that share one do not differ (randomisation tests, Holm).",
        ),
        click.option(
            "--intervals",
            type=click.Choice(["queries", "nested"]),
            help="Intervals of scores and ranks, resampling queries, or queries and bank entries.",
        ),
    ):
        function = option(function)
    return function


def _statistics(
    *, intervals: Any, significance: bool, confidence: float, samples: int, seed: int
) -> Statistics:
    from exam_pp.phases.uncertainty import Statistics

    return Statistics(intervals, significance, confidence, samples, seed)


_STATISTICS = ("intervals", "significance", "confidence", "samples", "seed")


def _split(options: dict[str, Any]) -> tuple[Statistics, dict[str, Any]]:
    """The statistics that the options ask for, and the other options: those of the grade filter."""
    rest = {name: value for name, value in options.items() if name not in _STATISTICS}
    return _statistics(**{name: options[name] for name in _STATISTICS}), rest


@click.group("evaluate")
def command() -> None:
    """Scores, qrels and leaderboards from grades or judgments."""


@command.command("cover")
@GRADED
@_bank_options
@click.option(
    "--min-grade",
    type=int,
    help="Grade from which an entry is covered.  [default: 4; 1 for prompts without a scale]",
)
@click.option(
    "--cutoff", type=click.IntRange(min=1), default=20, show_default=True, help="How many ranks count."
)
@click.option(
    "--missing-queries",
    type=click.Choice(["zero", "skip"]),
    default="zero",
    show_default=True,
    help="A query that a system returned nothing for scores 0, or is skipped as published.",
)
@click.option("--soft", is_flag=True, help="Highest probability of reaching the grade, instead of yes or no.")
@_PER_QUERY
@_OFFICIAL
@_statistics_options
@plot_option("the first measure with its intervals")
@filter_options
@format_option("text", "tsv", "json", "md", "published")
@output_option()
def cover_command(
    *,
    graded: Path,
    bank: Path | None,
    queries: Path | None,
    min_grade: int | None,
    cutoff: int,
    missing_queries: Any,
    soft: bool,
    per_query: bool,
    official: Path | None,
    plot: Path | None,
    form: str,
    output: Path,
    **options: Any,
) -> None:
    """Rubric-Cover: the share of the bank that each system's first ranks cover.

    Systems are those whose rankings GRADED holds. `_overall_` is what all graded passages together
    cover, the upper bound; nCover is the share of that.
    """
    from exam_pp.phases import evaluate
    from exam_pp.phases.leaderboards import published_cover

    statistics, criteria = _split(options)
    if form == "published" and per_query:
        raise click.UsageError("--format published has no layout for --per-query.")
    evaluation = evaluate.cover(
        graded,
        bank=bank,
        grade_filter=grade_filter(**criteria),
        min_grade=min_grade,
        cutoff=cutoff,
        queries=queries,
        missing_queries=missing_queries,
        soft=soft,
    )
    inputs = [graded, bank, queries, official]
    if form == "published" and official is None:
        _log_notes(evaluation.notes)
        _plot(evaluation, plot, statistics, inputs)
        emit(published_cover(evaluation), output, inputs)
    else:
        _emit_leaderboard(
            evaluation,
            "Rubric-Cover",
            form=form,
            per_query=per_query,
            output=output,
            inputs=inputs,
            statistics=statistics,
            plot=plot,
            official=official,
        )


@command.command("qrels")
@GRADED
@_bank_options
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
@_run_options(required=False)
@click.option(
    "--rankings", is_flag=True, help="In place of --runs: a leaderboard of the rankings that GRADED holds."
)
@click.option(
    "--qrels", "qrels_output", type=click.Path(path_type=Path), help="With --runs: also write the qrels here."
)
@_PER_QUERY
@_OFFICIAL
@_statistics_options
@plot_option("the first measure with its intervals")
@filter_options
@format_option("text", "tsv", "json", "md", "published")
@output_option("Write the qrels (with --runs: the leaderboard) here instead of standard output.")
def qrels_command(
    *,
    graded: Path,
    bank: Path | None,
    queries: Path | None,
    label: Any,
    min_grade: int | None,
    runs: Path | None,
    rankings: bool,
    measures: tuple[str, ...],
    run_name: Any,
    qrels_output: Path | None,
    per_query: bool,
    official: Path | None,
    plot: Path | None,
    form: str,
    output: Path,
    **options: Any,
) -> None:
    """Rubric-Qrels: a relevance label for every graded passage, as a trec_eval qrels file.

    With --runs, the leaderboard of the run files under these qrels.
    """
    from exam_pp.phases import evaluate
    from exam_pp.store.trec import write_qrels

    statistics, criteria = _split(options)
    if runs is not None and rankings:
        raise click.UsageError("--rankings takes the place of --runs.")
    if runs is None and not rankings and (measures or qrels_output or per_query or plot or official):
        raise click.UsageError(
            "-m, --qrels, --official, --plot and --per-query go with --runs or --rankings."
        )
    if form == "published" and (per_query or not (runs or rankings)):
        raise click.UsageError(
            "--format published is the layout of a leaderboard: with --runs, not --per-query."
        )
    if qrels_output is not None and qrels_output == output:
        raise click.UsageError("--qrels and -o name the same file.")
    inputs = [path for path in (graded, bank, queries, official) if path is not None]
    labels = evaluate.qrels(
        graded,
        bank=bank,
        grade_filter=grade_filter(**criteria),
        label=label,
        min_grade=min_grade,
        queries=queries,
    )
    if runs is None and not rankings:
        _log_notes(labels.notes)
        write_qrels(labels.qrels, output, inputs=inputs)
        return
    from exam_pp.phases.score_runs import score_rankings, score_runs
    from exam_pp.store.trec import run_files

    # Counts and 0/1 labels have passed the threshold already; only grades are compared with it.
    level = min_grade if label == "max" else None
    names = measures or ("nDCG@10",)
    if runs is None:
        evaluation = score_rankings(labels.qrels, graded, names, min_grade=level)
    else:
        evaluation = score_runs(labels.qrels, runs, names, min_grade=level, method=run_name)
        inputs += run_files(runs)
    evaluation.notes[:0] = labels.notes
    if qrels_output is not None:
        write_qrels(labels.qrels, qrels_output, inputs=inputs)
    _emit_leaderboard(
        evaluation,
        f"Rubric-Qrels ({label})",
        form=form,
        per_query=per_query,
        output=output,
        inputs=inputs,
        statistics=statistics,
        plot=plot,
        official=official,
    )


@command.command("judgments")
@click.argument("source", metavar="GRADED|QRELS", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--queries", type=_FILE, help="Only the queries of this file (JSON, JSONL or TSV).")
@click.option("--min-grade", type=int, help="Relevance level of measures that have one.")
@_run_options(required=True)
@_PER_QUERY
@_statistics_options
@plot_option("the first measure with its intervals")
@format_option("text", "tsv", "json", "md", "official")
@output_option()
def judgments_command(
    *,
    source: Path,
    queries: Path | None,
    min_grade: int | None,
    runs: Path,
    measures: tuple[str, ...],
    run_name: Any,
    per_query: bool,
    plot: Path | None,
    form: str,
    output: Path,
    **options: Any,
) -> None:
    """The leaderboard that manual judgments give, of a passages file or a qrels file.

    `--format official` writes JSON of system and rank, as `analyze correlation --official` reads it.
    """
    from exam_pp.phases import evaluate
    from exam_pp.phases.leaderboards import official_json
    from exam_pp.phases.score_runs import score_runs
    from exam_pp.store.trec import run_files

    statistics, _ = _split(options)
    if form == "official" and per_query:
        raise click.UsageError("--format official has no layout for --per-query.")
    evaluation = score_runs(
        evaluate.judgments(source, queries=queries),
        runs,
        measures or ("nDCG@10",),
        min_grade=min_grade,
        method=run_name,
    )
    inputs = [source, queries, *run_files(runs)]
    if form == "official":
        _log_notes(evaluation.notes)
        _plot(evaluation, plot, statistics, inputs)
        emit(official_json(evaluation), output, inputs)
    else:
        _emit_leaderboard(
            evaluation,
            "Manual judgments",
            form=form,
            per_query=per_query,
            output=output,
            inputs=inputs,
            statistics=statistics,
            plot=plot,
        )


@command.command("report")
@GRADED
@click.option("--bank", type=_FILE, help="Test bank: which entries and queries count.")
@click.option("--runs", type=click.Path(path_type=Path), help="Folder of run files: Rubric-Qrels too.")
@click.option("--official", type=_FILE, help="Official ranks. [default: by the judgments, with --runs]")
@click.option("--qrels", type=_FILE, help="Manual judgments, in place of those in GRADED.")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    help="Measure on the runs; repeatable. [default: nDCG@10, RR]",
)
@click.option("--min-grade", type=int, help="Grade from which an entry is covered.")
@click.option(
    "--min-relevant-judgment",
    type=int,
    default=1,
    show_default=True,
    help="Judgment from which a passage is relevant (TREC DL: 2).",
)
@click.option(
    "--cutoff", type=click.IntRange(min=1), default=20, show_default=True, help="How many ranks count."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of samples and tests.")
@filter_options
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), required=True, help="The folder."
)
def report_command(
    *,
    graded: Path,
    bank: Path | None,
    runs: Path | None,
    official: Path | None,
    qrels: Path | None,
    measures: tuple[str, ...],
    min_grade: int | None,
    min_relevant_judgment: int,
    cutoff: int,
    seed: int,
    output: Path,
    **criteria: Any,
) -> None:
    """The whole evaluation in a folder: leaderboards, letters, correlation, agreement, figures.

    Start with its index.html. What GRADED, --runs and --official do not allow is left out.
    """
    from exam_pp.phases.evaluation_folder import Sources, write_evaluation
    from exam_pp.phases.uncertainty import Statistics

    sources = Sources(
        graded,
        bank,
        runs,
        official,
        qrels,
        grade_filter(**criteria),
        measures or ("nDCG@10", "RR"),
        min_grade,
        min_relevant_judgment,
        cutoff,
    )
    index = write_evaluation(sources, output, Statistics("nested", significance=True, seed=seed))
    log.info("Written: %s", index)


def _emit_leaderboard(
    evaluation: Evaluation,
    title: str,
    *,
    form: str,
    per_query: bool,
    output: Path,
    inputs: Sequence[Path | None],
    statistics: Statistics,
    plot: Path | None,
    official: Path | None = None,
) -> None:
    from exam_pp.phases.leaderboards import leaderboard_report, per_query_report
    from exam_pp.reports.render import render

    ranks: dict[str, float] = {}
    if official is not None:
        from exam_pp.store.leaderboards import read_ranks

        ranks = read_ranks(official)
    if form == "published":
        from exam_pp.phases.published import published_correlation

        _log_notes(evaluation.notes)
        _plot(evaluation, plot, statistics, inputs)
        emit(published_correlation(evaluation, ranks), output, inputs)
        return

    if form == "tsv":
        _log_notes(evaluation.notes)
    if per_query:
        report = per_query_report(evaluation, title)
    else:
        report = leaderboard_report(
            evaluation, title, for_people=form in ("text", "md"), statistics=statistics
        )
        if ranks:
            from exam_pp.phases.published import with_official_ranks

            report = with_official_ranks(report, evaluation, ranks)
    _plot(evaluation, plot, statistics, inputs)
    emit(render(report, form), output, inputs)


def _plot(
    evaluation: Evaluation, plot: Path | None, statistics: Statistics, inputs: Sequence[Path | None]
) -> None:
    if plot is not None:
        from exam_pp.phases.figures import leaderboard_figure, write_figure

        write_figure(leaderboard_figure(evaluation, statistics), plot, inputs)


def _log_notes(notes: list[str]) -> None:
    """Formats without room for notes leave them to standard error."""
    for note in notes:
        log.warning("%s", note)
