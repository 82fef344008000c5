"""Report of paired tests between systems by criterion."""

from __future__ import annotations

from exam_pp.metrics.uncertainty import GAFFKE
from exam_pp.phases.analysis.paired_criteria import CriterionTest, PairedCriteria
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.reports.analysis.correlation import formatted_interval


def paired_criteria_report(result: PairedCriteria) -> Report:
    """A row for each pair of systems and criterion; significant differences are bold and have a star."""
    columns = [
        "criterion", "system", "other system", "queries", "mean", "other mean", "difference", "interval", "t",
        "p (t test)", "p (t test, Holm)", "p", "p (Holm)", "significant",
    ]  # fmt: skip
    table = Table(
        columns,
        [_cells(row, is_significant=result.is_significant(row)) for row in result.rows],
        title="Every two systems by criterion",
        bold={(number, 6) for number, row in enumerate(result.rows) if result.is_significant(row)},
        significant=[9, 10, 11, 12],
    )
    explanation = (
        f"Ratings by {result.grader}. Difference: system − other system, with its "
        f"{100 * result.confidence:.4g} % interval ({GAFFKE}). p: two-sided paired randomisation test; Holm: "
        f"adjusted over all rows. A star marks differences with an adjusted p of at most "
        f"{1 - result.confidence:.2g}. The t test is two-sided and paired; it assumes normal differences."
    )
    return Report(
        "Paired tests by criterion", [table, *map(Paragraph, [explanation, *result.notes])], result.provenance
    )


def _cells(row: CriterionTest, *, is_significant: bool) -> list[Cell]:
    tests = row.tests
    return [
        row.criterion, row.first, row.second, tests.queries, tests.first, tests.second, tests.difference,
        formatted_interval(tests.interval, 3) or None, tests.t, tests.t_p_value, row.t_adjusted,
        tests.p_value, row.adjusted, "*" if is_significant else "",
    ]  # fmt: skip
