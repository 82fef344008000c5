"""Reading passage texts by id from TSV ``id<TAB>text``, JSON lines, or any table with these columns."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from exam_pp.errors import DataError
from exam_pp.store.files import NO_UTF8, read_lines
from exam_pp.store.problems import Problems, is_repairing
from exam_pp.store.tables import TEXTS, are_columns_given, check_header, column_names, read_table
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)

ID_KEYS = ("paragraph_id", "passage_id", "pid", "docid", "doc_id", "id", "_id")
TEXT_KEYS = ("text", "contents", "segment", "passage")
"""Keys of ids and texts in collections, in order of preference: MS MARCO v2 has ``pid`` and ``docid``."""


_LINE = msgspec.defstruct(
    "_LINE",
    [
        *((key, str | int | None, None) for key in ID_KEYS),
        *((key, str | None, None) for key in TEXT_KEYS),
        ("title", Any, None),
    ],
)
"""The fields of a JSON line that may be id, text or title; all others are skipped."""
_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_LINE)

_Text = tuple[str, str, bool]
"""Passage id, text, and whether the line has more: a title, or tabs that may separate further columns."""


def read_texts(path: str | Path, selected_ids: Collection[str] | None) -> dict[str, str]:
    """Read the texts of the selected passages as passage id to text; missing passages have no key.

    If ``selected_ids`` is None, all texts are read.

    The format is detected by the first line. Texts stay as they are, with the blanks around them, except in
    tables with a header. Empty texts are kept, titles of JSON lines are ignored, and further columns of TSV
    without a header become part of the text; a warning counts each of these. Raises :class:`DataError` for
    lines without id or text, and for an id with two different texts.
    """
    texts: dict[str, str] = {}
    with_more: set[str] = set()
    problems = Problems(path)
    is_json = _is_table(path)
    read = _table if is_json else _lines
    for number, is_json, (passage_id, text, has_more) in read(path, selected_ids, problems):  # noqa: B007
        if is_repairing() and not text.strip():
            problem = f"the passage {passage_id!r} has no text."
            problems.add(DataError(problem, file=str(path), line=number), "without text")
            continue
        if texts.setdefault(passage_id, text) != text:
            problem = f"the passage {passage_id!r} occurs twice, with different texts."
            problems.add(DataError(problem, file=str(path), line=number), "repeated")
        if has_more:
            with_more.add(passage_id)
    problems.check()
    _log_warnings(path, texts, len(with_more), is_json)
    return texts


def _is_table(path: str | Path) -> bool:
    """Whether a file has a header, or is JSON that :func:`_json`, which is faster, does not read."""
    columns = set(column_names(path, TEXTS))
    is_known = bool(columns & set(ID_KEYS) and columns & set(TEXT_KEYS))
    is_json_lines = is_known and next(read_lines(path))[1][:1] == b"{"
    return TEXTS.fits(list(columns)) and (are_columns_given() or not is_json_lines)


def _lines(
    path: str | Path, selected_ids: Collection[str] | None, problems: Problems
) -> Iterator[tuple[int, bool, _Text]]:
    is_json = None
    for number, line in read_lines(path, keep_blanks=True):
        if is_json is None:
            is_json = line.lstrip().startswith(b"{")
            if not is_json and b"\t" not in line:
                check_header(path, TEXTS)
        try:
            text = (_json if is_json else _tsv)(line, path, number)
        except DataError as error:
            problems.add(error)
            continue
        if selected_ids is None or text[0] in selected_ids:
            yield number, is_json, text
    if is_json is None:
        raise DataError("has no passage texts.", file=str(path))


def _table(
    path: str | Path, selected_ids: Collection[str] | None, problems: Problems
) -> Iterator[tuple[int | None, bool, _Text]]:
    for row, cells in read_table(path, TEXTS, problems):
        if selected_ids is None or cells["passage_id"] in selected_ids:
            yield row.line, True, (cells["passage_id"], cells["text"], bool(cells.get("title")))


def _log_warnings(path: str | Path, texts: Mapping[str, str], more: int, is_json: bool) -> None:
    if empty := sum(not text.strip() for text in texts.values()):
        log.warning("%s: %s an empty text.", path, counted(empty, "passage has", "passages have"))
    if more and is_json:
        count = counted(more, "passage", "passages")
        log.warning(
            "%s: ignored the titles of %s. Add them to the texts if graders should read them.", path, count
        )
    elif more:
        count = counted(more, "text contains", "texts contain")
        log.warning("%s: %s tabs. If the file has more columns than id and text, remove them.", path, count)


def _tsv(line: bytes, path: str | Path, number: int) -> _Text:
    try:
        passage_id, tab, text = line.decode().partition("\t")
    except UnicodeDecodeError as error:
        raise DataError(NO_UTF8, file=str(path), line=number) from error
    if not tab:
        raise DataError(
            "has no tab, but a file of texts has lines of passage id, tab and text, or of JSON objects with "
            "id and text.",
            file=str(path), line=number,
        )  # fmt: skip
    if not passage_id.strip():
        raise DataError("has no passage id before the tab.", file=str(path), line=number)
    return passage_id.strip(), text, "\t" in text.strip()


def _json(line: bytes, path: str | Path, number: int) -> _Text:
    try:
        entry = _decode(line)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise DataError(f"cannot be read ({error}).", file=str(path), line=number) from error
    passage_id, text = _first(entry, ID_KEYS), _first(entry, TEXT_KEYS)
    if passage_id is None:
        keys = ", ".join(ID_KEYS)
        raise DataError(f"has no passage id under one of the keys {keys}.", file=str(path), line=number)
    if text is None:
        keys = ", ".join(TEXT_KEYS)
        raise DataError(f"has no passage text under one of the keys {keys}.", file=str(path), line=number)
    return str(passage_id), text, bool(entry.title)


def _first(entry: Any, keys: Iterable[str]) -> Any:
    """The first value that is not None."""
    return next((value for key in keys if (value := getattr(entry, key)) is not None), None)


def _decode(line: bytes) -> Any:
    try:
        return _DECODER.decode(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # Web text can have lone surrogates. Only Python's json module reads them; they become question marks.
        value = json.loads(line)
        return _DECODER.decode(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
