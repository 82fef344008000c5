"""Test banks as JSON lines, and what of a bank other formats cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from exam_pp.errors import SelectionError
from exam_pp.formats.base import Format, Schema, Target, reading, register
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.sample import Sample, fits
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.test_bank import BankLine, Entry, EntryKind


def _is_bank(sample: Sample) -> bool:
    keys = sample.object.keys()
    return "query_id" in keys and ("items" in keys or "questions" in keys)


def _write(lines: Iterable[BankLine], target: Target) -> None:
    lines = list(lines)
    check_entries(lines)
    write_bank(lines, target.path, inputs=target.inputs)


def check_entries(lines: Iterable[BankLine]) -> None:
    """Raise :class:`SelectionError` for a bank without entries."""
    if not any(line.items for line in lines):
        raise SelectionError("The bank holds no questions and no nuggets, and its file could not be read.")


def with_texts(lines: Iterable[BankLine], dropped: DroppedFields) -> list[BankLine]:
    """The lines with the entries that have a text, as formats need it."""
    return _kept(lines, lambda item: bool(item.text.strip()), "entries without text", dropped)


def of_kind(lines: Iterable[BankLine], kind: EntryKind, dropped: DroppedFields) -> list[BankLine]:
    """The lines with the entries of one kind; raises :class:`SelectionError` if there are none."""
    others = "nuggets" if kind == "question" else "questions"
    kept = _kept(lines, lambda item: item.kind == kind, others, dropped)
    if not any(line.items for line in kept):
        raise SelectionError(f"The format is for {kind}s, and the bank holds none.")
    return kept


def _kept(
    lines: Iterable[BankLine], keep: Callable[[Entry], bool], lost: str, dropped: DroppedFields
) -> list[BankLine]:
    """The lines with the entries to keep; the others are lost under the name ``lost``."""
    kept = []
    for line in lines:
        items = [item for item in line.items if keep(item)]
        dropped.add(lost, len(line.items) - len(items))
        kept.append(line if len(items) == len(line.items) else line.model_copy(update={"items": items}))
    return kept


def without_kept_info(line: BankLine, key: str) -> BankLine:
    """The line without what an import kept under a key of info, which is written again."""

    def rest(info: Any) -> Any:
        return {name: info[name] for name in info if name != key} or None if isinstance(info, dict) else info

    items = [item.model_copy(update={"info": rest(item.info)}) for item in line.items]
    return line.model_copy(update={"info": rest(line.info), "items": items})


register(
    Format(
        "bank", "bank", "test bank, JSON lines", fits(_is_bank),
        read=reading(lambda path: read_bank(path).lines), write=_write,
        schema=Schema("bank", "a line of a test bank", BankLine),
    ),
)  # fmt: skip
