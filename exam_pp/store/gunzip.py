"""What a gzip holds, as long as that is not absurdly more than the gzip itself (a "zip bomb").

What else is not text, but is met where text is expected, is refused by its name.
"""

from __future__ import annotations

import io
import os
import re
from typing import Any

from zlib_ng import gzip_ng

from exam_pp.errors import DataError

MAX_RATIO_VARIABLE = "EXAM_PP_MAX_RATIO"
_MAX_RATIO = 200
"""Graded passages shrink to a tenth; gzip at its best, which is a bomb, to a thousandth."""
_UNGUARDED = 64 * 2**20
"""So many bytes may come out of a gzip before its ratio counts: little harm, and little files repeat much."""
_MAGIC = b"\x1f\x8b"
_REFUSED = {
    rb"BZh[1-9]1AY&SY": "is packed by bzip2; unpack it first (bzip2 -d)",
    rb"\x28\xb5\x2f\xfd": "is packed by zstd; unpack it first (zstd -d)",
    rb"\xfd7zXZ\x00": "is packed by xz; unpack it first (xz -d)",
    rb"PK\x03\x04": "is a zip archive; unpack it first (unzip)",
    rb"\xff\xfe|\xfe\xff": "is UTF-16 text; convert it first (iconv -f UTF-16 -t UTF-8)",
}
"""How files start that no command reads, and what to do with them."""
PIECE = 2**16
"""What comes out of a gzip at a time. In larger ones more lines are lost where it breaks off; and from twice
this size, memory comes from the system every time."""


def unzipped(raw: io.BufferedReader, file: str) -> io.BufferedReader:
    """The stream, unpacked where its first bytes say that it is a gzip; ``file`` is its name in errors.

    Raises :class:`DataError` for other packed files, and for UTF-16 text.
    """
    start = raw.peek(10)  # a pipe can be looked into, but not rewound
    if start[:2] != _MAGIC:
        for first, words in _REFUSED.items():
            if re.match(first, start):
                raise DataError(f"{words}; plain UTF-8 text and gzip are read.", file=file)
        return raw
    return io.BufferedReader(_Unzipping(raw, file), PIECE)


class _Unzipping(io.RawIOBase):
    """The unpacked bytes, watched."""

    def __init__(self, packed: io.BufferedReader, file: str) -> None:
        self._packed = _Counted(packed)
        self._zipped = gzip_ng.GzipNGFile(fileobj=self._packed, mode="rb")
        self._file = file
        self._ratio = limit_of(MAX_RATIO_VARIABLE, _MAX_RATIO)
        self._given = 0

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Unpacked bytes; raises :class:`DataError` when there are too many."""
        # A piece that holds the place where a gzip breaks off is lost as a whole: pieces are small.
        count: int = self._zipped.readinto(memoryview(buffer)[:PIECE])
        self._given += count
        if self._given > max(_UNGUARDED, self._ratio * self._packed.taken):
            raise DataError(
                f"unpacks to more than {self._ratio} times its size; if that is meant, set "
                f"{MAX_RATIO_VARIABLE} to more.",
                file=self._file,
            )
        return count


class _Counted(io.RawIOBase):
    """A stream that knows how much was read from it."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self.taken = 0

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """As the stream."""
        count = self._stream.readinto(buffer)
        self.taken += count
        return count


def limit_of(variable: str, default: int) -> int:
    """What an environment variable allows; raises :class:`DataError` where it is no whole number above 0."""
    text = os.environ.get(variable, "").strip()
    if text and not (text.isascii() and text.isdigit() and int(text) > 0):
        raise DataError(f"{text!r} is no whole number above 0.", field=f"the environment variable {variable}")
    return int(text) if text else default
