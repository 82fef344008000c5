"""Opening files: gzip by content, lines with numbers, outputs that appear whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import gzip
import io
import os
import shutil
import stat
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote
from weakref import WeakSet

from zlib_ng import gzip_ng, zlib_ng

from exam_pp.errors import CorruptFileError, DataError, OutputError
from exam_pp.store.gunzip import PIECE, limit_of, unzipped

STDIO = "-"
NO_UTF8 = "is not UTF-8 text; convert it first, for example from Latin-1 (iconv -f LATIN1 -t UTF-8)."
MAX_LINE_VARIABLE = "EXAM_PP_MAX_LINE_MB"
_MAX_LINE_MB = 1024
_GZIP_LEVEL = 4
"""A quarter larger than the best, in less than half of its time."""
_BLOCK = 2**22
_NO_TAB = b" \n\r\v\f"


def read_lines(path: str | Path, *, keep_tabs: bool = False) -> Iterator[tuple[int, bytes]]:
    """Line number (from 1) and line, for every line that is not blank.

    White space around a line goes with its end; ``keep_tabs`` leaves tabs, whose columns may be empty.
    Gzip is recognised by its first bytes, whatever the file's name; ``-`` is standard input.
    Raises :class:`DataError` where the file is missing, a gzip is cut off or corrupt (naming the last
    good line), or a line or a gzip is larger than the limits (docs/reliability.md).
    """
    for number, line in _raw_lines(path):
        if stripped := line.strip():
            yield number, line.strip(_NO_TAB) if keep_tabs else stripped


_left_out: dict[str, Collection[int]] = {}


@contextmanager
def without_lines(path: str | Path, numbers: Collection[int]) -> Iterator[None]:
    """Inside the block these lines of a file read as blank, so that a reader goes on behind bad lines."""
    _left_out[str(path)] = numbers
    try:
        yield
    finally:
        del _left_out[str(path)]


def _raw_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Lines without their ends."""
    left_out = _left_out.get(str(path), ())
    number, limit = 0, limit_of(MAX_LINE_VARIABLE, _MAX_LINE_MB) * 2**20
    try:
        with _open_input(path) as stream:
            for line in _split(stream, limit):
                number += 1
                _check_length(len(line), limit, path, number)
                text = b"" if number in left_out else line
                yield number, text.removeprefix(b"\xef\xbb\xbf") if number == 1 else text
    except (EOFError, gzip.BadGzipFile, zlib_ng.error) as error:  # type: ignore[misc]  # wrong stub
        last = f"the last line that could be read is line {number}" if number else "no line could be read"
        raise CorruptFileError(
            f"the gzip data is cut off or corrupt ({error}); {last}. Copy or make the file again.",
            file=str(path),
        ) from error
    except IsADirectoryError as error:
        raise DataError("is a folder, not a file.", file=str(path)) from error
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=str(path)) from error


def _split(stream: io.BufferedReader, limit: int) -> Iterator[bytes]:
    """Lines without their ends; after one that is longer than the limit, no more.

    Long lines are put together from pieces, which takes half the time of ``readline``.
    """
    pieces, length = list[bytes](), 0
    while length <= limit and (piece := stream.read1(PIECE)):
        first, *starts = piece.split(b"\n") if b"\n" in piece else (piece,)  # to look is faster than to split
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
            f"is longer than {limit // 2**20} MB; if that is meant, set {MAX_LINE_VARIABLE} to more.",
            file=str(path), line=line,
        )  # fmt: skip


def read_text_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """As :func:`read_lines`, decoded from UTF-8."""
    for number, line in read_lines(path):
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(NO_UTF8, file=str(path), line=number) from error


def read_bytes(path: str | Path) -> bytearray:
    """A text file as a whole, without a byte order mark; gzip and errors as in :func:`read_lines`."""
    limit = limit_of(MAX_LINE_VARIABLE, _MAX_LINE_MB) * 2**20
    if _left_out.get(str(path)):
        return bytearray(b"\n").join(line for _, line in _raw_lines(path))
    data = bytearray()
    try:
        with _open_input(path) as stream:
            while len(data) <= limit and (block := stream.read(_BLOCK)):
                data += block
    except (EOFError, OSError, zlib_ng.error) as error:  # type: ignore[misc]  # wrong stub
        if str(path) == STDIO:  # which cannot be read twice
            raise CorruptFileError(
                f"the data is cut off or corrupt ({error}).", file="standard input"
            ) from error
        data = bytearray(b"\n").join(line for _, line in _raw_lines(path))  # says where
    _check_length(len(data), limit, path)
    if data.startswith(b"\xef\xbb\xbf"):
        del data[:3]
    return data


def read_text(path: str | Path) -> str:
    """As :func:`read_bytes`, decoded from UTF-8."""
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(NO_UTF8, file=str(path)) from error


_opened: WeakSet[Any] = WeakSet()
"""The standard inputs that were opened before; tests and notebooks have several."""
_opened_pipes: set[tuple[int, int]] = set()
_USED_UP = "is needed more than once here: name a file."


@contextmanager
def _open_input(path: str | Path) -> Iterator[io.BufferedReader]:
    if str(path) == STDIO:
        # Text streams that tests or notebooks put in its place have no buffered reader inside.
        stdin: Any = sys.stdin.buffer
        stream = stdin if hasattr(stdin, "peek") else io.BufferedReader(stdin)
        if stdin in _opened and not stream.peek(1):  # not empty, but used up
            raise DataError(_USED_UP, file="standard input")
        _opened.add(stdin)
        yield unzipped(stream, "standard input")
        return
    with Path(path).open("rb") as raw:
        state = os.fstat(raw.fileno())
        if stat.S_ISFIFO(state.st_mode):
            pipe = state.st_dev, state.st_ino
            if pipe in _opened_pipes and not raw.peek(1):
                raise DataError(_USED_UP, file=str(path))
            _opened_pipes.add(pipe)
        yield unzipped(raw, str(path))


@contextmanager
def atomic_output(path: str | Path, *, inputs: Iterable[str | Path] = ()) -> Iterator[IO[bytes]]:
    """A binary stream whose content becomes ``path`` when the block ends without an error.

    Names that end in ``.gz`` are compressed, without time stamp or name inside, so equal content
    gives equal bytes. ``-`` is standard output. ``inputs`` are files that must not be overwritten.
    One process writes an output at a time. Raises :class:`OutputError`.
    """
    if str(path) == STDIO:
        with _standard_output() as stream:
            yield stream
        return
    target = check_output(path, inputs)
    try:
        if target.exists() and not target.is_file():  # a device or a pipe, such as /dev/null: never replaced
            with target.open("wb") as device:
                yield device
            return
        with _part_of(target.resolve()) as raw:  # through a symbolic link, to keep the link
            if not target.name.endswith(".gz"):
                yield raw
                return
            with gzip_ng.GzipNGFile("", "wb", _GZIP_LEVEL, raw, mtime=0) as zipped:
                yield zipped
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or error}.") from error


@contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # `exam-pp ... | head` is no problem
        raise
    except OSError as error:
        raise OutputError(f"Standard output cannot be written: {error.strerror or error}.") from error


@contextmanager
def _part_of(target: Path) -> Iterator[IO[bytes]]:
    """A file beside the target that takes its place at the end, and is removed after an error.

    It has one name, and its writer holds a lock on it: so two processes cannot write one output, and what
    a killed process left is in nobody's way and gone after the next attempt.
    """
    part, raw = _locked_part(target)
    try:
        _take_permissions(target, raw.fileno())
        yield raw
        raw.flush()
        os.fsync(raw.fileno())
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    finally:
        with suppress(OSError):  # what could not be written is on its way up already
            raw.close()
    _sync_folder(target.parent)


def _take_permissions(target: Path, part: int | Path) -> None:
    """What was private stays private, and what a group may write stays so."""
    with suppress(OSError):  # a new file; or a file system without permissions
        os.chmod(part, target.stat().st_mode & 0o777)  # noqa: PTH101 - an open file, too


@contextmanager
def work_folder(target: Path) -> Iterator[Path]:
    """An empty folder beside an output, ``.NAME.work``, for what is made before it; gone after the block.

    One process has it at a time, and what a killed process left in it is gone. Raises :class:`OutputError`.
    """
    try:
        lock, raw = _locked_part(target.with_name(f"{target.name}.work"), target)
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or error}.") from error
    folder = lock.with_suffix("")
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.unlink(missing_ok=True)
        raw.close()


def _locked_part(target: Path, shown: Path | None = None) -> tuple[Path, IO[bytes]]:
    part = target.with_name(f".{target.name}.part")
    while True:
        raw = _open_part(part)
        try:
            fcntl.flock(raw, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raw.close()
            raise OutputError(
                f"{shown or target} is being written by another process; wait for it or name another -o."
            ) from None
        except OSError:  # a file system without locks: at least nobody else has this name
            raw.close()
            part.unlink(missing_ok=True)
            part = target.with_name(f".{target.name}.{os.getpid()}.part")
            return part, _open_part(part, os.O_EXCL)
        if _is_open_file(part, raw):
            raw.truncate(0)
            return part, raw
        raw.close()  # its writer finished between our two steps: once more


def _open_part(part: Path, flags: int = 0) -> IO[bytes]:
    # Through no link that somebody has laid in a folder for everyone.
    flags |= os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(part, flags, 0o666), "wb")


def _is_open_file(path: Path, stream: IO[bytes]) -> bool:
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(stream.fileno()))
    except FileNotFoundError:
        return False


def is_stream(path: str | Path) -> bool:
    """Whether a path is standard input or output, a pipe or a device: it can be used only once."""
    return str(path) == STDIO or (Path(path).exists() and not Path(path).is_file())


def check_output(path: str | Path, inputs: Iterable[str | Path] = ()) -> Path:
    """The path, if it can be written and is none of the inputs; raises :class:`OutputError`."""
    target = Path(path)
    if str(path) == STDIO:
        return target
    try:
        _check_target(target, inputs)
    except OSError as error:  # such as a name that is too long
        raise OutputError(f"{target} cannot be written: {error.strerror or error}.") from error
    return target


def _check_target(target: Path, inputs: Iterable[str | Path]) -> None:
    if target.is_dir():
        raise OutputError(f"{target} is a folder; name a file with -o.")
    # A link stays, and what it leads to is replaced.
    folder = (target.resolve() if target.is_symlink() else target).parent
    if not folder.is_dir():
        problem = "is a file" if folder.exists() else "does not exist"
        raise OutputError(f"{target} cannot be written: the folder {folder} {problem}.")
    if not is_stream(target) and not os.access(folder, os.W_OK):
        raise OutputError(f"{target} cannot be written: no permission for the folder {folder}.")
    if target.exists() and not os.access(target, os.W_OK):
        raise OutputError(f"{target} is write-protected; name another file with -o, or allow writing to it.")
    for source in inputs:
        if str(source) != STDIO and target.exists() and Path(source).exists() and target.samefile(source):
            raise OutputError(f"{target} is also an input; name another file with -o.")


@contextmanager
def folder_output(path: str | Path, inputs: Iterable[str | Path] = (), name: str = "files") -> Iterator[Path]:
    """An empty folder, whose files are in the folder ``path`` when the block has ended, or none of them.

    ``path`` is made where it does not exist; what else is in it stays. One process at a time writes what is
    called ``name`` there. Raises :class:`OutputError`.
    """
    target = Path(path)
    made = [folder for folder in (target, *target.parents) if not folder.exists()]
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{target} cannot be made a folder: {error.strerror}.") from error
    try:
        with work_folder(target / name) as work:
            try:
                yield work
            except OutputError as error:  # readers know the folder, not ours within
                raise OutputError(str(error).replace(f"{work}/", f"{target}/")) from error
            files = {file: check_output(target / file.name, inputs) for file in sorted(work.iterdir())}
            for file, place in files.items():
                _take_permissions(place, file)
                try:
                    _move(file, place.resolve())
                except OSError as error:
                    raise OutputError(f"{place} cannot be written: {error.strerror or error}.") from error
            _sync_folder(target)
    except BaseException:
        with suppress(OSError):  # not empty: others write there, too
            for folder in made:
                folder.rmdir()
        raise


def _move(file: Path, place: Path) -> None:
    try:
        file.replace(place)
    except OSError as error:
        if error.errno != errno.EXDEV:  # a link led to another file system
            raise
        with file.open("rb") as made, _part_of(place) as part:
            shutil.copyfileobj(made, part)


def safe_name(identifier: str) -> str:
    """An id, or the name of a system, as a file name that cannot leave its folder; undone by URL unquoting.

    Everything but ASCII letters, digits and ``_.-~+@=,`` is percent-encoded, and so is a leading dot. The
    empty id is a lone ``%``.
    """
    name = quote(identifier, safe="+@=,", errors="surrogatepass")
    return "%2E" + name[1:] if name.startswith(".") else name or "%"


def write_text(path: str | Path, text: str | Iterable[str], *, inputs: Iterable[str | Path] = ()) -> None:
    """Write a text, or the parts of one as they come, atomically."""
    with atomic_output(path, inputs=inputs) as stream:
        for part in [text] if isinstance(text, str) else text:
            stream.write(part.encode("utf-8"))


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass  # some network file systems refuse to sync a folder; the file itself is synced
    finally:
        os.close(handle)
