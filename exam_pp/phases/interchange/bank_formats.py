"""Test banks from and to the formats of other tools, and spreadsheets that were edited."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from exam_pp.errors import DataError
from exam_pp.formats.bank_csv import (
    Row,
    bank_of_rows,
    entry_fields,
    is_stale,
    new_entry,
    new_line,
    note_unused_cells,
    read_bank_csv,
    row_of,
)
from exam_pp.formats.base import FORMATS, Format, Target
from exam_pp.formats.losses import Losses
from exam_pp.phases.banks.edit import add_history
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.files import check_output
from exam_pp.test_bank import BankLine, Entry, TestBank, entry_id
from exam_pp.wording import counted

log = logging.getLogger(__name__)

TextFormat = Literal["csv", "genq", "nuggetizer", "autojudge"]
ExportFormat = Literal["csv", "nuggetizer", "autojudge"]

_NAMES = {"csv": "bank-csv", "autojudge": "autojudge-bank"}
"""Formats that `exam-pp bank` calls by shorter names."""
_SPREADSHEET = "spreadsheet"


def _format(name: str) -> Format:
    return FORMATS.get(_NAMES.get(name, name))


@dataclass
class ConvertedBank:
    """Counts for the closing line.

    ``reidentified`` entries have new words, and so new ids; ``kept`` are changed cells of columns in which
    the base bank stays as it is.
    """

    queries: int = 0
    entries: int = 0
    added: int = 0
    removed: int = 0
    changed: int = 0
    reidentified: int = 0
    kept: Counter[str] = field(default_factory=Counter)
    losses: Losses = field(default_factory=Losses)

    def lines(self) -> Iterator[str]:
        """What was converted, for people."""
        yield f"{counted(self.queries, 'query')}, {counted(self.entries, 'entry')}."
        if self.reidentified:
            yield f"New ids, as their words are new: {counted(self.reidentified, 'entry')}."
        if self.added or self.removed or self.changed:
            added = counted(self.added, "entry")
            yield f"{added} added, {self.removed} removed, {self.changed} changed otherwise."
        if self.kept.total():
            cells = ", ".join(f"{name} ({count})" for name, count in self.kept.items() if count)
            yield f"Changed cells that stay as they are in the base bank: {cells}."
        yield from self.losses.lines()


def import_texts(
    form: TextFormat, files: Sequence[Path], output: Path, base: Path | None = None
) -> ConvertedBank:
    """Write the bank that the files hold.

    With a ``base`` (for ``csv``) the spreadsheet is an edited copy of that bank: what a spreadsheet does
    not show stays, and every change is recorded in the bank's history. Raises :class:`ExamError`.
    """
    inputs = [*files, *([base] if base else [])]
    check_output(output, inputs)
    counts = ConvertedBank()
    if form == "csv":
        lines = _bank_of_spreadsheets(files, base, counts)
    else:
        read = _format(form).records
        assert read is not None, "every such format is read"
        lines = [line for file in files for line in read(file)]
    bank = TestBank.from_lines(lines)
    counts.queries = len(bank.queries)
    counts.entries = sum(len(query.entries) for query in bank)
    if not counts.entries:
        raise DataError("holds no questions and no nuggets.", file=", ".join(map(str, files)))
    if bank.duplicates:
        log.warning(
            "%s more than once (first: %s); `exam-pp bank lint` lists them",
            counted(len(bank.duplicates), "entry id occurs", "entry ids occur"), bank.duplicates[0],
        )  # fmt: skip
    write_bank(lines, output, inputs=inputs)
    return counts


def export_bank(bank: Path, form: ExportFormat, output: Path) -> list[str]:
    """Write a bank in another tool's format; returns what to tell people, with what the format leaves out.

    Raises :class:`~exam_pp.errors.ExamError`, also for questions in nuggetizer's format.
    """
    check_output(output, [bank])
    read = read_bank(bank)
    if form == "nuggetizer":
        read.require_kind("nugget", "The format of AutoNuggetizer")
    losses = Losses()
    write = _format(form).write
    assert write is not None, "every format of banks is written"
    write(read.lines, Target(output, losses, [bank]))
    done = ConvertedBank(len(read.queries), sum(len(line.items) for line in read.lines))
    return [*done.lines(), *losses.lines()]


def _bank_of_spreadsheets(files: Sequence[Path], base: Path | None, counts: ConvertedBank) -> list[BankLine]:
    for file in files:
        note_unused_cells(file, counts.losses)
    rows = [(file, row) for file in files for row in read_bank_csv(file)]
    if base is not None:
        return _edited_bank(rows, read_bank(base).lines, counts)
    counts.reidentified = sum(is_stale(row.entry_id, row.text) for _, row in rows)
    return bank_of_rows(rows)


def _edited_bank(
    rows: Sequence[tuple[Path, Row]], base: Sequence[BankLine], counts: ConvertedBank
) -> list[BankLine]:
    """The bank that the rows describe; lines and entries of ``base`` keep what the rows do not show."""
    lines: dict[tuple[str, str], int] = {}
    found: list[tuple[BankLine, list[Entry]]] = []
    waiting: dict[tuple[str, str], deque[tuple[int, Entry]]] = defaultdict(deque)
    for line in base:
        lines.setdefault((line.query_id, line.facet_id or ""), len(found))
        for item in line.items:
            waiting[line.query_id, item.entry_id].append((len(found), item))
        found.append((line, []))
    kinds = list({item.kind for line in base for item in line.items})
    history: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for file, row in rows:
        if row.entry_id:
            queue = waiting[row.query_id, row.entry_id]
            if not queue:
                raise _unknown(file, row)
            number, old = queue.popleft()
            item = _edited(file, found[number][0], old, row, counts, history[number])
        else:
            key = (row.query_id, row.facet_id)
            if key not in lines:
                lines[key] = len(found)
                found.append((new_line(row), []))
            number = lines[key]
            item = new_entry(file, row, kinds)
            counts.added += 1
            history[number].append({"op": "add", "id": item.entry_id, "by": _SPREADSHEET})
        found[number][1].append(item)
    for number, old in (pair for queue in waiting.values() for pair in queue):
        counts.removed += 1
        history[number].append({"op": "remove", "id": old.entry_id, "by": _SPREADSHEET, "text": old.text})
    return [_with_items(line, items, history[number]) for number, (line, items) in enumerate(found)]


def _with_items(line: BankLine, items: list[Entry], history: list[dict[str, Any]]) -> BankLine:
    return add_history(line.model_copy(update={"items": items}), history)


def _unknown(file: Path, row: Row) -> DataError:
    return DataError(
        f"{row.entry_id!r} is no entry of the query {row.query_id!r} in the base bank, or occurs too often; "
        "leave the cell empty for a new entry.",
        file=str(file), line=row.line, field="entry_id",
    )  # fmt: skip


def _edited(
    file: Path, line: BankLine, old: Entry, row: Row, counts: ConvertedBank, history: list[dict[str, Any]]
) -> Entry:
    """The entry with the cells that differ from what the bank would show."""
    before = row_of(line, old)
    update: dict[str, Any] = {}
    record: dict[str, Any] = {"op": "edit", "id": old.entry_id, "by": _SPREADSHEET}
    new = entry_fields(file, row)
    for name, default in (("importance", None), ("weight", 1.0), ("gold_answers", None)):
        if name not in row.missing and getattr(row, name) != getattr(before, name):
            update[name] = new.get(name, default)
            counts.changed += 1
            record |= {"op": name, "value": update[name]}
            history.append(dict(record))
    for name in ("query_text", "facet_id", "facet_text", "kind", "test_collection"):
        counts.kept[name] += name not in row.missing and getattr(row, name) != getattr(before, name)
    if row.text != before.text:
        kind = old.kind
        key = entry_id(line.query_id, row.text, line.facet_id)
        update |= {f"{kind}_text": row.text, f"{kind}_id": key}
        counts.reidentified += 1
        history.append(
            {"op": "reword", "id": old.entry_id, "by": _SPREADSHEET, "new_id": key, "text": old.text}
        )
    return old.model_copy(update=update) if update else old
