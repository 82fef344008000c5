"""``exam-pp analyze correlation``: comparison of leaderboards, and of conditions of nugget evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command, Kind
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.evaluation.rubric import BANKS, CONDITIONS, RUN_TYPES, SCORING_RULES
from exam_pp.cli.leaderboard_options import OFFICIAL, SAMPLES, SEED, TOP
from exam_pp.cli.options import (
    FIGURE_PATH,
    FILE,
    FILES,
    FILTER,
    ONLY_QUERIES,
    emit,
    emit_figure,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    output_option,
    plot_option,
    take,
)

_RULES = ("cutoff", "missing_queries", "role")
_PLOT_RANKS = "Also draw scores against official ranks (.svg)."
_KINDS = {
    "measure": Kind(
        """Correlate every measure of leaderboards with an official leaderboard.

        LEADERBOARDS are files of `exam-pp evaluate ... --format tsv` (or json), or tables with a header whose
        first column names the systems. Without --official, the last of several LEADERBOARDS is the official
        one. Official scores rank the systems by their first measure. The coefficients are Spearman's ρ,
        Kendall's τ, τ-AP and the top-k overlap.

        `--format published` writes ρ and τ in the layout of the published tables.

        Examples:

        \b
          exam-pp analyze correlation cover.tsv ndcg.tsv
          exam-pp analyze correlation cover.tsv --official official.json --intervals systems
        """,
        ("top_systems", "intervals", "samples", "seed"),
        {"plot": _PLOT_RANKS},
    ),
    "query": Kind(
        """Correlate the scores of every query.

        As by measure, but all LEADERBOARDS must be written with --per-query, and the coefficients are those
        of single queries and their means.

        Example:

        \b
          exam-pp analyze correlation cover.tsv ndcg.tsv --by query
        """,
        ("top_systems",),
        {"plot": _PLOT_RANKS},
    ),
    "system": Kind(
        """Show leaderboards side by side, each scaled from 0 (worst system) to 1 (best).

        LEADERBOARDS are files as by measure. Official ranks order the systems, and official scores are one
        more leaderboard. The figure shows standard errors for files written with --per-query.

        Example:

        \b
          exam-pp analyze correlation cover.tsv ndcg.tsv --by system --official official.json
        """,
        texts={"plot": "Also draw a line for each leaderboard (.svg)."},
    ),
    "condition": Kind(
        """Measure the agreement of two conditions of nugget evaluation: Kendall's τ for every metric.

        A condition is, for example, automatic or manual assignment. The files are graded answers with their
        --bank: one file with two graders, or two files. They can also be scores: a file of `exam-pp evaluate
        nuggets` (jsonl, or TSV with --per-query), a folder with a metrics file of AutoNuggetizer for each
        run, or a table with a header.

        τ is computed over runs, over all pairs of query and run, and for each query, averaged; with
        --run-types also for the runs of each type, with their mean scores. A truncated run id (`...`) is
        matched with the full run id.

        Example:

        \b
          exam-pp analyze correlation assigned.jsonl.gz assigned-2.jsonl.gz --bank nuggets.jsonl \\
            --by condition
        """,
        ("banks", "queries", "names", "run_types", "plot_length", *_RULES, *FILTER),
        {"plot": "Also draw V_strict of the first condition against the second (.svg)."},
    ),
}


@click.command("correlation", cls=Command, kinds=_KINDS, chosen_by="by")
@click.argument("leaderboards", nargs=-1, required=True, type=FILES)
@click.option(
    "--by",
    type=click.Choice(list(_KINDS)),
    default="measure",
    show_default=True,
    help="What to compare; `--by WHAT --help` shows its options.",
)
@click.option("--official", type=FILE, help=OFFICIAL)
@TOP
@click.option(
    "--intervals",
    type=click.Choice(["queries", "systems"]),
    help="Add 95 % confidence intervals: for other queries (LEADERBOARDS must be written with --per-query), "
    "or for other systems.",
)
@SAMPLES
@SEED
@BANKS
@ONLY_QUERIES
@CONDITIONS
@RUN_TYPES
@SCORING_RULES
@plot_option(
    "scores against official ranks, a line for each leaderboard (--by system), or V_strict of the first "
    "condition against the second"
)
@click.option(
    "--plot length",
    "plot_length",
    type=FIGURE_PATH,
    help="Also draw V_strict of the second condition against answer length, with the Pareto front (.svg).",
)
@filter_options
@format_option("published")
@output_option()
def command(
    *,
    leaderboards: tuple[Path, ...],
    by: str,
    official: Path | None,
    plot: Path | None,
    form: str,
    output: Path,
    **options: Any,
) -> None:
    """Compare leaderboards, or two conditions of nugget evaluation.

    Two leaderboards are compared by the rank correlation of their measures.

    Examples:

    \b
      exam-pp analyze correlation cover.tsv ndcg.tsv
      exam-pp analyze correlation cover.tsv --official official.json
      exam-pp analyze correlation cover.tsv ndcg.tsv --by system
    """
    if form == "published" and by in ("system", "condition"):
        raise click.UsageError(f"--format published is not available with --by {by}.")
    if by == "condition":
        refuse_without("--by measure, query or system", "official")
        _conditions(leaderboards, plot, form, output, **options)
    elif by == "system":
        _side_by_side(leaderboards, official, plot, form, output)
    else:
        if official is None:
            *compared, official = leaderboards
        else:
            compared = list(leaderboards)
        if not compared:
            raise click.UsageError("Name a second leaderboard, or --official FILE.")
        _correlations(by, compared, official, plot, form, output, **options)


def _correlations(
    by: str,
    leaderboards: Sequence[Path],
    official: Path,
    plot: Path | None,
    form: str,
    output: Path,
    *,
    top_systems: int,
    intervals: Any,
    samples: int,
    seed: int,
    **_others: Any,
) -> None:
    """The rank correlations of measures, or of the scores of every query."""
    from exam_pp.phases.analysis.correlation import (
        correlation,
        query_correlation,
        read_official,
        scores_by_measure,
    )
    from exam_pp.reports.analysis.correlation import (
        correlation_report,
        query_correlation_report,
        rank_picture,
    )
    from exam_pp.reports.analysis.legacy_tsv import published_correlations, published_query_correlations

    if intervals is None:
        refuse_without("--intervals", "samples", "seed")
    elif form == "published":
        raise click.UsageError("--intervals is not available with --format published.")
    decimals = 6 if form == "tsv" else 3
    if by == "query":
        by_query = [query_correlation(file, official, top=top_systems) for file in leaderboards]
        report = query_correlation_report(*by_query, decimals=decimals)
        published = published_query_correlations(*by_query)
    else:
        results = [
            correlation(file, official, top=top_systems, intervals=intervals, samples=samples, seed=seed)
            for file in leaderboards
        ]
        report = correlation_report(*results, decimals=decimals)
        published = published_correlations(*results)
    inputs = [*leaderboards, official]
    if plot is not None:
        ranks = read_official(official).ranks
        first = [next(iter(scores_by_measure(file).items())) for file in leaderboards]
        emit_figure([rank_picture(scores, ranks, measure) for measure, scores in first], plot, inputs)
    if form == "published":
        emit(published, output, inputs)
    else:
        emit_report(report, form, output, inputs)


def _side_by_side(
    leaderboards: Sequence[Path], official: Path | None, plot: Path | None, form: str, output: Path
) -> None:
    """The scaled scores of every system."""
    from exam_pp.phases.analysis.correlation import compare_leaderboards
    from exam_pp.reports.analysis.correlation import compared_picture, compared_report

    result = compare_leaderboards(leaderboards, official)
    inputs = [*leaderboards, official]
    if plot is not None:
        emit_figure([compared_picture(result)], plot, inputs)
    emit_report(compared_report(result, decimals=6 if form == "tsv" else 3), form, output, inputs)


def _conditions(
    files: Sequence[Path],
    plot: Path | None,
    form: str,
    output: Path,
    *,
    banks: tuple[Path, ...],
    queries: Path | None,
    names: tuple[str, ...],
    run_types: Path | None,
    plot_length: Path | None,
    **options: Any,
) -> None:
    """The agreement of two conditions of nugget evaluation."""
    from exam_pp.phases.analysis.nugget_conditions import compare_conditions, two_conditions
    from exam_pp.phases.evaluation.nugget_leaderboard import ScoringRules, read_conditions, score_files
    from exam_pp.reports.analysis.nugget_conditions import conditions_picture, length_picture, meta_report

    conditions = read_conditions(
        files,
        banks,
        names=names,
        grade_filter=grade_filter(**take(options, *FILTER)),
        queries=queries,
        rules=ScoringRules(**take(options, *_RULES), reviewed=False),
    )
    types: dict[str, str] = {}
    if run_types is not None:
        from exam_pp.store.trec.ranks import read_run_types

        types = read_run_types(run_types)
    agreement = compare_conditions(*two_conditions(conditions), types)
    inputs = [*(file for source in files for file in score_files(source)), *banks, queries, run_types]
    if plot is not None:
        emit_figure([conditions_picture(agreement, types)], plot, inputs)
    if plot_length is not None:
        emit_figure([length_picture(agreement.second, types)], plot_length, inputs)
    emit_report(meta_report(agreement, decimals=6 if form == "tsv" else 3), form, output, inputs)
