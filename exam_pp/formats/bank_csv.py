"""Test banks as tables, such as spreadsheets, one row per entry."""

from __future__ import annotations

import csv
import io
import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

from exam_pp.banks import BankLine, Combine, Entry, EntryKind, is_stale, make_entry
from exam_pp.errors import DataError
from exam_pp.formats.bank import check_entries, with_texts
from exam_pp.formats.base import Format, Source, Target, register
from exam_pp.formats.dropped_fields import count_dropped_bank_fields
from exam_pp.formats.sample import Fit, Sample
from exam_pp.store.csv_cells import BOM
from exam_pp.store.files import write_text
from exam_pp.store.numbers import is_integer, is_number, parse_number
from exam_pp.store.problems import Problems, is_repairing
from exam_pp.store.tables import Layout, Report, missing_column, read_table
from exam_pp.text.spreadsheet_cells import unescaped, with_apostrophe
from exam_pp.text.wording import counted, listed

log = logging.getLogger(__name__)

_COLUMNS = (
    "query_id", "query_text", "facet_id", "facet_text", "kind", "text", "importance", "weight",
    "gold_answers", "entry_id", "test_collection",
)  # fmt: skip
GROUP: Mapping[str, str | None] = {"group": None, "group_text": None, "combine": "any", "category": None}
"""Columns that a table only has if an entry has a value there, with the value of an empty cell."""
_KINDS: tuple[EntryKind, ...] = ("question", "nugget")
BANK = Layout(
    (), (*_COLUMNS[:5], *_KINDS, *_COLUMNS[5:], *GROUP),
    names={
        "query_id": ("qid", "q_id", "topic_id", "request_id", "narrative_id"),
        "query_text": ("query",),
        "kind": ("type",),
        "question": ("question_text", "questions"),
        "nugget": ("nugget_text", "nuggets", "criterion", "requirement"),
        "text": ("entry", "entry_text"),
        "gold_answers": ("gold_answer", "gold", "answers", "answer", "reference_answer", "expected_answer"),
        "entry_id": ("question_id", "nugget_id", "id"),
    },
    pairs=("query_id", "text"),
    lists=("gold_answers",),
    numbers=("weight",),
    as_it_is=True,
    kind="bank",
)  # fmt: skip
"""The columns of a bank; a column of questions or nuggets gives its entries their kind."""


class EntryRow(NamedTuple):
    """The cells of an entry, as texts; empty where the bank has no value.

    ``line`` is the line number in the file; ``missing`` are the columns that the file lacks.
    """

    query_id: str
    query_text: str = ""
    facet_id: str = ""
    facet_text: str = ""
    kind: str = ""
    text: str = ""
    importance: str = ""
    weight: str = ""
    gold_answers: str = ""
    entry_id: str = ""
    test_collection: str = ""
    group: str = ""
    group_text: str = ""
    combine: str = ""
    category: str = ""
    line: int = 0
    missing: frozenset[str] = frozenset()


def row_of(line: BankLine, item: Entry) -> EntryRow:
    """An entry as a row. Gold answers are written as a JSON list, since ``[]`` means "unanswerable"."""
    golds = item.gold_answers
    row = EntryRow(
        line.query_id,
        line.query_text,
        line.facet_id or "",
        line.facet_text or "",
        item.kind,
        item.text,
        item.importance or "",
        "" if item.weight == 1 else str(item.weight),
        "" if golds is None else json.dumps(golds, ensure_ascii=False),
        item.entry_id,
        line.test_collection,
    )
    group = {name: getattr(item, name) for name in GROUP if name in item.model_fields_set}
    return row._replace(**{name: cell for name, cell in group.items() if cell is not None})


def bank_table(lines: Iterable[BankLine]) -> str:
    """A bank as CSV with a header; raises :class:`DataError` for a query id that is empty or whitespace."""
    lines = list(lines)
    items = [item for line in lines for item in line.items]
    columns = (*_COLUMNS, *(n for n in GROUP if any(n in item.model_fields_set for item in items)))
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(columns)
    for line in lines:
        if not line.query_id.strip():
            raise DataError(f"the query id {line.query_id!r} is blank, which a CSV file does not allow.")
        for item in line.items:
            row = row_of(line, item)
            cells = {column: str(getattr(row, column)) for column in columns}
            # A weight is a number, also below 0.
            writer.writerow([c if name == "weight" else with_apostrophe(c) for name, c in cells.items()])
    return stream.getvalue()


def write_bank_csv(
    lines: Iterable[BankLine], path: str | Path, *, bom: bool = False, inputs: Iterable[str | Path] = ()
) -> None:
    """Write a :func:`bank_table`, in UTF-8; ``bom`` adds a byte order mark, which Excel needs."""
    write_text(path, (BOM if bom else "") + bank_table(lines), inputs=inputs)


def has_bank(used: Mapping[str, str]) -> bool:
    """Whether a table has the columns of a bank, by role: a query, and a text of its entries."""
    return bool({"query_id", "query_text"} & used.keys()) and bool({"text", *_KINDS} & used.keys())


_PARTS = re.compile(r"[\r\n]+(?:\s*(?:[-*]|\d+[.)])\s+)?|\s*[•‣▪]\s*")
"""What separates entries in a cell: line ends, with the marks of a list, or bullets."""


def read_bank_csv(
    path: str | Path, report: Report | None = None, *, split_lines: bool = False
) -> list[EntryRow]:
    """Read the rows of a table, such as a file of :func:`write_bank_csv` that a spreadsheet changed.

    Columns may have any order and many names, unknown columns are ignored; the separator is a comma,
    semicolon or tab. A query without an id has its text as id. ``report`` takes the counts of ignored cells,
    as in :func:`~exam_pp.store.tables.read_table`. ``split_lines`` makes an entry of each line or bullet of a
    cell. Raises :class:`DataError` for a missing
    column, and for a row without a query or a text.
    """
    rows: list[EntryRow] = []
    seen: set[EntryRow] = set()
    problems = Problems(path)
    several = 0
    for record, by_role in read_table(path, BANK, problems, report):
        if not has_bank(by_role):
            role = "nugget" if {"query_id", "query_text"} & by_role.keys() else "query_text"
            raise missing_column(path, BANK, record.columns, 1 if record.header else record.line, role)
        cells = {name: unescaped(by_role.get(name, "")) for name in (*_COLUMNS, *GROUP)}
        missing_columns = frozenset(name for name in cells if name not in by_role)
        entries: list[tuple[str, str]] = [
            (kind, unescaped(by_role[kind])) for kind in _KINDS if by_role.get(kind, "").strip()
        ]
        if cells["text"].strip() or not entries:
            entries.append((cells["kind"], cells["text"]))
        cells["query_id"] = cells["query_id"] or cells["query_text"].strip()
        pieces = [
            (kind, [*filter(None, map(str.strip, _PARTS.split(f"\n{text}")))]) for kind, text in entries
        ]
        several += any(len(parts) > 1 for _, parts in pieces) and not cells["entry_id"]
        if split_lines:
            entries = [(kind, part) for kind, parts in pieces for part in parts or [""]]
        for kind, text in entries:
            values: dict[str, Any] = {**cells, "kind": kind, "text": text, "missing": missing_columns}
            row = EntryRow(**values)
            if not row.query_id.strip():
                problems.add(record.error("is empty.", path, "query_id"))
            elif not text.strip():
                problems.add(record.error("is empty.", path, "text"), "without text")
            elif is_repairing() and row in seen:
                problems.add(record.error("repeats an earlier line.", path), "repeated")
            else:
                seen.add(row)
                rows.append(row._replace(line=record.line or record.record or 0))
    problems.check()
    if several and not split_lines:
        have = counted(several, "entry has", "entries have")
        log.warning("%s: %s several lines or bullets; --split-lines makes an entry of each.", path, have)
    return rows


def bank_of_rows(rows: Iterable[tuple[Path, EntryRow]]) -> list[BankLine]:
    """Make a bank of the rows of one or several files; raises :class:`DataError`."""
    lines: dict[tuple[str, str], BankLine] = {}
    for file, row in rows:
        line = lines.setdefault((row.query_id, row.facet_id), new_line(row))
        line.items.append(new_entry(file, row, ()))
    return list(lines.values())


def new_line(row: EntryRow) -> BankLine:
    """A bank line for the query and facet of a row, without entries."""
    facet = {"facet_id": row.facet_id, "facet_text": row.facet_text} if row.facet_id else {}
    return BankLine(
        query_id=row.query_id,
        **facet,
        test_collection=row.test_collection,
        query_text=row.query_text,
        items=[],
    )


def new_entry(file: Path, row: EntryRow, kinds: Sequence[str]) -> Entry:
    """Make an entry of a row, with a new id if its id is the digest of another text.

    ``kinds`` are the kinds of entries in the base bank: a row without a kind gets the only one. Raises
    :class:`DataError`.
    """
    named = row.kind.strip().lower() or (kinds[0] if len(kinds) == 1 else "")
    kind = next((known for known in _KINDS if known == named), None)
    if kind is None:
        found = (
            "the file has no such column: name the column of texts so, as in --columns bank:nugget=COLUMN"
            if "kind" in row.missing
            else f"is {row.kind!r}"
        )
        problem = f"must be 'question' or 'nugget', but {found}."
        raise DataError(problem, file=str(file), line=row.line, field="kind")
    key = None if is_stale(row.entry_id, row.text) else row.entry_id
    fields = entry_fields(file, row)
    return make_entry(kind, row.query_id, row.text, row.facet_id or None, key, **fields)


def entry_fields(file: Path, row: EntryRow) -> dict[str, Any]:
    """Return importance, weight, gold answers and group, except empty cells; raises :class:`DataError`."""
    values: dict[str, Any] = {name: getattr(row, name) for name in GROUP if getattr(row, name)}
    if row.combine not in ("", *get_args(Combine)):
        problem = f"must be {listed(get_args(Combine))} or empty, but is {row.combine!r}."
        raise DataError(problem, file=str(file), line=row.line, field="combine")
    if row.importance:
        values["importance"] = _label(row.importance)
    if row.weight:
        cell = row.weight.strip()
        if not is_number(cell):
            problem = f"{row.weight!r} is not a number."
            raise DataError(problem, file=str(file), line=row.line, field="weight")
        values["weight"] = int(cell) if is_integer(cell) else parse_number(cell)
    if row.gold_answers:
        values["gold_answers"] = _golds(file, row)
    return values


def _label(importance: str) -> str:
    """``vital`` or ``okay``, however a person wrote it; other values are unchanged."""
    label = importance.strip().lower()
    return label if label in ("vital", "okay") else importance


def _golds(file: Path, row: EntryRow) -> list[str]:
    """The answers of a JSON list; a cell that is not a list is a single answer."""
    cell = row.gold_answers.strip()
    if not cell.startswith("["):
        return [cell]
    try:
        answers = json.loads(cell)
    except (ValueError, RecursionError):
        answers = [None]
    if any(isinstance(answer, bool) or not isinstance(answer, str | int | float) for answer in answers):
        problem = 'must be a JSON list of texts, such as ["Paris", "the capital"].'
        raise DataError(problem, file=str(file), line=row.line, field="gold_answers")
    return [str(answer) for answer in answers]


def _entries(path: Path) -> list[Entry]:
    return [item for line in bank_of_rows((path, row) for row in read_bank_csv(path)) for item in line.items]


def _read(source: Source) -> list[BankLine]:
    rows = read_bank_csv(source.path, source.dropped.fields)
    lines = bank_of_rows((source.path, row) for row in rows)
    if not lines:
        raise DataError("has no questions or nuggets.", file=str(source.path))
    return lines


def _write(lines: Iterable[BankLine], target: Target, *, bom: bool) -> None:
    lines = with_texts(lines, target.dropped)
    check_entries(lines)
    keeps = {"query texts", "facets", "facet texts", "test collections"}
    keeps |= {"importance labels", "weights", "gold answers", "groups of entries", "categories"}
    count_dropped_bank_fields(lines, keeps, target.dropped)
    items = [item for line in lines for item in line.items]
    changed = sum(not item.entry_id or is_stale(item.entry_id, item.text) for item in items)
    target.dropped.add("entry ids", changed)
    labels = [item.importance for item in items if item.importance]
    target.dropped.add("spelling of importance labels", sum(_label(label) != label for label in labels))
    write_bank_csv(lines, target.path, bom=bom, inputs=target.inputs)


def _sniff(sample: Sample) -> Fit:
    """Tables of two columns with a query id and a question are banks if a query has several questions."""
    used = BANK.used(sample.names)
    if not has_bank(used):
        return Fit.NOT
    ids = [row[0] for row in sample.rows[1:] if row]
    is_bank = "nugget" in used or len(set(ids)) < len(ids) or ("text" in used and not sample.item)
    return Fit.FAIR if is_bank else Fit.LOOSE


register(
    Format(
        "bank-csv", "bank", "test bank as a table, such as a spreadsheet", _sniff, _entries,
        "entry", _read, partial(_write, bom=False),
    ),
    Format(
        "bank-excel", "bank", "the same with a byte order mark, for Excel",
        records=_entries, noun="entry", read=_read, write=partial(_write, bom=True),
    ),
)  # fmt: skip
