"""Shared options of the leaderboard commands, and the output of leaderboards."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from exam_pp import defaults
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.options import (
    FILE,
    FILES,
    METHOD_NAME,
    READER_FORMATS,
    SCRIPT_FORMATS,
    bank_option,
    emit,
    emit_figure,
    emit_report,
    format_option,
    log_notes,
    output_option,
    plot_option,
    together,
)
from exam_pp.cli.ranges import IntRange, NumberRange, Repetitions

if TYPE_CHECKING:
    from exam_pp.phases.evaluation.leaderboards import Statistics
    from exam_pp.phases.evaluation.result import Evaluation
    from exam_pp.rendering.document import Picture
    from exam_pp.reports.evaluation.leaderboards import Audience, LeaderboardForm

F = TypeVar("F", bound=Callable[..., Any])

BANK = bank_option("Test bank whose queries and entries are evaluated.", default="those with grades")
OFFICIAL = "Official leaderboard: ranks or scores (JSON or TSV)."
SAMPLES = click.option(
    "-S samples",
    "samples",
    type=Repetitions(100),
    default=defaults.SAMPLES,
    show_default=True,
    help="Number of samples or draws for intervals.",
)
TOP = click.option(
    "-S top-systems",
    "top_systems",
    type=IntRange(min=1),
    default=5,
    show_default=True,
    help="k of the top-k overlap: the number of best systems to compare.",
)
FACETS = click.option(
    "--facets",
    type=click.Choice(["title", "facet"]),
    default="title",
    show_default=True,
    help="Evaluate each query (title), or each facet `query/facet` of a query (facet).",
)
SEED = click.option(
    "--seed", type=IntRange(0), default=0, show_default=True, help="Seed of random samples and tests."
)


def confidence_option(help_text: str = "Confidence level of the intervals.") -> Callable[[F], F]:
    """``-S confidence``, from 0.5 up to 1, which is excluded."""
    return click.option(
        "-S confidence",
        "confidence",
        type=NumberRange(0.5, 1, max_open=True),
        default=defaults.CONFIDENCE,
        show_default=True,
        help=help_text,
    )


MEASURE_FILE = click.option(
    "--measure-file",
    type=FILE,
    help="TOML file, such as study.toml, with measures of your own as [[measure]], for scores of rubrics.",
)


def missing_queries_option(noun: str) -> Callable[[F], F]:
    """``--missing-queries`` for queries without an answer, or without results."""
    return click.option(
        "--missing-queries",
        type=click.Choice(["zero", "skip"]),
        default="zero",
        show_default=True,
        help=f"Score of a system for a query without {noun}: 0 (zero), or skip the query, as published "
        "(skip).",
    )


def measures_option(default: str) -> Callable[[F], F]:
    """``-m``, repeatable; the command receives it as ``measures``.

    Unknown names raise UnknownNameError before any work starts.
    """

    def known(_context: click.Context, _option: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
        if names:
            from exam_pp.metrics.trec_measures import check_measures

            check_measures(names)
        return names

    return click.option(
        "-m",
        "--measure",
        "measures",
        multiple=True,
        metavar="NAME",
        callback=known,
        help=f"Measure, by its name in ir-measures or trec_eval; may be repeated.  [default: {default}]",
    )


def runs_option(purpose: str, *, default: str = "", required: bool = False) -> Callable[[F], F]:
    """``--runs``, repeatable; the command receives a tuple of paths."""
    return click.option(
        "--runs",
        type=FILES,
        multiple=True,
        required=required,
        help=f"Run file, or folder of run files, {purpose}; may be repeated."
        f"{f'  [default: {default}]' if default else ''}",
    )


def run_options(*, required: bool) -> Callable[[F], F]:
    """``--runs``, ``-m`` and ``--method-name``."""
    return together(
        runs_option("to score", required=required),
        measures_option("nDCG@10"),
        METHOD_NAME,
    )


@dataclass(frozen=True)
class LeaderboardOutput:
    """Values of :func:`leaderboard_options`, which write a leaderboard."""

    form: str
    path: Path
    per_query: bool
    plot: Path | None
    intervals: Any
    significance: bool
    confidence: float
    seed: int
    official: Path | None = None

    @property
    def statistics(self) -> Statistics:
        """The options of intervals and tests."""
        from exam_pp.phases.evaluation.leaderboards import Statistics

        return Statistics(self.intervals, self.significance, self.confidence, seed=self.seed)

    @property
    def _audience(self) -> Audience:
        if self.form in SCRIPT_FORMATS:
            return "scripts"
        return "readers" if self.form in READER_FORMATS else "papers"

    @property
    def written(self) -> LeaderboardForm:
        """The options of what is written."""
        from exam_pp.reports.evaluation.leaderboards import LeaderboardForm

        is_debugged = logging.getLogger("exam_pp").isEnabledFor(logging.DEBUG)
        return LeaderboardForm(
            self.form,
            self._audience,
            self.statistics,
            self.per_query,
            with_method=self.form == "html" or is_debugged,  # in text it needs -v
            official=self.official,
            plot=self.plot is not None,
        )

    def check_usage(self) -> None:
        """Raise :class:`click.UsageError` for options that the format cannot show, or that have no effect."""
        if not (self.intervals or self.significance):
            refuse_without("--intervals or --significance", "confidence", "seed")
        if self.official is not None and (self.per_query or self.form == "trec_eval"):
            raise click.UsageError("--official cannot be combined with --per-query or --format trec_eval.")
        from exam_pp.rendering.render import RENDERERS

        if self.per_query or self.form not in RENDERERS:
            option = "--per-query" if self.per_query else f"--format {self.form}"
            if self.significance:
                raise click.UsageError(f"{option} cannot show --significance.")
            if self.intervals and self.plot is None:
                raise click.UsageError(f"{option} cannot show --intervals; use --plot to draw them.")

    def write(self, evaluation: Evaluation, title: str, inputs: Iterable[Path | None]) -> None:
        """Write the leaderboard in the chosen format, and its picture."""
        from exam_pp.reports.evaluation.leaderboards import leaderboard_output

        made = leaderboard_output(evaluation, title, self.written)
        sources = [*inputs, self.official]
        log_notes(made.notes)
        self.draw(made.picture, sources)
        if isinstance(made.content, str):
            emit(made.content, self.path, sources)
        else:
            emit_report(made.content, self.form, self.path, sources)

    def draw(self, picture: Picture | None, inputs: Iterable[Path | None]) -> None:
        """Write the picture of ``--plot``, if it is set."""
        if self.plot is not None and picture is not None:
            emit_figure([picture], self.plot, inputs)


def leaderboard_options(
    *formats: str,
    official: bool = True,
    output_help: str = "File to write.  [default: standard output]",
) -> Callable[[F], Callable[..., Any]]:
    """All options of :class:`LeaderboardOutput`, which the command receives as ``output``."""
    decorators: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
        click.option(
            "--per-query",
            is_flag=True,
            help="Write the scores of each query, too, in a row for each system, query and measure.",
        ),
        click.option(
            "--intervals",
            type=click.Choice(["queries"]),
            help="Add confidence intervals of scores and ranks: over queries.  [default: queries, if "
            "they are enough to show differences; none in tsv and json]",
        ),
        click.option(
            "--significance",
            is_flag=True,
            help="Add significance letters: systems that share a letter do not differ significantly.",
        ),
        confidence_option("Confidence level of the intervals; the level α of the tests is 1 minus this."),
        SEED,
        plot_option("the first measure with its intervals"),
        format_option("trec_eval", *formats),
        output_option(output_help),
    ]
    if official:
        decorators.insert(
            1,
            click.option(
                "--official",
                type=FILE,
                help=f"{OFFICIAL} Adds a column of these ranks, and the correlation with them.",
            ),
        )
    names = [field.name for field in fields(LeaderboardOutput) if field.name != "path"]

    def decorate(function: F) -> Callable[..., Any]:
        @wraps(function)
        def call(**options: Any) -> Any:
            values = {name: options.pop(name) for name in names if name in options}
            output = LeaderboardOutput(path=options.pop("output"), **values)
            output.check_usage()
            return function(output=output, **options)

        decorated: Callable[..., Any] = call
        for option in reversed(decorators):
            decorated = option(decorated)
        return decorated

    return decorate
