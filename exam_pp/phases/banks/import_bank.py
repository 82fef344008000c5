"""Test banks of the files of other tools or collections."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from exam_pp.banks import BankLine, Entry, EntryKind, TestBank, entry_id, is_stale, of_title_query
from exam_pp.errors import DataError
from exam_pp.formats.bank import with_answers, with_questions
from exam_pp.formats.bank_csv import (
    BANK,
    GROUP,
    EntryRow,
    bank_of_rows,
    entry_fields,
    has_bank,
    new_entry,
    new_line,
    read_bank_csv,
    row_of,
)
from exam_pp.formats.base import FORMATS, Source, format_of, known_format
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.rubrics import weigh
from exam_pp.phases.banks.edit import add_history
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.files import check_output
from exam_pp.store.parsing import valid
from exam_pp.store.tables import column_names
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.text.keys import id_of_text, ids_by_text
from exam_pp.text.wording import counted, listed, noted

log = logging.getLogger(__name__)

BankFormat = Literal[
    "tqa", "squad2", "bank", "csv", "genq", "nuggetizer", "autojudge", "ragtime26", "rubrics", "references"
]  # fmt: skip
_NAMES = {"autojudge": "autojudge-bank"}
"""Short names of formats in `exam-pp bank import` to the names in the registry."""


def bank_format(files: Sequence[Path]) -> Any:
    """The short name of the format of the first file."""
    form = known_format(files[0])
    columns = () if form is not None and form.content == "bank" else column_names(files[0], BANK)
    # Questions with an id look like queries, which users do not import as a bank. The reader says which
    # columns are missing in another table.
    if has_bank(BANK.used(columns)) or (form is None and len(columns) > 1):
        form = FORMATS.get("bank-csv")
    form = form or format_of(files[0])
    if form.content == "answers":
        form = FORMATS.find("references") or form
    if form.content != "bank":
        raise DataError(
            f"is no test bank, but has the format {form.name}; a table of a bank has the columns query_id "
            "and question or nugget.",
            file=str(files[0]),
        )
    name = form.name
    short = {long: short for short, long in _NAMES.items()} | {"bank-csv": "csv", "bank-excel": "csv"}
    return short.get(name, name)


@dataclass(frozen=True)
class ImportedBank:
    """Counts for the summary, edits in a spreadsheet, and dropped fields.

    ``items`` are all entries, with copies; ``left_out`` counts those that their weight excluded.
    """

    queries: int
    entries: int
    changes: SpreadsheetChanges
    dropped: DroppedFields
    left_out: int = 0
    items: Sequence[Entry] = ()

    def lines(self) -> Iterator[str]:
        """The lines of the summary."""
        entries = counted(self.entries, "entry")
        if self.items and all(item.group_text for item in self.items):
            questions = len({(item.query_id, item.group) for item in self.items})
            entries = f"{counted(self.entries, 'answer')} to {counted(questions, 'question')}"
        weights = [item.weight for item in self.items]
        copies = self.entries - len({(item.query_id, item.entry_id) for item in self.items})
        more = [
            *noted(sum(weight < 0 for weight in weights), "{}", "negative weight"),
            *noted(weights.count(0), "{} count)", "of weight 0 (does not", "of weight 0 (do not"),
            *noted(copies, "{})", "copy (counts", "copies (count"),
        ]
        details = f": {', '.join(more)}" if more else ""
        yield f"Imported {counted(self.queries, 'query')}, {entries}{details}."
        of_weight = "entry with weight 0 or below was", "entries with weight 0 or below were"
        yield from noted(self.left_out, "{} left out, as RAGDoll reads rubrics.", *of_weight)
        yield from self.changes.lines()
        yield from self.dropped.lines()


def import_bank(
    files: Sequence[Path],
    output: Path,
    form: BankFormat | None = None,
    *,
    base: Path | None = None,
    queries: Path | None = None,
    title_queries: bool = False,
    kind: EntryKind | None = None,
    weights: Mapping[str, float] | None = None,
    drop_negative: bool = False,
    split_lines: bool = False,
) -> ImportedBank:
    """Write the bank of files in one of the formats of ``exam-pp bank import``; None to detect it.

    With ``title_queries``, the queries ``query/facet`` become facets of their title query.

    With a ``base`` (for ``csv``) the spreadsheets are an edited copy of this bank: fields without a column
    are kept, and every change is recorded in the bank's history. A query that a spreadsheet names by its text
    has its id in ``queries``, and one without a text its text.

    ``kind``: Entries of questions with answers: the answers as nuggets in groups, or questions. None: as the
    format has them. ``weights``: Importance to weight, as in :func:`exam_pp.formats.rubrics.weigh`.
    ``drop_negative``: Leave out entries with a weight of 0 or below. ``split_lines``: Make an entry of each
    line or bullet in a cell of a table. Raises :class:`ExamError`.
    """
    form = form or bank_format(files)
    inputs = [*files, *filter(None, (base, queries))]
    check_output(output, inputs)
    changes, dropped = SpreadsheetChanges(), DroppedFields()
    if form == "csv":
        lines = _bank_of_spreadsheets(files, base, queries, changes, dropped, split_lines)
    elif form == "bank":
        lines = [line for file in files for line in read_bank(file).lines]
    elif form == "references" and (read := FORMATS.get(form).read) is not None:
        lines = [line for file in files for line in read(Source(file, dropped))]
    else:
        records = FORMATS.get(_NAMES.get(form, form)).records
        assert records is not None, "all formats of banks have a reader"
        lines = [line for file in files for line in records(file)]
    if queries is not None and form != "csv":
        lines = _with_query_texts(lines, queries)
    if kind is not None:
        lines = [with_answers(line) if kind == "nugget" else with_questions(line, dropped) for line in lines]
    weigh(lines, weights or {})
    before = sum(len(line.items) for line in lines)
    if drop_negative:
        lines = [
            line.model_copy(update={"items": [item for item in line.items if item.weight > 0]})
            for line in lines
        ]
    if title_queries:
        lines = [of_title_query(line) for line in lines]
    bank = TestBank.from_lines(lines)
    names = ", ".join(map(str, files))
    entries = [entry for query in bank for entry in query.entries.values()]
    if not entries:
        raise DataError("has no questions or nuggets.", file=names)
    for line in lines:
        valid(BankLine.model_validate, dict(line), names)  # also that the entries of groups agree
    items = [item for line in lines for item in line.items]
    summary = ImportedBank(
        len(bank.queries),
        len(items) if form == "rubrics" else len(entries),  # every copy of a criterion counts
        changes,
        dropped,
        before - len(items),
        items,
    )
    if bank.duplicates and form != "rubrics":
        log.warning(
            "%s more than once (first: %s); `exam-pp bank show` lists all of them.",
            counted(len(bank.duplicates), "entry id occurs", "entry ids occur"), bank.duplicates[0],
        )  # fmt: skip
    write_bank(lines, output, inputs=inputs)
    return summary


def _bank_of_spreadsheets(
    files: Sequence[Path],
    base: Path | None,
    queries: Path | None,
    changes: SpreadsheetChanges,
    dropped: DroppedFields,
    split_lines: bool,
) -> list[BankLine]:

    texts = {} if queries is None else read_query_texts(queries)
    ids = ids_by_text(texts)
    rows = [
        (file, row) for file in files for row in read_bank_csv(file, dropped.fields, split_lines=split_lines)
    ]
    if queries is not None:
        rows = [(file, _with_query(row, texts, ids)) for file, row in rows]
        _check_known([row.query_id for _, row in rows], texts, queries)
    if base is not None:
        return edited_bank(rows, read_bank(base).lines, changes)
    changes.reidentified = sum(is_stale(row.entry_id, row.text) for _, row in rows)
    return bank_of_rows(rows)


def _with_query_texts(lines: Sequence[BankLine], queries: Path) -> list[BankLine]:
    """The lines with the texts of queries that have none, and the ids of queries named by their texts."""
    texts = read_query_texts(queries)
    ids = ids_by_text(texts)
    lines = [_with_id(line, ids.get(line.query_id, line.query_id)) for line in lines]
    _check_known([line.query_id for line in lines], texts, queries)
    named = {query_id: {"query_text": text} for query_id, text in texts.items()}
    return [
        line if line.query_text.strip() else line.model_copy(update=named.get(line.query_id))
        for line in lines
    ]


def _with_id(line: BankLine, query_id: str) -> BankLine:
    items = [item.model_copy(update={"query_id": query_id}) for item in line.items]
    return line.model_copy(update={"query_id": query_id, "items": items})


def _check_known(ids: Iterable[str], texts: Mapping[str, str], queries: Path) -> None:
    """Log the queries of a bank that a file of queries lacks."""
    unknown = list(dict.fromkeys(query_id for query_id in ids if query_id not in texts))
    if unknown:
        log.warning(
            "%s of the bank %s not in %s: %s",
            counted(len(unknown), "query", "queries"), "is" if len(unknown) == 1 else "are", queries,
            listed(unknown),
        )  # fmt: skip


def _with_query(row: EntryRow, texts: Mapping[str, str], ids: Mapping[str, str]) -> EntryRow:
    """The row with the id and the text of its query; a column of queries may have either."""
    key = row.query_id if row.query_id in texts else ids.get(id_of_text(row.query_id), row.query_id)
    text = row.query_text if row.query_text not in ("", row.query_id) else ""
    return row._replace(query_id=key, query_text=text or texts.get(key, row.query_text))


_SPREADSHEET = "spreadsheet"


@dataclass
class SpreadsheetChanges:
    """Counts of the edits in a spreadsheet.

    ``reidentified`` entries have a new text and therefore a new id. ``kept`` counts, by column, changed cells
    that are ignored, because the values of the base bank are kept.
    """

    added: int = 0
    removed: int = 0
    changed: int = 0
    reidentified: int = 0
    kept: Counter[str] = field(default_factory=Counter)

    def lines(self) -> Iterator[str]:
        """The lines of the summary."""
        if self.reidentified:
            have = counted(self.reidentified, "entry has", "entries have")
            yield f"{have} a new text and a new id."
        if self.added or self.removed or self.changed:
            added = counted(self.added, "entry")
            yield f"{added} added, {self.removed} removed; {counted(self.changed, 'other cell')} changed."
        if self.kept.total():
            cells = ", ".join(f"{name} ({count})" for name, count in self.kept.items() if count)
            yield f"Changed cells that are ignored, as the values of the base bank are kept: {cells}."


def edited_bank(
    rows: Sequence[tuple[Path, EntryRow]], base: Sequence[BankLine], changes: SpreadsheetChanges
) -> list[BankLine]:
    """The bank after the edits in the rows; fields of ``base`` without a column are kept.

    Counts the edits in ``changes``. Raises :class:`DataError` for an entry id that ``base`` lacks.
    """
    lines: dict[tuple[str, str], int] = {}
    edited: list[tuple[BankLine, list[Entry]]] = []
    # A bank may have copies of an entry: the n-th row with an id edits the n-th copy.
    waiting: dict[tuple[str, str], deque[tuple[int, Entry]]] = defaultdict(deque)
    for line in base:
        lines.setdefault((line.query_id, line.facet_id or ""), len(edited))
        for item in line.items:
            waiting[line.query_id, item.entry_id].append((len(edited), item))
        edited.append((line, []))
    kinds = list({item.kind for line in base for item in line.items})
    history: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for file, row in rows:
        if row.entry_id:
            queue = waiting[row.query_id, row.entry_id]
            if not queue:
                raise _unknown(file, row)
            # The place of the entry in the bank counts, because a changed facet of a row is ignored.
            number, old = queue.popleft()
            item = _edited(file, edited[number][0], old, row, changes, history[number])
        else:
            key = (row.query_id, row.facet_id)
            if key not in lines:
                lines[key] = len(edited)
                edited.append((new_line(row), []))
            number = lines[key]
            item = new_entry(file, row, kinds)
            changes.added += 1
            history[number].append({"op": "add", "id": item.entry_id, "by": _SPREADSHEET})
        edited[number][1].append(item)
    for number, old in (pair for queue in waiting.values() for pair in queue):
        changes.removed += 1
        history[number].append({"op": "remove", "id": old.entry_id, "by": _SPREADSHEET, "text": old.text})
    return [
        add_history(line.model_copy(update={"items": items}), history[number])
        for number, (line, items) in enumerate(edited)
    ]


def _unknown(file: Path, row: EntryRow) -> DataError:
    if row.query_id.isdecimal() and row.entry_id.startswith("0"):
        remedy = "the spreadsheet may have removed zeros from the query id, so format this column as text."
    else:
        remedy = "leave the cell empty for a new entry."
    return DataError(
        f"{row.entry_id!r} is not an entry of the query {row.query_id!r} in the base bank, or more rows have "
        f"this id than the bank; {remedy}",
        file=str(file), line=row.line, field="entry_id",
    )  # fmt: skip


_EDITABLE: Mapping[str, Any] = {"importance": None, "weight": 1.0, "gold_answers": None, **GROUP}
"""Column whose changed cells count, to the value of an empty cell."""


def _edited(
    file: Path,
    line: BankLine,
    old: Entry,
    row: EntryRow,
    changes: SpreadsheetChanges,
    history: list[dict[str, Any]],
) -> Entry:
    """The entry with the changed cells of its row; counts and records the changes."""
    before = row_of(line, old)
    update: dict[str, Any] = {}
    new = entry_fields(file, row)
    for name, default in _EDITABLE.items():
        if name not in row.missing and getattr(row, name) != getattr(before, name):
            update[name] = new.get(name, default)
            changes.changed += 1
            history.append({"op": name, "id": old.entry_id, "by": _SPREADSHEET, "value": update[name]})
    for name in ("query_text", "facet_id", "facet_text", "kind", "test_collection"):
        changes.kept[name] += name not in row.missing and getattr(row, name) != getattr(before, name)
    if row.text != before.text:
        kind = old.kind
        key = entry_id(line.query_id, row.text, line.facet_id)
        update |= {f"{kind}_text": row.text, f"{kind}_id": key}
        changes.reidentified += 1
        history.append(
            {"op": "reword", "id": old.entry_id, "by": _SPREADSHEET, "new_id": key, "text": old.text}
        )
    return old.model_copy(update=update) if update else old
