"""How inputs are opened: unzipped, streams more than once, never overwritten, and changes of them noticed."""

from __future__ import annotations

import io
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from weakref import finalize

from zlib_ng import gzip_ng

from exam_pp.errors import DataError

MAX_RATIO_VARIABLE = "EXAM_PP_MAX_RATIO"
_MAX_RATIO = 200
"""Graded passages shrink to a tenth, a decompression bomb to a thousandth of its size."""
_UNGUARDED = 64 * 2**20
"""The ratio is checked only beyond this many unpacked bytes, because small files are often repetitive."""
_MAGIC = b"\x1f\x8b"
_UNSUPPORTED = {
    rb"BZh[1-9]1AY&SY": "is compressed with bzip2. Decompress it first (bzip2 -d)",
    rb"\x28\xb5\x2f\xfd": "is compressed with zstd. Decompress it first (zstd -d)",
    rb"\xfd7zXZ\x00": "is compressed with xz. Decompress it first (xz -d)",
    rb"PK\x03\x04": "is a zip archive or an Excel file. Extract it first (unzip), or save its sheet as CSV",
    rb"\xff\xfe|\xfe\xff": "is UTF-16 text. Convert it first (iconv -f UTF-16 -t UTF-8)",
}
"""First bytes of files that no command reads, as a pattern, and the start of the error message."""
PIECE = 2**16
"""Number of unpacked bytes that are read at a time. If a file is truncated, its last piece is lost, so pieces
are small. Larger pieces are also slower, because every allocation asks the system for memory."""


def unzipped(raw: io.BufferedReader, file: str) -> io.BufferedReader:
    """Return the stream, decompressed if its first bytes are those of gzip; errors name it ``file``.

    Raises :class:`DataError` for other compressed formats and for UTF-16 text.
    """
    start = raw.peek(10)  # a pipe can be peeked, but not rewound
    if start[:2] != _MAGIC:
        for first_bytes, problem in _UNSUPPORTED.items():
            if re.match(first_bytes, start):
                raise DataError(f"{problem}; exam_pp reads plain UTF-8 text and gzip.", file=file)
        return raw
    return io.BufferedReader(_GuardedGzip(raw, file), PIECE)


class _GuardedGzip(io.RawIOBase):
    """A stream of decompressed bytes that limits their ratio to the compressed bytes."""

    def __init__(self, packed: io.BufferedReader, file: str) -> None:
        self._packed = _Counted(packed)
        self._zipped = gzip_ng.GzipNGFile(fileobj=self._packed, mode="rb")
        self._file = file
        self._ratio = limit_from_environment(MAX_RATIO_VARIABLE, _MAX_RATIO)
        self._unpacked = 0

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read decompressed bytes; raises :class:`DataError` beyond the limit."""
        count: int = self._zipped.readinto(memoryview(buffer)[:PIECE])
        self._unpacked += count
        if self._unpacked > max(_UNGUARDED, self._ratio * self._packed.bytes_read):
            raise DataError(
                f"decompresses to more than {self._ratio} times its size. If this is intended, set "
                f"{MAX_RATIO_VARIABLE} to a higher number.",
                file=self._file,
            )
        return count


class _Counted(io.RawIOBase):
    """A stream that counts the bytes that were read from it."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self.bytes_read = 0

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read from the stream and count."""
        count = self._stream.readinto(buffer)
        self.bytes_read += count
        return count


def limit_from_environment(variable: str, default: int) -> int:
    """Return the limit in an environment variable; raises :class:`DataError` unless it is an integer > 0."""
    text = os.environ.get(variable, "").strip()
    if text and not (text.isascii() and text.isdigit() and int(text) > 0):
        raise DataError(
            f"must be a whole number above 0, not {text!r}.", field=f"the environment variable {variable}"
        )
    return int(text) if text else default


class _Stream:
    """A stream and a copy of the bytes that were read from it so far.

    The copy is a temporary file without a name, so that nothing is left of it if the process is killed.
    """

    def __init__(self, source: Any, name: str) -> None:
        self.source = source
        self._name = name
        self._read = getattr(source, "read1", source.read)
        self._length = 0
        self._has_ended = False
        self._copy: IO[bytes] | None = None
        self._problem = ""
        try:
            self._copy = tempfile.TemporaryFile(prefix="exam-pp-", buffering=0)  # noqa: SIM115
            finalize(self, self._copy.close)  # also at exit
        except OSError as error:
            self._lose(error.strerror or str(error))

    def _lose(self, problem: str) -> None:
        """Go on without a copy, and free its space for outputs."""
        if self._copy is not None:
            self._copy.close()
        self._copy, self._problem = None, problem

    def read(self, position: int, size: int) -> bytes:
        """Return some bytes at a position, which are empty at the end of the stream.

        Raises :class:`DataError` if they were read before and could not be copied.
        """
        if position < self._length:
            if self._copy is None:
                raise DataError(
                    f"is read again, but cannot be copied to a temporary file ({self._problem}). Name a file "
                    "instead, or set TMPDIR to a folder with enough space.",
                    file=self._name,
                )
            return os.pread(self._copy.fileno(), size, position)
        data: bytes = b"" if self._has_ended else self._read(size)
        self._has_ended = not data
        self._length += len(data)
        if self._copy is not None:
            try:
                if self._copy.write(data) < len(data):
                    self._lose("no space is left")
            except OSError as error:
                self._lose(error.strerror or str(error))
        return data


class _Reader(io.RawIOBase):
    """Reads a stream from its start; readers of the same stream do not share a position."""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream
        self._position = 0

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        data = self._stream.read(self._position, len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)


_streams: dict[tuple[int, int] | None, _Stream] = {}
"""The streams of this process by device and inode, which no other pipe gets as long as the stream is open.
The key of standard input is None."""


def open_stream(path: str | Path) -> io.BufferedReader:
    """Open a pipe, a device or standard input (``-``) at its start; a process reads each byte only once."""
    if str(path) == "-":
        source = _standard_input()
        if None not in _streams or _streams[None].source is not source:  # replaced by a test or a notebook
            _streams[None] = _Stream(source, "standard input")
        return io.BufferedReader(_Reader(_streams[None]))
    state = Path(path).stat()
    key = state.st_dev, state.st_ino
    if key not in _streams:
        _streams[key] = stream = _Stream(io.FileIO(path), str(path))
        finalize(stream, stream.source.close)
    return io.BufferedReader(_Reader(_streams[key]))


def _standard_input() -> Any:
    """The binary standard input; raises :class:`DataError` if it is closed, as after ``<&-`` in a shell."""
    if sys.stdin is None:
        raise DataError("is closed. Name a file instead.", file="standard input")
    return sys.stdin.buffer


_MODEL_FILES = (".safetensors", ".bin", ".json", ".model", ".txt", ".jinja", ".py", ".gguf")
"""Suffixes of the files of a checkpoint."""


_Version = tuple[int, int, int, int]
"""Device, inode, size and time of a file when it was opened; another file, or a changed one, has others."""


class Running:
    """The inputs of one command, and the files that it has written."""

    def __init__(self, inputs: Iterable[str | Path]) -> None:
        self.named = {os.path.realpath(path): _inode(path) for path in inputs}
        self.versions: dict[str, _Version] = {}
        self.opened: dict[str, Path] = {}
        self.written: dict[str, None] = {}

    def has(self, real: str, inode: tuple[int, int] | None) -> bool:
        """Whether a file is one of the named inputs, or was opened."""
        if real in self.named or real in self.versions:
            return True
        opened = ((path, version[:2]) for path, version in self.versions.items())
        # The file system can give the inode of a deleted file to a new file.
        return inode is not None and any(
            inode == known and _inode(path) == known for path, known in (*self.named.items(), *opened)
        )


_commands: list[Running] = []
"""The commands that run, from the outer to the inner."""


@contextmanager
def reading(inputs: Iterable[str | Path] = ()) -> Iterator[Running]:
    """Protect the inputs of a command inside the block.

    No output may be one of ``inputs``, or another file that was read in the block. A file that is read twice
    must be unchanged, or :class:`DataError` is raised. Blocks can be nested.
    """
    command = Running(inputs)
    _commands.append(command)
    try:
        yield command
    finally:
        _commands.remove(command)


def model_files(model: str) -> tuple[Path, ...] | None:
    """The files of a local model that no output may replace; None for a name that is no path of a model."""
    path = Path(model)
    if path.suffix.lower() == ".gguf":
        return (path,) if path.is_file() else None
    if not path.is_dir():
        return None
    # Other files in the folder, such as gradings, may be outputs.
    return tuple(sorted(file for file in path.rglob("*") if file.suffix in _MODEL_FILES and file.is_file()))


def is_input(path: Path, inputs: Iterable[str | Path] = ()) -> bool:
    """Whether a path is one of ``inputs`` or of those of the running command, also by a link of any kind."""
    real, inode = os.path.realpath(path), _inode(path)
    if any(command.has(real, inode) for command in _commands):
        return True
    return inode is not None and any(_inode(source) == inode for source in inputs if str(source) != "-")


def _inode(path: str | Path) -> tuple[int, int] | None:
    """Device and inode of an existing file, else None."""
    try:
        state = os.stat(path)  # noqa: PTH116 - a path may be a string
    except (OSError, ValueError):
        return None
    return state.st_dev, state.st_ino


def note_opened(path: str | Path, state: os.stat_result) -> None:
    """Note the version of a file that is opened; raises :class:`DataError` if an earlier one was opened."""
    if not _commands or not stat.S_ISREG(state.st_mode):
        return
    version = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
    real = os.path.realpath(path)
    # The outer block is that of the whole command.
    _commands[0].opened.setdefault(real, Path(path))
    if _commands[0].versions.setdefault(real, version) != version:
        raise DataError(
            "was replaced or changed while this command read it. Run the command again.", file=str(path)
        )


def forget(path: Path) -> None:
    """Forget a file that was opened, because the command itself writes it."""
    real = os.path.realpath(path)
    for command in _commands:
        command.versions.pop(real, None)
        command.opened.pop(real, None)


def note_written(path: Path) -> None:
    """Note that the command has completely written a file."""
    forget(path)
    for command in _commands:
        command.written[os.path.realpath(path)] = None
