"""Reading gzip data with protection against decompression bombs; other binary formats raise DataError."""

from __future__ import annotations

import io
import os
import re
from typing import Any

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
