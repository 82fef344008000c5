"""Reports of agreement with judgments (tables of the workbench paper) and between graders (table, figure)."""

from __future__ import annotations

from exam_pp.phases.analysis.agreement import Agreement, AgreementTable, GraderAgreement
from exam_pp.rendering import plots
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.wording import counted

_COEFFICIENTS = ("Cohen's κ", "weighted κ (linear)", "weighted κ (quadratic)", "Krippendorff's α (ordinal)")


def agreement_report(result: Agreement) -> Report:
    """Tables like table 5 of the workbench paper; κ compares a row with its boxed column."""
    summary = Table(
        ["labels", *_COEFFICIENTS],
        [[labelling, *row] for labelling, row in result.coefficients],
        title="Labels and judgments as numbers",
        decimals=3,
    )
    notes = [
        f"{counted(result.passages, 'passage')} of {counted(result.queries, 'query')} with a judgment and "
        f"a grade. A judgment of {result.min_relevant} or more is relevant. κ compares a row (against the "
        f"other rows) with its boxed column (against the other columns). 95 % intervals from "
        f"{result.samples} bootstrap samples of queries (seed {result.seed})."
    ]
    if result.ungraded:
        notes.append(f"Skipped: {counted(result.ungraded, 'passage')} with a judgment and without a grade.")
    tables = [_table(table) for table in result.tables]
    return Report("Agreement with judgments", [*tables, summary, *map(Paragraph, notes)], result.provenance)


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


def graders_report(result: GraderAgreement) -> Report:
    """One row for every two graders, and Krippendorff's α of all graders."""
    unit = "pairs" if result.per_entry else "passages"
    pairs = Table(
        ["grader", "other grader", unit, *_COEFFICIENTS],
        [[pair.first, pair.second, pair.common, *pair.coefficients] for pair in result.pairs],
        title="Every two graders",
    )
    alphas = [result.nominal_alpha, result.ordinal_alpha, result.interval_alpha]
    overall = Table(
        ["graders", unit, "α (nominal)", "α (ordinal)", "α (interval)"],
        [[len(result.graders), result.shared, *alphas]],
        title="Krippendorff's α of all graders",
    )
    return Report("Agreement of graders", [pairs, overall], result.provenance)


def graders_figure(result: GraderAgreement) -> plots.Drawing:
    """A heat map of weighted κ (quadratic) of every two graders."""
    values = {(pair.first, pair.second): pair.coefficients.quadratic_kappa for pair in result.pairs}
    names = list(dict.fromkeys(name for pair in values for name in pair))
    size = (max(7.0, 3.5 + 0.8 * len(names)), max(5.0, 2.5 + 0.8 * len(names)))
    return plots.heat_map(names, values, "weighted κ"), size
