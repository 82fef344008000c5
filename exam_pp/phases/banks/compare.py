"""Two banks: what differs, and both in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exam_pp.errors import DataError
from exam_pp.phases.banks.edit import HISTORY, records_of
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.files import check_output
from exam_pp.test_bank import BankLine, Entry, TestBank
from exam_pp.wording import counted

_COMPARED = ("text", "kind", "importance", "weight", "gold_answers", "facet_id")


@dataclass(frozen=True)
class EntryDifference:
    """An entry that two banks do not share: what happened to it, and its words before and after."""

    query_id: str
    entry_id: str
    change: str
    before: str | None
    after: str | None


def compare_banks(old: Path, new: Path) -> list[EntryDifference]:
    """What differs between the entries of two banks."""
    return differences(read_bank(old), read_bank(new))


def differences(old: TestBank, new: TestBank) -> list[EntryDifference]:
    """Removed, added, reworded (where the history says so) and changed entries, query by query."""
    renamed = {
        (line.query_id, str(record.get("id"))): str(record["new_id"])
        for line in new.lines
        for record in records_of(line, HISTORY)
        if isinstance(record, dict) and record.get("op") == "reword" and record.get("new_id")
    }
    found = []
    for query_id in dict.fromkeys([*old.queries, *new.queries]):
        before, after = old.entries(query_id), dict(new.entries(query_id))
        for key, entry in before.items():
            other = after.pop(key, None)
            if other is None and (query_id, key) in renamed:
                other = after.pop(_last_name(query_id, key, renamed), None)
                if other is not None:
                    found.append(EntryDifference(query_id, key, "reworded", entry.text, other.text))
                    continue
            if other is None:
                found.append(EntryDifference(query_id, key, "removed", entry.text, None))
            else:
                found.extend(
                    EntryDifference(query_id, key, name, _shown(entry, name), _shown(other, name))
                    for name in _COMPARED
                    if getattr(entry, name) != getattr(other, name)
                )
        found.extend(
            EntryDifference(query_id, key, "added", None, entry.text) for key, entry in after.items()
        )
    return found


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
    """Counts for the closing lines; ``unlike`` are fields in which an entry that repeats is another one."""

    queries: int = 0
    entries: int = 0
    repeated: int = 0
    unlike: Counter[str] = field(default_factory=Counter)

    def lines(self) -> Iterator[str]:
        """What was merged, for people."""
        held = f"{counted(self.queries, 'query')}, {counted(self.entries, 'entry')}"
        yield f"{held}; in more than one bank: {self.repeated}."
        if self.unlike:
            fields = ", ".join(f"{name} ({count})" for name, count in self.unlike.items())
            yield f"Entries that are not the same in all banks are those of the first one: {fields}."


def merge_banks(banks: Sequence[Path], output: Path) -> MergedBank:
    """Write the entries of all banks; an entry that several of them have is written once.

    Raises :class:`DataError` where an id has two different texts, or a query two different texts.
    """
    check_output(output, banks)
    counts = MergedBank()
    lines: dict[tuple[str, str | None], BankLine] = {}
    known: dict[tuple[str, str], Entry] = {}
    texts: dict[str, str] = {}
    for path in banks:
        for line in read_bank(path).lines:
            _check_query_text(texts, line, path)
            fresh = []
            for item in line.items:
                other = known.setdefault((line.query_id, item.entry_id), item)
                if (other.text, other.kind) != (item.text, item.kind):
                    raise DataError(
                        f"the entry {item.entry_id!r} is {item.text!r} here, {other.text!r} in another bank.",
                        file=str(path),
                    )
                if other is item:
                    fresh.append(item)
                    continue
                counts.repeated += 1
                counts.unlike.update(
                    name for name in _COMPARED if getattr(other, name) != getattr(item, name)
                )
            key = (line.query_id, line.facet_id)
            if key in lines:
                lines[key] = _united(lines[key], line, fresh)
            else:
                lines[key] = line.model_copy(update={"items": fresh})
    counts.queries, counts.entries = len(texts), len(known)
    write_bank(lines.values(), output, inputs=banks)
    return counts


def _united(first: BankLine, second: BankLine, fresh: Sequence[Entry]) -> BankLine:
    """The line of the first bank with the new entries; a different ``info`` of the second is kept in it."""
    update: dict[str, Any] = {"items": [*first.items, *fresh]}
    if fresh and second.info not in (None, first.info):
        info = (
            first.info if isinstance(first.info, dict) else {} if first.info is None else {"info": first.info}
        )
        update["info"] = {**info, "merged": [*records_of(first, "merged"), second.info]}
    return first.model_copy(update=update)


def _check_query_text(texts: dict[str, str], line: BankLine, path: Path) -> None:
    known = texts.setdefault(line.query_id, line.query_text)
    if not known:
        texts[line.query_id] = line.query_text
    elif line.query_text not in ("", known):
        raise DataError(
            f"the query {line.query_id!r} is {line.query_text!r} here and {known!r} in another bank.",
            file=str(path),
        )
