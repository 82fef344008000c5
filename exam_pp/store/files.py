"""Opening files: gzip by content, lines with numbers, outputs that appear whole or not at all."""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import IO

from zlib_ng import gzip_ng, zlib_ng

from exam_pp.errors import DataError, OutputError

STDIO = "-"
_GZIP_MAGIC = b"\x1f\x8b"
# The level of the standard `gzip` command; zlib-ng reaches its size in a third of the time.
_GZIP_LEVEL = 6


def read_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Line number (from 1) and line without its end, for every line that is not blank.

    Gzip is recognised by its first bytes, whatever the file's name; ``-`` is standard input.
    Raises :class:`DataError` where the file is missing, or a gzip is cut off or corrupt (naming the
    last good line).
    """
    for number, line in _raw_lines(path):
        if stripped := line.strip():
            yield number, stripped


def _raw_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    try:
        with _open_input(path) as stream:
            for number, line in enumerate(stream, 1):
                yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
    except (EOFError, gzip.BadGzipFile, zlib_ng.error) as error:  # type: ignore[misc]  # wrong stub
        last = f"the last line that could be read is line {number}" if number else "no line could be read"
        raise DataError(
            f"the gzip data is cut off or corrupt ({error}); {last}. Copy or make the file again.",
            file=str(path),
        ) from error
    except IsADirectoryError as error:
        raise DataError("is a folder, not a file.", file=str(path)) from error
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=str(path)) from error


def read_text_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """As :func:`read_lines`, decoded from UTF-8."""
    for number, line in read_lines(path):
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError("is not UTF-8 text.", file=str(path), line=number) from error


def read_text(path: str | Path) -> str:
    """A text file as a whole, decoded from UTF-8; gzip and errors as in :func:`read_lines`."""
    try:
        with _open_input(path) as stream:
            data = stream.read().removeprefix(b"\xef\xbb\xbf")
    except (EOFError, OSError, zlib_ng.error) as error:  # type: ignore[misc]  # wrong stub
        if str(path) == STDIO:  # which cannot be read twice
            raise DataError(f"the data is cut off or corrupt ({error}).", file="standard input") from error
        data = b"".join(line for _, line in _raw_lines(path))  # says where
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError("is not UTF-8 text.", file=str(path)) from error


@contextmanager
def _open_input(path: str | Path) -> Iterator[IO[bytes]]:
    if str(path) == STDIO:
        stream: IO[bytes] = sys.stdin.buffer
        peek = getattr(stream, "peek", None)
        head = peek(2)[:2] if peek else b""
        yield gzip_ng.GzipNGFile(fileobj=stream, mode="rb") if head == _GZIP_MAGIC else stream
        return
    with Path(path).open("rb") as raw:
        if raw.peek(2)[:2] != _GZIP_MAGIC:  # a pipe can be looked into, but not rewound
            yield raw
            return
        # A small buffer turns every line into many calls: 1 MiB keeps decompression the only cost.
        with gzip_ng.open(raw, "rb") as unzipped:
            yield unzipped


@contextmanager
def atomic_output(path: str | Path, *, inputs: Iterable[str | Path] = ()) -> Iterator[IO[bytes]]:
    """A binary stream whose content becomes ``path`` when the block ends without an error.

    Names that end in ``.gz`` are compressed, without time stamp or name inside, so equal content
    gives equal bytes. ``-`` is standard output. ``inputs`` are files that must not be overwritten.
    Raises :class:`OutputError`.
    """
    if str(path) == STDIO:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = check_output(path, inputs)
    if target.exists() and not target.is_file():  # a device or a pipe, such as /dev/null: never replaced
        with target.open("wb") as device:
            yield device
        return
    target = target.resolve()  # through a symbolic link, to keep the link
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror}.") from error
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as raw:
            if target.name.endswith(".gz"):
                with gzip_ng.GzipNGFile(
                    filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=_GZIP_LEVEL
                ) as zipped:
                    yield zipped
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        raise OutputError(f"{target} cannot be written: {error.strerror or error}.") from error
    finally:
        part.unlink(missing_ok=True)


def remove_leftovers(path: str | Path) -> None:
    """Remove what killed processes left of unfinished outputs; only for who holds a lock on ``path``."""
    target = Path(path).resolve()
    for part in target.parent.glob(f".{escape(target.name)}.*.part"):
        part.unlink(missing_ok=True)


def is_stream(path: str | Path) -> bool:
    """Whether a path is standard input or output, a pipe or a device: it can be used only once."""
    return str(path) == STDIO or (Path(path).exists() and not Path(path).is_file())


def check_output(path: str | Path, inputs: Iterable[str | Path] = ()) -> Path:
    """The path, if it can be written and is none of the inputs; raises :class:`OutputError`."""
    target = Path(path)
    if str(path) == STDIO:
        return target
    if target.is_dir():
        raise OutputError(f"{target} is a folder; name a file with -o.")
    if not target.parent.is_dir():
        raise OutputError(f"{target} cannot be written: the folder {target.parent} does not exist.")
    if not os.access(target.parent, os.W_OK):
        raise OutputError(f"{target} cannot be written: no permission for the folder {target.parent}.")
    for source in inputs:
        if str(source) != STDIO and target.exists() and Path(source).exists() and target.samefile(source):
            raise OutputError(f"{target} is also an input; name another file with -o.")
    return target


def write_text(path: str | Path, text: str, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write a whole small text file, atomically."""
    with atomic_output(path, inputs=inputs) as stream:
        stream.write(text.encode("utf-8"))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


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
