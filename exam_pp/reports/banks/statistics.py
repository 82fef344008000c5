"""Parts of the page of a test bank: counts, problems, entries, and changes since an earlier version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import mean

from exam_pp.phases.banks.compare import EntryDifference
from exam_pp.phases.banks.statistics import BankStatistics, Problem
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Table
from exam_pp.test_bank import Entry, QueryBank
from exam_pp.wording import counted


def counts(statistics: BankStatistics) -> list[Block]:
    """A table of the counts, without those that are 0."""
    importance: Counter[str] = Counter()
    for label, count in statistics.importance.items():
        importance[label if label in ("vital", "okay") else "neither vital nor okay"] += count
    rows: list[tuple[str, Cell]] = [
        ("queries", statistics.queries),
        ("facets", statistics.facets),
        ("questions", statistics.questions),
        ("nuggets", statistics.nuggets),
        ("entries per query, min", min(statistics.sizes, default=0)),
        ("entries per query, mean", float(mean(statistics.sizes or [0]))),
        ("entries per query, max", max(statistics.sizes, default=0)),
        ("words per entry, mean", float(mean(statistics.words or [0]))),
        ("words per entry, max", max(statistics.words, default=0)),
        *((f"importance {label}", count) for label, count in sorted(importance.items())),
        ("with gold answers", statistics.with_gold_answers),
        ("unanswerable", statistics.unanswerable),
        ("with a weight", statistics.weighted),
        ("duplicate ids", statistics.repeated_ids),
    ]
    return [Table(("statistic", "value"), [row for row in rows if row[1] != 0], decimals=2)]


def problems(found: Sequence[Problem]) -> list[Block]:
    """The numbers of errors and warnings, and a table of them."""
    errors = sum(problem.severity == "error" for problem in found)
    warnings = len(found) - errors
    text = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}."
    blocks: list[Block] = [Heading("Problems"), Paragraph(text)]
    if found:
        rows = [(p.severity, p.query_id, p.problem, p.text, p.entry_id) for p in found]
        blocks.append(Table(("severity", "query_id", "problem", "text", "entry_id"), rows))
    return blocks


def entries(queries: Iterable[QueryBank], *, flat: bool) -> list[Block]:
    """A table of the entries of each query, or with ``flat`` of all; empty optional columns are omitted."""
    queries = list(queries)
    if flat:
        return [_entry_table(queries)]
    blocks: list[Block] = []
    for query in queries:
        title = f"{query.query_id}: {query.query_text}" if query.query_text else query.query_id
        blocks += [Heading(title), _entry_table([query])]
    return blocks


def _entry_table(queries: Iterable[QueryBank]) -> Table:
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
        for query in queries
        for key, entry in query.entries.items()
    ]
    optional = {1, 4, 5, 6}
    kept = [i for i in range(len(columns)) if i not in optional or any(row[i] is not None for row in rows)]
    return Table([columns[i] for i in kept], [[row[i] for i in kept] for row in rows])


def _golds(entry: Entry) -> str | None:
    if entry.gold_answers is None:
        return None
    return " | ".join(entry.gold_answers) if entry.gold_answers else "(unanswerable)"


def changes(differences: Sequence[EntryDifference], old: str) -> list[Block]:
    """The number of differences to an earlier version, and a table of them."""
    number = counted(len(differences), "difference")
    blocks: list[Block] = [Heading("Changes"), Paragraph(f"{number} since {old}.")]
    if differences:
        rows: list[list[Cell]] = [[d.query_id, d.change, d.before, d.after, d.entry_id] for d in differences]
        blocks.append(Table(("query_id", "change", "before", "after", "entry_id"), rows))
    return blocks
