"""A study that people change: one log, a thread for leaderboards and one for the judge."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from queue import PriorityQueue
from typing import Any

from exam_pp.banks import HISTORY, TestBank
from exam_pp.data_model import HUMAN, QueryPassages
from exam_pp.errors import DataError, ExamError, OutputError
from exam_pp.phases.banks.edit import records_of
from exam_pp.phases.review.review_material import ReviewOptions
from exam_pp.phases.review.review_table import QueryTable
from exam_pp.plugins.serve.judge import Judge
from exam_pp.plugins.serve.log import Event, Log, folded, undoable
from exam_pp.plugins.serve.workbench import State, Workbench, masked
from exam_pp.store.edits import Edits, file_sha256, read_edits, reviewer_name
from exam_pp.studies.engine import live_logs

log = logging.getLogger(__name__)

_LAST = 20
"""Number of last changes that the page lists."""
_PATIENCE = 5.0
"""Seconds that the end waits for a thread, such as for an endpoint; replies so far are in the journal."""
_RETRY = 60.0
"""Seconds until the judge is asked again for what it failed on."""
_BETWEEN = 0.1
"""Seconds between two messages on the progress of a grading."""
_FIRST, _IDLE = 0, 1
"""Priorities of what the judge has to do."""
_NO_BOARD: Mapping[str, Any] = {"basis": "people", "rows": [], "pending": 0}

Message = dict[str, Any]


class StoppingError(ExamError):
    """The server ends and takes no more changes."""


@dataclass
class Live:
    """What the server and its two threads share. ``send`` gets each message for all pages.

    An entry counts from the moment it is graded. In blind mode, nobody gets leaderboards, impacts, names of
    systems or what others did; ``reviewer`` fixes who rates.
    """

    bench: Workbench
    log: Log
    blind: bool = False
    reviewer: str = ""
    name: str = ""
    send: Callable[[Message], None] = lambda _message: None
    board: Message | None = None
    problem: str = ""
    """Why the judge cannot grade what is pending."""
    seconds: float | None = None
    """Seconds that the judge took for a pair."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._changed = threading.Event()
        self._jobs = PriorityQueue[tuple[int, int, Event | str]]()
        self._numbers = count()
        self._asked: dict[str, int] = {}
        """Browser to the first number of a draft that it still waits for."""
        self._read: set[str] = set()
        self._names = {masked(*key): key[1] for key in self.bench.texts}
        self._state: tuple[tuple[int, int], State] | None = None
        self._version = 0
        self._threads = [
            threading.Thread(target=work, name=f"serve {name}", daemon=True)
            for name, work in (("boards", self._boards), ("judge", self._judge))
        ]

    def start(self) -> None:
        """Start both threads; entries of the log that are not graded yet are graded."""
        self._changed.set()
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End both threads after the current batch, or a few seconds of it, and close the log."""
        self._closing.set()
        self._changed.set()
        self._put(_FIRST, "")
        for thread in self._threads:
            if thread.is_alive():
                thread.join(_PATIENCE)
        self.log.close()

    def edits(self, seq: int | None = None) -> Edits:
        """What the log comes to after a change; default: the last one."""
        return folded(self.log.events[:seq], self.bench.bank_sha256)

    @property
    def latest(self) -> tuple[tuple[int, int], State]:
        """The study with all changes that are on the disk; their number, and how often the judge graded."""
        known, key = self._state, (self.log.seq, self._version)
        if known is None or known[0] != key:
            known = self._state = key, self.bench.state(self.edits(key[0]), keep=True)
        return known

    @property
    def state(self) -> State:
        """The study with all changes that are on the disk."""
        return self.latest[1]

    # What pages send

    def add(self, by: str, client: str, changes: Sequence[Mapping[str, Any]]) -> int:
        """Write changes to the log, all or none; returns the number of the last one.

        Raises :class:`DataError` with the field, and :class:`OutputError` if they cannot be written.
        """
        if self.blind:
            changes = _renamed(changes, lambda name: self._names.get(name, ""))
        with self._lock:
            if self._closing.is_set():
                raise StoppingError("The server is stopping.")
            new = self.log.new(self.reviewer or by, client, changes)
            if any(event.op == "preview" for event in new):
                raise DataError("is for the server alone.", field="op")
            seq = self.log.append(self.bench.check(list(self.log.events), new))
        changes_of = [self.log.events[each.item.of - 1] if each.op == "undo" else each for each in new]
        self._told_changed(sorted({getattr(each.item, "query_id", "") for each in changes_of}), client)
        return seq

    def preview(self, by: str, client: str, request: int, change: Mapping[str, Any]) -> None:
        """Ask for the impact of a draft; a browser waits for its last one. Raises :class:`DataError`."""
        if self.blind:
            raise DataError("Blind reviewers do not see what a change would move.")
        values = {"n": -request, "op": "preview", "change": change}
        asked = self.log.new(self.reviewer or by, client, [values])
        if not asked:
            raise DataError("was asked before.", field="request")
        (event,) = self.bench.check(list(self.log.events), asked)
        self._asked[client] = max(self._asked.get(client, 0), request)
        self._put(_FIRST, event)

    def cancel(self, client: str, request: int) -> None:
        """Cancel the grading of a draft; replies that came are kept."""
        self._asked[client] = max(self._asked.get(client, 0), request + 1)

    def _put(self, priority: int, job: Event | str) -> None:
        """Give the judge a draft, or a query with new entries or to be read ahead, the last one first."""
        self._jobs.put((priority, next(self._numbers) * (-1 if priority == _IDLE else 1), job))

    # What pages get

    def options(self, by: str) -> ReviewOptions:
        """The options of the page for a reviewer."""
        return ReviewOptions(blind=self.blind, reviewer=self.reviewer or by, study=self.name)

    def head(self) -> Message:
        """The data of the page: all queries without their passages."""
        material = self.bench.page(self.state, self.options(""))
        grading = self.bench.grading
        live = {
            "log": self.log.header["id"],
            "judge": self.bench.judge,
            "remote": grading is not None and grading.model.base_url is not None,
            "grades": grading is not None,
            "importance": self.bench.needs_importance,
            "weights": any(entry.weight != 1 for line in self.bench.bank.lines for entry in line.items),
        }
        systems = [] if self.blind else self.bench.systems
        queries = list(map(self._query, material.tables, material.head["queries"]))
        return {
            **material.head, "graders": [self.bench.judge], "systems": systems, "queries": queries,
            "notes": [], "leaderboards": [], "graded": {"name": self.name, "sha256": None}, "live": live,
        }  # fmt: skip

    def _query(self, table: QueryTable, known: Message) -> Message:
        """A query in the head, with its fair sample."""
        judge = [] if self.blind else [self.bench.judge]
        head = table.head(judge, self.bench.scale[-1].rating, self.bench.min_grade)
        return {**head, "sample": known.get("sample", [])}

    def _graders(self, by: str) -> list[str]:
        """The judge, then other people who rated in the order of the log; in blind mode the judge alone."""
        rated = [event for event in self.log.events if event.op in ("rate", "resolve") and not self.blind]
        others = dict.fromkeys(f"{HUMAN}{event.by}" for event in rated if event.by != by)
        return [self.bench.judge, *others]

    def query(self, index: int, by: str, *, reads: bool = False) -> Message:
        """A query for a reviewer, who perhaps ``reads`` it: entries, passages, grades of others, spans."""
        if index >= len(self.bench.queries):
            raise DataError("is not a query of this study.", field="index")
        by, query_id = self.reviewer or by, list(self.bench.queries)[index]
        if reads and query_id not in self._read:
            self._put(_IDLE, query_id)
        at, state = self.latest
        material = self.bench.page(state, self.options(by), [query_id])
        (table,) = material.tables
        if self.blind:
            rated = {(r.passage_id, r.entry_id) for r in state.edits.ratings if r.by == by}
            table.blind(lambda passage_id: masked(query_id, passage_id), rated)
        graders = self._graders(by)
        head = self._query(table, material.head["queries"][0])
        chunk = table.chunk(graders, material.head["systems"] and self.bench.systems, {})
        chunk.pop("citations", None)  # whose labels the log does not have
        spans = [
            self._shown(query_id, {"entry": edit.text, "by": edit.by, **span.model_dump()})
            for edit in state.edits.bank
            if edit.query_id == query_id and edit.op != "discard" and (edit.by == by or not self.blind)
            for span in edit.spans or ()
            if self.bench.has(query_id, span)
        ]
        changes = [
            {"id": record.get("id"), "to": record.get("new_id"), "mine": record.get("by") == by}
            for line in self.bench.changed(state.edits).lines
            if line.query_id == query_id
            for record in records_of(line, HISTORY)
            if isinstance(record, dict) and record.get("op") in ("reword", "remove")
        ]
        return {
            "at": sum(at), "graders": graders, "query": head, "chunk": chunk, "spans": spans,
            "changes": changes,
        }  # fmt: skip

    def _shown(self, query_id: str, value: Message) -> Message:
        """What blind reviewers see of what is about passages of a query."""
        shown: Message = _renamed(value, partial(masked, query_id)) if self.blind else value
        return shown

    def since(self, seq: int) -> Message:
        """The rows of the leaderboard after a change."""
        state = self.bench.state(self.edits(seq))
        if any({*new} - {*self.state.pending.get(key, ())} for key, new in state.pending.items()):
            raise DataError("An entry of that time is no longer graded: choose a later change.")
        return {"rows": [*state.rows.values()]}

    def solo(self, query_id: str, entry_id: str) -> Message:
        """The same with one entry alone now; raises :class:`DataError` if it is not graded."""
        return {"rows": [*self.state.alone(query_id, entry_id).rows.values()]}

    def shown(self, by: str) -> Message:
        """The board, a reviewer's ratings and last undoable change, disagreements and the last changes."""
        by, events, state = self.reviewer or by, list(self.log.events), self.state
        own = undoable(events, by)
        keys: Any = {"by_alias": True, "exclude": {"by", "resolves"}, "exclude_none": True}
        ratings = [
            self._shown(rating.query_id, rating.model_dump(**keys))
            for rating in state.edits.ratings
            if rating.by == by
        ]
        seen = [event for event in events if not self.blind or event.by == by]
        last = [event.values for event in seen[-_LAST:]]
        if self.blind:
            last = [{key: event[key] for key in ("seq", "at", "by", "op")} for event in last]
        undo = [{"seq": event.seq, "op": event.op} for event in own[-_LAST:]]
        everybody = {} if self.blind else {"board": self.board, "disputes": self.bench.disputes(state)}
        return {
            "seq": self.log.seq, "ratings": ratings, "undo": undo, "last": last, "problem": self.problem,
            "seconds": self.seconds, **everybody,
        }  # fmt: skip

    # The threads

    def _boards(self) -> None:
        """Compute the leaderboard of the newest state, and have its new entries graded."""
        while self._changed.wait() and not self._closing.is_set():
            self._changed.clear()
            at, shown = (self.log.seq, self._version), _NO_BOARD
            try:
                at, state = self.latest
                for query_id in state.pending:
                    self._put(_FIRST, query_id)
                shown = self.bench.shown(state)
            except Exception as error:  # noqa: BLE001 - such as of a bank that is empty now; pages wait for it
                shown = {**shown, "verdict": _said("leaderboard", error)}
            self.board = {"kind": "board", "at": sum(at), "seq": at[0], **shown}
            if not self.blind:
                self._told(self.board)

    def _judge(self) -> None:
        """Grade drafts and new entries in order; read passages ahead when idle."""
        judge: Judge | None = None
        while True:
            priority, _, job = self._jobs.get()
            if self._closing.is_set():
                break
            try:
                if self.bench.grading is not None and judge is None:
                    judge = Judge(self.bench.grading)
                if isinstance(job, Event):
                    self._look(judge, job)
                elif judge is not None and priority == _FIRST:
                    self._grade(judge, job)
                elif judge is not None and job not in self._read:
                    judge.read_ahead(self.bench.queries[job])
                    self._read.add(job)
            except Exception as error:  # noqa: BLE001 - the judge is the work of others, and pages wait for it
                message = _said("judge", error)
                if isinstance(job, Event):
                    self._told({"kind": "error", **_asked_by(job), "message": message})
                elif priority == _FIRST:
                    self.problem = message
                    again = threading.Timer(_RETRY, self._changed.set)
                    again.daemon = True
                    again.start()
                    self._told({"kind": "changed", "seq": self.log.seq, "queries": []})
        if judge is not None:
            judge.close()

    def _look(self, judge: Judge | None, asked: Event) -> None:
        """Send the impact of a draft, and write to the log that somebody looked at it."""
        self._check_wanted(asked)
        self._grade(judge, asked.item.change.query_id)  # so that the impact is of the draft alone
        events, before, change = list(self.log.events), self.state, asked.item.change
        drafted = replace(asked, seq=len(events) + 1, op=change.op, item=change)
        edits = folded([*events, drafted], self.bench.bank_sha256)
        bank, query_id, graded = self.bench.changed(edits), change.query_id, None
        started = time.monotonic()
        fresh = self.bench.new_entries(bank, query_id) - self.bench.new_entries(before.bank, query_id)
        if judge is not None and fresh:
            graded = self._graded(judge, bank, query_id, fresh, asked)
        impact = self.bench.impact(change, before, self.bench.state(edits, graded))
        seconds = round(time.monotonic() - started, 2)
        with self._lock:
            self._check_wanted(asked)
            values = change.model_dump(by_alias=True, exclude_none=True)
            preview = {"n": asked.n, "op": "preview", "change": values, "moved": len(impact["moved"])}
            self.log.append(self.log.new(asked.by, asked.client, [preview]))
        self._told({"kind": "impact", **_asked_by(asked), **impact, "seconds": seconds})
        self._told_changed([])

    def _check_wanted(self, asked: Event) -> None:
        """Raise an error if the browser no longer waits for the impact of a draft, or the server ends."""
        if -asked.n < self._asked[asked.client]:
            raise ExamError("Cancelled; the replies that came are kept.")

    def _grade(self, judge: Judge | None, query_id: str) -> None:
        """Grade the pending entries of a query."""
        if judge is not None and (fresh := self.state.pending.get(query_id)):
            bank = self.bench.changed(self.edits())
            self.bench.take(*self._graded(judge, bank, query_id, fresh))
            self._version += 1
            self.problem = ""
            self._told_changed([query_id])

    def _graded(
        self, judge: Judge, bank: TestBank, query_id: str, fresh: Collection[str], asked: Event | None = None
    ) -> tuple[frozenset[str], QueryPassages]:
        """The new entries of a query, of which some are ``fresh``, and its passages with their grades."""
        query, new = self.bench.queries[query_id], self.bench.new_entries(bank, query_id)
        return new, judge.graded(query, bank, new, self._advance(asked, query, len(fresh), len(new)))

    def _advance(
        self, asked: Event | None, query: QueryPassages, fresh: int, entries: int
    ) -> Callable[[int], None]:
        """A function that tells pages how far the judge is with ``fresh`` of some entries, and stops it."""
        total, started, told = fresh * len(query.passages), time.monotonic(), 0.0
        done = total - entries * len(query.passages)  # the replies for the others are known

        def advance(pairs: int) -> None:
            nonlocal done, told
            done, now = done + pairs, time.monotonic()
            if pairs and done > 0:
                self.seconds = (now - started) / done
            if asked is not None:
                self._check_wanted(asked)
            if self._closing.is_set():
                raise StoppingError("The server is stopping.")
            if now - told > _BETWEEN:
                told = now
                of_draft = {} if asked is None else _asked_by(asked)
                self._told({"kind": "progress", "done": max(0, min(done, total)), "total": total, **of_draft})

        return advance

    def _told(self, message: Message) -> None:
        """Send a message; queries have their places in the page."""
        if "queries" in message:
            places = {query_id: index for index, query_id in enumerate(self.bench.queries)}
            message = message | {"queries": [places[key] for key in message["queries"] if key in places]}
        self.send(message)

    def _told_changed(self, queries: Sequence[str], client: str = "") -> None:
        """Say that a browser changed the log, or the judge grades; have a new leaderboard made."""
        self._told({"kind": "changed", "seq": self.log.seq, "queries": queries, "client": client})
        self._changed.set()


def _said(what: str, error: Exception) -> str:
    """What pages show of an error."""
    if isinstance(error, ExamError):
        return error.problem if isinstance(error, DataError) else str(error)
    log.error("The %s has failed.", what, exc_info=error)
    return f"The {what} has failed ({error})."


def _asked_by(asked: Event) -> Message:
    """The browser that asked for an impact, and its number of the draft."""
    return {"client": asked.client, "request": -asked.n}


def _renamed(value: Any, name: Callable[[str], str]) -> Any:
    """A value of JSON with other names of passages."""
    if isinstance(value, Mapping):
        return {
            key: name(str(item)) if key == "passage_id" else _renamed(item, name)
            for key, item in value.items()
        }
    return [_renamed(item, name) for item in value] if isinstance(value, list) else value


def log_of(folder: Path, bench: Workbench, banks: Sequence[Path], edits: Sequence[str]) -> Log:
    """The log of a bank of a study; ratings of the study's edits are the first changes of a new one.

    Raises :class:`OutputError` for a log of a bank that is not among ``banks``, or has changed.
    """
    known = {read_edits(path).bank_sha256: path for path in live_logs(folder) if path.stat().st_size}
    path = known.get(bench.bank_sha256)
    if path is None and (others := known.keys() - set(map(file_sha256, banks))):
        raise OutputError(
            f"{known[others.pop()]} is of a bank that is not in this study or has changed: move it to "
            f"corrections.jsonl. `exam-pp run {folder} --edits corrections.jsonl` keeps its ratings, and "
            "`exam-pp bank apply BANK corrections.jsonl --force` its changes of the bank."
        )
    names = (folder / f"live/log{f'-{number}' * (number > 1)}.jsonl" for number in count(1))
    place = path or next(each for each in names if each not in known.values())
    first = [] if path else [rated for file in map(Path, edits) for rated in _ratings_of(file, bench)]
    opened = Log.open(place, {"judge": bench.judge, "bank_sha256": bench.bank_sha256})
    changes = [{"n": number, **change} for number, (_, change) in enumerate(first, 1)]
    events = opened.new("", "edits", changes)
    opened.append([replace(event, by=by) for event, (by, _) in zip(events, first, strict=True)])
    return opened


def _ratings_of(path: Path, bench: Workbench) -> list[tuple[str, Message]]:
    """The ratings of an edits file with who made them, as changes for a log."""
    edits = read_edits(path)
    changes: list[tuple[str, Message]] = []
    for rating in edits.ratings:
        by = reviewer_name(rating.by, edits, path).removeprefix(HUMAN)
        values = rating.model_dump(by_alias=True, exclude_none=True, exclude={"by", "resolves"})
        op = "resolve" if rating.resolves else "rate"
        with suppress(DataError):
            changes.append((by, {"op": op, **values, "key": rating.key or bench.key(bench.bank, rating)}))
    log.warning(
        "%s: ratings taken into the log: %d of %d; changes of the bank, left to `exam-pp bank apply`: %d.",
        path, len(changes), len(edits.ratings), sum(edit.op != "discard" for edit in edits.bank),
    )  # fmt: skip
    return changes
