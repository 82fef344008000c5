"""Test banks as tables: entries, statistics and problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from statistics import mean

from exam_pp.phases.banks.statistics import BankStatistics, Lint
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Report, Table
from exam_pp.test_bank import Entry, QueryBank
from exam_pp.wording import counted


def show_report(queries: Iterable[QueryBank]) -> Report:
    """The entries, a table for each query."""
    blocks: list[Block] = []
    for query in queries:
        words = f"{query.query_id}: {query.query_text}" if query.query_text else query.query_id
        blocks += [Heading(words), _entry_table(query)]
    return Report("", blocks)


def _entry_table(query: QueryBank) -> Table:
    columns = ("query_id", "facet", "kind", "entry", "importance", "weight", "gold answers", "entry_id")
    rows: list[list[Cell]] = [
        [
            query.query_id,
            entry.facet_id,
            entry.kind,
            entry.text,
            entry.importance,
            None if entry.weight == 1 else entry.weight,
            _golds(entry),
            key,
        ]
        for key, entry in query.entries.items()
    ]
    optional = {1, 4, 5, 6}
    kept = [i for i in range(len(columns)) if i not in optional or any(row[i] is not None for row in rows)]
    return Table([columns[i] for i in kept], [[row[i] for i in kept] for row in rows])


def _golds(entry: Entry) -> str | None:
    if entry.gold_answers is None:
        return None
    return " | ".join(entry.gold_answers) if entry.gold_answers else "(unanswerable)"


def stats_report(found: BankStatistics) -> Report:
    """The counts that are not 0."""
    importance: Counter[str] = Counter()
    for label, count in found.importance.items():
        importance[label if label in ("vital", "okay") else "of another name"] += count
    rows: list[tuple[str, Cell]] = [
        ("queries", found.queries),
        ("facets", found.facets),
        ("questions", found.questions),
        ("nuggets", found.nuggets),
        ("entries a query, least", min(found.sizes)),
        ("entries a query, mean", float(mean(found.sizes))),
        ("entries a query, most", max(found.sizes)),
        ("words an entry, mean", float(mean(found.words))),
        ("words an entry, most", max(found.words)),
        *((f"importance {label}", count) for label, count in sorted(importance.items())),
        ("with gold answers", found.with_gold_answers),
        ("unanswerable", found.unanswerable),
        ("with a weight", found.weighted),
        ("ids that repeat", found.repeated_ids),
    ]
    return Report("", [Table(("what", "value"), [row for row in rows if row[1] != 0], decimals=2)])


def lint_report(found: Lint) -> Report:
    """How many errors and warnings there are, and a table of them."""
    held = f"{counted(found.queries, 'query')}, {counted(found.entries, 'entry')}"
    warnings = len(found.problems) - found.errors
    words = f"{held}: {counted(found.errors, 'error')}, {counted(warnings, 'warning')}."
    blocks: list[Block] = [Paragraph(words)]
    if found.problems:
        rows = [(p.severity, p.query_id, p.problem, p.text, p.entry_id) for p in found.problems]
        blocks.append(Table(("severity", "query_id", "problem", "text", "entry_id"), rows))
    return Report("", blocks)
