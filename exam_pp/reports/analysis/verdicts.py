"""Report of the agreement of judges on the same games."""

from __future__ import annotations

from exam_pp.metrics.uncertainty import few_units_note
from exam_pp.phases.analysis.verdicts import VerdictAgreement
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.reports.analysis.correlation import formatted_interval
from exam_pp.reports.analysis.graders import correlation_table


def verdicts_report(result: VerdictAgreement) -> Report:
    """A row for every two judges, and the rank correlations of their verdicts."""
    rows: list[list[Cell]] = [
        [
            judges.pair.first,
            judges.pair.second,
            judges.pair.common,
            judges.equal,
            judges.opposite,
            judges.first_ties,
            judges.second_ties,
            judges.pair.coefficients.kappa,
            formatted_interval(judges.interval, 3) or None,
            judges.pair.coefficients.quadratic_kappa,
        ]
        for judges in result.pairs
    ]
    table = Table(
        [
            "judge", "other judge", "games", "equal", "opposite", "ties", "ties of the other", "Cohen's κ",
            "interval of κ", "weighted κ (quadratic)",
        ],
        rows,
        title="Every two judges",
    )  # fmt: skip
    explanation = (
        "Compared: verdicts on the same two systems and query, in whatever places: the first system by name "
        "loses, ties or wins. A game that a judge decided in both orders with different verdicts is a tie. "
        f"Intervals: 95 %, {result.samples} bootstrap samples of queries (seed {result.seed}). "
        f"{few_units_note()}"
    )
    correlations = correlation_table([judges.pair for judges in result.pairs], "games")
    return Report(
        "Agreement of judges",
        [table, correlations, *map(Paragraph, [explanation, *result.notes])],
        result.provenance,
    )
