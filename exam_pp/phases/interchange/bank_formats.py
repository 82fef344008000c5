"""Banks from the formats of other tools, and spreadsheets that were edited."""

from __future__ import annotations

import json
import logging
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Literal

from exam_pp.errors import DataError
from exam_pp.phases.banks.edit import add_history
from exam_pp.phases.interchange.losses import Losses
from exam_pp.store.banks.bank_csv import Row, read_bank_csv, row_of, unused_cells
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.files import check_output, is_stream
from exam_pp.store.interchange.autojudge import read_autojudge
from exam_pp.store.interchange.genq import read_genq
from exam_pp.store.interchange.nuggetizer import read_nuggetizer
from exam_pp.test_bank import BankLine, Entry, Nugget, Question, TestBank, entry_id
from exam_pp.wording import counted

log = logging.getLogger(__name__)

TextFormat = Literal["csv", "genq", "nuggetizer", "autojudge"]

_READERS: Mapping[str, Callable[[Path], Iterator[BankLine]]] = {
    "genq": read_genq,
    "nuggetizer": read_nuggetizer,
    "autojudge": read_autojudge,
}
_MD5 = re.compile(r"[0-9a-f]{32}")
_SPREADSHEET = "spreadsheet"


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
        for file in files:
            note_unused(file, counts.losses)
        rows = [(file, row) for file in files for row in read_bank_csv(file)]
        original = read_bank(base).lines if base is not None else None
        lines = bank_of_rows(rows, original, counts)
    else:
        lines = [line for file in files for line in _READERS[form](file)]
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


def note_unused(path: Path, losses: Losses) -> None:
    """Count what stands in columns of a spreadsheet that a bank does not have; a pipe is read only once."""
    for name, count in () if is_stream(path) else unused_cells(path).items():
        losses.add(f"values of {name!r}" if name else "cells without a column", count)


def bank_of_csv(path: Path) -> list[BankLine]:
    """The bank that a spreadsheet holds; raises :class:`DataError`."""
    return bank_of_rows([(path, row) for row in read_bank_csv(path)], None, ConvertedBank())


def bank_of_rows(
    rows: Sequence[tuple[Path, Row]], base: Sequence[BankLine] | None, counts: ConvertedBank
) -> list[BankLine]:
    """The bank that the rows describe; lines and entries of ``base`` keep what the rows do not show."""
    lines: dict[tuple[str, str], BankLine] = {}
    found: list[tuple[BankLine, list[Entry]]] = []
    waiting: dict[tuple[str, str], deque[tuple[int, Entry]]] = defaultdict(deque)
    for line in base or ():
        lines.setdefault((line.query_id, line.facet_id or ""), line)
        for item in line.items:
            waiting[line.query_id, item.entry_id].append((len(found), item))
        found.append((line, []))
    position = {id(line): number for number, (line, _) in enumerate(found)}
    kinds = {item.kind for line in base or () for item in line.items}
    history: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for file, row in rows:
        key = (row.query_id, row.facet_id)
        if row.entry_id and base is not None:
            queue = waiting[row.query_id, row.entry_id]
            if not queue:
                raise _unknown(file, row)
            number, old = queue.popleft()
            item = _edited(file, found[number][0], old, row, counts, history[number])
        else:
            if key not in lines:
                lines[key] = _new_line(row)
                position[id(lines[key])] = len(found)
                found.append((lines[key], []))
            number = position[id(lines[key])]
            item = _new_item(file, row, kinds, counts)
            if base is not None:
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


def _new_line(row: Row) -> BankLine:
    facet = {"facet_id": row.facet_id, "facet_text": row.facet_text} if row.facet_id else {}
    return BankLine(
        query_id=row.query_id,
        **facet,
        test_collection=row.test_collection,
        query_text=row.query_text,
        items=[],
    )


def _new_item(file: Path, row: Row, kinds: set[Any], counts: ConvertedBank) -> Entry:
    kind = row.kind or (next(iter(kinds)) if len(kinds) == 1 else "")
    if kind not in ("question", "nugget"):
        raise DataError("is neither question nor nugget.", file=str(file), line=row.line, field="kind")
    key = row.entry_id or entry_id(row.query_id, row.text, row.facet_id or None)
    if is_stale(key, row.text):
        counts.reidentified += 1
        key = entry_id(row.query_id, row.text, row.facet_id or None)
    where = {"query_id": row.query_id} | ({"facet_id": row.facet_id} if row.facet_id else {})
    shared = {**where, **_fields(file, row)}
    if kind == "question":
        return Question(**shared, question_id=key, question_text=row.text)
    return Nugget(**shared, nugget_id=key, nugget_text=row.text)


def is_stale(key: str, text: str) -> bool:
    """Whether an id is the digest of another text."""
    last = key.rpartition("/")[2]
    return bool(_MD5.fullmatch(last)) and last != entry_id("", text).removeprefix("/")


def _fields(file: Path, row: Row) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if row.importance:
        values["importance"] = row.importance
    if row.weight:
        try:
            values["weight"] = float(row.weight.replace(",", "."))
        except ValueError as error:
            raise DataError("is not a number.", file=str(file), line=row.line, field="weight") from error
        if not 0 <= values["weight"] < inf:
            raise DataError("is not a number from 0.", file=str(file), line=row.line, field="weight")
    if row.gold_answers:
        values["gold_answers"] = _golds(file, row)
    return values


def _golds(file: Path, row: Row) -> list[str]:
    """A JSON list, or the one answer that a person wrote into the cell."""
    cell = row.gold_answers.strip()
    if not cell.startswith("["):
        return [cell]
    try:
        answers = json.loads(cell)
    except (ValueError, RecursionError):
        answers = [None]
    if any(isinstance(answer, bool) or not isinstance(answer, str | int | float) for answer in answers):
        words = 'is no JSON list of texts, such as ["Paris", "the capital"].'
        raise DataError(words, file=str(file), line=row.line, field="gold_answers")
    return [str(answer) for answer in answers]


def _edited(
    file: Path, line: BankLine, old: Entry, row: Row, counts: ConvertedBank, history: list[dict[str, Any]]
) -> Entry:
    """The entry with the cells that differ from what the bank would show."""
    before = row_of(line, old)
    update: dict[str, Any] = {}
    record: dict[str, Any] = {"op": "edit", "id": old.entry_id, "by": _SPREADSHEET}
    new = _fields(file, row)
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
