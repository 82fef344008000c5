"""Locks and temporary files beside an output, which a later process can remove after ``kill -9``.

While an output NAME is written, ``.NAME.lock`` is locked by its writer and always empty. The file
``.NAME.RANDOM.part`` becomes the output. It is created exclusively, after the lock, and removed before it.
So a lock that already exists, and that no process holds, is from a killed process. Then the temporary files
of this output are removed, too. Folders are called ``.NAME.RANDOM.work``, with the lock ``.NAME.work.lock``.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import signal
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import IO, Literal

from exam_pp.errors import OutputError
from exam_pp.store.inputs import is_input

Kind = Literal["part", "work"]
"""A temporary file, or a folder of temporary files."""
_TEMPORARY = "exam-pp-"
_MAX_NAME_BYTES = 200
"""Temporary names have a hash in place of a longer name, because file systems limit names to 255 bytes."""


@contextmanager
def signals_held() -> Iterator[None]:
    """Deliver SIGINT and SIGTERM after the block, so that they cannot separate two steps.

    Other threads than the main thread have no effect, because Python runs handlers in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    before = {
        number: handler
        for number in (signal.SIGINT, signal.SIGTERM)
        # An ignored signal stays ignored. None is a handler from outside of Python, which cannot be put back.
        if (handler := signal.getsignal(number)) not in {None, signal.SIG_IGN}
    }
    try:
        for number in before:
            signal.signal(number, lambda caught, _frame: received.append(caught))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        # After all handlers are back, because raising a signal may end this loop.
        for caught in received:
            signal.raise_signal(caught)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder in the system's folder of temporary files; a signal cannot leave it or a part of it."""
    folder = None
    try:
        with signals_held():
            folder = Path(mkdtemp(prefix=_TEMPORARY))
        yield folder
    finally:
        if folder is not None:
            with signals_held():
                shutil.rmtree(folder, ignore_errors=True)


def is_temporary(path: Path) -> bool:
    """Whether a path is in a folder of :func:`temporary_folder`."""
    top = Path(os.path.realpath(gettempdir()))
    return any(parent.parent == top and parent.name.startswith(_TEMPORARY) for parent in path.parents)


def lock_path(target: Path, kind: Kind = "part") -> Path:
    """The lock of an output, or of its work folder: an empty file next to it."""
    return target.with_name(f".{_short(target.name)}{'' if kind == 'part' else '.work'}.lock")


class Lock:
    """An empty file that only one process can lock at a time. The lock ends with its process."""

    def __init__(self, path: Path, stream: IO[bytes] | None, *, was_left: bool) -> None:
        self._path = path
        self._stream = stream
        self._process = os.getpid()
        self.was_left = was_left

    def __del__(self) -> None:
        if os.getpid() == self._process:  # not in a fork
            self.release()

    @classmethod
    def take(cls, path: Path, in_use: str, inputs: Iterable[str | Path] = ()) -> Lock:
        """Lock a file, which is created if it is missing, and which is never written.

        ``inputs``: Files that must not be used.
        """
        while True:
            if is_input(path, inputs):
                raise OutputError(
                    f"{path} is an input, but this output needs it as a lock: name another output."
                )
            stream, was_left = _open_lock(path)
            try:
                # flock, not lockf: a lock of lockf ends if this process closes any other handle of the file.
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_open_file(path, stream):
                    return cls(path, stream, was_left=was_left)
            except BlockingIOError:
                stream.close()
                raise OutputError(in_use) from None
            except OSError:  # a file system without locks
                if not was_left:
                    path.unlink(missing_ok=True)
                stream.close()
                return cls(path, None, was_left=False)
            stream.close()  # the other process finished between open and lock: try again

    def release(self) -> None:
        """Unlock the file and delete it, unless content or further names show another owner."""
        if self._stream is None:
            return
        with suppress(OSError):
            state = os.fstat(self._stream.fileno())
            if state.st_size == 0 and state.st_nlink == 1 and _is_open_file(self._path, self._stream):
                # Deleted before it is unlocked: afterwards it could be the lock of another process.
                self._path.unlink(missing_ok=True)
        self._stream.close()
        self._stream = None


def _open_lock(path: Path) -> tuple[IO[bytes], bool]:
    """The file, and whether it existed."""
    # O_NOFOLLOW: do not follow a symlink planted in a world-writable directory. O_NONBLOCK: do not wait for
    # the reader of a FIFO.
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    was_left = False
    try:
        handle = os.open(path, flags | os.O_EXCL, 0o666)
    except FileExistsError:
        was_left = True
        handle = os.open(path, flags, 0o666)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OutputError(f"{path} is not a file, but this output needs it as a lock: name another output.")
    return os.fdopen(handle, "rb"), was_left


def _is_open_file(path: Path, stream: IO[bytes]) -> bool:
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(stream.fileno()))
    except FileNotFoundError:
        return False


def create_part(target: Path) -> tuple[Path, IO[bytes]]:
    """Create ``.NAME.RANDOM.part`` and open it for writing."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        part = _random_name(target, "part")
        with suppress(FileExistsError):
            # The umask decides who may read it, as for any file; mkstemp would make it private.
            return part, os.fdopen(os.open(part, flags, 0o666), "wb")


def create_work_folder(target: Path) -> Path:
    """Create the folder ``.NAME.RANDOM.work``."""
    while True:
        folder = _random_name(target, "work")
        with suppress(FileExistsError):
            folder.mkdir()
            return folder


def remove_leftovers(target: Path, kind: Kind, inputs: Iterable[str | Path] = ()) -> None:
    """Remove the temporary files of an output that a killed process left; their lock must be held.

    A file is removed only if exam_pp made its name, it has no other name (hard link), and it is not an input.
    """
    pattern = re.compile(rf"\.{re.escape(_short(target.name))}\.([0-9a-f]{{8}})([0-9a-f]{{8}})\.{kind}")
    for path in list(target.parent.iterdir()):
        match = pattern.fullmatch(path.name)
        if match is None or match[2] != _checksum(match[1], kind) or not _is_ours(path, kind, [*inputs]):
            continue
        if kind == "part":
            path.unlink(missing_ok=True)
        else:
            shutil.rmtree(path, ignore_errors=True)


def _is_ours(path: Path, kind: Kind, inputs: list[str | Path]) -> bool:
    """Whether a file, or every file of a folder, has no other name and is not an input."""
    if kind == "part":
        return _is_own_file(path, inputs)
    is_folder = stat.S_ISDIR(path.lstat().st_mode)
    return is_folder and all(
        stat.S_ISDIR(file.lstat().st_mode) or _is_own_file(file, inputs) for file in path.rglob("*")
    )


def _is_own_file(path: Path, inputs: list[str | Path]) -> bool:
    state = path.lstat()
    return stat.S_ISREG(state.st_mode) and state.st_nlink == 1 and not is_input(path, inputs)


def _random_name(target: Path, kind: Kind) -> Path:
    random = os.urandom(4).hex()
    return target.with_name(f".{_short(target.name)}.{random}{_checksum(random, kind)}.{kind}")


def _checksum(random: str, kind: Kind) -> str:
    """The second half of a random name: names that others choose do not have it."""
    return hashlib.sha256(f"exam_pp {random} {kind}".encode()).hexdigest()[:8]


def _short(name: str) -> str:
    data = os.fsencode(name)
    return name if len(data) <= _MAX_NAME_BYTES else hashlib.sha256(data).hexdigest()
