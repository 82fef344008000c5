"""Cache of converted checkpoints: made once, by one process at a time, and sealed with a hash."""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

log = logging.getLogger(__name__)

_WEIGHTS = (".safetensors", ".bin", ".json", ".model", ".txt", ".jinja", ".py")

_SEAL = "checked"
"""The file with the hash of all other files of a converted checkpoint."""

_ABANDONED = 24 * 60 * 60
"""Seconds after which an incomplete conversion counts as killed."""


def cache_folder() -> Path:
    """The folder for converted checkpoints: ``EXAM_PP_CACHE``, else the user's cache folder."""
    if chosen := os.environ.get("EXAM_PP_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "exam_pp"


def folder_hash(folder: Path) -> str:
    """First 16 hex digits of the SHA-256 of the names and contents of the checkpoint's files."""
    digest = hashlib.sha256()
    for file in sorted(p for p in folder.iterdir() if p.suffix in _WEIGHTS and p.is_file()):
        digest.update(file.name.encode() + b"\0")
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:16]


def file_hash(file: Path) -> str:
    """First 16 hex digits of the SHA-256 of the file's content."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:16]


def make_once(target: Path, make: Callable[[Path], None], what: str) -> Path:
    """Make the folder ``target`` with ``make`` if it is missing or damaged, and return it.

    ``make`` gets an empty folder to fill, which is renamed to ``target`` only after ``make`` returns.
    ``what`` describes the work for log messages, such as "Converting NAME for CTranslate2".
    """
    if _is_intact(target):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(target.parent):
        if _is_intact(target):  # another process has made it in the meantime
            return target
        if target.is_dir():
            log.warning("The converted checkpoint in %s is damaged; converting it again.", target)
            shutil.rmtree(target)
        log.info("%s (once, into %s)", what, target)
        part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            make(part)
            (part / _SEAL).write_text(folder_hash(part), "ascii")
            for file in part.iterdir():
                with file.open("rb") as stream:
                    os.fsync(stream.fileno())
            try:
                part.rename(target)
            except OSError:
                if not target.is_dir():  # without locks, another process may have made it as well
                    raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return target


def _is_intact(folder: Path) -> bool:
    """Whether the files are those that were made; damaged weights would give wrong replies silently."""
    seal = folder / _SEAL
    return seal.is_file() and seal.read_bytes() == folder_hash(folder).encode()


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Allow one conversion at a time, because it needs the memory of the model twice.

    Also removes files of killed conversions that are older than a day.
    """
    lock = _locked(folder.with_name(f"{folder.name}.lock"))
    try:
        for leftover in folder.glob(".*") if lock else ():
            if time.time() - leftover.stat().st_mtime > _ABANDONED:
                shutil.rmtree(leftover, ignore_errors=True)
        yield
    finally:
        if lock:
            lock.close()


def _locked(path: Path) -> IO[str] | None:
    """Open the file and lock it until it is closed; None if the file system does not support locks."""
    try:
        with ExitStack() as stack:
            lock = stack.enter_context(path.open("a"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            stack.pop_all()
    except OSError:
        return None
    return lock
