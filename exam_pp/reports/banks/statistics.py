"""Tables of the entries, statistics and problems of test banks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from statistics import mean

from exam_pp.phases.banks.statistics import BankStatistics, Lint
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Report, Table
from exam_pp.test_bank import Entry, QueryBank
from exam_pp.wording import counted


def show_report(queries: Iterable[QueryBank]) -> Report:
    """A table of the entries for each query; optional columns are omitted if they are empty."""
    blocks: list[Block] = []
    for query in queries:
        title = f"{query.query_id}: {query.query_text}" if query.query_text else query.query_id
        blocks += [Heading(title), _entry_table(query)]
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


def stats_report(statistics: BankStatistics) -> Report:
    """A table of the counts, without those that are 0."""
    importance: Counter[str] = Counter()
    for label, count in statistics.importance.items():
        importance[label if label in ("vital", "okay") else "neither vital nor okay"] += count
    rows: list[tuple[str, Cell]] = [
        ("queries", statistics.queries),
        ("facets", statistics.facets),
        ("questions", statistics.questions),
        ("nuggets", statistics.nuggets),
        ("entries per query, min", min(statistics.sizes)),
        ("entries per query, mean", float(mean(statistics.sizes))),
        ("entries per query, max", max(statistics.sizes)),
        ("words per entry, mean", float(mean(statistics.words))),
        ("words per entry, max", max(statistics.words)),
        *((f"importance {label}", count) for label, count in sorted(importance.items())),
        ("with gold answers", statistics.with_gold_answers),
        ("unanswerable", statistics.unanswerable),
        ("with a weight", statistics.weighted),
        ("duplicate ids", statistics.repeated_ids),
    ]
    return Report("", [Table(("statistic", "value"), [row for row in rows if row[1] != 0], decimals=2)])


def lint_report(lint: Lint) -> Report:
    """The numbers of errors and warnings, and a table of them."""
    sizes = f"{counted(lint.queries, 'query')}, {counted(lint.entries, 'entry')}"
    warnings = len(lint.problems) - lint.errors
    text = f"{sizes}: {counted(lint.errors, 'error')}, {counted(warnings, 'warning')}."
    blocks: list[Block] = [Paragraph(text)]
    if lint.problems:
        rows = [(p.severity, p.query_id, p.problem, p.text, p.entry_id) for p in lint.problems]
        blocks.append(Table(("severity", "query_id", "problem", "text", "entry_id"), rows))
    return Report("", blocks)
