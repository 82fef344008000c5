"""Import of an edited spreadsheet into the test bank that it was exported from."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exam_pp.banks import BankLine, Entry, entry_id
from exam_pp.errors import DataError
from exam_pp.formats.bank_csv import Row, entry_fields, new_entry, new_line, row_of
from exam_pp.phases.banks.edit import add_history
from exam_pp.text.wording import counted

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
    rows: Sequence[tuple[Path, Row]], base: Sequence[BankLine], changes: SpreadsheetChanges
) -> list[BankLine]:
    """The bank after the edits in the rows; fields of ``base`` without a column are kept.

    Counts the edits in ``changes``. Raises :class:`DataError` for an entry id that ``base`` lacks.
    """
    lines: dict[tuple[str, str], int] = {}
    edited: list[tuple[BankLine, list[Entry]]] = []
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
    return [_with_items(line, items, history[number]) for number, (line, items) in enumerate(edited)]


def _with_items(line: BankLine, items: list[Entry], history: list[dict[str, Any]]) -> BankLine:
    return add_history(line.model_copy(update={"items": items}), history)


def _unknown(file: Path, row: Row) -> DataError:
    if row.query_id.isdecimal() and row.entry_id.startswith("0"):
        remedy = "the spreadsheet may have removed zeros from the query id, so format this column as text."
    else:
        remedy = "leave the cell empty for a new entry."
    return DataError(
        f"{row.entry_id!r} is not an entry of the query {row.query_id!r} in the base bank, or more rows have "
        f"this id than the bank; {remedy}",
        file=str(file), line=row.line, field="entry_id",
    )  # fmt: skip


def _edited(
    file: Path,
    line: BankLine,
    old: Entry,
    row: Row,
    changes: SpreadsheetChanges,
    history: list[dict[str, Any]],
) -> Entry:
    """The entry with the changed cells of its row; counts and records the changes."""
    before = row_of(line, old)
    update: dict[str, Any] = {}
    record: dict[str, Any] = {"op": "edit", "id": old.entry_id, "by": _SPREADSHEET}
    new = entry_fields(file, row)
    for name, default in (("importance", None), ("weight", 1.0), ("gold_answers", None)):
        if name not in row.missing and getattr(row, name) != getattr(before, name):
            update[name] = new.get(name, default)
            changes.changed += 1
            record |= {"op": name, "value": update[name]}
            history.append(dict(record))
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
