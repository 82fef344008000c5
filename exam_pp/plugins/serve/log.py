"""The log of a live workbench: every change of a study by its reviewers, appended and never rewritten.

The first line of ``live/log.jsonl`` names format, judge and bank, and has an id. Each further line is
a change with a checksum. (client, n) is the number that a browser gave a change, so that a repeated request
changes nothing. As an edits file (:func:`edits_of`), the log has what counts of it in the end.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from typing import Any

from pydantic import Field

from exam_pp.data_model import Id, Integer
from exam_pp.errors import DataError, OutputError
from exam_pp.models import Record
from exam_pp.store.edits import FORMAT, LIVE_FORMAT, BankEdit, Edits, HumanRating
from exam_pp.store.parsing import parse_json, valid

_SUM = len(',"sum":"0123456789abcdef"}')


class Place(Record):
    """A pair whose rating is removed; ``key`` is that of its texts."""

    query_id: Id
    passage_id: Id
    entry_id: Id = Field(alias="id")
    key: str | None = None


class Undo(Record):
    """The number of the change that no longer counts."""

    of: Integer


class Draft(Record):
    """A change of the bank whose impact somebody looked at; ``moved`` systems had another place."""

    change: BankEdit
    moved: Integer = 0


BANK_OPS = ("add", "reword", "remove", "weight", "importance", "add_gold_answer")
MODELS: Mapping[str, type[Record]] = {
    "rate": HumanRating,
    "resolve": HumanRating,
    "unrate": Place,
    "undo": Undo,
    "preview": Draft,
    "discard": Draft,
    **dict.fromkeys(BANK_OPS, BankEdit),
}
"""What a change has besides who made it when, by its ``op``."""


@dataclass(frozen=True)
class Event:
    """A change: its number, when (ISO 8601) and by whom it was made, and the content of its ``op``."""

    seq: int
    at: str
    by: str
    client: str
    n: int
    op: str
    item: Any

    @property
    def values(self) -> dict[str, Any]:
        """The change as a line of the log has it, without the checksum."""
        content = self.item.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"op"})
        return {**{name: getattr(self, name) for name in _HEAD}, **content}


_HEAD = ("seq", "at", "by", "client", "n", "op")


def edits_of(text: str, path: str | Path) -> Edits:
    """The edits that a log comes to; raises :class:`DataError` with the number of a damaged line."""
    header, events, _ = _parsed(text.encode(), path)
    return folded(events, header["bank_sha256"])


def folded(events: Sequence[Event], bank_sha256: str | None) -> Edits:
    """The ratings and changes of the bank that count, and the drafts that were looked at and discarded."""
    undone = {event.item.of for event in events if event.op == "undo"}
    ratings: dict[tuple[str, str], HumanRating] = {}
    resolved: dict[str, tuple[str, str]] = {}
    bank: list[BankEdit] = []
    drafts: dict[tuple[object, ...], BankEdit] = {}
    for event in events:
        if event.seq in undone:
            continue
        made = {"by": event.by, "at": event.at}
        if event.op in ("rate", "resolve"):
            pair = event.by, event.item.key
            known = ratings.pop(pair, None)
            # A rating that resolves still does with a comment.
            resolves = event.op == "resolve" or (
                known is not None and known.resolves and known.rating == event.item.rating
            )
            if event.op == "resolve":  # the last resolution counts
                earlier = resolved.get(event.item.key, pair)
                if earlier in ratings:
                    ratings[earlier] = ratings[earlier].model_copy(update={"resolves": False})
                resolved[event.item.key] = pair
            comment = event.item.comment or (event.op == "resolve" and known and known.comment) or None
            change = {"by": event.by, "resolves": resolves, "comment": comment}
            ratings[pair] = event.item.model_copy(update=change)
        elif event.op == "unrate":
            ratings.pop((event.by, event.item.key), None)
        elif event.op in BANK_OPS:
            bank.append(event.item.model_copy(update=made))
            drafts.pop(_draft(event.item), None)
        elif event.op in ("preview", "discard"):
            change = event.item.change
            drafts[_draft(change)] = change.model_copy(update=made | {"op": "discard", "reason": change.op})
    return Edits(
        format=FORMAT,
        bank_sha256=bank_sha256,
        ratings=list(ratings.values()),
        bank=[*bank, *drafts.values()],
    )


def undoable(events: Sequence[Event], by: str) -> list[Event]:
    """The changes of a person that count, which an ``undo`` may name."""
    undone = {event.item.of for event in events if event.op == "undo"}
    changes = ("rate", "resolve", "unrate", *BANK_OPS)
    return [event for event in events if event.by == by and event.op in changes and event.seq not in undone]


def _draft(edit: BankEdit) -> tuple[object, ...]:
    """What makes a draft the same as another one."""
    return edit.op, edit.query_id, edit.entry_id, (edit.text or "").strip(), edit.value, edit.weight


def _parsed(data: bytes, path: str | Path) -> tuple[dict[str, Any], list[Event], int]:
    """The first line, the changes, and the number of intact bytes; a torn last line is none of them."""
    end = data.rfind(b"\n") + 1
    first, *lines = data[:end].split(b"\n")[:-1] or [b""]
    header = _line(first, path, 1)
    events: list[Event] = []
    for number, line in enumerate(lines, 2):
        value = _line(line, path, number)
        if value["seq"] != number - 1:
            raise DataError("is not the next change of this log.", file=str(path), line=number)
        events.append(event_of(value, path, number))
    return header, events, end


def event_of(value: Mapping[str, Any], path: str | Path, number: int | None = None) -> Event:
    """The change with these values; raises :class:`DataError` with the field."""
    model = MODELS.get(str(value.get("op")))
    if model is None:
        raise DataError("is not known.", file=str(path), line=number, field="op")
    content = {key: item for key, item in value.items() if key not in _HEAD}
    if model is BankEdit:
        content["op"] = value["op"]
    item = valid(model.model_validate, content, path, number)
    return Event(**{name: value[name] for name in _HEAD}, item=item)


def _line(line: bytes, path: str | Path, number: int) -> dict[str, Any]:
    body = line[:-_SUM] + b"}"
    if line[-_SUM:] != _sum_of(body):
        raise DataError(
            "is damaged: its checksum is wrong. Restore the file from a copy.", file=str(path), line=number
        )
    value: dict[str, Any] = parse_json(body, path, number)
    return value


def _sum_of(body: bytes) -> bytes:
    return f',"sum":"{blake2b(body, digest_size=8).hexdigest()}"}}'.encode()


def _encoded(value: Mapping[str, Any]) -> bytes:
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    return body[:-1] + _sum_of(body) + b"\n"


@dataclass
class Log:
    """The log of a study, for the process with the lock of the study; ``events`` are on the disk."""

    path: Path
    header: Mapping[str, Any]
    events: list[Event] = field(default_factory=list)
    _known: dict[tuple[str, int], int] = field(default_factory=dict, repr=False)
    _file: int = -1

    @classmethod
    def open(cls, path: Path, header: Mapping[str, Any]) -> Log:
        """Open the log, which is made if it is missing, with ``header`` as its first line.

        A torn last line, which nobody was told about, is moved to ``log.torn``. Raises :class:`DataError` for
        other damage, and :class:`OutputError` for a log of another study.
        """
        path.parent.mkdir(mode=0o700, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        log = cls(path, header, _file=os.open(path, flags, 0o600))
        try:
            log._read()
        except BaseException:
            log.close()
            raise
        return log

    def _read(self) -> None:
        data = self.path.read_bytes()
        if b"\n" not in data:
            os.ftruncate(self._file, 0)
            self.header = {"format": LIVE_FORMAT, "id": token_hex(8), **self.header}
            self._write(_encoded(self.header))
            return
        known, events, end = _parsed(data, self.path)
        if others := [name for name, value in self.header.items() if known[name] != value]:
            raise OutputError(f"{self.path} is of another {others[0].partition('_')[0]}: move it away.")
        self.header = known
        if end < len(data):
            self.path.with_suffix(".torn").write_bytes(data[end:])
            os.ftruncate(self._file, end)
        self._remember(events)

    def _remember(self, events: Iterable[Event]) -> None:
        for event in events:
            self.events.append(event)
            self._known[event.client, event.n] = event.seq

    @property
    def seq(self) -> int:
        """The number of the last change; 0 without one."""
        return len(self.events)

    def new(self, by: str, client: str, changes: Iterable[Mapping[str, Any]]) -> list[Event]:
        """Changes that the log lacks, with their numbers; raises :class:`DataError` with the field."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        unknown = {change["n"]: change for change in changes if (client, change["n"]) not in self._known}
        return [
            event_of({**change, "seq": seq, "at": at, "by": by, "client": client}, "changes")
            for seq, change in enumerate(unknown.values(), self.seq + 1)
        ]

    def append(self, events: Sequence[Event]) -> int:
        """Write changes of :meth:`new` to the disk, all or none; returns the number of the last change.

        Raises :class:`OutputError` if they cannot be written, such as on a full disk.
        """
        if events:
            self._write(b"".join(_encoded(event.values) for event in events))
            self._remember(events)
        return self.seq

    def _write(self, data: bytes) -> None:
        end = os.fstat(self._file).st_size
        try:
            if os.write(self._file, data) < len(data):
                raise OSError("the disk is full")
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, end)
            raise OutputError(f"{self.path} cannot be written: {error.strerror or error}.") from error

    def close(self) -> None:
        """Close the file, which other processes may then open."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
