"""Pipes, devices and standard input that can be read again, from a copy of what was read before."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from pathlib import Path
from typing import IO, Any
from weakref import finalize

from exam_pp.errors import DataError


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
