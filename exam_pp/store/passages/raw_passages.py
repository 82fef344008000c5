"""Lazy editing of passages files, for commands that change a part of a file.

Only fields that are read are decoded, and only changed fields are encoded. All other fields keep their bytes,
so that unknown keys and the order of keys stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import msgspec
from pydantic import ValidationError

from exam_pp.data_model import (
    DECODER_ERRORS,
    AnyGrades,
    BeyondPool,
    DirectGrade,
    Judgment,
    Passage,
    QueryPassages,
    RankingEntry,
    RubricGrades,
    parse_passage,
)
from exam_pp.errors import DataError
from exam_pp.records import StoredRecord, encode
from exam_pp.splicing import (
    Change,
    RawJson,
    ShapeError,
    decode_list,
    decode_object,
    encode_list,
    encode_object,
    encode_string,
    splice,
    with_change,
    without_lone_surrogates,
)
from exam_pp.store.files import read_lines
from exam_pp.store.passages.graded_file import check_ids, parse_query


class PassageHead(msgspec.Struct, gc=False, frozen=True):
    """Id and text of a passage. The id may be a number, which the reader converts to text."""

    passage_id: str | int = msgspec.field(name="paragraph_id")
    text: str


_LINE = msgspec.json.Decoder(tuple[msgspec.Raw, list[msgspec.Raw]])
_ID: msgspec.json.Decoder[str | int] = msgspec.json.Decoder(str | int)  # a number is converted to text
_HEAD = msgspec.json.Decoder(PassageHead)
_PATHS: Mapping[str, tuple[str, ...]] = {
    "rubric_grades": ("exam_grades",),
    "direct_grades": ("grades",),
    "consistency_grades": ("consistency_grades",),
    "support_grades": ("support_grades",),
    "criteria_grades": ("criteria_grades",),
    "judgments": ("paragraph_data", "judgments"),
    "rankings": ("paragraph_data", "rankings"),
}
"""The lists of a passage: the name in the data model and the path of keys in the file."""
_BEYOND_POOL = ("paragraph_data", "beyond_pool")


def read_raw_passages(path: str | Path) -> Iterator[RawQuery]:
    """Yield the queries of a passages file, in file order.

    Ids and texts are checked immediately, other fields when they are accessed. Both raise :class:`DataError`
    with file, line and field.
    """
    for number, data in read_lines(path):
        line = _Line(str(path), number, data)
        query = _read(line)
        check_ids(query.passages, line.file, line.number)
        yield query


def raw_query(query: QueryPassages, file: str | Path) -> RawQuery:
    """Convert a query that was read in full; errors name ``file`` and its first line."""
    return _read(_Line(str(file), 1, query.dump()))


@dataclass
class _Line:
    """A line of the file. Only the passage that was accessed last, at ``viewed``, stays decoded."""

    file: str
    number: int
    data: bytes
    viewed: int | None = None
    view: Passage | None = None

    @property
    def parser(self) -> Callable[[], QueryPassages]:
        """Parses the line with all fields, or raises the error of the first invalid one."""
        # without a reference to this object, whose view is not collected
        return partial(parse_query, self.data, self.file, self.number, every_field=True)


def _read(line: _Line) -> RawQuery:
    try:
        if not line.data.isascii():
            line.data.decode("utf-8")  # parts that are not decoded are not checked
        raw_id, raw_passages = _LINE.decode(line.data)
        query_id = str(_ID.decode(raw_id))
        heads = [(raw, _HEAD.decode(raw)) for raw in raw_passages]
        passages = [
            RawPassage(line, position, raw, str(head.passage_id), head.text)
            for position, (raw, head) in enumerate(heads)
        ]
        return RawQuery(query_id, passages, _Original(line.data, raw_id, tuple(passages)))
    except DECODER_ERRORS:
        query = parse_query(line.data, line.file, line.number)
    line.data = without_lone_surrogates(line.data)  # `parse_query` has named the line
    id_part, list_part = decode_list(line.data)
    parts = zip(decode_list(list_part), query.passages, strict=True)
    passages = [
        RawPassage(line, position, part, passage.passage_id, passage.text)
        for position, (part, passage) in enumerate(parts)
    ]
    return RawQuery(query.query_id, passages, _Original(line.data, id_part, tuple(passages)))


@dataclass(frozen=True)
class _Original:
    """The unchanged line of a query."""

    data: bytes
    raw_id: RawJson
    passages: tuple[RawPassage, ...]


@dataclass
class RawQuery:
    """A query and its passages; a :class:`~exam_pp.data_model.QueryView`.

    The list ``passages`` and its elements may be changed. ``original`` is None for a new query.
    """

    query_id: str
    passages: list[RawPassage]
    original: _Original | None = None

    @cached_property
    def _holder(self) -> RawPassage | None:
        """The passage that holds what is beyond the pool."""
        line = self.original
        if line is None or _BEYOND_POOL[-1].encode() not in line.data:
            return None
        return next((passage for passage in line.passages if _BEYOND_POOL in passage.parts()), None)

    @property
    def beyond_pool(self) -> BeyondPool | None:
        """Judgments and ranks beyond the pool; None in files that do not have them."""
        return None if self._holder is None else self._holder.view.data.beyond_pool

    def set_beyond_pool(self, beyond: BeyondPool | None) -> None:
        """Replace what is beyond the pool; None removes it."""
        if (holder := self._holder or next(iter(self.passages), None)) is not None:
            holder.change(_BEYOND_POOL, lambda _old: None if beyond is None else encode(beyond))

    def dump(self) -> bytes:
        """Return the line without its end; unchanged passages keep their bytes."""
        line = self.original
        if line and tuple(self.passages) == line.passages and not any(p.is_changed for p in self.passages):
            return line.data
        if (holder := self._holder) is not None and self.passages and holder not in self.passages:
            held = holder.parts().get(_BEYOND_POOL)
            self.passages[0].change(_BEYOND_POOL, lambda _old: held)
        raw_id = line.raw_id if line else encode_string(self.query_id)
        return encode_list([raw_id, encode_list([passage.raw for passage in self.passages])])


class RawPassage:
    """A passage; a :class:`~exam_pp.data_model.PassageView`.

    Accessing an invalid field raises :class:`DataError`.
    """

    __slots__ = ("_fields", "_line", "_position", "_raw", "is_changed", "passage_id", "text")

    def __init__(self, line: _Line, position: int, raw: RawJson, passage_id: str, text: str) -> None:
        self.passage_id = passage_id
        self.text = text
        self.is_changed = False
        self._line, self._position = line, position
        self._raw: RawJson | None = raw
        self._fields: dict[str, RawJson] | None = None

    @property
    def raw(self) -> RawJson:
        """The passage as JSON."""
        return encode_object(self.fields) if self._raw is None else self._raw

    @property
    def fields(self) -> Mapping[str, RawJson]:
        """The fields of the passage, in order."""
        if self._fields is None:
            try:
                self._fields = decode_object(self.raw)
            except ShapeError as error:
                raise self._error(str(error)) from error
        return self._fields

    def parts(self) -> dict[tuple[str, ...], RawJson]:
        """Return the fields by path of keys, with the fields of ``paragraph_data`` separately."""
        parts: dict[tuple[str, ...], RawJson] = {}
        for key, value in self.fields.items():
            try:
                inner = decode_object(value) if key == "paragraph_data" else {}
            except ShapeError as error:
                raise self._error(str(error), key) from error
            if inner:
                parts |= {(key, name): part for name, part in inner.items()}
            else:
                parts[key,] = value
        return parts

    def change(self, path: Sequence[str], change: Change) -> None:
        """Apply ``change`` to the value at a path of keys; raises :class:`DataError`."""
        try:
            after = with_change(self.fields, path, change)
        except ShapeError as error:
            raise self._error(str(error), path[0]) from error
        if after != self._fields:
            self._fields, self._raw, self.is_changed = after, None, True
            self._line.viewed = None

    def set_text(self, text: str) -> None:
        """Replace the text of the passage."""
        self.text = text
        self.change(["text"], lambda _old: encode_string(text))

    def _error(self, message: str, field: str = "") -> DataError:
        return DataError(
            message,
            file=self._line.file,
            line=self._line.number,
            field=f"passage {self._position + 1} {field}".strip(),
        )

    @property
    def view(self) -> Passage:
        """The fields that metrics read."""
        line = self._line
        if line.viewed != self._position or line.view is None:
            line.viewed = None
            line.view = self.full()
            line.viewed = self._position
        return line.view

    def full(self) -> Passage:
        """Return the passage as an object of the data model."""
        if self.is_changed:
            line = b'["", [%b]]' % self.raw
            return parse_query(line, self._line.file, self._line.number).passages[0]
        try:
            return parse_passage(self.raw, self._line.parser)
        except ValidationError:  # parse the whole line, so that the error names the passage
            return self._line.parser().passages[self._position]

    @property
    def judgments(self) -> Sequence[Judgment]:
        """Judgments of the passage; several judges may have judged it."""
        return self.view.judgments

    @property
    def rankings(self) -> Sequence[RankingEntry]:
        """The ranks of the passage, one per system that returned it."""
        return self.view.rankings

    @property
    def pool_depth(self) -> int | None:
        """The pooled ranks of each run, if these are fewer than scores use by default."""
        return self.view.pool_depth

    def grade_sets(self) -> Iterator[AnyGrades]:
        """Yield all sets of grades in file order, rubric grades first."""
        return self.view.grade_sets()

    def edit(self, name: str, change: Callable[[Any], Any]) -> None:
        """Replace each element of a list by the result of ``change``; None removes it.

        Args:
            name: The name of the list in the data model, such as ``rankings``.
            change: Gets a record, and returns it, a changed copy or None.
        """
        old: Sequence[Any] = getattr(self.view, name) or ()
        new = [change(item) for item in old]
        if any(after is not before for after, before in zip(new, old, strict=True)):
            self.change(_PATHS[name], partial(_edited, old, new))

    def edit_grades(self, change: Callable[[AnyGrades], AnyGrades | None]) -> None:
        """Replace each set of grades, rubric grades first, by the result of ``change``; None removes it."""
        self.edit("rubric_grades", change)
        self.edit("direct_grades", change)

    def add(self, name: str, new: Iterable[StoredRecord]) -> None:
        """Append records to a list, given by its name in the data model."""
        if added := [encode(record) for record in new]:
            self.change(_PATHS[name], partial(_appended, added))

    def add_grades(self, new: Sequence[AnyGrades]) -> None:
        """Append each set of grades to the list of its type."""
        self.add("rubric_grades", (grades for grades in new if isinstance(grades, RubricGrades)))
        self.add("direct_grades", (grades for grades in new if isinstance(grades, DirectGrade)))

    def take_grades(self, passage: Passage) -> None:
        """Replace the grades by those of ``passage``; sets of grades that are equal keep their bytes.

        Consistency grades stay, because no reviewer gives them.
        """
        for name in ("rubric_grades", "direct_grades", "support_grades", "criteria_grades"):
            old, new = getattr(self.view, name) or [], getattr(passage, name) or []
            if new != old:
                self.change(_PATHS[name], partial(_spliced, old, new))


def _edited(old: Sequence[object], new: Sequence[object], raw: RawJson | None) -> RawJson:
    parts = zip(decode_list(raw), old, new, strict=True)
    return encode_list(splice(part, before, after) for part, before, after in parts if after is not None)


def _spliced(old: object, new: object, raw: RawJson | None) -> RawJson:
    return splice(raw or b"null", old, new)


def _appended(new: Sequence[RawJson], old: RawJson | None) -> RawJson:
    return encode_list([*decode_list(old), *new])
