"""Graded passages as they stand in the file: what is looked at is decoded, what is changed is encoded.

For commands that change a part of a file. Everything else keeps its bytes, unknown keys and the order of
keys included, and costs neither time nor memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
from pydantic import ValidationError

from exam_pp.data_model import (
    DirectGrade,
    GradesView,
    JudgmentView,
    Passage,
    PassageView,
    QueryPassages,
    RankingView,
    Record,
    RubricGrades,
    parse_line,
)
from exam_pp.errors import DataError
from exam_pp.store.files import read_lines
from exam_pp.store.parsing import data_error
from exam_pp.store.passages.graded_file import NOT_TAKEN, check_ids, parse_query
from exam_pp.store.passages.raw_json import (
    Change,
    RawJson,
    ShapeError,
    canonical,
    changed,
    fields_of,
    joined,
    list_of,
    record_of,
    text_of,
)
from exam_pp.store.passages.structs import PassageFields, PassageHead

AnyGrades = RubricGrades | DirectGrade

_LINE = msgspec.json.Decoder(tuple[msgspec.Raw, list[msgspec.Raw]])
_ID: msgspec.json.Decoder[str | int] = msgspec.json.Decoder(str | int)  # a number is read as its digits
_HEAD = msgspec.json.Decoder(PassageHead)
_VIEW = msgspec.json.Decoder(PassageFields)
_KINDS: Mapping[str, type[AnyGrades]] = {"exam_grades": RubricGrades, "grades": DirectGrade}
"""The keys of a passage under which sets of grades stand, in the order of ``grade_sets``."""


def read_raw_passages(path: str | Path) -> Iterator[RawQuery]:
    """The queries of a passages file, in file order.

    Ids and texts are checked as the queries are read, other fields when they are looked at. Raises
    :class:`DataError` with file, line and field.
    """
    for number, data in read_lines(path):
        line = _Line(str(path), number, data)
        query = _read(line)
        check_ids(query.passages, line.file, line.number)
        yield query


def raw_query(query: QueryPassages, file: str | Path) -> RawQuery:
    """A query that was read in full; errors name the file, and the first line of it."""
    return _read(_Line(str(file), 1, query.dump()))


@dataclass
class _Line:
    """A line as it was read. Of its passages, only the one that was looked at last stays decoded."""

    file: str
    number: int
    data: bytes
    viewed: int | None = None
    view: PassageView | None = None


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
    except NOT_TAKEN:
        query = parse_query(line.data, line.file, line.number)
    passages = [
        RawPassage(line, position, dump(passage), passage.passage_id, passage.text)
        for position, passage in enumerate(query.passages)
    ]
    if not _is_unicode(line.data):  # what reading replaced is written so
        return RawQuery(query.query_id, passages)
    return RawQuery(query.query_id, passages, _Original(line.data, text_of(query.query_id), tuple(passages)))


def _is_unicode(line: bytes) -> bool:
    try:
        json.dumps(json.loads(line), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def dump(record: Record) -> bytes:
    """A record of the data model as JSON; keys that were never set are left out."""
    return record.model_dump_json(by_alias=True, exclude_unset=True).encode()


@dataclass(frozen=True)
class _Original:
    """A line as it was read."""

    data: bytes
    raw_id: RawJson
    passages: tuple[RawPassage, ...]


@dataclass
class RawQuery:
    """A query and its passages; a :class:`~exam_pp.data_model.QueryView`.

    ``passages`` may be changed, as a list and one by one. ``original`` is None for a query that is new.
    """

    query_id: str
    passages: list[RawPassage]
    original: _Original | None = None

    def dump(self) -> bytes:
        """The line without its end: the one that was read, as far as nothing was changed."""
        line = self.original
        if line and tuple(self.passages) == line.passages and not any(p.is_changed for p in self.passages):
            return line.data
        raw_id = line.raw_id if line else text_of(self.query_id)
        return b"[%b, %b]" % (raw_id, joined(passage.raw for passage in self.passages))


@dataclass(frozen=True)
class RawGrades:
    """A set of grades: where it stands, what metrics see of it, and its JSON."""

    key: str
    view: GradesView
    raw: RawJson

    @classmethod
    def of(cls, grades: AnyGrades) -> RawGrades:
        """Grades that were made or changed."""
        return cls("exam_grades" if isinstance(grades, RubricGrades) else "grades", grades, dump(grades))

    @property
    def is_direct(self) -> bool:
        """Whether they are a grade of the passage as a whole."""
        return self.key == "grades"

    def with_value(self, path: Sequence[str], change: Change) -> RawGrades:
        """The same grades with another value at a path of keys; the view stays that of the old ones."""
        before = fields_of(self.raw)
        after = changed(before, path, change)
        return self if after == before else RawGrades(self.key, self.view, record_of(after))


class RawPassage:
    """A passage; a :class:`~exam_pp.data_model.PassageView`.

    What cannot be read raises :class:`DataError` where it is looked at.
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
        return record_of(self.fields) if self._raw is None else self._raw

    @property
    def fields(self) -> Mapping[str, RawJson]:
        """The fields of the passage, in order."""
        if self._fields is None:
            try:
                self._fields = fields_of(self.raw)
            except ShapeError as error:
                raise self._error(str(error)) from error
        return self._fields

    def parts(self) -> dict[tuple[str, ...], RawJson]:
        """The fields by their path of keys; those inside of ``paragraph_data`` one by one."""
        parts: dict[tuple[str, ...], RawJson] = {}
        for key, value in self.fields.items():
            try:
                inner = fields_of(value) if key == "paragraph_data" else {}
            except ShapeError as error:
                raise self._error(str(error), key) from error
            if inner:
                parts |= {(key, name): part for name, part in inner.items()}
            else:
                parts[key,] = value
        return parts

    def change(self, path: Sequence[str], change: Change) -> None:
        """Put another value at a path of keys."""
        try:
            after = changed(self.fields, path, change)
        except ShapeError as error:
            raise self._error(str(error), path[0]) from error
        if after != self._fields:
            self._fields, self._raw, self.is_changed = after, None, True
            self._line.viewed = None

    def set_text(self, text: str) -> None:
        """Put another text in the place of the passage's."""
        self.text = text
        self.change(["text"], lambda _old: text_of(text))

    def _error(self, message: str, field: str = "") -> DataError:
        return DataError(
            message,
            file=self._line.file,
            line=self._line.number,
            field=f"passage {self._position + 1} {field}".strip(),
        )

    @property
    def view(self) -> PassageView:
        """What metrics read of the passage."""
        line = self._line
        if line.viewed != self._position or line.view is None:
            line.viewed = None
            try:
                line.view = _VIEW.decode(self.raw)
            except NOT_TAKEN:
                line.view = self.full()
            line.viewed = self._position
        return line.view

    def full(self) -> Passage:
        """The passage as an object of the data model."""
        line = b'["", [%b]]' % self.raw
        if self.is_changed:
            return parse_query(line, self._line.file, self._line.number).passages[0]
        try:
            return parse_line(line).passages[0]
        except ValidationError:  # the whole line, so that an error says which passage of it it is about
            return parse_query(self._line.data, self._line.file, self._line.number).passages[self._position]

    @property
    def judgments(self) -> Sequence[JudgmentView]:
        """Manual judgments; there may be several."""
        return self.view.judgments

    @property
    def rankings(self) -> Sequence[RankingView]:
        """The systems that returned the passage."""
        return self.view.rankings

    def grade_sets(self) -> Iterator[GradesView]:
        """All grades, rubric grades first, in file order."""
        return self.view.grade_sets()

    def raw_grades(self) -> list[RawGrades]:
        """All grades with their JSON, in the order of :meth:`grade_sets`."""
        places = [(key, raw) for key in _KINDS for raw in list_of(self.fields.get(key))]
        views = self.grade_sets()
        return [RawGrades(key, view, raw) for (key, raw), view in zip(places, views, strict=True)]

    def edit_grades(self, edit: Callable[[RawGrades], RawGrades | None]) -> None:
        """Put what ``edit`` makes of each set of grades in its place; None removes it."""
        before = self.raw_grades()
        try:
            after = [edit(grades) for grades in before]
        except ShapeError as error:
            raise self._error(str(error), "grades") from error
        for key in _KINDS:
            new = [grades.raw for grades in after if grades is not None and grades.key == key]
            if new != [grades.raw for grades in before if grades.key == key]:
                self.change([key], partial(_instead, new))

    def add_grades(self, new: Sequence[AnyGrades]) -> None:
        """Append grades to those of their kind."""
        for key, kind in _KINDS.items():
            added = [dump(grades) for grades in new if isinstance(grades, kind)]
            if added:
                self.change([key], partial(_appended, added))

    def take_grades(self, passage: Passage) -> None:
        """Put the grades of an object in the place of the passage's; equal ones keep their bytes."""
        for key, grades in (("exam_grades", passage.rubric_grades), ("grades", passage.direct_grades)):
            before = list_of(self.fields.get(key))
            known = {canonical(raw): raw for raw in before}
            new = [known.get(canonical(dump(one)), dump(one)) for one in grades or ()]
            if new != before:
                self.change([key], partial(_instead, new))

    def full_grades(self, grades: RawGrades) -> AnyGrades:
        """Everything that the file says of one of the passage's sets of grades."""
        try:
            return _KINDS[grades.key].model_validate_json(bytes(grades.raw), by_alias=True, by_name=False)
        except ValidationError as error:
            raise data_error(
                error, self._line.file, self._line.number, f"passage {self._position + 1}"
            ) from error


def _instead(new: Sequence[RawJson], _old: RawJson | None) -> RawJson:
    return joined(new)


def _appended(new: Sequence[RawJson], old: RawJson | None) -> RawJson:
    return joined([*list_of(old), *new])
