"""Reading files line by line with gzip detection, and writing files atomically."""

from __future__ import annotations

import codecs
import errno
import gzip
import hashlib
import io
import logging
import os
import shutil
import stat
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from zlib_ng import gzip_ng, zlib_ng

from exam_pp.errors import CorruptFileError, DataError, OutputError
from exam_pp.store.inputs import (
    PIECE,
    is_input,
    limit_from_environment,
    note_opened,
    note_written,
    open_stream,
    unzipped,
)
from exam_pp.store.locks import (
    Kind,
    Lock,
    create_part,
    create_work_folder,
    lock_path,
    remove_leftovers,
    signals_held,
)
from exam_pp.text.wording import in_one_line, is_unicode, printable

log = logging.getLogger(__name__)

STDIO = "-"
NO_UTF8 = "is not UTF-8 text. Convert it first, for example from Latin-1 with iconv -f LATIN1 -t UTF-8."
MAX_LINE_VARIABLE = "EXAM_PP_MAX_LINE_MB"
_MAX_LINE_MB = 1024
_GZIP_LEVEL = 4
"""Files are a quarter larger than at level 9, and written in less than half of the time."""
_BLOCK = 2**22


def read_lines(path: str | Path, *, keep_blanks: bool = False) -> Iterator[tuple[int, bytes]]:
    """Yield line number (from 1) and line for every line that is not blank.

    Whitespace around a line is removed; with ``keep_blanks`` only the line end is.
    Gzip is detected by its first bytes, not by the file name; ``-`` is standard input.
    Raises :class:`DataError` if the file is missing, its gzip data is truncated or corrupt (the message
    names the last good line), or a line or the unpacked data exceeds a limit (docs/project/performance.md).
    """
    for number, line in _raw_lines(path):
        if stripped := line.strip():
            yield number, line.removesuffix(b"\r") if keep_blanks else stripped


_skipped_lines: dict[str, Collection[int]] = {}


@contextmanager
def without_lines(path: str | Path, numbers: Collection[int]) -> Iterator[None]:
    """Treat lines of a file as blank inside the block, so that a reader skips bad lines."""
    _skipped_lines[str(path)] = numbers
    try:
        yield
    finally:
        del _skipped_lines[str(path)]


def _raw_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Yield line number and line, without the line end."""
    skipped = _skipped_lines.get(str(path), ())
    number, limit = 0, limit_from_environment(MAX_LINE_VARIABLE, _MAX_LINE_MB) * 2**20
    try:
        with _open_input(path) as raw:
            for line in _split(unzipped(raw, _name(path)), limit):
                number += 1
                _check_length(len(line), limit, path, number)
                text = b"" if number in skipped else line
                yield number, text.removeprefix(b"\xef\xbb\xbf") if number == 1 else text
    except (EOFError, gzip.BadGzipFile, zlib_ng.error) as error:  # type: ignore[misc]  # wrong stub
        last = f"the last line that could be read is line {number}" if number else "no line could be read"
        raise CorruptFileError(
            f"the gzip data is truncated or corrupt ({error}); {last}. Copy or create the file again.",
            file=str(path),
        ) from error
    except IsADirectoryError as error:
        raise DataError("is a folder, not a file.", file=str(path)) from error
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=str(path)) from error


def _split(stream: io.BufferedReader, limit: int) -> Iterator[bytes]:
    """Yield lines without line ends; stop after a line that is longer than the limit.

    Joining long lines from pieces takes half the time of ``readline``.
    """
    pieces, length = list[bytes](), 0
    while length <= limit and (piece := stream.read1(PIECE)):
        first, *starts = piece.split(b"\n") if b"\n" in piece else (piece,)  # `in` is faster than `split`
        pieces.append(first)
        length += len(first)
        for start in starts:
            line = b"".join(pieces)
            pieces, length = [start], len(start)
            yield line
    if length:
        yield b"".join(pieces)


def _check_length(length: int, limit: int, path: str | Path, line: int | None = None) -> None:
    if length > limit:
        raise DataError(
            f"is longer than {limit // 2**20} MB. If this is intended, set {MAX_LINE_VARIABLE} to a higher "
            "number.",
            file=str(path), line=line,
        )  # fmt: skip


def read_text_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Like :func:`read_lines`, decoded from UTF-8."""
    return _decoded(read_lines(path), path)


def read_whole_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """Like :func:`read_text_lines`, with blank lines, the whitespace around lines, and line ends."""
    return ((number, line + "\n") for number, line in _decoded(_raw_lines(path), path))


def _decoded(lines: Iterable[tuple[int, bytes]], path: str | Path) -> Iterator[tuple[int, str]]:
    for number, line in lines:
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(NO_UTF8, file=str(path), line=number) from error


def read_bytes(path: str | Path) -> bytearray:
    """Return a whole text file without its byte order mark; gzip and errors as in :func:`read_lines`."""
    limit = limit_from_environment(MAX_LINE_VARIABLE, _MAX_LINE_MB) * 2**20
    if _skipped_lines.get(str(path)):
        return bytearray(b"\n").join(line for _, line in _raw_lines(path))
    data = bytearray()
    try:
        with _open_input(path) as raw:
            stream = unzipped(raw, _name(path))
            while len(data) <= limit and (block := stream.read(_BLOCK)):
                data += block
    except (EOFError, OSError, zlib_ng.error):  # type: ignore[misc]  # wrong stub
        data = bytearray(b"\n").join(line for _, line in _raw_lines(path))  # raises an error with the line
    _check_length(len(data), limit, path)
    if data.startswith(b"\xef\xbb\xbf"):
        del data[:3]
    return data


def read_text(path: str | Path) -> str:
    """Like :func:`read_bytes`, decoded from UTF-8."""
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(NO_UTF8, file=str(path)) from error


def read_file(path: str | Path) -> str:
    """Like :func:`read_text`; raises :class:`DataError` for a pipe or a device, which may never end."""
    check_ends(path)
    return read_text(path)


def check_ends(path: str | Path) -> None:
    """Raise :class:`DataError` for a pipe or a device, but not for standard input."""
    if str(path) != STDIO and is_stream(path):
        raise DataError("is not a regular file. Put a file in its place.", file=str(path))


def size_and_sha256(path: str | Path) -> tuple[int, str]:
    """The number of bytes of a file and their SHA-256, read in pieces; raises :class:`DataError`."""
    try:
        with _open_input(path) as stream:
            digest = hashlib.sha256()
            size = 0
            while piece := stream.read(PIECE):
                digest.update(piece)
                size += len(piece)
            return size, digest.hexdigest()
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror}).", file=str(path)) from error


@contextmanager
def _open_input(path: str | Path) -> Iterator[io.BufferedReader]:
    """The bytes of an input as they are; a stream is opened again at its start."""
    if is_stream(path):
        with open_stream(path) as raw:
            yield raw
        return
    with Path(path).open("rb") as raw:
        note_opened(path, os.fstat(raw.fileno()))
        yield raw


def _name(path: str | Path) -> str:
    return "standard input" if str(path) == STDIO else str(path)


@contextmanager
def atomic_output(path: str | Path, *, inputs: Iterable[str | Path] = ()) -> Iterator[IO[bytes]]:
    """Open a binary stream whose content replaces ``path`` when the block ends without an error.

    Files named ``*.gz`` are compressed without time stamp and file name, so that equal content gives
    equal bytes. ``-`` is standard output. ``inputs`` are files that must not be overwritten.
    Only one process can write an output at a time. Raises :class:`OutputError`.
    """
    inputs = list(inputs)
    target = check_output(path, inputs)
    if str(path) == STDIO:
        with _standard_output() as stream:
            yield stream
        return
    try:
        if target.exists() and not target.is_file():  # never replace a device or a pipe, such as /dev/null
            with target.open("wb") as device:
                yield device
            return
        # resolved, to keep a symbolic link
        with _replacing_on_success(_resolved(target), inputs) as raw:
            if target.name.endswith(".gz"):
                with gzip_ng.GzipNGFile("", "wb", _GZIP_LEVEL, raw, mtime=0) as zipped:
                    yield zipped
            else:
                yield raw
        log.debug("Written: %s (%d bytes)", target, target.stat().st_size)
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or error}.") from error


@contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    try:
        stream: IO[bytes] = sys.stdout.buffer
        if stream.isatty():
            stream = io.BufferedWriter(_ForTerminals(stream))
        yield stream
        stream.flush()
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # `exam-pp ... | head` is not an error
        raise
    except OSError as error:
        raise OutputError(f"Standard output cannot be written: {error.strerror or error}.") from error


class _ForTerminals(io.RawIOBase):
    """Writes UTF-8 to a terminal, without control characters of ids and texts in any format."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, data: Any) -> int:
        """Write the characters that are complete."""
        self._stream.write(printable(self._decoder.decode(data)).encode())
        return len(data)


@contextmanager
def _replacing_on_success(target: Path, inputs: Sequence[str | Path] = ()) -> Iterator[IO[bytes]]:
    """Open a temporary file next to the target, which it replaces at the end; it is removed after an error.

    The lock of the target keeps two processes from writing the same output.
    """
    lock = part = raw = None
    try:
        with signals_held():
            lock = _lock(target, "part", inputs)
            part, raw = create_part(target)
        _copy_permissions(target, raw.fileno())
        yield raw
        raw.flush()
        os.fsync(raw.fileno())
        check_output(target, inputs)  # by now, all inputs were read
        with signals_held():
            part.replace(target)
            part = None
            note_written(target)
            _sync(target.parent)
    finally:
        with signals_held():
            if raw is not None:
                with suppress(OSError):  # a write error is already being raised
                    raw.close()
            if part is not None:
                part.unlink(missing_ok=True)
            if lock is not None:
                lock.release()


def _lock(target: Path, kind: Kind, inputs: Sequence[str | Path]) -> Lock:
    """Lock an output, and remove the temporary files of this kind that a killed process left."""
    in_use = f"{target} is being written by another process. Wait for it, or name another file with -o."
    lock = Lock.take(lock_path(target, kind), in_use, inputs)
    if lock.was_left:
        remove_leftovers(target, kind, inputs)
    return lock


def _copy_permissions(target: Path, part: int | Path) -> None:
    """Give a new file the permissions of the file that it replaces."""
    with suppress(OSError):  # the target is new, or the file system has no permissions
        os.chmod(part, target.stat().st_mode & 0o777)  # noqa: PTH101 - `part` may be a file descriptor


@contextmanager
def work_folder(target: Path, inputs: Iterable[str | Path] = ()) -> Iterator[Path]:
    """Make a folder ``.NAME.RANDOM.work`` next to an output for intermediate files; removed after the block.

    Only one process can use it at a time; files of a killed process are deleted. Raises :class:`OutputError`.
    """
    inputs = list(inputs)
    lock = folder = None
    try:
        try:
            with signals_held():
                lock = _lock(target, "work", inputs)
                folder = create_work_folder(target)
        except OSError as error:
            raise OutputError(f"{target} cannot be written: {error.strerror or error}.") from error
        yield folder
    finally:
        with signals_held():
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            if lock is not None:
                lock.release()


def is_stream(path: str | Path) -> bool:
    """Whether a path is standard input or output, a pipe or a device."""
    path = Path(path)
    return str(path) == STDIO or (path.exists() and not path.is_file() and not path.is_dir())


def check_output(path: str | Path, inputs: Iterable[str | Path] = (), *, option: str = "-o") -> Path:
    """Return the path; raises :class:`OutputError` if it cannot be written or would harm an input.

    Every output of a command goes through this function. Inputs are ``inputs`` and those of
    :func:`~exam_pp.store.inputs.reading`. An output is refused if it is an input, or a link of any
    kind to an input. So is an output whose lock file is an input. Other temporary files have random names.

    ``inputs``: Files that must not be overwritten.
    """
    target = Path(path)
    try:
        if str(path) == STDIO:
            _check_standard_output(inputs)
        else:
            _check_target(target, list(inputs), option)
    except (OSError, RuntimeError) as error:  # the name is too long, or a link to itself (RuntimeError)
        reason = error.strerror if isinstance(error, OSError) else "it is a symbolic link to itself"
        raise OutputError(f"{target} cannot be written: {reason or error}.") from error
    return target


def _check_standard_output(inputs: Iterable[str | Path]) -> None:
    """Raise :class:`OutputError` if standard output is closed, or appended to an input as by ``>> input``."""
    try:
        if not sys.stdout.writable():
            raise OutputError("Standard output is closed. Name a file with -o.")
        descriptor = sys.stdout.fileno()
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return
    except (AttributeError, OSError, ValueError):  # replaced by a test or a notebook, or closed
        return
    if is_input(Path(f"/dev/fd/{descriptor}"), inputs):
        raise OutputError("Standard output is also an input. Redirect it to another file.")


def _check_target(target: Path, inputs: list[str | Path], option: str) -> None:
    if target.is_dir():
        raise OutputError(f"{target} is a folder. Name a file with {option}.")
    # A symbolic link is kept and its target is replaced, so the target's folder is checked.
    written = _resolved(target) if target.is_symlink() else target
    folder = written.parent
    if not folder.is_dir():
        problem = "is a file" if folder.exists() else "does not exist"
        raise OutputError(f"{target} cannot be written: the folder {folder} {problem}.")
    if not is_stream(target) and not os.access(folder, os.W_OK):
        raise OutputError(f"{target} cannot be written: no permission for the folder {folder}.")
    if target.exists() and not _is_writable(target):
        raise OutputError(
            f"{target} is write-protected. Name another file with {option}, or allow writing to it."
        )
    for place in (target, lock_path(written)):
        if is_input(place, inputs):
            reason = "is also" if place == target else f"needs the lock {place.name}, which is"
            raise OutputError(f"{target} {reason} an input. Name another file with {option}.")


def _resolved(path: Path) -> Path:
    """Resolve symbolic links; raises RuntimeError for a link to itself, as Path.resolve does before 3.13."""
    found = path.resolve()
    if found.is_symlink():
        raise RuntimeError(path)
    return found


def _is_writable(target: Path) -> bool:
    """Whether a file may be replaced: root may write every file, but respects a missing permission."""
    state = target.stat()
    return os.access(target, os.W_OK) and (not stat.S_ISREG(state.st_mode) or bool(state.st_mode & 0o200))


@contextmanager
def folder_output(path: str | Path, inputs: Iterable[str | Path] = (), name: str = "files") -> Iterator[Path]:
    """Make an empty folder whose files are in the folder ``path`` when the block ends without an error.

    A new folder is written next to its place and then renamed, so it is complete or absent. In a folder that
    exists, files are moved one by one as the last step, and other files are kept; signals wait for the last
    move. Only one process at a time can write an output with the same ``name`` there. Raises
    :class:`OutputError`.
    """
    inputs = list(inputs)
    try:
        target = _resolved(Path(path))  # the parts of `new/../folder` are not all there
        is_new = not target.exists()
        if not is_new:
            target.mkdir(exist_ok=True)  # raises an error for a file
    except (OSError, RuntimeError) as error:
        raise _not_created(path, error) from error
    if lock_path(target, "work").exists() and not is_new:  # a process was killed after it made the folder
        with suppress(OSError), signals_held():
            _lock(target, "work", inputs).release()
    filled = _new_folder(path, target, inputs) if is_new else _filled_folder(Path(path), name, inputs)
    with filled as work:
        try:
            yield work
        except OutputError as error:  # name the user's folder, not the temporary one
            raise OutputError(str(error).replace(f"{work}/", f"{path}/")) from error


@contextmanager
def _new_folder(shown: str | Path, target: Path, inputs: Sequence[str | Path]) -> Iterator[Path]:
    """Make a folder that is renamed to ``target`` at the end."""
    parents = [folder for folder in target.parents if not folder.exists()]
    try:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _not_created(shown, error) from error
        with work_folder(target, inputs) as work:
            yield work
            try:
                for path in [*work.rglob("*"), work]:
                    _sync(path)
                with signals_held():
                    work.rename(target)
                    for file in target.iterdir():
                        note_written(file)
            except OSError as error:
                raise _not_created(shown, error) from error
            for folder in (target, *parents):
                _sync(folder.parent)
    except BaseException:
        with suppress(OSError):  # not empty: it is complete, or another process writes there, too
            for folder in parents:
                folder.rmdir()
        raise


def _not_created(folder: str | Path, error: OSError | RuntimeError) -> OutputError:
    """The error for a folder; a RuntimeError is raised for a link to itself."""
    reason = error.strerror if isinstance(error, OSError) else "it is a symbolic link to itself"
    return OutputError(f"The folder {folder} cannot be created: {reason}.")


@contextmanager
def _filled_folder(target: Path, name: str, inputs: Sequence[str | Path]) -> Iterator[Path]:
    """Make a folder whose files are moved to the existing folder ``target`` at the end."""
    with work_folder(target / name, inputs) as work:
        yield work
        files = {file: check_output(target / file.name, inputs) for file in sorted(work.iterdir())}
        for file, destination in files.items():
            _copy_permissions(destination, file)
            _sync(file)
        with signals_held():
            for file, destination in files.items():
                try:
                    _move(file, destination.resolve())
                    note_written(destination)
                except OSError as error:
                    raise OutputError(
                        f"{destination} cannot be written: {error.strerror or error}."
                    ) from error
            _sync(target)


def _move(file: Path, destination: Path) -> None:
    try:
        file.replace(destination)
    except OSError as error:
        if error.errno != errno.EXDEV:  # EXDEV: a symbolic link points to another file system
            raise
        with file.open("rb") as source, _replacing_on_success(destination) as part:
            shutil.copyfileobj(source, part)


def safe_name(identifier: str) -> str:
    """Return an id or system name as a file name without path separators; URL unquoting restores the id.

    All characters except ASCII letters, digits and ``_.-~+@=,`` are percent-encoded, as is a leading dot. The
    empty id becomes ``%``.
    """
    name = quote(identifier, safe="+@=,", errors="surrogatepass")
    return "%2E" + name[1:] if name.startswith(".") else name or "%"


def check_utf8_name(path: str | Path) -> None:
    """Raise :class:`DataError` for a name that is not UTF-8, which no output could name."""
    path = Path(path)
    if not is_unicode(path.name):
        raise DataError(
            f"the name of the file '{in_one_line(path.name)}' is not UTF-8. Rename the file.",
            file=in_one_line(str(path.parent)),
        )


def write_text(path: str | Path, text: str | Iterable[str], *, inputs: Iterable[str | Path] = ()) -> None:
    """Write a text, or an iterable of its parts, atomically."""
    with atomic_output(path, inputs=inputs) as stream:
        for part in [text] if isinstance(text, str) else text:
            stream.write(part.encode("utf-8"))


def _sync(path: Path) -> None:
    """Make a file, or a rename in a folder, survive a power failure, if the file system supports it."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass  # some network file systems cannot sync a folder
    finally:
        os.close(handle)
