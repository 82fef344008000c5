"""What the leaderboard commands share: options of runs and banks, and how a leaderboard is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from exam_pp.cli.options import (
    FILE,
    FILES,
    METHOD_NAME,
    OUTPUT_PATH,
    QUERIES_FILE,
    SCRIPT_FORMATS,
    emit,
    emit_figure,
    emit_report,
    format_option,
    log_notes,
    output_option,
    plot_option,
    together,
)
from exam_pp.cli.ranges import NumberRange

if TYPE_CHECKING:
    from exam_pp.phases.evaluation.result import Evaluation
    from exam_pp.phases.evaluation.uncertainty import Statistics

F = TypeVar("F", bound=Callable[..., Any])

BANK = click.option("--bank", type=FILE, help="Test bank: which entries and queries count.")
QUERIES = click.option(
    "--queries", type=QUERIES_FILE, help="Only the queries of this file (JSON, JSONL or TSV)."
)
SAMPLES = click.option(
    "--samples",
    type=click.IntRange(min=100),
    default=2000,
    show_default=True,
    help="Number of bootstrap samples.",
)
TOP = click.option(
    "--top", type=click.IntRange(min=1), default=5, show_default=True, help="k of the top-k overlap."
)
FACETS = click.option(
    "--facets",
    type=click.Choice(["title", "facet"]),
    default="title",
    show_default=True,
    help="Queries are the queries themselves, or each of their facets (query/facet).",
)
PLOT_LENGTH = click.option(
    "--plot-length",
    type=OUTPUT_PATH,
    help="Also draw the first measure against response length, with the Pareto front (.png or .svg).",
)
SEED = click.option("--seed", type=int, default=0, show_default=True, help="Seed of samples and tests.")


def measures_option(default: str) -> Callable[[F], F]:
    """``-m``, repeatable; the command receives ``measures``."""
    return click.option(
        "-m",
        "--measure",
        "measures",
        multiple=True,
        help=f"Measure, by its name in ir-measures or trec_eval; may be repeated. [default: {default}]",
    )


def run_options(*, required: bool) -> Callable[[F], F]:
    """``--runs``, ``-m`` and ``--method-name``."""
    return together(
        click.option(
            "--runs", type=FILES, required=required, help="Folder of run files: make a leaderboard."
        ),
        measures_option("nDCG@10"),
        METHOD_NAME,
    )


@dataclass(frozen=True)
class LeaderboardOutput:
    """How a leaderboard is to be written, as the options of :func:`leaderboard_options` say."""

    form: str
    output: Path
    per_query: bool
    plot: Path | None
    intervals: Any
    significance: bool
    confidence: float
    samples: int
    seed: int
    official: Path | None = None

    @property
    def statistics(self) -> Statistics:
        """The statistics that the options ask for."""
        from exam_pp.phases.evaluation.uncertainty import Statistics

        return Statistics(self.intervals, self.significance, self.confidence, self.samples, self.seed)

    def check_usage(self) -> None:
        """Raise :class:`click.UsageError` for options that the format has no place for."""
        if self.official is not None and (self.per_query or self.form == "trec_eval"):
            raise click.UsageError("--official goes with neither --per-query nor --format trec_eval.")
        from exam_pp.rendering.render import RENDERERS

        if self.per_query or self.form not in RENDERERS:
            what = "--per-query" if self.per_query else f"--format {self.form}"
            if self.significance:
                raise click.UsageError(f"{what} has no place for --significance.")
            if self.intervals and self.plot is None:
                raise click.UsageError(f"{what} has no place for --intervals, which only --plot shows then.")

    def write(self, evaluation: Evaluation, title: str, inputs: Iterable[Path | None]) -> None:
        """The leaderboard in the chosen format, and its figure."""
        from exam_pp.phases.evaluation.leaderboards import leaderboard
        from exam_pp.reports.evaluation.leaderboards import leaderboard_report, per_query_report

        if self.form == "trec_eval":
            from exam_pp.reports.evaluation.score_layouts import trec_eval_text

            self.write_text(trec_eval_text(evaluation, per_query=self.per_query), evaluation, inputs)
            return
        if self.form == "published":
            self._write_published(evaluation, inputs)
            return
        if self.per_query:
            report = per_query_report(evaluation, title)
        else:
            extra = None
            if self.official is not None:
                from exam_pp.phases.analysis.official_ranks import ranked
                from exam_pp.reports.analysis.official_ranks import rank_column

                extra = rank_column(ranked(evaluation, self.official))
            board = leaderboard(evaluation, self.statistics)
            report = leaderboard_report(board, title, formatted=self.form not in SCRIPT_FORMATS, extra=extra)
        sources = [*inputs, self.official]
        self.draw(evaluation, sources)
        emit_report(report, self.form, self.output, sources)

    def _write_published(self, evaluation: Evaluation, inputs: Iterable[Path | None]) -> None:
        from exam_pp.phases.analysis.official_ranks import ranked
        from exam_pp.reports.analysis.legacy_tsv import published_leaderboard
        from exam_pp.reports.analysis.official_ranks import rank_notes

        assert self.official is not None
        found = ranked(evaluation, self.official)
        self.write_text(published_leaderboard(found), evaluation, inputs, rank_notes(found))

    def write_text(
        self, text: str, evaluation: Evaluation, inputs: Iterable[Path | None], notes: Iterable[str] = ()
    ) -> None:
        """A text in another layout, which has no room for notes, and the figure."""
        sources = [*inputs, self.official]
        log_notes([*evaluation.notes, *notes])
        self.draw(evaluation, sources)
        emit(text, self.output, sources)

    def draw_lengths(
        self,
        evaluation: Evaluation,
        passages: Path,
        figure: Path | None,
        inputs: Iterable[Path | None],
        *,
        cutoff: int = 20,
    ) -> None:
        """Scores against the words of the passages that systems rank, where that figure is asked for."""
        if figure is not None:
            from exam_pp.phases.analysis.response_lengths import compare_lengths, response_lengths
            from exam_pp.reports.analysis.response_lengths import length_figure

            found = compare_lengths(evaluation, response_lengths(passages, cutoff=cutoff))
            emit_figure(length_figure(found), figure, [*inputs, self.official])

    def draw(self, evaluation: Evaluation, inputs: Iterable[Path | None]) -> None:
        """The first metric with its intervals, where that figure is asked for."""
        if self.plot is not None:
            from exam_pp.phases.evaluation.leaderboards import leaderboard
            from exam_pp.reports.evaluation.leaderboards import leaderboard_figure

            board = leaderboard(evaluation, self.statistics.intervals_only)
            emit_figure(leaderboard_figure(board), self.plot, inputs)


def leaderboard_options(
    *formats: str, official: bool = True, output_help: str = "Write here instead of standard output."
) -> Callable[[F], Callable[..., Any]]:
    """All options of :class:`LeaderboardOutput`, which the command receives as ``board``."""
    options: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
        click.option("--per-query", is_flag=True, help="One row for each system, query and measure."),
        click.option(
            "--intervals",
            type=click.Choice(["queries", "nested"]),
            help="Intervals of scores and ranks, resampling queries, or queries and bank entries.",
        ),
        click.option(
            "--significance",
            is_flag=True,
            help="Letters: systems that share one do not differ (randomisation tests, Holm).",
        ),
        click.option(
            "--confidence",
            type=NumberRange(0.5, 1, max_open=True),
            default=0.95,
            show_default=True,
            help="Of intervals; tests use 1 minus it as α.",
        ),
        SAMPLES,
        SEED,
        plot_option("the first measure with its intervals"),
        format_option("trec_eval", *formats),
        output_option(output_help),
    ]
    if official:
        options.insert(
            1,
            click.option(
                "--official",
                type=FILE,
                help="Official ranks (JSON or TSV) or scores: a column of ranks, and correlations.",
            ),
        )
    names = [field.name for field in fields(LeaderboardOutput)]

    def decorate(function: F) -> Callable[..., Any]:
        @wraps(function)
        def call(**given: Any) -> Any:
            chosen = {name: given.pop(name) for name in names if name in given}
            board = LeaderboardOutput(**chosen)
            board.check_usage()
            return function(board=board, **given)

        decorated: Callable[..., Any] = call
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate
