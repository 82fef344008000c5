"""Test banks as JSON lines, and helpers for bank formats that can contain only some of the entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from exam_pp.banks import BankLine, Entry, EntryKind, entry_id, make_entry
from exam_pp.errors import SelectionError
from exam_pp.formats.base import Format, Schema, Target, make_reader, register
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.sample import Sample, fits
from exam_pp.store.banks.bank_json import entry_text_key, read_bank, write_bank


def _is_bank(sample: Sample) -> bool:
    keys = sample.object.keys()
    is_entry = {"question_text", "nugget_text"} & keys or entry_text_key(sample.object)
    return "query_id" in keys and bool("items" in keys or "questions" in keys or is_entry)


def _entries(path: Path) -> list[Entry]:
    return [item for line in read_bank(path).lines for item in line.items]


def _write(lines: Iterable[BankLine], target: Target) -> None:
    lines = list(lines)
    check_entries(lines)
    write_bank(lines, target.path, inputs=target.inputs)


def check_entries(lines: Iterable[BankLine]) -> None:
    """Raise :class:`SelectionError` for a bank without entries."""
    if not any(line.items for line in lines):
        raise SelectionError("The bank has no entries; a bank file needs at least one question or nugget.")


def with_texts(lines: Iterable[BankLine], dropped: DroppedFields) -> list[BankLine]:
    """Return the lines without entries without text, which are counted as dropped."""
    return _filtered(lines, lambda item: bool(item.text.strip()), "entries without text", dropped)


def of_kind(lines: Iterable[BankLine], kind: EntryKind, dropped: DroppedFields) -> list[BankLine]:
    """Return the lines with only the entries of one kind; the other entries are counted as dropped.

    Raises :class:`SelectionError` if no entry is left.
    """
    dropped_name = "nuggets" if kind == "question" else "questions"
    kept = _filtered(lines, lambda item: item.kind == kind, dropped_name, dropped)
    if not any(line.items for line in kept):
        raise SelectionError(f"The target format is only for {kind}s, and the bank has no {kind}s.")
    return kept


def _filtered(
    lines: Iterable[BankLine], keep: Callable[[Entry], bool], dropped_name: str, dropped: DroppedFields
) -> list[BankLine]:
    """Return the lines with only the entries to keep; the rest is counted under ``dropped_name``."""
    kept = []
    for line in lines:
        items = [item for item in line.items if keep(item)]
        dropped.add(dropped_name, len(line.items) - len(items))
        kept.append(line if len(items) == len(line.items) else line.model_copy(update={"items": items}))
    return kept


def with_answers(line: BankLine) -> BankLine:
    """The line with nuggets in place of questions: the gold answers of each, as a group, or else its text."""
    items: list[Entry] = []
    for item in line.items:
        golds = item.gold_answers if item.kind == "question" else None
        if item.kind == "nugget":
            items.append(item)
        elif not golds:
            items.append(_as("nugget", item, item.text, item.entry_id))
        else:
            group = {"group": item.entry_id, "group_text": item.text, "combine": item.combine}
            items += [_as("nugget", item, gold, entry_id(item.entry_id, gold), **group) for gold in golds]
    return line.model_copy(update={"items": items})


def with_questions(line: BankLine, dropped: DroppedFields) -> BankLine:
    """The line with a question in place of each group of nuggets, whose gold answers are their texts."""
    groups: dict[str | int, list[Entry]] = {}
    for position, item in enumerate(line.items):
        group = item.group if item.kind == "nugget" else None
        groups.setdefault(position if group is None else group, []).append(item)
        dropped.add("entry ids", group is not None and item.entry_id != entry_id(group, item.text))
        dropped.add("shares of answers", group is not None and item.combine == "mean")
    items = [
        first
        if isinstance(group, int)
        else _as(
            "question", first, first.group_text or group, group,
            combine=first.combine, gold_answers=[item.text for item in answers],
        )
        for group, answers in groups.items()
        for first in answers[:1]
    ]  # fmt: skip
    return line.model_copy(update={"items": items})


def _as(kind: EntryKind, item: Entry, text: str, identifier: str, **fields: Any) -> Entry:
    names = ("importance", "weight", "category", "info")
    kept = {name: getattr(item, name) for name in names if name in item.model_fields_set}
    return make_entry(kind, item.query_id, text, item.facet_id, identifier, **kept, **fields)


def without_kept_info(line: BankLine, key: str) -> BankLine:
    """Return the line without ``key`` in ``info``, where a reader keeps fields that the writer restores."""

    def rest(info: Any) -> Any:
        return {name: info[name] for name in info if name != key} or None if isinstance(info, dict) else info

    items = [item.model_copy(update={"info": rest(item.info)}) for item in line.items]
    return line.model_copy(update={"info": rest(line.info), "items": items})


register(
    Format(
        "bank", "bank", "test bank, JSON lines", fits(_is_bank), _entries, "entry",
        read=make_reader(lambda path: read_bank(path).lines), write=_write,
        schema=Schema("bank", "a line of a test bank", BankLine),
    ),
)  # fmt: skip
