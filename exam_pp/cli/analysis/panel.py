"""``exam-pp analyze panel``: agreement and leaderboards of the graders of a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import SEED, confidence_option
from exam_pp.cli.options import (
    CUTOFF,
    GRADED,
    MIN_GRADE,
    ROLE,
    bank_option,
    emit_report,
    format_option,
    grade_filter,
    output_option,
    panel_members,
)
from exam_pp.rendering.document import Block, Cell, Paragraph, Picture, Report, Table

if TYPE_CHECKING:
    from exam_pp.phases.analysis.panel import PanelAnalysis


@click.command("panel", cls=Command)
@GRADED
@bank_option("Test bank; only its entries count.", default="all graded entries")
@panel_members
@MIN_GRADE
@CUTOFF
@click.option(
    "-m",
    "--measure",
    metavar="NAME",
    help="Score the rankings by this measure, with the best rating of a passage as its label, such as "
    "nDCG@10.  [default: Rubric-Cover]",
)
@ROLE
@confidence_option()
@SEED
@format_option()
@output_option()
def command(
    *,
    graded: Path,
    bank: Path | None,
    graders: tuple[str, ...],
    prompt_classes: tuple[str, ...],
    rule: Any,
    min_graders: int,
    min_grade: int | None,
    cutoff: int | None,
    measure: str | None,
    role: Any,
    confidence: float,
    seed: int,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Show how far the leaderboard depends on the grader: agreement, leaderboards, places of systems.

    A grader is a model with a prompt, or a reviewer. The report has the agreement of the graders on
    pairs of passage and entry, the leaderboard of every grader and of their consensus, and the consensus
    without each grader. The command computes the consensus itself; a consensus in GRADED
    (`exam-pp consensus`) counts as a grader only if --grader names it.

    Examples:

    \b
      exam-pp analyze panel two-models.jsonl.gz --bank questions.jsonl
      exam-pp analyze panel two-models.jsonl.gz --bank questions.jsonl --measure nDCG@10 --rule mean
    """
    from exam_pp.phases.analysis.panel import analyze_panel

    result = analyze_panel(
        graded, bank,
        rule=rule, min_graders=min_graders, grade_filter=grade_filter(None, None, **criteria),
        graders=graders, prompt_classes=prompt_classes, min_grade=min_grade, cutoff=cutoff, measure=measure,
        role=role, confidence=confidence, seed=seed,
    )  # fmt: skip
    report = panel_report(result, decimals=6 if form == "tsv" else 3)
    emit_report(report, form, output, [graded, bank])


def panel_report(result: PanelAnalysis, *, decimals: int = 3) -> Report:
    """Tables of the graders, their agreement, all leaderboards, and the systems that change places."""
    tables = [
        _graders(result, decimals),
        _agreement(result, decimals),
        Table(
            ["graders", "pairs", "α (nominal)", "α (ordinal)", "α (interval)"],
            [[len(result.graders), result.shared, *result.alphas]],
            title="Krippendorff's α of all graders",
            decimals=decimals,
        ),
    ]
    if result.consensus is not None:
        tables += [
            _leaderboards(result, decimals),
            _without(result, decimals),
            _places(result, decimals),
        ]
    blocks: list[Block] = [table for table in tables if table.rows]
    blocks += [Paragraph(note) for note in [*_explanations(result), *result.notes]]
    return Report("Panel of graders", [*blocks, *_pictures(result)], result.provenance, result.notes)


def _graders(result: PanelAnalysis, decimals: int) -> Table:
    """A row for each grader, with the effect of its leaderboard on the consensus."""
    boards = ["τ with the others", "τ without it", "moved without it"]
    rows: list[list[Cell]] = []
    for grader in result.graders:
        row: list[Cell] = [grader.name, grader.rated, grader.leaderboard.queries or None, grader.mean]
        if result.consensus is not None:
            row += [grader.kendall, grader.kendall_without, grader.moved]
        rows.append(row)
    columns = ["grader", "pairs", "queries", "mean rating", *(boards if result.consensus else [])]
    return Table(columns, rows, title="Graders", decimals=decimals)


def _agreement(result: PanelAnalysis, decimals: int) -> Table:
    from exam_pp.reports.analysis.agreement import COEFFICIENTS

    return Table(
        ["grader", "other grader", "pairs", *COEFFICIENTS, "τ of leaderboards"],
        [[pair.first, pair.second, pair.common, *pair.coefficients, pair.kendall] for pair in result.pairs],
        title="Agreement of every two graders",
        decimals=decimals,
    )


def _leaderboards(result: PanelAnalysis, decimals: int) -> Table:
    names = [grader.name for grader in result.graders]
    return Table(
        ["system", "consensus", *names],
        [
            [row.system, row.score, *(grader.leaderboard.means.get(row.system) for grader in result.graders)]
            for row in result.systems
        ],
        title=f"Leaderboards: {result.measure}",
        decimals=decimals,
    )


def _without(result: PanelAnalysis, decimals: int) -> Table:
    return Table(
        ["system", "all graders", *(f"without {grader.name}" for grader in result.graders)],
        [
            [row.system, row.score, *(grader.without.means.get(row.system) for grader in result.graders)]
            for row in result.systems
        ],
        title="Consensus without each grader (leave one grader out)",
        decimals=decimals,
    )


def _places(result: PanelAnalysis, decimals: int) -> Table:
    names = [f"rank by {grader.name}" for grader in result.graders]
    return Table(
        ["system", "rank", "low", "high", "best", "worst", *names],
        [
            [row.system, row.rank, row.first, row.last, row.best, row.worst, *row.ranks]
            for row in result.systems
        ],
        title="Places of the systems",
        decimals=decimals,
    )


_RULES = {
    "median": "the median, of an even number the lower of the two in the middle",
    "mean": "the mean, halves rounded down",
    "majority": "the most frequent rating, of several the lowest",
}


def _explanations(result: PanelAnalysis) -> Iterator[str]:
    yield (
        f"Consensus: the rating of a pair is {_RULES[result.rule]}, if at least {result.min_graders} graders "
        "rated it. τ: Kendall's τ-b."
    )
    if result.consensus is None:
        return
    yield (
        "τ with the others: the leaderboard of the grader with the consensus of the other graders. τ without "
        "it: this consensus with that of all graders; moved: the number of systems with another rank."
    )
    yield (
        "Places: rank by the consensus, the ranks that significant differences on the queries of all systems "
        f"leave possible (paired randomisation tests, step-down maxT, α = {1 - result.confidence:.2g}), best "
        "and worst rank by a single grader. Tied systems share the best rank."
    )


def _pictures(result: PanelAnalysis) -> Iterator[Picture]:
    from exam_pp.rendering.pictures.grids import matrix, rank_grid
    from exam_pp.reports.analysis.agreement import COEFFICIENTS

    names = [grader.name for grader in result.graders]
    if len(names) > 2:
        kappas = {(pair.first, pair.second): pair.coefficients.quadratic_kappa for pair in result.pairs}
        yield matrix(names, kappas, COEFFICIENTS[2])
        if result.consensus is not None:
            taus = {(pair.first, pair.second): pair.kendall for pair in result.pairs}
            yield matrix(names, taus, "Kendall's τ-b of leaderboards")
    if result.consensus is not None:
        ranks = [[row.rank, *row.ranks] for row in result.systems]
        yield rank_grid(
            [row.system for row in result.systems], ["consensus", *names], ranks, "Ranks by each grader"
        )
