"""Agreement with judgments as the workbench paper's tables; agreement of graders as table and figure."""

from __future__ import annotations

from exam_pp.phases.analysis.agreement import Agreement, AgreementTable, GraderAgreement
from exam_pp.rendering import plots
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.wording import counted

_COEFFICIENTS = ("Cohen's κ", "weighted κ (linear)", "weighted κ (quadratic)", "Krippendorff's α (ordinal)")


def agreement_report(found: Agreement) -> Report:
    """Tables as table 5 of the workbench paper; the box of a row is what its κ compares it with."""
    summary = Table(
        ["labels", *_COEFFICIENTS],
        [[labelling, *row] for labelling, row in found.coefficients],
        title="Labels and judgments as numbers",
        decimals=3,
    )
    notes = [
        f"{counted(found.passages, 'passage')} of {counted(found.queries, 'query')} with a judgment and "
        f"a grade. A judgment of {found.min_relevant} or more is relevant. κ: row against rest, its boxed "
        f"column against the rest; 95 % intervals from {found.samples} bootstrap samples of queries (seed "
        f"{found.seed})."
    ]
    if found.ungraded:
        notes.append(f"Left out: {counted(found.ungraded, 'passage')} with a judgment and without a grade.")
    tables = [_table(table) for table in found.tables]
    return Report("Agreement with judgments", [*tables, summary, *map(Paragraph, notes)])


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


def graders_report(found: GraderAgreement) -> Report:
    """One row for every two graders over what both graded, and Krippendorff's α of all."""
    what = "pairs" if found.per_entry else "passages"
    pairs = Table(
        ["grader", "other grader", what, *_COEFFICIENTS],
        [[pair.first, pair.second, pair.common, *pair.coefficients] for pair in found.pairs],
        title="Every two graders",
    )
    alphas = [found.nominal_alpha, found.ordinal_alpha, found.interval_alpha]
    everyone = Table(
        ["graders", what, "α (nominal)", "α (ordinal)", "α (interval)"],
        [[len(found.graders), found.shared, *alphas]],
        title="Krippendorff's α of all graders",
    )
    return Report("Agreement of graders", [pairs, everyone])


def graders_figure(found: GraderAgreement) -> plots.Drawing:
    """Weighted κ (quadratic) of every two graders."""
    values = {(pair.first, pair.second): pair.coefficients.quadratic_kappa for pair in found.pairs}
    names = list(dict.fromkeys(name for pair in values for name in pair))
    size = (max(7.0, 3.5 + 0.8 * len(names)), max(5.0, 2.5 + 0.8 * len(names)))
    return plots.heat_map(names, values, "weighted κ"), size
