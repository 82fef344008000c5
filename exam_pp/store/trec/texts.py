"""Passage texts: TSV ``id<TAB>text`` or JSON lines, streamed, so that only wanted texts are kept."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from exam_pp.errors import DataError
from exam_pp.store.files import NO_UTF8, read_lines
from exam_pp.wording import counted

log = logging.getLogger(__name__)

ID_KEYS = ("paragraph_id", "passage_id", "docid", "doc_id", "id", "_id")
TEXT_KEYS = ("text", "contents", "segment", "passage")
"""Names that collections use, in order of preference."""


class _Line(msgspec.Struct, rename={"under_id": "_id"}):
    """The fields of a JSON line that may hold id, text and title; all others are skipped unread."""

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
    title: Any = None

    @property
    def identifier(self) -> str | None:
        ids = (self.paragraph_id, self.passage_id, self.docid, self.doc_id, self.id, self.under_id)
        return next((str(value) for value in ids if value is not None), None)

    @property
    def words(self) -> str | None:
        texts = (self.text, self.contents, self.segment, self.passage)
        return next((value for value in texts if value is not None), None)


_DECODER = msgspec.json.Decoder(_Line)

_Entry = tuple[str, str, bool]
"""Passage id, text, and whether there is more: a title, or tabs that may separate further columns."""


def read_texts(path: str | Path, wanted: Collection[str]) -> dict[str, str]:
    """Passage id to text, of the wanted ids that the file holds, in file order.

    The format is told by the first line. A line whose text is empty is kept and logged. Titles of JSON
    lines are left out, and further columns of TSV are part of the text; both are logged. Raises
    :class:`DataError` for lines without id or text, and for an id with two different texts.
    """
    texts: dict[str, str] = {}
    more: set[str] = set()
    is_json = None
    for number, line in read_lines(path, keep_tabs=True):
        if is_json is None:
            is_json = line.lstrip().startswith(b"{")
        passage_id, text, has_more = (_json if is_json else _tsv)(line, path, number)
        if passage_id not in wanted:
            continue
        if texts.setdefault(passage_id, text) != text:
            raise DataError(
                f"the passage {passage_id!r} occurs twice, with different texts.", file=str(path), line=number
            )
        if has_more:
            more.add(passage_id)
    if is_json is None:
        raise DataError("holds no passage texts.", file=str(path))
    _log_oddities(path, texts, len(more), is_json)
    return texts


def _log_oddities(path: str | Path, texts: Mapping[str, str], more: int, is_json: bool) -> None:
    if empty := sum(not text.strip() for text in texts.values()):
        log.warning("%s: %s an empty text.", path, counted(empty, "passage has", "passages have"))
    if more and is_json:
        have = counted(more, "passage has a title", "passages have titles")
        log.warning("%s: %s, left out; put titles before the texts if they belong to them.", path, have)
    elif more:
        have = counted(more, "text holds", "texts hold")
        log.warning("%s: %s tabs; if the file has more columns than id and text, cut them off.", path, have)


def _tsv(line: bytes, path: str | Path, number: int) -> _Entry:
    try:
        passage_id, tab, text = line.decode().partition("\t")
    except UnicodeDecodeError as error:
        raise DataError(NO_UTF8, file=str(path), line=number) from error
    if not tab:
        raise DataError("has no tab between passage id and text.", file=str(path), line=number)
    if not passage_id.strip():
        raise DataError("has no passage id before the tab.", file=str(path), line=number)
    return passage_id.strip(), text.strip(), "\t" in text.strip()


def _json(line: bytes, path: str | Path, number: int) -> _Entry:
    try:
        entry = _decode(line)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors too
        raise DataError(f"cannot be read: {error}.", file=str(path), line=number) from error
    passage_id, text = entry.identifier, entry.words
    if passage_id is None:
        raise DataError(f"has none of the keys {', '.join(ID_KEYS)}.", file=str(path), line=number)
    if text is None:
        raise DataError(f"has none of the keys {', '.join(TEXT_KEYS)}.", file=str(path), line=number)
    return passage_id, text, bool(entry.title)


def _decode(line: bytes) -> _Line:
    try:
        return _DECODER.decode(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # Web text holds lone surrogates, which Python's json takes; they become question marks.
        value = json.loads(line)
        return _DECODER.decode(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
