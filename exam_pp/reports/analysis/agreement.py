"""Reports of agreement with judgments (tables of the workbench paper) and between graders (table, figure)."""

from __future__ import annotations

from exam_pp.phases.analysis.agreement import Agreement, AgreementTable, GraderAgreement
from exam_pp.rendering import plots
from exam_pp.rendering.document import Block, Cell, Paragraph, Picture, Report, Table
from exam_pp.rendering.pictures.grids import confusion, matrix
from exam_pp.wording import counted

_COEFFICIENTS = ("Cohen's κ", "weighted κ (linear)", "weighted κ (quadratic)", "Krippendorff's α (ordinal)")


def agreement_report(result: Agreement) -> Report:
    """Tables like table 5 of the workbench paper; κ compares a row with its boxed column.

    The largest table of each labelling also has a picture.
    """
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
    notes += result.notes
    tables = [_table(table) for table in result.tables]
    blocks: list[Block] = [*tables, summary, *map(Paragraph, notes), *agreement_pictures(result)]
    return Report("Agreement with judgments", blocks, result.provenance)


def agreement_pictures(result: Agreement) -> list[Picture]:
    """A confusion matrix of labels and judgments for each labelling, from its table with most cells."""
    largest: dict[str, AgreementTable] = {}
    for table in result.tables:
        other = largest.get(table.labelling)
        if other is None or _cells(table) > _cells(other):
            largest[table.labelling] = table
    return [
        confusion(
            [row.label for row in table.rows],
            table.columns,
            [row.counts for row in table.rows],
            f"Labels and judgments: {table.name}, {table.labelling}",
            row_noun="labels",
            column_noun="judgments",
            boxed={(number, row.box) for number, row in enumerate(table.rows)},
        )
        for table in largest.values()
    ]


def _cells(table: AgreementTable) -> int:
    return len(table.rows) * len(table.columns)


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
    blocks: list[Block] = [pairs, overall, *map(Paragraph, result.notes), *graders_pictures(result)]
    return Report("Agreement of graders", blocks, result.provenance)


def graders_pictures(result: GraderAgreement) -> list[Picture]:
    """Weighted κ (quadratic) of every two graders as a matrix; empty for two graders."""
    values = {(pair.first, pair.second): pair.coefficients.quadratic_kappa for pair in result.pairs}
    return [matrix(result.graders, values, _COEFFICIENTS[2])] if len(values) > 1 else []


def graders_figure(result: GraderAgreement) -> plots.Drawing:
    """A heat map of weighted κ (quadratic) of every two graders."""
    values = {(pair.first, pair.second): pair.coefficients.quadratic_kappa for pair in result.pairs}
    names = list(dict.fromkeys(name for pair in values for name in pair))
    size = (max(7.0, 3.5 + 0.8 * len(names)), max(5.0, 2.5 + 0.8 * len(names)))
    return plots.heat_map(names, values, "weighted κ"), size
