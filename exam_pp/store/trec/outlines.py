"""Reading TREC CAR outlines (CBOR): the pages as queries, their sections as facets.

The files are those of trec-car-tools 2 (http://trec-car.cs.unh.edu): an optional header, then one array per
page. Files of articles have the same structure, with paragraphs between the sections.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from exam_pp.errors import DataError, MissingExtraError
from exam_pp.store.files import read_bytes

_START = re.compile(rb"\x9f?[\x82-\x86](?:cCAR|[\x00\x01][\x60-\x7b])", re.DOTALL)
"""The first bytes of the header, or of a page: an array of its tag (0 or 1), its title and more."""
_OPEN_ARRAY, _END = b"\x9f", b"\xff"
_SECTION = 0


def is_outlines(start: bytes) -> bool:
    """Whether a file that starts with these bytes is one of pages in CBOR, and not a text file."""
    return _START.match(start) is not None


def read_outlines(path: str | Path) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Yield id, title, and facets of each page; a facet is a pair of id and heading.

    A section within a section is a facet of its own: its id is the path of ids (``a/b``), its text the path
    of headings (``A / B``). Raises :class:`DataError` for a file that is not CBOR of pages, and
    :class:`MissingExtraError` without the package cbor2.
    """
    try:
        cbor2: Any = import_module("cbor2")
    except ImportError as error:
        raise MissingExtraError("TREC CAR outlines", "car") from error
    for number, page in enumerate(_pages(cbor2, path), 1):
        try:
            query_id, title = _text(page[2]), _text(page[1])
            facets = list(_facets(page[3], query_id, (), ()))
        except (IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise DataError(
                f"has no title, id and sections where a page of TREC CAR has them ({error}).",
                file=str(path), field=f"page {number}",
            ) from error  # fmt: skip
        yield query_id, title, facets


def _pages(cbor2: Any, path: str | Path) -> list[Any]:
    """The pages, which follow the header as an open array, or each other in older files."""
    try:
        # An open array around the values of a file makes one value of them.
        values: list[Any] = cbor2.loads(_OPEN_ARRAY + bytes(read_bytes(path)) + _END)
    except (cbor2.CBORDecodeError, RecursionError, MemoryError) as error:
        problem = f"is not complete CBOR ({error}); copy or download the file again."
        raise DataError(problem, file=str(path)) from error
    if values and isinstance(values[0], list) and values[0][:1] == ["CAR"]:
        values = values[1] if len(values) == 2 and isinstance(values[1], list) else values[1:]
    if not all(isinstance(page, list) and page[:1] in ([0], [1]) for page in values):
        problem = "has CBOR values that are not pages of TREC CAR; name a file of outlines or articles."
        raise DataError(problem, file=str(path))
    return values


def _facets(
    skeleton: Any, query_id: str, ids: tuple[str, ...], headings: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    for element in skeleton:
        if element[0] == _SECTION:
            heading, own_id = _text(element[1]), _text(element[2]).removeprefix(f"{query_id}/")
            path_ids, path_headings = (*ids, own_id), (*headings, heading)
            yield "/".join(path_ids), " / ".join(path_headings)
            yield from _facets(element[3], query_id, path_ids, path_headings)


def _text(value: Any) -> str:
    """An id, which is bytes, or a title, which is text."""
    return value.decode("ascii") if isinstance(value, bytes) else str(value)
