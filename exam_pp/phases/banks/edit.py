"""Edits of test banks from an edits file, and the split into a public and a secret part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from exam_pp.banks import HISTORY, BankLine, Entry, EntryKind, entry_id, make_entry, normalised_text
from exam_pp.errors import DataError, SelectionError
from exam_pp.phases.passages.sample import random_key
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.edits import BankEdit, Edits, check_reviewed, read_edits
from exam_pp.store.files import check_output
from exam_pp.text.wording import counted


def add_history(line: BankLine, records: Sequence[dict[str, Any]]) -> BankLine:
    """The line with records of edits appended to its history."""
    if not records:
        return line
    info = line.info if isinstance(line.info, dict) else {} if line.info is None else {"info": line.info}
    return line.model_copy(update={"info": {**info, HISTORY: [*records_of(line, HISTORY), *records]}})


def records_of(line: BankLine, key: str) -> list[Any]:
    """The list under ``key`` of the line's ``info``; another value becomes a list, a missing one is empty."""
    records = line.info.get(key) if isinstance(line.info, dict) else None
    return records if isinstance(records, list) else [] if records is None else [records]


def edit_lines(lines: Sequence[BankLine], edits: Edits, file: str = "edits") -> list[BankLine]:
    """The bank lines after the edits, with a record of each edit in the ``info.history`` of its line.

    A reworded entry gets the id of its new text, so that only this entry is graded again; later edits may
    still use the old id. Raises :class:`DataError` with the number of an edit that does not fit.
    """
    working = _Working([line.model_copy(update={"items": list(line.items)}) for line in lines])
    for number, edit in enumerate(edits.bank, 1):
        try:
            working.apply(edit, edits.reviewer)
        except _DoesNotFitError as error:
            raise DataError(f"{error}.", file=file, field=f"bank.{number}") from error
    return working.lines


class _DoesNotFitError(Exception):
    """An edit that does not fit the bank."""


class _Working:
    """A bank while it is edited."""

    def __init__(self, lines: list[BankLine]) -> None:
        self.lines = lines
        self._renamed: dict[tuple[str, str], str] = {}

    def apply(self, edit: BankEdit, reviewer: str) -> None:
        by = edit.by or reviewer
        record: dict[str, Any] = {"op": edit.op, "id": edit.entry_id, "reason": edit.reason, "by": by}
        if edit.at is not None:
            record |= {"at": edit.at} | edit.model_dump(include={"spans"}, exclude_none=True)
        if edit.op == "discard":
            at = self._line_of(edit)
            record |= edit.model_dump(include={"text", "value"}, exclude_none=True)
        elif edit.op == "add":
            at, record["id"] = self._add(edit)
        else:
            at, position = self._find(edit)
            items = self.lines[at].items
            old = items[position]
            record["id"] = old.entry_id
            if edit.op == "remove":
                record["text"] = old.text
                del items[position]
            elif edit.op == "reword":
                items[position] = self._reworded(self.lines[at], old, edit)
                record |= {"text": old.text, "new_id": items[position].entry_id}
            else:
                items[position] = _changed(old, edit)
                record["value"] = edit.value
        self.lines[at] = add_history(self.lines[at], [record])

    def _find(self, edit: BankEdit) -> tuple[int, int]:
        key: str | None = str(edit.entry_id)
        followed: set[str] = set()
        while key is not None and key not in followed:
            for at, line in enumerate(self.lines):
                if line.query_id == edit.query_id:
                    for position, item in enumerate(line.items):
                        if item.entry_id == key:
                            return at, position
            followed.add(key)  # An entry may be reworded to its first text, so the ids may form a cycle.
            key = self._renamed.get((edit.query_id, key))
        if all(line.query_id != edit.query_id for line in self.lines):
            raise _DoesNotFitError(f"the bank has no query {edit.query_id!r}")
        raise _DoesNotFitError(
            f"the query {edit.query_id!r} has no entry {edit.entry_id!r}; perhaps it was removed"
        )

    def _reworded(self, line: BankLine, old: Entry, edit: BankEdit) -> Entry:
        text = str(edit.text).strip()
        key = entry_id(line.query_id, text, line.facet_id)
        if key != old.entry_id:
            self._refuse_duplicate(line.query_id, text, except_item=old)
            self._renamed[edit.query_id, old.entry_id] = key
        return old.model_copy(update={f"{old.kind}_text": text, f"{old.kind}_id": key})

    def _line_of(self, edit: BankEdit) -> int:
        at = next(
            (
                at
                for at, line in enumerate(self.lines)
                if line.query_id == edit.query_id and edit.facet_id in (None, line.facet_id)
            ),
            None,
        )
        if at is None:
            facet = "" if edit.facet_id is None else f" with the facet {edit.facet_id!r}"
            raise _DoesNotFitError(f"the bank has no query {edit.query_id!r}{facet}")
        return at

    def _add(self, edit: BankEdit) -> tuple[int, str]:
        at = self._line_of(edit)
        line, text = self.lines[at], str(edit.text).strip()
        self._refuse_duplicate(line.query_id, text)
        worth = edit.model_dump(include={"importance", "weight"}, exclude_none=True)
        item = make_entry(self._kind(edit, line), line.query_id, text, line.facet_id, **worth)
        line.items.append(item)
        return at, item.entry_id

    def _kind(self, edit: BankEdit, line: BankLine) -> EntryKind:
        for items in (line.items, [item for line in self.lines for item in line.items]):
            kinds = {item.kind for item in items}
            if edit.kind is not None or len(kinds) == 1:
                return edit.kind or kinds.pop()
        raise _DoesNotFitError("needs the field kind, because the bank has questions and nuggets")

    def _refuse_duplicate(self, query_id: str, text: str, except_item: Entry | None = None) -> None:
        for line in self.lines:
            for item in line.items if line.query_id == query_id else ():
                if item is not except_item and normalised_text(item.text) == normalised_text(text):
                    raise _DoesNotFitError(
                        f"the query {query_id!r} already has the text {text!r} (entry {item.entry_id!r})"
                    )


def _changed(item: Entry, edit: BankEdit) -> Entry:
    if edit.op == "add_gold_answer":
        golds = list(item.gold_answers or ())
        value = str(edit.value).strip()
        return item.model_copy(update={"gold_answers": golds if value in golds else [*golds, value]})
    return item.model_copy(update={edit.op: edit.value})


def split_bank(lines: Sequence[BankLine], secret: float, seed: int) -> tuple[list[BankLine], list[BankLine]]:
    """Split bank lines into the public and the secret part.

    The secret part has the share ``secret`` (0 to 1) of the entries of every query, rounded. The choice
    depends only on the seed and the entries of the query. Source: Dietz, SIGIR 2024, section 4.1,
    "keeping parts of the test bank secret".
    """
    ids: dict[str, list[str]] = {}
    for line in lines:
        of_query = ids.setdefault(line.query_id, [])
        of_query.extend(item.entry_id for item in line.items if item.entry_id not in of_query)
    hidden = {
        (query_id, key)
        for query_id, keys in ids.items()
        for key in sorted(keys, key=lambda key: random_key(seed, query_id, key))[: round(secret * len(keys))]
    }

    def part(of_secret: bool) -> Iterator[BankLine]:
        for line in lines:
            kept = [item for item in line.items if ((line.query_id, item.entry_id) in hidden) == of_secret]
            if kept:
                yield line.model_copy(update={"items": kept})

    return list(part(False)), list(part(True))


def apply_to_bank(
    bank: Path,
    output: Path,
    edits: Path | None = None,
    *,
    force: bool = False,
    secret: Path | None = None,
    share: float = 0,
    seed: int = 0,
) -> list[str]:
    """Write a bank with edits, and with ``secret`` without its secret part; returns the summary.

    Raises :class:`DataError`, and writes no file, if an edit does not fit the bank. Without ``force`` it also
    raises if the edits were made for another bank or for an earlier version of this bank. Raises
    :class:`SelectionError` if the public or the secret part would be empty.
    """
    inputs = [bank] if edits is None else [bank, edits]
    outputs = [output] if secret is None else [output, secret]
    for path in outputs:
        check_output(path, inputs)
    lines = read_bank(bank).lines
    summary: list[str] = []
    if edits is not None:
        contents = read_edits(edits)
        if contents.bank and not force:
            check_reviewed(contents.bank_sha256, bank, edits, "bank_sha256", "bank", "entries")
        lines = edit_lines(lines, contents, str(edits))
        summary += _applied(contents)
    if secret is None:
        write_bank(lines, output, inputs=inputs)
        return summary
    parts = split_bank(lines, share, seed)
    sizes = [sum(len(line.items) for line in part) for part in parts]
    if not all(sizes):
        empty = "public" if not sizes[0] else "secret"
        raise SelectionError(f"With --secret {share:g} the {empty} part of {bank} is empty.")
    for part, path in zip(parts, outputs, strict=True):
        write_bank(part, path, inputs=inputs)
    return [*summary, f"{counted(sizes[0], 'entry is', 'entries are')} public, {sizes[1]} secret."]


def _applied(edits: Edits) -> Iterator[str]:
    counts = Counter(edit.op for edit in edits.bank)
    operations = ", ".join(f"{count} × {op}" for op, count in counts.items())
    yield f"{counted(len(edits.bank), 'edit')} applied{f': {operations}' if operations else ''}."
    if edits.ratings:
        ratings = counted(len(edits.ratings), "rating")
        yield f"The edits file also has {ratings} of passages; `exam-pp apply` applies them."
