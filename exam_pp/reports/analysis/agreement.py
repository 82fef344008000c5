"""Reports on the agreement of labels, and of graders: κ, α, rank correlations, differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exam_pp.metrics.agreement import Estimate, means_and_differences
from exam_pp.metrics.alternative_annotator import COSTS
from exam_pp.metrics.rating_correlation import rating_correlation
from exam_pp.metrics.uncertainty import Interval, few_units_note
from exam_pp.phases.analysis.agreement import Agreement, AgreementTable
from exam_pp.phases.analysis.graders import (
    ALL,
    Alphas,
    Compared,
    GraderAgreement,
    GraderPair,
    RatingComparison,
)
from exam_pp.phases.analysis.panel import PanelAnalysis
from exam_pp.rendering.document import Block, Cell, Paragraph, Picture, Report, Table
from exam_pp.rendering.pictures.grids import matrix, rank_grid
from exam_pp.rendering.pictures.points import Level, mean_difference
from exam_pp.reports.analysis.correlation import formatted_interval
from exam_pp.text.wording import counted

COEFFICIENTS = ("Cohen's κ", "weighted κ (linear)", "weighted κ (quadratic)", "Krippendorff's α (ordinal)")
"""Names of the coefficients of two lists of labels."""


def agreement_report(result: Agreement) -> Report:
    """Tables like table 5 of the workbench paper; κ compares a row with its boxed column."""
    summary = Table(
        ["labels", *COEFFICIENTS],
        [[labelling, *row] for labelling, row in result.coefficients],
        title="Labels and judgments as numbers",
        decimals=3,
    )
    notes = [
        f"{counted(result.passages, 'passage')} of {counted(result.queries, 'query')} with a judgment and "
        f"a grade. A judgment of {result.min_relevant} or more is relevant. κ compares a row (against the "
        f"other rows) with its boxed column (against the other columns). 95 % intervals from "
        f"{result.samples} bootstrap samples of queries (seed {result.seed}). {few_units_note()}"
    ]
    if result.ungraded:
        notes.append(f"Skipped: {counted(result.ungraded, 'passage')} with a judgment and without a grade.")
    notes += result.notes
    tables = [_table(table) for table in result.tables]
    blocks: list[Block] = [*tables, summary, *map(Paragraph, notes)]
    return Report("Agreement with judgments", blocks, result.provenance, result.notes)


def _table(table: AgreementTable) -> Table:
    rows: list[list[Cell]] = []
    for row in table.rows:
        interval = "" if row.interval is None else f"[{row.interval.low:z.2}, {row.interval.high:z.2}]"
        rows.append([row.label, *row.counts, row.total, row.kappa, interval])
    best = max((row.kappa for row in table.rows if row.kappa is not None), default=None)
    column = len(table.columns) + 2
    return Table(
        ["label", *table.columns, "Total", "κ", "interval"],
        rows,
        title=f"{table.name}, {table.labelling}",
        boxed={(number, row.box + 1) for number, row in enumerate(table.rows)},
        bold={
            (number, column)
            for number, row in enumerate(table.rows)
            if row.kappa is not None and row.kappa == best
        },
        significant=[column],
    )


_MAX_PICTURES = 12
"""Maximum number of plots of differences, so that reports of many graders stay readable."""
_UNITS: dict[Compared, str] = {"passages": "passages", "pairs": "pairs", "ratings": "ratings"}
_LONG_UNITS: dict[Compared, str] = {
    "passages": "labels of passages",
    "pairs": "ratings of pairs of passage and entry",
    "ratings": "ratings of answers by criteria",
}


def pairs_table(result: GraderAgreement) -> Table:
    """One row for every two graders."""
    head, rows = _head(result.pairs)
    return Table(
        [*head, _UNITS[result.unit], *COEFFICIENTS],
        [
            [*names, len(comparison.items), *comparison.coefficients]
            for names, comparison in rows
            if comparison.coefficients is not None
        ],
        title="Every two graders",
    )


def graders_report(result: GraderAgreement) -> Report:
    """One row for every two graders, Krippendorff's α of all graders, rank correlations and differences."""
    unit = _UNITS[result.unit]
    blocks: list[Block] = [
        pairs_table(result),
        _alpha_table(len(result.graders), unit, result.shared, result.alphas),
        correlation_table(result, unit),
        _differences(result.pairs, unit),
        *_replacements(result, unit),
        *map(Paragraph, [_explanation(result), *result.notes]),
    ]
    blocks += [*([kappa_picture(result)] if len(result.pairs) > 1 else []), *difference_pictures(result)]
    return Report("Agreement of graders", blocks, result.provenance, result.notes)


def _alpha_table(graders: int, unit: str, shared: int, alphas: Alphas, decimals: int = 3) -> Table:
    columns = ["graders", unit, "α (nominal)", "α (ordinal)", "α (interval)"]
    title = "Krippendorff's α of all graders"
    return Table(columns, [[graders, shared, *alphas]], title=title, decimals=decimals)


def _replacements(result: GraderAgreement, unit: str) -> list[Block]:
    """The alternative annotator test of each model; empty if it was not computed."""
    rows: list[list[Cell]] = [
        [name, whom, COSTS[whom], test.annotators, test.items, test.winning_rate, test.advantage,
         "yes" if test.passed else "too few items" if test.too_few else "no"]
        for name, whom, test in result.replacements
    ]  # fmt: skip
    columns = ["judge", "in place of", "ε", "people", unit, "ω", "ρ", "passed (ω ≥ 0.5)"]
    explanation = (
        "Alternative annotator test (Calderon et al., 2025): ρ is the probability that the judge agrees with "
        "the other people at least as well as a person does; ω is the share of people to whom the judge is "
        "shown to be equal up to ε, the cost of such people's work. One-sided tests by Gaffke's bound of the "
        "mean loss (--test published: t tests), corrected by Benjamini and Yekutieli at 0.05; items are "
        "treated as independent. Agreement is the distance of ratings (RMSE), which fits scales and 0 or 1, "
        "and not labels without an order."
    )
    title = "May the judge replace people?"
    return [Table(columns, rows, title=title), Paragraph(explanation)] if rows else []


def _explanation(result: GraderAgreement) -> str:
    several = any(len(pair.comparisons) > 1 for pair in result.pairs)
    pooled = ' Krippendorff\'s α of all graders, and rows "all", pool the criteria.' if several else ""
    return (
        f"Compared: {_LONG_UNITS[result.unit]}.{pooled} "
        "T and U are the pairs of items that only the grader, or only "
        f"the other grader, rates equal. Intervals of τ-b and ρ: 95 %, {result.samples} bootstrap samples of "
        f"queries (seed {result.seed}). {few_units_note()} p-values treat items as independent. Difference: "
        "grader − other grader, which need the same scale; limits of agreement: bias ± 1.96 sd, with 95 % "
        "intervals from the t distribution, which assume normal differences of independent items and need "
        "six of them."
    )


def correlation_table(result: GraderAgreement, unit: str) -> Table:
    """Rank correlations of every two graders: over all items, then by criterion."""
    head, rows = _head(result.pairs)
    return Table(
        [
            *head,
            unit,
            "queries",
            "T",
            "U",
            "τ-b",
            "interval of τ-b",
            "p of τ-b",
            "ρ",
            "interval of ρ",
            "p of ρ",
        ],
        [
            [
                *names,
                correlation.items,
                correlation.queries,
                correlation.first_ties,
                correlation.second_ties,
                correlation.kendall.value,
                _range(correlation.kendall.interval),
                correlation.kendall.p_value,
                correlation.spearman.value,
                _range(correlation.spearman.interval),
                correlation.spearman.p_value,
            ]
            for names, comparison in rows
            for correlation in [
                rating_correlation(comparison.items, samples=result.samples, seed=result.seed)
            ]
        ],
        title="Rank correlation",
        significant=[len(head) + 6, len(head) + 9],
    )


def _differences(pairs: Sequence[GraderPair], unit: str) -> Table:
    head, rows = _head(pairs)
    columns = [
        *head, unit, "bias", "interval of bias", "sd", "lower limit", "interval of lower limit",
        "upper limit", "interval of upper limit",
    ]  # fmt: skip
    return Table(
        columns,
        [
            [
                *names,
                len(comparison.items),
                *(
                    [None] * (len(columns) - len(head) - 1)
                    if (limits := comparison.differences) is None
                    else [
                        *_pair_cells(limits.bias),
                        limits.sd,
                        *_pair_cells(limits.lower),
                        *_pair_cells(limits.upper),
                    ]
                ),
            ]
            for names, comparison in rows
        ],
        title="Differences (Bland-Altman)",
    )


def _head(pairs: Sequence[GraderPair]) -> tuple[list[str], list[tuple[list[Cell], RatingComparison]]]:
    """The first columns, and the first cells of each comparison; a criterion only if there are several."""
    by_criterion = any(len(pair.comparisons) > 1 for pair in pairs)
    head = ["grader", "other grader", *(["criterion"] if by_criterion else [])]
    rows: list[tuple[list[Cell], RatingComparison]] = [
        ([pair.first, pair.second, *([comparison.name] if by_criterion else [])], comparison)
        for pair in pairs
        for comparison in pair.comparisons
    ]
    return head, rows


def _pair_cells(estimate: Estimate | None) -> list[Cell]:
    return [None, None] if estimate is None else [estimate.value, _range(estimate.interval)]


def _range(interval: Interval | None) -> str | None:
    return formatted_interval(interval, 3) or None


def kappa_picture(result: GraderAgreement) -> Picture:
    """Weighted κ (quadratic) of every two graders as a matrix."""
    values = {(pair.first, pair.second): pair.coefficients.quadratic_kappa for pair in result.pairs}
    return matrix(result.graders, values, COEFFICIENTS[2])


def difference_pictures(result: GraderAgreement) -> list[Picture]:
    """Plots of differences against means, for the pairs of graders; empty without common items.

    Two graders get a plot for each criterion, more graders a plot for each pair.
    """
    return [
        mean_difference(
            means_and_differences([item[1:] for item in comparison.items], seed=result.seed),
            *_lines(comparison),
            f"Differences: {title}",
            items=len(comparison.items),
        )
        for title, comparison in _plotted(result)
    ]


def _plotted(result: GraderAgreement) -> Iterator[tuple[str, RatingComparison]]:
    """The comparisons with items that are plotted, with their titles."""
    plotted = [
        (
            f"{pair.first} − {pair.second}" + ("" if comparison.name == ALL else f", {comparison.name}"),
            comparison,
        )
        for pair in result.pairs
        for comparison in (pair.comparisons if len(result.pairs) == 1 else pair.comparisons[:1])
        if comparison.items
    ]
    yield from plotted[:_MAX_PICTURES]


def _lines(comparison: RatingComparison) -> tuple[Level, Level | None, Level | None]:
    """The bias and the limits of agreement."""
    assert comparison.differences is not None
    bias, lower, upper = (
        None if line is None else Level(line.value, *(line.interval or (None, None)))
        for line in (comparison.differences.bias, comparison.differences.lower, comparison.differences.upper)
    )
    assert bias is not None
    return bias, lower, upper


def panel_report(result: PanelAnalysis, *, decimals: int = 3) -> Report:
    """Tables of the graders, their agreement, all leaderboards, and the systems that change places.

    ``decimals`` are those of all tables.
    """
    graders, systems, names = result.graders, result.systems, [grader.name for grader in result.graders]
    boards = result.consensus is not None
    tables = [
        Table(
            ["grader", "pairs", "queries", "mean rating",
             *(["τ with the others", "τ without it", "moved without it"] * boards)],
            [
                [of.name, of.rated, of.leaderboard.queries or None, of.mean,
                 *([of.kendall, of.kendall_without, of.moved] * boards)]
                for of in graders
            ],
            title="Graders",
            decimals=decimals,
        ),
        Table(
            ["grader", "other grader", "pairs", *COEFFICIENTS, "τ of leaderboards"],
            [[pair.first, pair.second, pair.common, *pair.coefficients, pair.kendall]
             for pair in result.pairs],
            title="Agreement of every two graders",
            decimals=decimals,
        ),
        _alpha_table(len(graders), "pairs", result.shared, result.alphas, decimals),
        Table(
            ["system", "consensus", *names],
            [[row.system, row.score, *(of.leaderboard.means.get(row.system) for of in graders)]
             for row in systems],
            title=f"Leaderboards: {result.measure}",
            decimals=decimals,
        ),
        Table(
            ["system", "all graders", *(f"without {name}" for name in names)],
            [[row.system, row.score, *(of.without.means.get(row.system) for of in graders)]
             for row in systems],
            title="Consensus without each grader (leave one grader out)",
            decimals=decimals,
        ),
        Table(
            ["system", "rank", "low", "high", "best", "worst", *(f"rank by {name}" for name in names)],
            [[row.system, row.rank, row.first, row.last, row.best, row.worst, *row.ranks] for row in systems],
            title="Places of the systems",
            decimals=decimals,
        ),
    ]  # fmt: skip
    blocks: list[Block] = [table for table in tables if table.rows]
    blocks += [Paragraph(note) for note in [*_panel_explanations(result), *result.notes]]
    if len(names) > 2:
        kappas = {(pair.first, pair.second): pair.coefficients.quadratic_kappa for pair in result.pairs}
        blocks.append(matrix(names, kappas, COEFFICIENTS[2]))
        taus = {(pair.first, pair.second): pair.kendall for pair in result.pairs}
        blocks += [matrix(names, taus, "Kendall's τ-b of leaderboards")] * boards
    if boards:
        ranks = [[row.rank, *row.ranks] for row in systems]
        title = "Ranks by each grader"
        blocks.append(rank_grid([row.system for row in systems], ["consensus", *names], ranks, title))
    return Report("Panel of graders", blocks, result.provenance, result.notes)


_RULES = {
    "median": "the median, of an even number the lower of the two in the middle",
    "mean": "the mean, halves rounded down",
    "majority": "the most frequent rating, of several the lowest",
}


def _panel_explanations(result: PanelAnalysis) -> Iterator[str]:
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
