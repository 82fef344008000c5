"""Lazy editing of passages files, for commands that change a part of a file.

Only fields that are read are decoded, and only changed fields are encoded. All other fields keep their bytes,
so that unknown keys and the order of keys stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
from pydantic import ValidationError

from exam_pp.data_model import (
    DECODER_ERRORS,
    AnyGrades,
    CriteriaGrades,
    DirectGrade,
    Judgment,
    Passage,
    QueryPassages,
    RankingEntry,
    RubricGrades,
    SupportGrades,
    parse_passage,
)
from exam_pp.errors import DataError
from exam_pp.raw_json import (
    Change,
    RawJson,
    ShapeError,
    changed,
    decode_list,
    decode_object,
    encode_list,
    encode_object,
    encode_string,
    without_lone_surrogates,
)
from exam_pp.records import encode, splice
from exam_pp.store.files import read_lines
from exam_pp.store.passages.graded_file import check_ids, parse_query


class PassageHead(msgspec.Struct, gc=False, frozen=True):
    """Id and text of a passage. The id may be a number, which the reader converts to text."""

    passage_id: str | int = msgspec.field(name="paragraph_id")
    text: str


_LINE = msgspec.json.Decoder(tuple[msgspec.Raw, list[msgspec.Raw]])
_ID: msgspec.json.Decoder[str | int] = msgspec.json.Decoder(str | int)  # a number is converted to text
_HEAD = msgspec.json.Decoder(PassageHead)
_GRADE_TYPES: Mapping[str, type[AnyGrades]] = {"exam_grades": RubricGrades, "grades": DirectGrade}
"""The keys of a passage for sets of grades, with their type, in the order of ``grade_sets``."""

_GRADE_LISTS = {
    "exam_grades": "rubric_grades",
    "grades": "direct_grades",
    "support_grades": "support_grades",
    "criteria_grades": "criteria_grades",
}
"""The keys of grades that reviewers give, and their names in :class:`Passage`."""


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

    def dump(self) -> bytes:
        """Return the line without its end; unchanged passages keep their bytes."""
        line = self.original
        if line and tuple(self.passages) == line.passages and not any(p.is_changed for p in self.passages):
            return line.data
        raw_id = line.raw_id if line else encode_string(self.query_id)
        return b"[%b, %b]" % (raw_id, encode_list(passage.raw for passage in self.passages))


@dataclass(frozen=True)
class RawGrades:
    """A set of grades: the key of its list in the passage, the view for metrics, and its JSON."""

    key: str
    view: AnyGrades
    raw: RawJson

    @classmethod
    def of(cls, grades: AnyGrades) -> RawGrades:
        """Make raw grades from an object of the data model."""
        return cls("exam_grades" if isinstance(grades, RubricGrades) else "grades", grades, encode(grades))

    @property
    def is_direct(self) -> bool:
        """Whether this is a direct grade."""
        return self.key == "grades"

    def with_grades(self, before: AnyGrades, after: AnyGrades) -> RawGrades:
        """Return the grades with the changes between two objects; other values keep their bytes."""
        raw = splice(self.raw, before, after)
        return self if raw is self.raw else RawGrades(self.key, after, raw)

    def with_value(self, path: Sequence[str], change: Change) -> RawGrades:
        """Return grades with ``change`` applied at a path of keys; their ``view`` is not updated."""
        before = decode_object(self.raw)
        after = changed(before, path, change)
        return self if after == before else RawGrades(self.key, self.view, encode_object(after))


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
            after = changed(self.fields, path, change)
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
            return parse_passage(self.raw)
        except ValidationError:  # parse the whole line, so that the error names the passage
            return parse_query(self._line.data, self._line.file, self._line.number).passages[self._position]

    @property
    def judgments(self) -> Sequence[Judgment]:
        """Judgments of the passage; several judges may have judged it."""
        return self.view.judgments

    @property
    def rankings(self) -> Sequence[RankingEntry]:
        """The ranks of the passage, one per system that returned it."""
        return self.view.rankings

    def grade_sets(self) -> Iterator[AnyGrades]:
        """Yield all sets of grades in file order, rubric grades first."""
        return self.view.grade_sets()

    def raw_grades(self) -> list[RawGrades]:
        """Return all sets of grades with their JSON, in the order of :meth:`grade_sets`."""
        views = self.grade_sets()  # first, because it names the field of an invalid value
        raw_sets = [(key, raw) for key in _GRADE_TYPES for raw in decode_list(self.fields.get(key))]
        return [RawGrades(key, view, raw) for (key, raw), view in zip(raw_sets, views, strict=True)]

    def edit_grades(self, edit: Callable[[RawGrades], RawGrades | None]) -> None:
        """Replace each set of grades by the result of ``edit``; None removes it."""
        before = self.raw_grades()
        try:
            after = [edit(grades) for grades in before]
        except ShapeError as error:
            raise self._error(str(error), "grades") from error
        for key in _GRADE_TYPES:
            new = [grades.raw for grades in after if grades is not None and grades.key == key]
            if new != [grades.raw for grades in before if grades.key == key]:
                self.change([key], partial(_replaced, new))

    def add_grades(self, new: Sequence[AnyGrades]) -> None:
        """Append each set of grades to the list of its type."""
        for key, type_ in _GRADE_TYPES.items():
            added = [encode(grades) for grades in new if isinstance(grades, type_)]
            if added:
                self.change([key], partial(_appended, added))

    def add_support(self, grades: SupportGrades) -> None:
        """Append the grades of the citations of this part of an answer."""
        self.change(["support_grades"], partial(_appended, [encode(grades)]))

    def add_criteria(self, grades: CriteriaGrades) -> None:
        """Append the ratings of the answer whose first part this is."""
        self.change(["criteria_grades"], partial(_appended, [encode(grades)]))

    def take_grades(self, passage: Passage) -> None:
        """Replace the grades by those of ``passage``; sets of grades that are equal keep their bytes.

        Consistency grades stay, because no reviewer gives them.
        """
        for key, name in _GRADE_LISTS.items():
            old, new = getattr(self.view, name), getattr(passage, name)
            if (new or []) != (old or []):
                self.change([key], partial(_spliced, old, new or []))


def _spliced(old: object, new: object, raw: RawJson | None) -> RawJson:
    return splice(raw or b"null", old, new)


def _replaced(new: Sequence[RawJson], _old: RawJson | None) -> RawJson:
    return encode_list(new)


def _appended(new: Sequence[RawJson], old: RawJson | None) -> RawJson:
    return encode_list([*decode_list(old), *new])
