"""The reply journal: every reply is on disk as soon as its batch is done.

A grading that is killed continues where it was: replies are looked up by the content of the request
and by everything about the model that decides the reply.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO

from exam_pp.errors import OutputError
from exam_pp.messages import Completion

_SUFFIX = ".journal"


def journal_path(output: str | Path) -> Path:
    """Where the journal of an output lies: next to it."""
    path = Path(output)
    return path.with_name(path.name + _SUFFIX)


def rank_journals(journal: Path) -> list[Path]:
    """The journals that the other processes of a grading left beside the first one's."""
    pattern = re.compile(re.escape(journal.name) + r"\.rank\d+")
    return sorted(path for path in journal.parent.iterdir() if pattern.fullmatch(path.name))


def rank_journal(journal: Path, rank: int) -> Path:
    """Where a process of a grading keeps what it answers; rank 0 writes the journal itself."""
    return journal.with_name(f"{journal.name}.rank{rank}") if rank else journal


class Journal:
    """Replies by request key; the first reply of a key stays.

    One process writes a journal at a time: a second one gets an :class:`OutputError`. ``path`` None
    keeps the journal in memory, where nothing can be written next to the output. Whatever the file refuses
    is an :class:`OutputError`, at once or when the damaged part of it is read. ``model`` is what the keys of
    this run's replies begin with, before a slash; a journal may hold those of other runs, too.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.model = ""
        self._lock = None if path is None else _locked(path)
        try:
            self._open()
        except OutputError:
            self._unlock()
            raise

    def _open(self) -> None:
        path = self.path
        with self._access():
            self._db = sqlite3.connect(
                ":memory:" if path is None else path, timeout=1.0, isolation_level=None
            )
        try:
            with self._access():
                self._prepare()
        except OutputError:
            self._db.close()
            raise

    def _prepare(self) -> None:
        # Where a file system cannot lock our own file, this at least keeps a second run from interleaving.
        self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
        self._refuse_other_databases()  # before anything is written into one
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT) WITHOUT ROWID"
        )
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("COMMIT")

    @contextmanager
    def _access(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, *_UNREADABLE) as error:
            raise OutputError(_reason(self.path, error)) from error

    def _refuse_other_databases(self) -> None:
        """A journal is written and deleted: somebody's database must not be taken for one."""
        tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables - {"replies"}:
            raise sqlite3.DatabaseError("it holds other tables")

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        with self._access():
            count: int = self._db.execute("SELECT count(*) FROM replies").fetchone()[0]
        return count

    def others(self) -> int:
        """How many replies are not of :attr:`model`."""
        with self._access():
            found = self._db.execute(
                "SELECT count(*) FROM replies WHERE NOT (key > ? AND key < ?)", self._own
            )
            count: int = found.fetchone()[0]
        return count

    def forget_own(self) -> None:
        """Remove the replies of :attr:`model`."""
        with self._access():
            self._db.execute("DELETE FROM replies WHERE key > ? AND key < ?", self._own)

    @property
    def _own(self) -> tuple[str, str]:
        return f"{self.model}/", f"{self.model}0"  # "0" comes right behind "/"

    def get(self, keys: Iterable[str]) -> dict[str, Completion]:
        """The known replies among ``keys``."""
        found: dict[str, Completion] = {}
        with self._access():
            for key in keys:
                row = self._db.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
                if row is not None:
                    found[key] = _decode(row[0])
        return found

    def everything(self) -> dict[str, Completion]:
        """All replies."""
        with self._access():
            return {key: _decode(reply) for key, reply in self._db.execute("SELECT key, reply FROM replies")}

    def add(self, replies: Mapping[str, Completion]) -> None:
        """Append the replies of one batch, all or none; keys that are known keep their first reply."""
        self._insert([(key, _encode(reply)) for key, reply in replies.items()])

    def _insert(self, rows: Sequence[tuple[str, str]]) -> None:
        with self._access():
            self._db.execute("BEGIN")
            self._db.executemany("INSERT OR IGNORE INTO replies VALUES (?, ?)", rows)
            self._db.execute("COMMIT")

    def take_over(self, other: Path) -> int:
        """Add what another journal holds and delete that one; returns how many replies it held."""
        with Journal(other) as source:
            replies = source.everything()
            self.add(replies)
            source.remove()
        return len(replies)

    def forget_failures(self) -> int:
        """Remove replies that are errors, so that they are asked again; returns how many."""
        # SQLite's own functions for JSON know no infinite numbers, which likelihoods may be.
        failed = [(key,) for key, reply in self.everything().items() if reply.error is not None]
        with self._access():
            self._db.executemany("DELETE FROM replies WHERE key = ?", failed)
        return len(failed)

    def close(self) -> None:
        """Close the file; the journal stays for the next run."""
        self._db.close()
        self._unlock()

    def remove(self) -> None:
        """Close and delete: the output stands."""
        self._db.close()
        if self.path is not None:
            for suffix in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            Path(self._lock.name).unlink(missing_ok=True)
            self._lock.close()
            self._lock = None


def _locked(path: Path) -> IO[bytes] | None:
    """A locked file beside the journal; None where there can be none.

    A lock on the database would not do: whoever waits for it holds a file that its owner deletes at the end.
    """
    name = path.with_name(f"{path.name}.lock")
    while True:
        try:
            lock = name.open("ab")
        except OSError:  # opening the database will tell what is wrong
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(name.stat(), os.fstat(lock.fileno())):
                return lock
            lock.close()
        except FileNotFoundError:  # its owner finished between our steps: once more
            lock.close()
        except BlockingIOError:
            lock.close()
            raise OutputError(_in_use(path)) from None
        except OSError:
            lock.close()
            return None


def _in_use(path: Path | None) -> str:
    return f"{path} is in use by another grading of the same output; wait for it or name another -o."


_UNREADABLE = (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError)
"""What a stored reply raises that is none."""


def _reason(path: Path | None, error: Exception) -> str:
    if isinstance(error, _UNREADABLE) or "malformed" in str(error) or "decode" in str(error):
        return (
            f"The journal {path} is damaged ({error}): remove it, and what it held is asked again, or name "
            "another --journal."
        )
    if "locked" in str(error):
        return _in_use(path)
    if isinstance(error, sqlite3.OperationalError):
        return f"The journal {path} cannot be written: {error}."
    return f"{path} is not a journal of exam-pp ({error}): name another --journal."


def _encode(reply: Completion) -> str:
    value: dict[str, object] = {"text": reply.text}
    if reply.error is not None:
        value["error"] = reply.error
    if reply.label_logprobs:
        value["label_logprobs"] = reply.label_logprobs
    if reply.tokens_cut:
        value["tokens_cut"] = reply.tokens_cut
    return json.dumps(value)


def _decode(text: str) -> Completion:
    value = json.loads(text)
    return Completion(
        value["text"],
        value.get("error"),
        tuple(value.get("label_logprobs", ())),
        value.get("tokens_cut", 0),
    )
