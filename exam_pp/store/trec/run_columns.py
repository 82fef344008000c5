"""Run files as columns of arrays, several times faster than line by line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from exam_pp.results import RunColumns
from exam_pp.store.files import read_bytes
from exam_pp.store.trec.runs import MethodName, method_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FIELDS = 6
_KEPT = (0, 2, 3, 4, 5)
_WORD = 8
_HIGHEST_DIGIT = 9
_EXACT_DIGITS = 15
"""Decimal digits of which every whole number is a double."""
_WIDEST = 256
"""Bytes of a field; every field of a column takes as much memory as the longest."""


def read_run_columns(path: str | Path, *, method: MethodName = "stem") -> RunColumns | None:
    """A plain run file as columns; None for any other, which is to be read line by line.

    Plain are ASCII, six fields a line with one space or tab between two, ranks of digits, scores that are
    numbers, and one tag. Whether a passage occurs twice for a query is not looked at. Raises
    :class:`~exam_pp.errors.DataError` where a file cannot be read at all.
    """
    import numpy as np  # noqa: PLC0415 - slow to import

    data = read_bytes(path)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if not data.isascii():
        return None
    data += bytes(_WIDEST) if data.endswith(b"\n") else b"\n" + bytes(_WIDEST)
    columns = _columns(np.frombuffer(data, np.uint8))
    if columns is None:
        return None
    query_ids, passage_ids, ranks, scores, tags = columns
    digits = ranks.view(np.uint8)
    if ((digits - ord("0") > _HIGHEST_DIGIT) & (digits != 0)).any() or (
        _words(tags) != _words(tags)[0]
    ).any():
        return None
    values = _numbers(scores)
    if values is None:
        return None
    words = _words(query_ids)
    starts = np.flatnonzero(np.concatenate([[True], (words[1:] != words[:-1]).any(axis=1)]))
    system = method_of(Path(path)) if method == "stem" else tags[0].decode()
    return RunColumns(
        system, [query_id.decode() for query_id in query_ids[starts].tolist()], starts, passage_ids, values
    )


def _columns(data: NDArray[np.uint8]) -> list[NDArray[np.bytes_]] | None:
    """Query, passage, rank, score and tag of all lines of ``data``, which ends in zeros; or None."""
    import numpy as np  # noqa: PLC0415

    separators = np.flatnonzero(data[:-_WIDEST] <= ord(" "))
    if len(separators) % _FIELDS:
        return None
    found = data[separators]
    is_blank = (found == ord(" ")) | (found == ord("\t"))
    is_end = found == ord("\n")
    lines = len(found) // _FIELDS
    if not is_end[_FIELDS - 1 :: _FIELDS].all() or np.count_nonzero(is_blank) != lines * (_FIELDS - 1):
        return None
    ends = np.ascontiguousarray(separators.reshape(lines, _FIELDS).T)
    before = np.concatenate([[-1], ends[-1, :-1]])
    columns = []
    for field in range(_FIELDS):
        starts = before + 1
        before = ends[field]
        widths = before - starts
        if widths.min() < 1 or widths.max() > _WIDEST:
            return None
        if field in _KEPT:
            columns.append(_cut(data, starts, widths))
    return columns


def _cut(data: NDArray[np.uint8], starts: NDArray[np.int64], widths: NDArray[np.int64]) -> NDArray[np.bytes_]:
    """Pieces of ``data``: as many bytes from each start as the widest piece, then 0s."""
    import numpy as np  # noqa: PLC0415

    width = -(-int(widths.max()) // _WORD) * _WORD
    at_every_byte = np.ndarray((len(data) - width + 1,), f"S{width}", data, strides=(1,))
    pieces: NDArray[np.bytes_] = at_every_byte[starts]
    # Whole words at once: the masks of all widths, then the mask of every piece.
    masks = np.where(np.arange(width) < np.arange(width + 1)[:, None], 255, 0).astype(np.uint8)
    words = _words(pieces)
    lowest, highest = widths.min(), widths.max()
    words &= np.take(masks.view(np.uint64), lowest if lowest == highest else widths, axis=0)
    return pieces


def _words(texts: NDArray[np.bytes_]) -> NDArray[np.uint64]:
    """A row of words for each text; they are compared faster than texts."""
    words: NDArray[np.uint64] = texts.view(f"u{_WORD}").reshape(len(texts), -1)
    return words


def _numbers(texts: NDArray[np.bytes_]) -> NDArray[np.float64] | None:
    """What :class:`float` makes of each text; None if one is not a finite number."""
    import numpy as np  # noqa: PLC0415

    if (plain := _decimals(texts)) is not None:
        return plain
    try:
        values = np.fromiter(map(float, texts.tolist()), np.float64, len(texts))
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def _decimals(texts: NDArray[np.bytes_]) -> NDArray[np.float64] | None:
    """Numbers of at most 15 digits, which may have a minus and a point; None if there are others.

    The digits as a whole number, over a power of ten: both are exact, so the quotient is the nearest double
    (W. D. Clinger, "How to read floating point numbers accurately", PLDI 1990).
    """
    import numpy as np  # noqa: PLC0415

    if texts.dtype.itemsize > _EXACT_DIGITS + 1:
        return None
    # A row for the first character of every text, one for the second and so on.
    characters = np.ascontiguousarray(texts.view(np.uint8).reshape(len(texts), -1).T)
    characters = characters[characters.any(axis=1)]
    negative = characters[0] == ord("-")
    characters[0][negative] = ord("0")
    digits = characters - np.uint8(ord("0"))
    is_digit, is_point = digits <= _HIGHEST_DIGIT, characters == ord(".")
    points = is_point.astype(np.uint8)  # up to and with each character
    for row in range(1, len(points)):
        points[row] += points[row - 1]
    number = is_digit.sum(axis=0, dtype=np.uint8)
    plain = np.count_nonzero(is_digit) + np.count_nonzero(is_point) == np.count_nonzero(characters)
    if not plain or points[-1].max() > 1 or number.max() > _EXACT_DIGITS or (number == negative).any():
        return None
    # As if every text had 15 digits; those behind a point stand one place further to the right.
    whole = np.zeros(len(texts))
    for place, row in enumerate(digits * is_digit * (1 + 9 * points)):
        whole += row * 10.0 ** (_EXACT_DIGITS - 1 - place)
    before_point = (is_digit & (points == 0)).sum(axis=0, dtype=np.uint8)
    values: NDArray[np.float64] = whole / (10.0 ** np.arange(_EXACT_DIGITS, -1, -1))[before_point]
    return np.where(negative, -values, values)
