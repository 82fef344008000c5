"""``exam-pp bank show``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    FILE,
    ONLY_QUERY,
    SCRIPT_FORMATS,
    emit_rendered,
    format_option,
    output_option,
)
from exam_pp.errors import SelectionError
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Report, Table
from exam_pp.text.wording import counted, no_query

if TYPE_CHECKING:
    from exam_pp.banks import Entry, QueryBank, TestBank
    from exam_pp.phases.banks.compare import EntryDifference

PARTS = ("counts", "problems", "entries")


@click.command("show", cls=Command)
@click.argument("bank", type=FILE)
@ONLY_QUERY
@click.option(
    "--only",
    "parts",
    multiple=True,
    type=click.Choice(PARTS),
    help="Only this part; may be repeated.  [default: all; the entries in tsv and json, which have one part]",
)
@click.option(
    "--since",
    "old",
    metavar="OLD",
    type=FILE,
    help="Earlier version of the bank: list entries that were added, removed or changed, in place of all.",
)
@format_option()
@output_option()
def command(
    bank: Path, queries: tuple[str, ...], parts: tuple[str, ...], old: Path | None, form: str, output: Path
) -> None:
    """Show the counts, the problems and the entries of BANK.

    Problems are duplicates, outdated ids, long nuggets, empty texts. The exit code is 1 if some of the
    problems on the page are errors. To find bad entries from grades, use `exam-pp bank clinic`.

    Examples:

    \b
      exam-pp bank show questions.jsonl
      exam-pp bank show questions.jsonl --only problems
      exam-pp bank show questions-2.jsonl --since questions.jsonl
    """
    from exam_pp.phases.banks.compare import differences
    from exam_pp.store.banks.bank_json import read_bank

    is_flat = form in SCRIPT_FORMATS
    if is_flat and len(set(parts)) > 1:
        raise click.UsageError(f"--format {form} has one table, so --only can name only one part.")
    shown = set(parts) or ({"entries"} if is_flat else set(PARTS))
    new = read_bank(bank)
    before = None if old is None else read_bank(old)
    known = new.queries.keys() | (before.queries.keys() if before is not None else set())
    for query_id in queries:
        if query_id not in known:
            raise SelectionError(no_query(bank, query_id, new.queries))
    selected = select_queries(new, queries)
    found = [*importance(new), *lint(selected)] if "problems" in shown else []
    blocks = []
    if "counts" in shown:
        blocks += counts(selected)
    if "problems" in shown:
        blocks += problems(found)
    if "entries" in shown and before is not None:
        blocks += changes(differences(select_queries(before, queries), selected), str(old))
    elif "entries" in shown:
        blocks += entries(selected, flat=is_flat)
    emit_rendered(Report("", blocks), form, output, [bank, old])
    if any(problem.severity == "error" for problem in found):
        sys.exit(1)


def select_queries(bank: TestBank, queries: Collection[str]) -> TestBank:
    """The bank with only these queries; without queries, the whole bank."""
    from exam_pp.banks import TestBank

    if not queries:
        return bank
    return TestBank.from_lines(line for line in bank.lines if line.query_id in queries)


class Problem(NamedTuple):
    """A problem of a bank: an error makes scores wrong, a warning may make them wrong."""

    severity: str
    query_id: str
    entry_id: str | None
    problem: str
    text: str | None = None


def importance(bank: TestBank) -> Iterator[Problem]:
    """A warning for nuggets of which none is vital."""
    nuggets = [entry for query in bank for entry in query.entries.values() if entry.kind == "nugget"]
    if nuggets and not bank.has_criteria and not any(entry.importance == "vital" for entry in nuggets):
        problem = "no nugget has the importance vital, so nugget scores are only A and A_strict"
        yield Problem("warning", "all", None, problem)


def lint(bank: TestBank) -> Iterator[Problem]:
    """Problems in the texts and ids of a bank, query by query."""
    from exam_pp.metrics.duplicates import near_duplicates

    if len(bank.kinds) > 1:
        yield Problem("warning", "all", None, "the bank has both questions and nuggets")
    for query in bank:
        if not query.query_text.strip():
            yield Problem("warning", query.query_id, None, "the query has no text")
        if not query.entries:
            yield Problem("error", query.query_id, None, "the query has no entries")
        texts = {key: entry.text for key, entry in query.entries.items()}
        for pair in near_duplicates(texts):
            first, second = query.entries[pair.first], query.entries[pair.second]
            problem, severity = f"shares {pair.similarity:.0%} of the words with {first.text!r}", "warning"
            # Only equal texts have the similarity 1; that of others is at most 0.99.
            if pair.similarity == 1:
                severity = "error" if first.facet_id == second.facet_id else "warning"
                facet = "" if severity == "error" else f" of the facet {first.facet_id!r}"
                problem = f"duplicate of {first.text!r}{facet}"
            yield Problem(severity, query.query_id, pair.second, problem, second.text)
    copies: dict[tuple[str, str], list[str]] = {}
    # Lines, because the queries of a bank have only the first of the entries with an id.
    for query_id, item in ((line.query_id, item) for line in bank.lines for item in line.items):
        copies.setdefault((query_id, item.entry_id), []).append(item.text.strip())
        for severity, problem in _item_problems(item):
            yield Problem(severity, query_id, item.entry_id, problem, item.text)
    for (query_id, key), of_id in copies.items():
        # Published banks have copies of entries. They are graded once, so they are no error.
        severity, differ = ("warning", "") if len(set(of_id)) == 1 else ("error", ", with different texts")
        if len(of_id) > 1:
            yield Problem(severity, query_id, key, f"the id occurs {len(of_id)} times{differ}")


def _item_problems(item: Entry) -> Iterator[tuple[str, str]]:
    from exam_pp.banks import Nugget, is_stale
    from exam_pp.graders.nuggetize import MAX_WORDS
    from exam_pp.prompts.answer_key import gold_answers

    if not item.text.strip():
        yield "error", "the text is empty"
    if is_stale(item.entry_id, item.text):
        yield "warning", "the id belongs to another text: grades of the old text count for the new text"
    if isinstance(item, Nugget) and len(item.text.split()) > MAX_WORDS:
        yield "warning", f"has more than {MAX_WORDS} words"
    if item.importance not in (None, "vital", "okay"):
        yield "warning", f"the importance {item.importance!r} is neither vital nor okay"
    if item.gold_answers is not None and gold_answers(item, "strict") is None:
        yield "warning", "the gold answer refers to other choices, so that few replies match it"


def counts(bank: TestBank) -> list[Block]:
    """A table of the counts of a bank, without those that are 0."""
    entries = [entry for query in bank for entry in query.entries.values()]
    golds = [entry.gold_answers for entry in entries if entry.gold_answers is not None]
    sizes = [len(query.entries) for query in bank]
    words = [len(entry.text.split()) for entry in entries]
    importance = Counter(
        entry.importance if entry.importance in ("vital", "okay") else "neither vital nor okay"
        for entry in entries
        if entry.importance is not None
    )
    facets = {(line.query_id, line.facet_id) for line in bank.lines if line.facet_id is not None}
    rows: list[tuple[str, Cell]] = [
        ("queries", len(bank.queries)),
        ("facets", len(facets)),
        ("questions", sum(entry.kind == "question" for entry in entries)),
        ("nuggets", sum(entry.kind == "nugget" for entry in entries)),
        ("entries per query, min", min(sizes, default=0)),
        ("entries per query, mean", float(mean(sizes or [0]))),
        ("entries per query, max", max(sizes, default=0)),
        ("words per entry, mean", float(mean(words or [0]))),
        ("words per entry, max", max(words, default=0)),
        *((f"importance {label}", count) for label, count in sorted(importance.items())),
        ("with gold answers", sum(map(bool, golds))),
        ("unanswerable", golds.count([])),
        ("with a weight", sum(entry.weight != 1 for entry in entries)),
        ("to avoid", sum(entry.to_avoid for entry in entries)),
        ("duplicate ids", len(bank.duplicates)),
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
