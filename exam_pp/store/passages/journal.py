"""The journal of model replies, from which an interrupted grading run resumes.

Every reply is on disk as soon as its batch is done. Its key is made from the request and from all settings
of the model that influence the reply. Every row has a checksum, so that damage is never taken for a reply.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import TracebackType

from exam_pp.errors import OutputError
from exam_pp.llm_requests import NOT_SENT, Completion
from exam_pp.store.locks import Lock, lock_path, signals_held
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)

_SUFFIX = ".journal"


def journal_path(output: str | Path) -> Path:
    """Return the path of an output's journal, next to the output; like all temporary files it is hidden."""
    path = Path(output)
    return path.with_name(f".{path.name}{_SUFFIX}")


def rank_journals(journal: Path) -> list[Path]:
    """Return the existing journals of ranks 1, 2, ... of a process group, in the folder of that of rank 0."""
    pattern = re.compile(re.escape(journal.name) + r"\.rank\d+")
    return sorted(path for path in journal.parent.iterdir() if pattern.fullmatch(path.name))


def rank_journal_path(journal: Path, rank: int) -> Path:
    """Return the journal path for a rank of a process group; rank 0 writes ``journal`` itself."""
    return journal.with_name(f"{journal.name}.rank{rank}") if rank else journal


def journal_files(journal: Path) -> list[Path]:
    """Return all files that a journal writes: the database, its log, which SQLite names, and its lock."""
    return [*_database_files(journal), lock_path(journal)]


def _database_files(journal: Path) -> list[Path]:
    return [journal.with_name(journal.name + suffix) for suffix in ("", "-wal", "-shm")]


class Journal:
    """Replies by key; the first reply of a key is kept.

    A key is ``MODEL/REQUEST``, two hashes. :attr:`model` is the first hash in this run; a journal may also
    have replies of other models. With ``path`` None the journal is in memory. Only one process can open a
    journal at a time. Raises :class:`OutputError` if the journal is in use, and for every problem with the
    file.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.model = ""
        # A signal while the lock is made would leave its file behind.
        with signals_held():
            self._lock = None if path is None else _take_lock(path)
            try:
                self._open()
            except OutputError:
                self._unlock()
                raise

    def _open(self) -> None:
        path = self.path
        with self._access():
            # Without an isolation level, BEGIN and COMMIT below decide what one transaction is.
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
        # Some file systems cannot lock the .lock file; this lock then keeps a second run from interleaving.
        self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
        self._refuse_other_databases()  # before the first write
        self._db.execute("PRAGMA journal_mode=WAL")
        # With a write-ahead log, only FULL writes every commit to the disk.
        self._db.execute("PRAGMA synchronous=FULL")
        # Damaged bytes become text with a wrong checksum, so that only their reply is requested again.
        self._db.text_factory = partial(str, encoding="utf-8", errors="replace")
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute(
            # WITHOUT ROWID, rows are stored in the order of keys, so the replies of a model are one range.
            "CREATE TABLE IF NOT EXISTS checked_replies (key TEXT PRIMARY KEY, reply TEXT, checksum TEXT) "
            "WITHOUT ROWID"
        )
        self._db.execute("COMMIT")

    @contextmanager
    def _access(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, *_UNREADABLE) as error:
            raise OutputError(_reason(self.path, error)) from error

    def _refuse_other_databases(self) -> None:
        """Raise an error for any other SQLite database, because a journal is written and deleted."""
        tables = self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        if {name for (name,) in tables} - {"checked_replies"}:
            raise sqlite3.DatabaseError("it has other tables")

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        with self._access():
            count: int = self._db.execute("SELECT count(*) FROM checked_replies").fetchone()[0]
        return count

    def count_other_replies(self) -> int:
        """Return the number of replies of models other than :attr:`model`."""
        with self._access():
            rows = self._db.execute(
                "SELECT count(*) FROM checked_replies WHERE NOT (key > ? AND key < ?)", self._own_keys
            )
            count: int = rows.fetchone()[0]
        return count

    def remove_own_replies(self) -> None:
        """Remove the replies of :attr:`model`."""
        with self._access():
            self._db.execute("DELETE FROM checked_replies WHERE key > ? AND key < ?", self._own_keys)

    @property
    def _own_keys(self) -> tuple[str, str]:
        return f"{self.model}/", f"{self.model}0"  # "0" follows "/" in ASCII

    def get(self, keys: Iterable[str]) -> dict[str, Completion]:
        """Return the stored replies by key; keys without a reply are absent.

        Replies whose checksum is wrong are removed with a warning, so that they are requested again.
        """
        with self._access():
            rows = [
                row
                for key in keys
                for row in self._db.execute("SELECT * FROM checked_replies WHERE key = ?", (key,))
            ]
            return self._intact(rows)

    def all_replies(self) -> dict[str, Completion]:
        """Return all replies by key; replies whose checksum is wrong are removed as by :meth:`get`."""
        with self._access():
            return self._intact(self._db.execute("SELECT * FROM checked_replies").fetchall())

    def _intact(self, rows: Sequence[tuple[str, str, str]]) -> dict[str, Completion]:
        intact = [row for row in rows if row[2] == _checksum(row[0], row[1])]
        if len(intact) < len(rows):
            damaged = [(row[0],) for row in rows if row[2] != _checksum(row[0], row[1])]
            self._db.executemany("DELETE FROM checked_replies WHERE key = ?", damaged)
            were = counted(len(damaged), "reply is damaged and was", "replies are damaged and were")
            log.warning("The journal %s: %s removed, to be requested again.", self.path, were)
        return {key: _decode(reply) for key, reply, _ in intact}

    def add(self, replies: Mapping[str, Completion]) -> None:
        """Add the replies of one batch in one transaction; a key that has a reply keeps it."""
        rows = [(key, _encode(reply)) for key, reply in replies.items()]
        checked = [(key, reply, _checksum(key, reply)) for key, reply in rows]
        with self._access():
            self._db.execute("BEGIN")
            self._db.executemany("INSERT OR IGNORE INTO checked_replies VALUES (?, ?, ?)", checked)
            self._db.execute("COMMIT")

    def take_over(self, other: Path) -> int:
        """Add the replies of another journal and delete that file; returns the number of its replies."""
        with Journal(other) as source:
            # Added before the other journal is removed, so that a kill between the steps loses no reply.
            replies = source.all_replies()
            self.add(replies)
            source.remove()
        return len(replies)

    def forget_failures(self) -> int:
        """Remove replies that are errors, so that they are requested again; returns their number."""
        # SQLite's JSON functions reject infinite numbers, which log-probabilities may be.
        failed = [(key,) for key, reply in self.all_replies().items() if reply.error is not None]
        with self._access():
            self._db.executemany("DELETE FROM checked_replies WHERE key = ?", failed)
        return len(failed)

    def close(self) -> None:
        """Close the file and keep it for the next run."""
        self._db.close()
        self._unlock()

    def remove(self) -> None:
        """Close and delete the file; for use when the output is complete."""
        self._db.close()
        if self.path is not None:
            for path in _database_files(self.path):
                path.unlink(missing_ok=True)
        # Last, because another run must not open a file that is about to be deleted.
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def _take_lock(path: Path) -> Lock | None:
    """Lock a file next to the journal; None if it cannot be created.

    A lock on the database is not enough: its owner deletes it at the end, and a waiting process would then
    have opened a deleted file. Raises :class:`OutputError` if another process has the lock.
    """
    try:
        return Lock.take(lock_path(path), _in_use(path))
    except OSError:  # opening the database raises the error with the cause
        return None


def _in_use(path: Path | None) -> str:
    return f"{path} is in use by another run. Wait for it, or name another output, journal or cache folder."


_UNREADABLE = (json.JSONDecodeError, KeyError, TypeError, UnicodeDecodeError)
"""Errors of decoding a row that is not a reply."""


def _reason(path: Path | None, error: Exception) -> str:
    if isinstance(error, _UNREADABLE) or "malformed" in str(error) or "decode" in str(error):
        return (
            f"The journal {path} is damaged ({error}). Delete it to request its replies again, or name "
            "another file with --journal."
        )
    if "locked" in str(error):
        return _in_use(path)
    if isinstance(error, sqlite3.OperationalError):
        return f"The journal {path} cannot be written: {error}."
    return f"{path} is not a journal of exam-pp ({error}). Name another file with --journal."


def _checksum(key: object, reply: object) -> str:
    # With the key, so that a reply is also damaged if it stands at the key of another request.
    return hashlib.blake2b(f"{key}\0{reply}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _encode(reply: Completion) -> str:
    """The reply without the fields that have their default, except the text."""
    default = asdict(Completion())
    value = {key: item for key, item in asdict(reply).items() if key == "text" or item != default[key]}
    return json.dumps(value)


def _decode(text: str) -> Completion:
    value = json.loads(text)
    lists = {name: tuple(value[name]) for name in ("label_logprobs", NOT_SENT, "tokens") if name in value}
    fields = {"text": value["text"], **value, **lists}
    fields.pop("probe", None)  # which plans of earlier versions wrote
    return Completion(**fields)
