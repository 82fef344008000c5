"""Reader of tables and lists of texts: CSV, TSV, JSON lines and JSON arrays, with columns under many names.

The separator of cells is a tab, or else a comma or semicolon, whichever the header has most of. Names of
columns are compared without case, blanks and punctuation, so that ``Query ID`` is ``query_id``. A JSON object
that is not a record maps ids to texts: each pair is a row.

A quotation mark in a TSV file is a character, unless the whole file is quoted as CSV is.
"""

from __future__ import annotations

import csv
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from exam_pp.errors import DataError
from exam_pp.store.csv_cells import (
    QUOTES,
    are_rows,
    is_quoted,
    is_separator_line,
    plain_name,
    plain_numbers,
    separator_of,
    split_rows,
)
from exam_pp.store.files import STDIO, read_whole_lines
from exam_pp.store.numbers import is_number
from exam_pp.store.parsing import lists_of, parse_json
from exam_pp.store.problems import Problems
from exam_pp.text.wording import listed

log = logging.getLogger(__name__)

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json")
"""Endings of tables; the content decides what they are."""

QUERY_ID = ("query_id", "qid", "q_id", "topic_id", "request_id", "narrative_id", "question_id")
PASSAGE_ID = (
    "passage_id", "paragraph_id", "pid", "p_id", "doc_id", "document_id", "did", "d_id", "segment_id",
    "docno",
)  # fmt: skip
SYSTEM = ("system", "agent", "agent_id", "run_id", "run", "run_tag", "tag", "method", "system_id")
TEXT = ("text", "passage", "contents", "content", "segment", "document", "passage_text", "document_text")


@dataclass(frozen=True)
class Layout:
    """The columns that a reader needs, each by its role.

    ``names`` are other names of columns, in order of preference; in ``a+b``, the texts of those columns that
    a table has are joined. Cells of the roles ``ids`` must not be empty. ``pairs`` are the roles of keys and
    values in a JSON object that maps ids to texts, or of the keys and numbers in one that maps ids to ids to
    numbers. ``any_of`` are optional columns of which one is needed. ``lists`` are roles whose cells may be
    lists in JSON. ``numbers`` are roles of numbers, which are read in any language and become numbers with a
    point.
    ``kind`` is the option of its files, by which ``--columns`` may name them.
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
    numbers: Collection[str] = ()
    as_it_is: bool = False
    kind: str = ""

    def used(self, columns: Sequence[str]) -> dict[str, str]:
        """Map each role to the name of its column, or to names joined by ``+`` for :func:`cell_of`.

        Roles without a column have no key.
        """
        roles = (*self.required, *self.optional)
        given = given_columns(self, columns)
        taken = {part for name in given.values() for part in parts_of(name, columns)}
        by_key = {plain_name(name): name for name in reversed(columns) if name not in taken}
        used: dict[str, str] = {}
        for role in roles:
            names = (
                given.get(role),
                *(
                    "+".join(by_key[key] for key in map(plain_name, name.split("+")) if key in by_key)
                    for name in self._names(role)
                ),
            )
            match = next((name for name in names if name and name not in used.values()), None)
            if match is not None:
                used[role] = match
        return used

    def _names(self, role: str) -> Iterator[str]:
        yield role
        yield from self.names.get(role, ())

    def role_of(self, name: str) -> str | None:
        """The role that a user calls by this name."""
        roles = (*self.required, *self.optional)
        exact = (role for role in roles if plain_name(role) == plain_name(name))
        other = (role for role in roles if plain_name(name) in map(plain_name, self._names(role)))
        return next(chain(exact, other), None)

    def fits(self, columns: Sequence[str]) -> bool:
        """Whether the columns have all that is required."""
        used = self.used(columns)
        return used.keys() >= set(self.required) and (not self.any_of or bool(used.keys() & set(self.any_of)))


QUERIES = Layout(
    ("query_id", "query_text"), (), ("query_id", "query_text"),
    {
        "query_id": (*QUERY_ID, "id"),
        "query_text": (
            "query", "question", "question_text", "text", "title+problem_statement+background", "topic",
            "narrative", "description", "desc",
        ),
    },
    pairs=("query_id", "query_text"),
    kind="queries",
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
    kind="answers",
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
    numbers=("rank", "score"),
    kind="runs",
)  # fmt: skip
TEXTS = Layout(
    ("passage_id", "text"), ("title",), ("passage_id",),
    {"passage_id": (*PASSAGE_ID, "id"), "text": TEXT},
    pairs=("passage_id", "text"),
    kind="texts",
)  # fmt: skip
QRELS = Layout(
    ("query_id", "passage_id", "relevance"), ("annotator",), ("query_id", "passage_id", "relevance"),
    {
        "query_id": (*QUERY_ID, "query"),
        "passage_id": (*PASSAGE_ID, "doc", "document"),
        "annotator": ("assessor", "judge", "rater", "labeler", "labeller", "reviewer", "person", "user"),
        "relevance": ("grade", "label", "judgment", "judgement", "rel", "rating", "qrel", "score"),
    },
    pairs=("query_id", "passage_id", "relevance"),
    numbers=("relevance",),
    kind="qrels",
)  # fmt: skip


MISSING = frozenset(("", "nan", "none", "null", "<na>", "nat"))
"""Cells without a value, in lower case, as data frames write them."""


def unless_missing(cell: str) -> str:
    """The cell, or an empty one for a missing value."""
    return "" if cell.strip().lower() in MISSING else cell


def parts_of(name: str, columns: Collection[str]) -> list[str]:
    """The columns that a name stands for: one, or those joined by ``+`` that the table has."""
    return [name] if name in columns else [part for part in name.split("+") if part in columns]


def cell_of(cells: Mapping[str, str], name: str) -> str:
    """The cell of a column; of several, whose names are joined by ``+``, their texts with a blank between."""
    if name in cells:
        return cells[name]
    return " ".join(filter(None, (cells[part].strip() for part in parts_of(name, cells))))


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
def columns_named(columns: Mapping[str, str] | None, *, quiet: bool = False) -> Iterator[None]:
    """Use these columns inside the block: a role, or any of its names, to the name in the file.

    Logs the columns that no file has, unless ``quiet``.
    """
    token, names = _given.set(columns or {}), _names_seen.set(set())
    try:
        yield
        seen = _names_seen.get() or set()
        unknown = [
            repr(part)
            for meaning, name in (columns or {}).items()
            if ":" not in meaning  # those of one kind of file may have no file
            for part in ([] if name in seen else name.split("+"))
            if part not in seen
        ]
        if unknown and not quiet:
            log.warning("--columns: no table has the column %s.", listed(unknown))
    finally:
        _given.reset(token)
        _names_seen.reset(names)


def given_columns(layout: Layout, columns: Sequence[str]) -> dict[str, str]:
    """Role to the column that the user named, for all files or for this kind, as in ``bank:text=Fact``."""
    kinds = {name: name.rpartition(":") for name in _given.get() or {}}
    given = sorted((kind, name) for name, (kind, _, _) in kinds.items() if kind in ("", layout.kind))
    parts = {kinds[name][2]: parts_of((_given.get() or {})[name], columns) for _, name in given}
    if (seen := _names_seen.get()) is not None:
        seen.update(chain.from_iterable(parts.values()))
    roles = ((layout.role_of(name), "+".join(found)) for name, found in parts.items() if found)
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


def column_names(path: str | Path, layout: Layout | None = None) -> tuple[str, ...]:
    """The names in the header of a table, or the keys of its first JSON objects; empty for other files.

    With a layout, a JSON object that maps ids to texts has the columns of its pairs.
    """
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
    return layout.fits(column_names(path, layout))


Report = Callable[[Mapping[str, int]], object]
"""Takes the counts of the cells that are not empty in each column outside the layout.

Cells after the last column have the name "".
"""


def read_table(
    path: str | Path, layout: Layout, problems: Problems, report: Report | None = None
) -> Iterable[tuple[Row, dict[str, str]]]:
    """Read each row and its cells by role, without the rows that have a problem.

    Columns that the table lacks have no key, and missing cells are empty. At the end, the counts of cells in
    ignored columns go to ``report``; if it is None, the names of these columns are logged. Raises
    :class:`DataError` for a table without rows or without a required column, and for one that cannot be
    parsed, or has a column of numbers whose marks are open.
    """
    rows: Iterable[tuple[Row, dict[str, str]]] = _rows_by_role(path, layout, problems, report)
    if layout.numbers:
        rows = list(rows)
        for role in layout.numbers:
            given = [by_role for _, by_role in rows if role in by_role]
            cells = [by_role[role].strip() for by_role in given]
            plain = plain_numbers(cells, path, role, whole=role == "rank")
            for by_role, cell in zip(given, plain, strict=True):
                by_role[role] = cell
    return rows


def _rows_by_role(
    path: str | Path, layout: Layout, problems: Problems, report: Report | None
) -> Iterator[tuple[Row, dict[str, str]]]:
    known: dict[tuple[str, ...], tuple[dict[str, str], set[str]]] = {}
    unused: Counter[str] = Counter()
    for row in read_rows(path, layout):
        if not known and row.header is not None and not layout.fits(row.header):
            raise missing_column(path, layout, row.header)
        if row.columns not in known:
            of_roles = layout.used(row.columns)
            parts = {part for name in of_roles.values() for part in parts_of(name, row.columns)}
            known[row.columns] = of_roles, parts
        used, names = known[row.columns]
        if problem := _problem(path, layout, row, used):
            problems.add(problem)
            continue
        cells = {role: cell_of(row.cells, name) for role, name in used.items()}
        if not layout.as_it_is:
            cells = {role: cell.strip() for role, cell in cells.items()}
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


def check_header(path: str | Path, layout: Layout) -> None:
    """Raise :class:`DataError` if a file without the form of its reader is a table with other columns."""
    columns = column_names(path)
    if len(columns) > 1 and not any(map(is_number, columns)):
        raise missing_column(path, layout, columns, None)


def missing_column(
    path: str | Path, layout: Layout, columns: Sequence[str], line: int | None = 1, role: str = ""
) -> DataError:
    """The error for a table without the column of a role: by default the first that the layout needs."""
    used = layout.used(columns)
    needed = (each for each in (*layout.required, *layout.any_of) if each not in used)
    role = role or next(needed, "")
    others = [name for name in layout.names.get(role, ()) if name != role]
    accepted = f" (or {', '.join(others)})" if others else ""
    example = next((column for column in columns if column not in used.values()), "COLUMN")
    problem = (
        f"the column {role!r}{accepted} is missing; the header has {listed(columns) or 'no names'}. Name "
        f"the one to use, as in --columns {layout.kind}:{role}={example!r}."
    )
    return DataError(problem, file=str(path), line=line)


def _problem(path: str | Path, layout: Layout, row: Row, used: Mapping[str, str]) -> DataError | None:
    for role in layout.required:
        if role not in used:
            return row.error("is missing.", path, role)
    if not layout.as_it_is and any(row.extra):
        return row.error("has more cells than the header.", path)
    if not layout.as_it_is and row.header is not None and len(row.cells) < len(row.header):
        return row.error("has fewer cells than the header.", path)  # a missing cell is not empty
    for role in used.keys() - set(layout.lists):
        if any(isinstance(row.cells[part], JsonCell) for part in parts_of(used[role], row.cells)):
            return row.error("is a list or an object, but must be a text.", path, used[role])
    empty = (used[role] for role in layout.ids if role in used and not cell_of(row.cells, used[role]).strip())
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

    def rest(self) -> Iterator[str]:
        """The lines that come next, which stay so."""
        return (line for number, line in read_whole_lines(self.path) if number > self.number)

    def first(self) -> str:
        """The first line that is not blank, without blanks before it; empty if there is none."""
        lines = (line.lstrip(" \r\n") for line in self if line.strip() and not is_separator_line(line))
        return next(lines, "")


def _text_rows(first: str, lines: _Lines, layout: Layout) -> Iterator[Row]:
    path, end = str(lines.path), lines.number
    try:
        with long_cells():
            names, separator, index = _header(first)
            header = tuple(name for name in names if name)
            if twice := [name for name, count in Counter(header).items() if count > 1]:
                raise DataError(f"has the column {twice[0]!r} twice.", file=path, line=lines.number)
            width = index + len(names)
            quoted = separator != "\t" or is_quoted(first, lines.rest(), width)
            for record, cells in split_rows(lines, separator, quoted=quoted, padded=not layout.as_it_is):
                begin, end = end + 1, lines.number
                if len(record) > 1 and len(cells) != width:
                    problem = f"has {len(cells)} cells up to line {end}, but the header has {width}. {QUOTES}"
                    raise DataError(problem, file=path, line=begin)
                if len(record) > 1 and separator != "\t" and are_rows(record, separator, width):
                    log.warning("%s, lines %d to %d are one row. %s", path, begin, end, QUOTES)
                if any(cell.strip() for cell in cells):
                    pairs = list(zip(names, cells[index:], strict=False))
                    extra = [cell for cell in cells[:index] if not cell.isdecimal()]
                    extra += [cell for name, cell in pairs if not name] + cells[width:]
                    yield Row(end, {name: cell for name, cell in pairs if name}, header, extra)
    except csv.Error as error:
        problem = f"is not a row of CSV ({error}). {QUOTES}"
        raise DataError(problem, file=path, line=end + 1) from error


_INDEX = re.compile(r"Unnamed: [0-9.]+|")
"""The name of a column that numbers the rows, as pandas writes it."""


def header_of(line: str) -> tuple[str, ...]:
    """The names in the header of a table; raises csv.Error."""
    return tuple(name for name in _header(line)[0] if name)


def _header(line: str) -> tuple[list[str], str, int]:
    """The names of the columns, the separator of cells, and the number of columns that number the rows."""
    separator = separator_of(line)
    (cells,) = csv.reader([line.strip("\r\n")], delimiter=separator, strict=True, skipinitialspace=True)
    index = index_columns(cells)
    return [name.strip() for name in cells[index:]], separator, index


def index_columns(header: Sequence[str]) -> int:
    """The number of columns before the first with a name, which number the rows."""
    return next((place for place, name in enumerate(header) if not _INDEX.fullmatch(name)), 0)


def _json_rows(first: str, lines: _Lines, layout: Layout | None) -> Iterator[Row]:
    """The objects of JSON lines or of a JSON array, or the pairs of a JSON object."""
    path = lines.path
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and not _is_of_pairs(value, layout) and not inner_list(value, layout):
        for line in chain([first], lines):
            if line.strip():
                value = parse_json(line, path, lines.number)
                if not isinstance(value, dict):
                    raise DataError("is not a JSON object.", file=str(path), line=lines.number)
                yield _row(value, lines.number, None)
        return
    text = "".join(chain([first], lines))
    value = parse_json(text, path)
    records = value if isinstance(value, list) else inner_list(value, layout) or [value]
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


def inner_list(value: Any, layout: Layout | None) -> list[dict[str, Any]]:
    """The outermost list in a JSON object whose first record fits a layout; empty if it has none."""
    if layout is None or layout is ANSWERS or not layout.required:  # parts of answers are lists, too
        return []
    if not isinstance(value, dict) or layout.fits(list(value)):
        return []
    return next((each for each in lists_of(value) if layout.fits(list(each[0]))), [])


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
