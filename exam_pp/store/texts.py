"""Passage texts: TSV ``id<TAB>text`` or JSON lines, streamed, so that only wanted texts are kept."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from exam_pp.errors import DataError
from exam_pp.store.files import read_lines
from exam_pp.wording import counted

log = logging.getLogger(__name__)

ID_KEYS = ("paragraph_id", "passage_id", "docid", "doc_id", "id", "_id")
TEXT_KEYS = ("text", "contents", "segment", "passage")
"""Names that collections use, in order of preference."""


class _Line(msgspec.Struct, rename={"under_id": "_id"}):
    """The fields of a JSON line that may hold id and text; all others are skipped unread."""

    paragraph_id: str | int | None = None
    passage_id: str | int | None = None
    docid: str | int | None = None
    doc_id: str | int | None = None
    id: str | int | None = None
    under_id: str | int | None = None
    text: str | None = None
    contents: str | None = None
    segment: str | None = None
    passage: str | None = None

    @property
    def identifier(self) -> str | None:
        ids = (self.paragraph_id, self.passage_id, self.docid, self.doc_id, self.id, self.under_id)
        return next((str(value) for value in ids if value is not None), None)

    @property
    def words(self) -> str | None:
        texts = (self.text, self.contents, self.segment, self.passage)
        return next((value for value in texts if value is not None), None)


_DECODER = msgspec.json.Decoder(_Line)


def read_texts(path: str | Path, wanted: Collection[str]) -> dict[str, str]:
    """Passage id to text, of the wanted ids that the file holds, in file order.

    The format is told by the first line. A line whose text is empty is kept and logged. Raises
    :class:`DataError` for lines without id or text, and for an id with two different texts.
    """
    texts: dict[str, str] = {}
    empty = 0
    any_line = False
    for number, passage_id, text in _entries(path):
        any_line = True
        if passage_id not in wanted:
            continue
        if texts.setdefault(passage_id, text) != text:
            raise DataError(
                f"the passage {passage_id!r} occurs twice, with different texts.", file=str(path), line=number
            )
        empty += not text.strip()
    if not any_line:
        raise DataError("holds no passage texts.", file=str(path))
    if empty:
        log.warning("%s: %s an empty text.", path, counted(empty, "passage has", "passages have"))
    return texts


def _entries(path: str | Path) -> Iterator[tuple[int, str, str]]:
    is_json = None
    for number, line in read_lines(path, keep_tabs=True):
        if is_json is None:
            is_json = line.lstrip().startswith(b"{")
        yield number, *(_json(line, path, number) if is_json else _tsv(line, path, number))


def _tsv(line: bytes, path: str | Path, number: int) -> tuple[str, str]:
    try:
        passage_id, tab, text = line.decode().partition("\t")
    except UnicodeDecodeError as error:
        raise DataError("is not UTF-8 text.", file=str(path), line=number) from error
    if not tab:
        raise DataError("has no tab between passage id and text.", file=str(path), line=number)
    if not passage_id.strip():
        raise DataError("has no passage id before the tab.", file=str(path), line=number)
    return passage_id.strip(), text.strip()


def _json(line: bytes, path: str | Path, number: int) -> tuple[str, str]:
    try:
        entry = _decode(line)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors too
        raise DataError(f"cannot be read: {error}.", file=str(path), line=number) from error
    passage_id, text = entry.identifier, entry.words
    if passage_id is None:
        raise DataError(f"has none of the keys {', '.join(ID_KEYS)}.", file=str(path), line=number)
    if text is None:
        raise DataError(f"has none of the keys {', '.join(TEXT_KEYS)}.", file=str(path), line=number)
    return passage_id, text


def _decode(line: bytes) -> _Line:
    try:
        return _DECODER.decode(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # Web text holds lone surrogates, which Python's json takes; they become question marks.
        value = json.loads(line)
        return _DECODER.decode(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
