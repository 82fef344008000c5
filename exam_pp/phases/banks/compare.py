"""Differences between two test banks, and merging of several banks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exam_pp.banks import HISTORY, BankLine, Entry, TestBank
from exam_pp.errors import DataError
from exam_pp.phases.banks.edit import records_of
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.files import check_output
from exam_pp.text.wording import counted

_COMPARED = ("text", "kind", "importance", "weight", "gold_answers", "facet_id")


@dataclass(frozen=True)
class EntryDifference:
    """A difference in an entry between two banks.

    ``change`` is ``reworded``, ``removed``, ``added`` or the name of the changed field; ``before`` and
    ``after`` are the texts or values, or None.
    """

    query_id: str
    entry_id: str
    change: str
    before: str | None
    after: str | None


def differences(old: TestBank, new: TestBank) -> list[EntryDifference]:
    """Removed, added, reworded (as recorded in the history) and changed entries, query by query."""
    renamed = {
        (line.query_id, str(record.get("id"))): str(record["new_id"])
        for line in new.lines
        for record in records_of(line, HISTORY)
        if isinstance(record, dict) and record.get("op") == "reword" and record.get("new_id")
    }
    result = []
    for query_id in dict.fromkeys([*old.queries, *new.queries]):
        before, after = old.entries(query_id), dict(new.entries(query_id))
        for key, old_entry in before.items():
            new_entry = after.pop(key, None)
            if new_entry is None and (query_id, key) in renamed:
                new_entry = after.pop(_last_name(query_id, key, renamed), None)
                if new_entry is not None:
                    texts = old_entry.text, new_entry.text
                    result.append(EntryDifference(query_id, key, "reworded", *texts))
                    continue
            if new_entry is None:
                result.append(EntryDifference(query_id, key, "removed", old_entry.text, None))
            else:
                result.extend(
                    EntryDifference(query_id, key, name, _shown(old_entry, name), _shown(new_entry, name))
                    for name in _COMPARED
                    if getattr(old_entry, name) != getattr(new_entry, name)
                )
        result.extend(
            EntryDifference(query_id, key, "added", None, entry.text) for key, entry in after.items()
        )
    return result


def _last_name(query_id: str, key: str, renamed: dict[tuple[str, str], str]) -> str:
    seen = set()
    while (query_id, key) in renamed and key not in seen:
        seen.add(key)
        key = renamed[query_id, key]
    return key


def _shown(entry: Entry, name: str) -> str | None:
    value: Any = getattr(entry, name)
    return None if value is None else str(value)


@dataclass
class MergedBank:
    """Counts for the summary.

    ``repeated`` counts entries that are in an earlier bank, ``unlike`` the fields in which they differ.
    """

    queries: int = 0
    entries: int = 0
    repeated: int = 0
    unlike: Counter[str] = field(default_factory=Counter)

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        sizes = f"{counted(self.queries, 'query')} with {counted(self.entries, 'entry')}"
        yield f"Merged: {sizes}. Duplicates between banks: {self.repeated}."
        if self.unlike:
            fields = ", ".join(f"{name} ({count})" for name, count in self.unlike.items())
            yield f"Fields that differ between duplicates: {fields}. The value of the first bank is kept."


def merge_banks(banks: Sequence[Path], output: Path, *, strict: bool = False) -> MergedBank:
    """Write a bank with the entries of all banks; of duplicates, the entry of the first bank is kept.

    Raises :class:`DataError` if two banks have different texts for the same entry id or query, and with
    ``strict`` if other fields of an entry differ.
    """
    check_output(output, banks)
    counts = MergedBank()
    lines: dict[tuple[str, str | None], BankLine] = {}
    known: dict[tuple[str, str], Entry] = {}
    texts: dict[tuple[str, str | None], str] = {}
    for path in banks:
        for line in read_bank(path).lines:
            _check_query_text(texts, line, path)
            fresh = []
            for item in line.items:
                first = known.setdefault((line.query_id, item.entry_id), item)
                if (first.text, first.kind) != (item.text, item.kind):
                    raise DataError(
                        f"the entry {item.entry_id!r} is the {item.kind} {item.text!r} here, but the "
                        f"{first.kind} {first.text!r} in an earlier bank.",
                        file=str(path),
                    )
                if first is item:
                    fresh.append(item)
                    continue
                counts.repeated += 1
                counts.unlike.update(
                    name for name in _COMPARED if getattr(first, name) != getattr(item, name)
                )
            key = (line.query_id, line.facet_id)
            if key in lines:
                lines[key] = _merged(lines[key], line, fresh)
            else:
                lines[key] = line.model_copy(update={"items": fresh})
    counts.queries, counts.entries = len({query_id for query_id, _ in texts}), len(known)
    # After all banks, so that the message counts all differences.
    if strict and counts.unlike:
        raise DataError(" ".join(counts.lines()))
    write_bank(lines.values(), output, inputs=banks)
    return counts


def _merged(first: BankLine, second: BankLine, fresh: Sequence[Entry]) -> BankLine:
    """The first line with the new entries of the second; a different ``info`` is kept under ``merged``."""
    update: dict[str, Any] = {"items": [*first.items, *fresh]}
    if fresh and second.info not in (None, first.info):
        info = (
            first.info if isinstance(first.info, dict) else {} if first.info is None else {"info": first.info}
        )
        update["info"] = {**info, "merged": [*records_of(first, "merged"), second.info]}
    return first.model_copy(update=update)


def _check_query_text(texts: dict[tuple[str, str | None], str], line: BankLine, path: Path) -> None:
    """Raise :class:`DataError` for another text; published banks have one for each facet of a query."""
    key = (line.query_id, line.facet_id)
    known = texts.setdefault(key, line.query_text)
    if not known:
        texts[key] = line.query_text
    elif line.query_text not in ("", known):
        raise DataError(
            f"the query {line.query_id!r} is {line.query_text!r} here, but {known!r} in an earlier bank.",
            file=str(path),
        )
