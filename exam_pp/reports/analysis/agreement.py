"""Report on the agreement of labels with judgments: tables of counts with κ."""

from __future__ import annotations

from exam_pp.metrics.uncertainty import few_units_note
from exam_pp.phases.analysis.agreement import Agreement, AgreementTable
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
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
