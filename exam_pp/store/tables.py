"""Reader of tables and lists of texts: CSV, TSV, JSON lines and JSON arrays, with columns under many names.

The separator of cells is a comma, semicolon or tab, whichever the header has most of. Names of columns are
compared without case, blanks and punctuation, so that ``Query ID`` is ``query_id``. A JSON object that is not
a record maps ids to texts: each pair is a row.
"""

from __future__ import annotations

import csv
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from exam_pp.errors import DataError
from exam_pp.store.files import STDIO, is_stream, read_whole_lines
from exam_pp.store.numbers import parse_number
from exam_pp.store.parsing import parse_json
from exam_pp.store.problems import Problems
from exam_pp.text.wording import listed

log = logging.getLogger(__name__)

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json")
"""Endings of tables; the content decides what they are."""

QUERY_ID = ("query_id", "qid", "q_id", "topic_id", "request_id", "narrative_id", "question_id")
PASSAGE_ID = (
    "passage_id", "paragraph_id", "pid", "p_id", "doc_id", "document_id", "did", "d_id", "segment_id",
)  # fmt: skip
SYSTEM = ("system", "agent", "agent_id", "run_id", "run", "run_tag", "tag", "method", "system_id")
TEXT = ("text", "passage", "contents", "content", "segment", "document", "passage_text", "document_text")


@dataclass(frozen=True)
class Layout:
    """The columns that a reader needs, each by its role.

    ``names`` are other names of columns, in order of preference. Cells of the roles ``ids`` must not be
    empty. ``pairs`` are the roles of keys and values in a JSON object that maps ids to texts, or of the keys
    and numbers in one that maps ids to ids to numbers. ``any_of`` are optional columns of which one is
    needed. ``lists`` are roles whose cells may be lists in JSON.
    ``as_it_is`` keeps the whitespace around cells, and reads rows with fewer or more cells than the header,
    as spreadsheets save them.
    """

    required: Sequence[str]
    optional: Sequence[str] = ()
    ids: Collection[str] = ()
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    pairs: tuple[str, ...] | None = None
    any_of: Sequence[str] = ()
    lists: Collection[str] = ()
    as_it_is: bool = False

    def used(self, columns: Sequence[str]) -> dict[str, str]:
        """Map each role to the name of its column; roles without a column have no key."""
        roles = (*self.required, *self.optional)
        given = _given_columns(self, columns)
        by_key = {key_of(name): name for name in reversed(columns) if name not in given.values()}
        used: dict[str, str] = {}
        for role in roles:
            names = (given.get(role), *(by_key.get(key_of(name)) for name in self._names(role)))
            match = next((name for name in names if name is not None and name not in used.values()), None)
            if match is not None:
                used[role] = match
        return used

    def _names(self, role: str) -> Iterator[str]:
        yield role
        yield from self.names.get(role, ())

    def role_of(self, name: str) -> str | None:
        """The role that a user calls by this name."""
        roles = (*self.required, *self.optional)
        exact = (role for role in roles if key_of(role) == key_of(name))
        other = (role for role in roles if key_of(name) in map(key_of, self._names(role)))
        return next(chain(exact, other), None)

    def fits(self, columns: Sequence[str]) -> bool:
        """Whether the columns have all that is required."""
        used = self.used(columns)
        return used.keys() >= set(self.required) and (not self.any_of or bool(used.keys() & set(self.any_of)))


QUERIES = Layout(
    ("query_id", "query_text"), (), ("query_id", "query_text"),
    {
        "query_id": (*QUERY_ID, "id"),
        "query_text": ("query", "question", "question_text", "title", "topic", "narrative", "text"),
    },
    pairs=("query_id", "query_text"),
)  # fmt: skip
ANSWERS = Layout(
    ("query_id", "answer"), ("system", "query_text"), ("query_id",),
    {
        "query_id": (*QUERY_ID, "id"),
        "answer": ("answer_text", "generated_answer", "response", "output", "text"),
        "system": SYSTEM,
        "query_text": ("query", "question", "question_text"),
    },
    pairs=("query_id", "answer"),
)  # fmt: skip
RUNS = Layout(
    ("query_id", "passage_id"), ("rank", "score", "system"), ("query_id", "passage_id"),
    {
        "query_id": (*QUERY_ID, "query"),
        "passage_id": (*PASSAGE_ID, "doc", "document"),
        "rank": ("position",),
        "score": ("similarity", "relevance_score"),
        "system": SYSTEM,
    },
    pairs=("query_id", "passage_id", "score"),
    any_of=("rank", "score"),
)  # fmt: skip
TEXTS = Layout(
    ("passage_id", "text"), ("title",), ("passage_id",),
    {"passage_id": (*PASSAGE_ID, "id"), "text": TEXT},
    pairs=("passage_id", "text"),
)  # fmt: skip
QRELS = Layout(
    ("query_id", "passage_id", "relevance"), (), ("query_id", "passage_id", "relevance"),
    {
        "query_id": (*QUERY_ID, "query"),
        "passage_id": (*PASSAGE_ID, "doc", "document"),
        "relevance": ("grade", "label", "judgment", "judgement", "rel", "rating", "qrel", "score"),
    },
    pairs=("query_id", "passage_id", "relevance"),
)  # fmt: skip


def key_of(name: str) -> str:
    """The name of a column without case, blanks and punctuation."""
    return re.sub(r"[\W_]+", "", name).lower()


def stem_of(path: str | Path) -> str:
    """The name of a table's file, which names its system; raises :class:`DataError` for standard input."""
    if str(path) == STDIO:
        problem = "has no column of systems, and no file name, which would name the system; name a file."
        raise DataError(problem, file="standard input")
    name = Path(path).name.removesuffix(".gz")
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)


def are_columns_given() -> bool:
    """Whether the user named columns, which then count more than those of known formats."""
    return bool(_given.get())


_given: ContextVar[Mapping[str, str] | None] = ContextVar("given", default=None)
_names_seen: ContextVar[set[str] | None] = ContextVar("names_seen", default=None)


@contextmanager
def columns_named(columns: Mapping[str, str] | None) -> Iterator[None]:
    """Use these columns inside the block: a role, or any of its names, to the name in the file.

    Logs the columns that no file has.
    """
    token, names = _given.set(columns or {}), _names_seen.set(set())
    try:
        yield
        unknown = [repr(name) for name in (columns or {}).values() if name not in (_names_seen.get() or ())]
        if unknown:
            log.warning("--columns: no table has the column %s.", listed(unknown))
    finally:
        _given.reset(token)
        _names_seen.reset(names)


def _given_columns(layout: Layout, columns: Sequence[str]) -> dict[str, str]:
    """Role to the column that the user named."""
    given = {name: column for name, column in (_given.get() or {}).items() if column in columns}
    if (seen := _names_seen.get()) is not None:
        seen.update(given.values())
    roles = ((layout.role_of(name), column) for name, column in given.items())
    return {role: column for role, column in roles if role is not None}


class Row(NamedTuple):
    """A row: its last line number, and its cells by column; missing cells have no key.

    ``header`` are all columns of a table, and None for JSON. ``extra`` are cells after the last column.
    ``record`` is the number of a record in a JSON document, where lines are arbitrary.
    """

    line: int | None
    cells: dict[str, str]
    header: tuple[str, ...] | None = None
    extra: Sequence[str] = ()
    record: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The header, or the keys of a JSON object."""
        return tuple(self.cells) if self.header is None else self.header

    def error(self, problem: str, path: str | Path, column: str | None = None) -> DataError:
        """The error for a cell of the row, or for the row."""
        where = [f"record {self.record}"] if self.record is not None else []
        field = ", ".join([*where, *([column] if column else [])])
        return DataError(problem, file=str(path), line=self.line, field=field or None)


def columns_of(path: str | Path, layout: Layout | None = None) -> tuple[str, ...]:
    """The names in the header of a table, or the keys of its first JSON objects; empty for other files.

    With a layout, a JSON object that maps ids to texts has the columns of its pairs. Streams are no tables,
    because they cannot be read twice.
    """
    if is_stream(path):
        return ()
    try:
        lines = _Lines(path)
        first = lines.first()
        if first[:1] in _JSON:
            rows = islice(_json_rows(first, lines, layout), _FIRST)
            return tuple(dict.fromkeys(column for row in rows for column in row.columns))
        return () if first[:1] in ("<", "") else header_of(first)
    except (DataError, csv.Error):
        return ()  # its reader raises the error


_JSON = ("{", "[")
_FIRST = 20
"""Number of JSON objects that name the columns of a file."""


def is_table(path: str | Path, layout: Layout) -> bool:
    """Whether a file is a table with the columns of a layout."""
    return layout.fits(columns_of(path, layout))


Report = Callable[[Mapping[str, int]], object]
"""Takes the counts of the cells that are not empty in each column outside the layout.

Cells after the last column have the name "".
"""


def read_table(
    path: str | Path, layout: Layout, problems: Problems, report: Report | None = None
) -> Iterator[tuple[Row, dict[str, str]]]:
    """Yield each row and its cells by role, without the rows that have a problem.

    Columns that the table lacks have no key, and missing cells are empty. At the end, the counts of cells in
    ignored columns go to ``report``; if it is None, the names of these columns are logged. Raises
    :class:`DataError` for a table without rows or without a required column, and for one that cannot be
    parsed.
    """
    known: dict[tuple[str, ...], dict[str, str]] = {}
    unused: Counter[str] = Counter()
    for row in read_rows(path, layout):
        if not known and row.header is not None and not layout.fits(row.header):
            raise _missing(path, layout, row.header)
        used = known.get(row.columns)
        if used is None:
            used = known[row.columns] = layout.used(row.columns)
        if problem := _problem(path, layout, row, used):
            problems.add(problem)
            continue
        cells = {role: row.cells.get(name, "") for role, name in used.items()}
        if not layout.as_it_is:
            cells = {role: cell.strip() for role, cell in cells.items()}
        names = used.values()
        unused.update(name for name, cell in row.cells.items() if name not in names and cell.strip())
        unused.update([""] if any(row.extra) else [])
        yield row, cells
    if not known and not layout.as_it_is:
        raise DataError("has no rows.", file=str(path))
    if report is not None:
        report(unused)
    elif unused:
        ignored = listed([repr(name) if name else "(no name)" for name in unused])
        log.warning("%s: ignored the columns %s; --columns gives columns a meaning.", path, ignored)


def _missing(path: str | Path, layout: Layout, columns: Sequence[str]) -> DataError:
    used = layout.used(columns)
    role = next((role for role in (*layout.required, *layout.any_of) if role not in used), "")
    others = layout.names.get(role, ())
    accepted = f" (or {', '.join(others)})" if others else ""
    return DataError(f"the column {role!r}{accepted} is missing.", file=str(path), line=1)


def _problem(path: str | Path, layout: Layout, row: Row, used: Mapping[str, str]) -> DataError | None:
    for role in layout.required:
        if role not in used:
            return row.error("is missing.", path, role)
    if not layout.as_it_is and row.extra:
        return row.error("has more cells than the header.", path)
    if not layout.as_it_is and row.header is not None and len(row.cells) < len(row.header):
        return row.error("has fewer cells than the header.", path)  # a missing cell is not empty
    for role in used.keys() - set(layout.lists):
        if isinstance(row.cells.get(used[role]), JsonCell):
            return row.error("is a list or an object, but must be a text.", path, used[role])
    empty = (used[role] for role in layout.ids if role in used and not row.cells.get(used[role], "").strip())
    column = next(empty, None)
    return None if column is None else row.error("is empty.", path, column)


Cells = Sequence[tuple[int | None, Mapping[str, str]]]
"""The rows of a table, each as its last line number and its cells by role."""


def read_cells(path: str | Path, layout: Layout, report: Report = lambda _unused: None) -> Cells:
    """Read a table; raises :class:`DataError` for rows that lack cells or ids, and as :func:`read_table`."""
    problems = Problems(path)
    cells = [(row.line, by_role) for row, by_role in read_table(path, layout, problems, report)]
    problems.check()
    return cells


def read_rows(path: str | Path, layout: Layout) -> Iterator[Row]:
    """Yield the rows of a table that are not blank; raises :class:`DataError` if it cannot be parsed."""
    lines = _Lines(path)
    first = lines.first()
    if first[:1] in _JSON:
        yield from _json_rows(first, lines, layout)
    elif first:
        yield from _text_rows(first, lines, layout)


class _Lines(Iterator[str]):
    """The lines of a file with their line ends, and the number of the last one."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self._lines = read_whole_lines(path)
        self.number = 0

    def __next__(self) -> str:
        self.number, line = next(self._lines)
        return line

    def first(self) -> str:
        """The first line that is not blank, without blanks before it; empty if there is none."""
        return next((line.lstrip(" \r\n") for line in self if line.strip()), "")


def _text_rows(first: str, lines: _Lines, layout: Layout) -> Iterator[Row]:
    path, end = str(lines.path), lines.number
    try:
        with long_cells():
            names, separator = _header(first)
            header = tuple(name for name in names if name)
            if twice := [name for name, count in Counter(header).items() if count > 1]:
                raise DataError(f"has the column {twice[0]!r} twice.", file=path, line=lines.number)
            rows = (
                _tabbed(lines)
                if separator == "\t"
                else csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=not layout.as_it_is)
            )
            for cells in rows:
                end = lines.number
                if any(cell.strip() for cell in cells):
                    pairs = list(zip(names, cells, strict=False))
                    extra = [cell for name, cell in pairs if not name] + cells[len(names) :]
                    yield Row(lines.number, {name: cell for name, cell in pairs if name}, header, extra)
    except csv.Error as error:
        raise DataError(f"is not a CSV file ({error}).", file=path, line=end + 1) from error


def header_of(line: str) -> tuple[str, ...]:
    """The names in the header of a table; raises csv.Error."""
    return tuple(name for name in _header(line)[0] if name)


def _header(line: str) -> tuple[list[str], str]:
    """The names of the columns, and the separator of cells."""
    separator = max("\t;,", key=line.count)
    (names,) = csv.reader([line.strip("\r\n")], delimiter=separator, strict=True, skipinitialspace=True)
    return [name.strip() for name in names], separator


def _tabbed(lines: Iterable[str]) -> Iterator[list[str]]:
    """Split lines at tabs. Only cells that are quoted as a whole lose their quotes, which texts may have."""
    lines = iter(lines)
    for line in lines:
        cells = line.rstrip("\r\n").split("\t")
        if any(cell.startswith('"') for cell in cells):
            record = line
            while record.count('"') % 2 and (more := next(lines, "")):
                record += more
            with suppress(csv.Error):
                (cells,) = csv.reader([record], delimiter="\t", strict=True)
        yield cells


def _json_rows(first: str, lines: _Lines, layout: Layout | None) -> Iterator[Row]:
    """The objects of JSON lines or of a JSON array, or the pairs of a JSON object."""
    path = lines.path
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and not _is_of_pairs(value, layout):
        for line in chain([first], lines):
            if line.strip():
                value = parse_json(line, path, lines.number)
                if not isinstance(value, dict):
                    raise DataError("is not a JSON object.", file=str(path), line=lines.number)
                yield _row(value, lines.number, None)
        return
    text = "".join(chain([first], lines))
    value = parse_json(text, path)
    records = value if isinstance(value, list) else [value]
    if layout is not None and _is_of_pairs(value, layout):
        pairs = json.loads(text, object_pairs_hook=list)  # a key may occur twice
        records = [
            dict(zip(layout.pairs or (), (key, *(item if isinstance(item, tuple) else (item,))), strict=True))
            for key, of in pairs
            for item in _items(of)
        ]
    for position, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise DataError("is not a JSON object.", file=str(path), field=f"record {position}")
        yield _row(record, None, position)


def _is_of_pairs(value: Any, layout: Layout | None) -> bool:
    """Whether a JSON value maps ids to texts, and is not a record of a layout."""
    return (
        layout is not None
        and layout.pairs is not None
        and isinstance(value, dict)
        and (_are_texts(value) if len(layout.pairs) == 2 else are_numbers_by_id(value))
        and not layout.used(list(value))
    )


def are_numbers_by_id(value: Mapping[str, Any]) -> bool:
    """Whether a JSON object maps ids to objects that map ids to numbers."""
    numbers = [
        isinstance(of, dict) and all(isinstance(n, int | float) for n in of.values()) for of in value.values()
    ]
    return all(numbers) and any(value.values())


def _are_texts(value: Mapping[str, Any]) -> bool:
    """Whether a JSON object maps ids to texts, or to lists of texts."""
    return bool(value) and all(isinstance(text, str) for of_key in value.values() for text in _items(of_key))


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _row(record: Mapping[str, Any], line: int | None, position: int | None) -> Row:
    cells = {name: _cell(value) for name, value in record.items()}
    return Row(line, cells, record=position)


def _cell(value: Any) -> str:
    """A value of JSON as a cell: null is empty, lists and objects stay JSON."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return JsonCell(text) if isinstance(value, list | dict) else text


class JsonCell(str):
    """A cell that is a list or an object in JSON."""

    __slots__ = ()


@contextmanager
def long_cells() -> Iterator[None]:
    """Let Python's csv module read cells of more than 128 kB inside the block; the limit is process-wide."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def number_of(cell: str) -> float:
    """A number, also with a comma, as spreadsheets in many languages write it; raises ValueError."""
    return parse_number(cell.replace(",", ".") if "." not in cell else cell)


def whole_number_of(cell: str) -> int:
    """A whole number, also with a fraction of zeros, such as ``3.0``; raises ValueError."""
    value = number_of(cell)
    if not value.is_integer():
        raise ValueError(f"{cell!r} is not a whole number")
    return int(value)
