"""What a bank holds, and what looks wrong in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from statistics import mean
from typing import Literal, NamedTuple

from exam_pp.errors import SelectionError
from exam_pp.graders.nuggetize import MAX_WORDS
from exam_pp.metrics.duplicates import near_duplicates
from exam_pp.prompts.answer_key import checkable_golds
from exam_pp.prompts.generation import MAX_NUGGET_WORDS
from exam_pp.reports.document import Block, Cell, Heading, Paragraph, Report, Table
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.test_bank import BankLine, Entry, Nugget, QueryBank, TestBank, entry_id
from exam_pp.wording import counted

_MD5 = re.compile(r"[0-9a-f]{32}")


def show_report(bank: Path, queries: Collection[str] = ()) -> Report:
    """The entries, a table for each query; raises :class:`SelectionError` for a query that is not there."""
    read = read_bank(bank)
    for query_id in queries:
        if query_id not in read.queries:
            raise SelectionError(f"{bank} has no query {query_id!r}.")
    blocks: list[Block] = []
    for query in read:
        if not queries or query.query_id in queries:
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


def stats_report(bank: Path) -> Report:
    """Counts over the whole bank."""
    read = read_bank(bank)
    entries = [entry for query in read for entry in query.entries.values()]
    sizes = [len(query.entries) for query in read]
    words = [len(entry.text.split()) for entry in entries]
    importance = Counter(
        label if label in ("vital", "okay") else "of another name"
        for label in (entry.importance for entry in entries)
        if label is not None
    )
    golds = [entry.gold_answers for entry in entries if entry.gold_answers is not None]
    rows: list[tuple[str, Cell]] = [
        ("queries", len(sizes)),
        ("facets", len({(line.query_id, line.facet_id) for line in read.lines if line.facet_id is not None})),
        ("questions", sum(entry.kind == "question" for entry in entries)),
        ("nuggets", sum(entry.kind == "nugget" for entry in entries)),
        ("entries a query, least", min(sizes)),
        ("entries a query, mean", float(mean(sizes))),
        ("entries a query, most", max(sizes)),
        ("words an entry, mean", float(mean(words))),
        ("words an entry, most", max(words)),
        *((f"importance {label}", count) for label, count in sorted(importance.items())),
        ("with gold answers", sum(bool(answers) for answers in golds)),
        ("unanswerable", sum(not answers for answers in golds)),
        ("with a weight", sum(entry.weight != 1 for entry in entries)),
        ("ids that repeat", len(read.duplicates)),
    ]
    return Report("", [Table(("what", "value"), [row for row in rows if row[1] != 0], decimals=2)])


class Problem(NamedTuple):
    """Something that looks wrong; an error makes numbers wrong, a warning may."""

    severity: Literal["error", "warning"]
    query_id: str
    entry_id: str | None
    problem: str
    text: str | None = None


def lint(bank: TestBank) -> Iterator[Problem]:
    """Problems of a bank that its text alone shows, query by query."""
    if len(bank.kinds) > 1:
        yield Problem("warning", "all", None, "the bank holds both questions and nuggets")
    for query in bank:
        if not query.query_text.strip():
            yield Problem("warning", query.query_id, None, "the query has no text")
        if not query.entries:
            yield Problem("error", query.query_id, None, "the query has no entries")
        texts = {key: entry.text for key, entry in query.entries.items()}
        for pair in near_duplicates(texts):
            same = "repeats" if pair.similarity == 1 else f"is nearly ({pair.similarity:.0%})"
            words = f"{same} {texts[pair.first]!r}"
            severity: Literal["error", "warning"] = "error" if pair.similarity == 1 else "warning"
            yield Problem(severity, query.query_id, pair.second, words, texts[pair.second])
    for line in bank.lines:
        for item in line.items:
            for severity, problem in _item_problems(line, item):
                yield Problem(severity, line.query_id, item.entry_id, problem, item.text)
    for key, count in Counter(bank.duplicates).items():
        yield Problem("error", _query_of(bank, key), key, f"the id occurs {count + 1} times")


def _query_of(bank: TestBank, key: str) -> str:
    return next((query.query_id for query in bank if key in query.entries), "")


def _item_problems(line: BankLine, item: Entry) -> Iterator[tuple[Literal["error", "warning"], str]]:
    if not item.text.strip():
        yield "error", "the text is empty"
    if item.query_id != line.query_id:  # which `validate` gets to see
        yield "error", f"says it is of the query {item.query_id!r}"
    last = item.entry_id.rpartition("/")[2]
    if _MD5.fullmatch(last) and last != entry_id("", item.text).removeprefix("/"):
        yield "warning", "the id is that of other words: grades of the old words count for the new ones"
    if isinstance(item, Nugget) and len(item.text.split()) > (limit := _most_words(line, item)):
        yield "warning", f"has more than {limit} words"
    if item.importance not in (None, "vital", "okay"):
        yield "warning", f"the importance {item.importance!r} is neither vital nor okay"
    if item.gold_answers is not None and checkable_golds(item) is None:
        yield "warning", "the gold answer cannot be compared with text"


def _most_words(line: BankLine, item: Nugget) -> int:
    """What was asked for: by AutoNuggetizer, whose nuggets have an importance, or by the workbench paper."""
    listed = isinstance(line.info, dict) and "nuggetizer" in line.info
    return MAX_WORDS if listed or item.importance is not None else MAX_NUGGET_WORDS


def lint_report(bank: Path) -> tuple[Report, int]:
    """The problems as a report, and how many of them are errors."""
    read = read_bank(bank)
    problems = list(lint(read))
    errors = sum(problem.severity == "error" for problem in problems)
    entries = sum(len(query.entries) for query in read)
    held = f"{counted(len(read.queries), 'query')}, {counted(entries, 'entry')}"
    words = f"{held}: {counted(errors, 'error')}, {counted(len(problems) - errors, 'warning')}."
    blocks: list[Block] = [Paragraph(words)]
    if problems:
        rows = [(p.severity, p.query_id, p.problem, p.text, p.entry_id) for p in problems]
        blocks.append(Table(("severity", "query_id", "problem", "text", "entry_id"), rows))
    return Report("", blocks), errors
