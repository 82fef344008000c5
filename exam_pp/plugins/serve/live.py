"""A study that people change: one log, a thread for leaderboards and one for the judge."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from exam_pp.data_model import HUMAN
from exam_pp.errors import DataError, ExamError, OutputError, SelectionError
from exam_pp.phases.review.review_material import ReviewOptions
from exam_pp.phases.review.review_table import QueryTable
from exam_pp.plugins.serve.judge import Judge
from exam_pp.plugins.serve.log import BANK_OPS, Event, Log, event_of, folded, undoable
from exam_pp.plugins.serve.workbench import State, Workbench, masked
from exam_pp.store.edits import BankEdit, Edits, file_sha256, read_edits, reviewer_name
from exam_pp.studies.engine import live_logs

log = logging.getLogger(__name__)

_LAST = 20
"""Number of last changes that the page lists."""
_PATIENCE = 5.0
"""Seconds that the end waits for a thread, such as for an endpoint; replies so far are in the journal."""
_BETWEEN = 0.1
"""Seconds between two messages on the progress of a grading."""

Message = dict[str, Any]


@dataclass
class Preview:
    """A draft whose impact a browser asks for; ``request`` is its number."""

    by: str
    client: str
    request: int
    change: BankEdit


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
        self._wake = threading.Condition()
        self._jobs: deque[Preview | str] = deque()
        self._ahead: deque[str] = deque()
        self._read: set[str] = set()
        self._cancelled: set[tuple[str, int]] = set()
        self._closing = threading.Event()
        self._seen = (-1, -1)
        self._names = {masked(*key): key[1] for key in self.bench.texts}
        self._state: tuple[object, State] | None = None
        self._version = 0
        self._threads = [
            threading.Thread(target=work, name=f"serve {name}", daemon=True)
            for name, work in (("boards", self._boards), ("judge", self._judge))
        ]

    def start(self) -> None:
        """Start both threads; entries of the log that are not graded yet are graded."""
        self._jobs.extend(self.state.pending)
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End both threads after the current batch, or a few seconds of it, and close the log."""
        self._closing.set()
        with self._wake:
            self._wake.notify_all()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(_PATIENCE)
        self.log.close()

    @property
    def edits(self) -> Edits:
        """What the log comes to."""
        return folded(list(self.log.events), self.bench.bank_sha256)

    @property
    def state(self) -> State:
        """The study with all changes that are on the disk."""
        key = (self.log.seq, self._version)
        if self._state is None or self._state[0] != key:
            self._state = key, self.bench.state(self.edits)
        return self._state[1]

    # What pages send

    def add(self, by: str, client: str, changes: Sequence[Mapping[str, Any]]) -> int:
        """Write changes to the log, all or none; returns the number of the last one.

        Raises :class:`DataError` with the field, and :class:`OutputError` if they cannot be written.
        """
        by = self.reviewer or by
        with self._lock:
            if self._closing.is_set():
                raise SelectionError("The server is stopping.")
            new = self.log.new(by, client, [self._unmasked(change) for change in changes])
            if any(event.op == "preview" for event in new):
                raise DataError("is for the server alone.", field="op")
            seq = self.log.append(self.bench.check(list(self.log.events), new))
        queries = {self._query_of(event) for event in new}
        self._told({"kind": "changed", "seq": seq, "queries": sorted(filter(None, queries))})
        with self._wake:
            if any(event.op in (*BANK_OPS, "undo") for event in new):
                self._jobs.extend(self.state.pending)
            self._wake.notify_all()
        return seq

    def preview(self, by: str, client: str, request: int, change: Mapping[str, Any]) -> None:
        """Ask for the impact of a draft; of one browser, the last draft waits. Raises :class:`DataError`."""
        if self.blind:
            raise DataError("Blind reviewers do not see what a change would move.")
        values = {"n": request, "op": "preview", "change": change}
        asked = self.log.new(self.reviewer or by, f"{client}/impact", [values])
        if not asked:
            raise DataError("was asked before.", field="request")
        (event,) = self.bench.check(list(self.log.events), asked)
        job = Preview(event.by, client, request, event.item.change)
        with self._wake:
            waiting = [each for each in self._jobs if isinstance(each, Preview) and each.client == client]
            for earlier in waiting:
                self._jobs.remove(earlier)
            self._jobs.append(job)
            self._wake.notify_all()

    def cancel(self, client: str, request: int) -> None:
        """Cancel the grading of a draft; replies that came are kept."""
        self._cancelled.add((client, request))

    def opened(self, query_id: str) -> None:
        """Somebody reads a query, so the judge does, too, when it has nothing else to do."""
        with self._wake:
            if query_id not in self._read:
                self._ahead.append(query_id)
                self._wake.notify_all()

    # What pages get

    def options(self, by: str) -> ReviewOptions:
        """The options of the page for a reviewer."""
        return ReviewOptions(blind=self.blind, reviewer=self.reviewer or by, study=self.name)

    def head(self) -> Message:
        """The data of the page: all queries without their passages."""
        material = self.bench.page(self.state, self.options(""))
        entries = [entry for line in self.bench.bank.lines for entry in line.items]
        grading = self.bench.grading
        live = {
            "log": self.log.header["id"],
            "judge": self.bench.judge,
            "remote": grading is not None and grading.model.base_url is not None,
            "grades": grading is not None,
            "importance": self.bench.needs_importance,
            "weights": any(entry.weight != 1 for entry in entries),
        }
        systems = [] if self.blind else self.bench.systems
        queries = list(map(self._query, material.tables, material.head["queries"]))
        shown = {"graders": [self.bench.judge], "systems": systems, "notes": [], "leaderboards": []}
        graded = {"name": self.name, "sha256": None}
        return {**material.head, **shown, "graded": graded, "queries": queries, "live": live}

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
        by, query_id = self.reviewer or by, list(self.bench.queries)[index]
        if reads:
            self.opened(query_id)
        state = self.state
        material = self.bench.page(state, self.options(by), [query_id])
        (table,) = material.tables
        if self.blind:
            rated = {(r.passage_id, r.entry_id) for r in state.edits.ratings if r.by == by}
            table.blind(lambda passage_id: masked(query_id, passage_id), rated)
        graders = self._graders(by)
        head = self._query(table, material.head["queries"][0])
        chunk = table.chunk(graders, material.head["systems"] and self.bench.systems, {})
        chunk.pop("citations", None)  # whose labels the log does not have
        pending = len(state.pending.get(query_id, ()))
        spans = [
            {"entry": edit.text, "by": edit.by, **span.model_dump()}
            | ({"passage_id": masked(query_id, span.passage_id)} if self.blind else {})
            for edit in state.edits.bank
            if edit.query_id == query_id and edit.op != "discard" and (edit.by == by or not self.blind)
            for span in edit.spans or ()
            if self.bench.has(query_id, span)
        ]
        return {"graders": graders, "query": head, "chunk": chunk, "pending": pending, "spans": spans}

    def since(self, seq: int) -> Message:
        """The rows of the leaderboard after a change."""
        edits = folded(self.log.events[:seq], self.bench.bank_sha256)
        return {"rows": [*self.bench.state(edits).rows.values()]}

    def solo(self, query_id: str, entry_id: str) -> Message:
        """The same with one entry alone now; raises :class:`DataError` if it is not graded."""
        return {"rows": [*self.state.alone(query_id, entry_id).rows.values()]}

    def shown(self, by: str) -> Message:
        """The board, a reviewer's ratings and last undoable change, disagreements and the last changes."""
        by, events, state = self.reviewer or by, list(self.log.events), self.state
        own = undoable(events, by)
        ratings = [
            rating.model_dump(by_alias=True, exclude={"by", "resolves"}, exclude_none=True)
            | ({"passage_id": masked(rating.query_id, rating.passage_id)} if self.blind else {})
            for rating in state.edits.ratings
            if rating.by == by
        ]
        seen = [event for event in events if not self.blind or event.by == by]
        last = [event.values for event in seen[-_LAST:]]
        if self.blind:
            last = [{key: event[key] for key in ("seq", "at", "by", "op")} for event in last]
        undo = {"seq": own[-1].seq, "op": own[-1].op} if own else None
        everybody = {} if self.blind else {"board": self.board, "disputes": self.bench.disputes(state)}
        return {
            "seq": self.log.seq, "ratings": ratings, "undo": undo, "last": last, "problem": self.problem,
            "seconds": self.seconds, **everybody,
        }  # fmt: skip

    # The threads

    def _boards(self) -> None:
        """Compute the leaderboard of the newest state."""
        while not self._closing.is_set():
            with self._wake:
                self._wake.wait_for(
                    lambda: self._closing.is_set() or self._seen != (self.log.seq, self._version)
                )
            self._seen = self.log.seq, self._version
            try:
                self.board = self.bench.shown(self.state, self._seen[0])
            except ExamError as error:  # such as a bank that is empty now
                self.board = {
                    "kind": "board",
                    "at": time.time(),
                    "seq": self._seen[0],
                    "verdict": str(error),
                    "judged": False,
                    "rows": [],
                }
            if not self.blind:
                self._told(self.board)

    def _judge(self) -> None:
        """Grade drafts and new entries in order; read passages ahead when idle."""
        judge: Judge | None = None
        while not self._closing.is_set():
            with self._wake:
                self._wake.wait_for(lambda: self._closing.is_set() or self._jobs or self._ahead)
                job = self._jobs.popleft() if self._jobs else None
                ahead = self._ahead.pop() if job is None and self._ahead else None
            if self._closing.is_set():
                break
            try:
                if self.bench.grading is not None and judge is None:
                    judge = Judge(self.bench.grading)
                self.problem = ""
                if isinstance(job, Preview):
                    self._look(judge, job)
                elif job is not None and judge is not None:
                    self._grade(judge, job)
                elif ahead is not None and judge is not None:
                    judge.read_ahead(self.bench.queries[ahead])
                    self._read.add(ahead)
            except Exception as error:  # noqa: BLE001 - the judge is the work of others, and pages wait for it
                self._failed(job, error)
        if judge is not None:
            judge.close()

    def _failed(self, job: Preview | str | None, error: Exception) -> None:
        if not isinstance(error, ExamError):
            log.error("The judge has failed.", exc_info=error)
        message = str(error) if isinstance(error, ExamError) else f"The judge has failed ({error})."
        if isinstance(job, Preview):
            self._told({"kind": "error", "client": job.client, "request": job.request, "message": message})
        elif job is not None:
            self.problem = message
            self._told({"kind": "changed", "seq": self.log.seq, "queries": []})

    def _look(self, judge: Judge | None, job: Preview) -> None:
        """Send the impact of a draft, and write to the log that somebody looked at it."""
        events, before, change = list(self.log.events), self.state, job.change
        values = change.model_dump(by_alias=True, exclude_none=True)
        drafted = event_of(
            {**values, "seq": len(events) + 1, "at": "", "by": job.by, "client": "", "n": 0}, "changes"
        )
        edits = folded([*events, drafted], self.bench.bank_sha256)
        bank, query_id = self.bench.changed(edits), change.query_id
        new, graded = self.bench.new_entries(bank, query_id), None
        started = time.monotonic()
        if judge is not None and new - self.bench.new_entries(before.bank, query_id):
            query = self.bench.queries[query_id]
            graded = new, judge.graded(query, bank, new, self._advance(job, len(query.passages) * len(new)))
        impact = self.bench.impact(change, before, self.bench.state(edits, graded))
        message = {"kind": "impact", "client": job.client, "request": job.request, **impact}
        with self._lock, suppress(OutputError):
            moved = len(impact["moved"])
            preview = {"n": job.request, "op": "preview", "change": values, "moved": moved}
            self.log.append(self.log.new(job.by, f"{job.client}/impact", [preview]))
        self._told(message | {"seconds": round(time.monotonic() - started, 2)})
        self._told({"kind": "changed", "seq": self.log.seq, "queries": []})
        with self._wake:
            self._wake.notify_all()

    def _grade(self, judge: Judge, query_id: str) -> None:
        """Grade the pending entries of a query."""
        bank = self.bench.changed(self.edits)
        new = self.bench.new_entries(bank, query_id)
        if query_id in self.state.pending:
            query = self.bench.queries[query_id]
            advance = self._advance(None, len(query.passages) * len(new))
            self.bench.take(judge.graded(query, bank, new, advance), new)
            self._version += 1
            self._told({"kind": "changed", "seq": self.log.seq, "queries": [query_id]})
            with self._wake:
                self._wake.notify_all()

    def _advance(self, job: Preview | None, total: int) -> Callable[[int], None]:
        """A function that tells pages how far the judge is, and stops it."""
        done, started, told = 0, time.monotonic(), 0.0

        def advance(pairs: int) -> None:
            nonlocal done, told
            done, now = done + pairs, time.monotonic()
            if pairs and done:
                self.seconds = (now - started) / done
            if job is not None and (job.client, job.request) in self._cancelled:
                raise ExamError("Cancelled; the replies that came are kept.")
            if self._closing.is_set():
                raise ExamError("The server is stopping.")
            if now - told > _BETWEEN:
                told = now
                request = {} if job is None else {"client": job.client, "request": job.request}
                self._told({"kind": "progress", "done": min(done, total), "total": total, **request})

        return advance

    def _told(self, message: Message) -> None:
        """Send a message; queries have their places in the page."""
        if "queries" in message:
            places = {query_id: index for index, query_id in enumerate(self.bench.queries)}
            message = message | {"queries": [places[key] for key in message["queries"] if key in places]}
        self.send(message)

    def _query_of(self, event: Event) -> str | None:
        """The query that a change is of."""
        if event.op == "undo":
            return self._query_of(self.log.events[event.item.of - 1])
        query_id: str | None = getattr(event.item, "query_id", None)
        return query_id

    def _unmasked(self, change: Mapping[str, Any]) -> Mapping[str, Any]:
        """A change with the id of its passage in place of the name that blind reviewers see."""
        if not self.blind:
            return change
        place = {"passage_id": self._names.get(str(change.get("passage_id")), "")}
        spans = [self._unmasked(span) for span in change.get("spans") or ()]
        return {**change, **(place if "passage_id" in change else {}), **({"spans": spans} if spans else {})}


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
