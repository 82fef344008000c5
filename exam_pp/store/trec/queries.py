"""Reading queries: JSON ``{id: text}``, TSV, JSON lines, tables, TREC topics, TREC CAR outlines, ir_datasets.

Reading TREC CAR outlines (CBOR): the pages as queries, their sections as facets.

The files are those of trec-car-tools 2 (http://trec-car.cs.unh.edu): an optional header, then one array per
page. Files of articles have the same structure, with paragraphs between the sections.
"""

from __future__ import annotations

import html
import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from exam_pp.data_model import Id
from exam_pp.errors import DataError, MissingExtraError
from exam_pp.models import Record
from exam_pp.plugins import offered
from exam_pp.splicing import duplicate_key
from exam_pp.store.csv_cells import numbered_rows
from exam_pp.store.files import (
    atomic_output,
    read_bytes,
    read_lines,
    read_text_lines,
    write_text,
)
from exam_pp.store.parsing import parse_json, parse_record
from exam_pp.store.problems import Problems
from exam_pp.store.tables import QUERIES, Report, cell_of, check_header, column_names, parts_of, read_table
from exam_pp.text.wording import counted, listed

_TAG = re.compile(r"<(?:(top|topic)\b([^<>]*)|/(top|topic))>", re.IGNORECASE)
_ELEMENT = re.compile(r"<(\w+)\b[^<>]*>([^<]*)")
_NUMBER_ATTRIBUTE = re.compile(r"""\b(?:number|id|num)\s*=\s*["']([^"']*)["']""", re.IGNORECASE)
_LABEL = re.compile(r"^(?:number|topic|title|description|narrative)\s*:\s*", re.IGNORECASE)
_NUMBER_TAGS = ("num", "number", "id")


def parse_topics(text: str, file: str | Path) -> list[tuple[str, dict[str, str]]]:
    """Return number and fields by tag, such as ``title`` and ``desc``, of each topic, in file order.

    XML is parsed by the same rules as the old format, because many topics files follow neither exactly.
    Raises :class:`DataError` for topics without a number, and for files without topics.
    """
    topics = []
    for position, (attributes, body) in enumerate(_topics(text), 1):
        attribute = _NUMBER_ATTRIBUTE.search(attributes)
        fields = _fields(body)
        numbers = [fields.pop(tag, "") for tag in _NUMBER_TAGS]
        number = attribute[1] if attribute else next(filter(None, numbers), "")
        if not number:
            raise DataError(f"topic {position} has no number.", file=str(file))
        topics.append((number.strip(), fields))
    if not topics:
        raise DataError("has no <top> or <topic> elements.", file=str(file))
    return topics


def unused_fields(text: str) -> Counter[str]:
    """Count the topics with a field that is not read, such as a narrative, by tag."""
    return Counter(
        tag
        for _, fields in parse_topics(text, "topics")
        for tag in fields
        if tag not in parts_of(QUERIES.used(tuple(fields)).get("query_text", ""), fields)
    )


class _Texts:
    """The texts of topics, and the names of fields of several words that they leave out."""

    def __init__(self) -> None:
        self._read: dict[str, None] = {}
        self._left_out: dict[str, None] = {}
        self.used = cache(QUERIES.used)

    def of(self, fields: Mapping[str, Any]) -> str:
        """The text of a topic by the rules of tables: of a request, several fields are joined."""
        texts = {name: value for name, value in fields.items() if isinstance(value, str)}
        name = self.used(tuple(fields)).get("query_text", "")
        read = parts_of(name, texts)
        self._read |= dict.fromkeys(read)
        self._left_out |= {key: None for key in texts if key not in read and " " in texts[key].strip()}
        return cell_of(texts, name)

    def log(self, path: str | Path) -> None:
        if self._read and self._left_out:
            log.warning(
                "%s: the text of a query is its %s, without %s; --columns query_text=%s reads all of them.",
                path, listed(list(self._read), " and "), listed(list(self._left_out)),
                "+".join(self._read | self._left_out),
            )  # fmt: skip


def _topics(text: str) -> Iterator[tuple[str, str]]:
    """Yield attributes and content of each topic: from a start tag to the next end tag of the same name."""
    tags = list(_TAG.finditer(text))
    last_end = {tag[3].lower(): tag.start() for tag in tags if tag[3]}
    start: re.Match[str] | None = None
    for tag in tags:
        if start is None:
            if tag[1] and tag.start() < last_end.get(tag[1].lower(), 0):
                start = tag
        elif tag[3] and tag[3].lower() == start[1].lower():
            yield start[2], text[start.end() : tag.start()]
            start = None


def _fields(body: str) -> dict[str, str]:
    """Tag to its first content, up to the next tag; tags without content have no key."""
    fields: dict[str, str] = {}
    for tag, content in _ELEMENT.findall(body):
        if text := _LABEL.sub("", " ".join(html.unescape(content).split())):
            fields.setdefault(tag.lower(), text)
    return fields


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


log = logging.getLogger(__name__)

IRDS = "irds:"
"""Prefix of the name of an ir_datasets data set, in place of a file."""


class Facet(Record):
    """A subtopic of a query (TREC CAR style)."""

    facet_id: Id
    facet_text: str


class Query(Record):
    """A query with its text and facets."""

    query_id: Id
    query_text: str
    facets: list[Facet] | None = None


class GeneratedQuery(Query):
    """A query that a model wrote about a part of a document, with its provenance.

    ``model`` and ``llm_options`` are the model and its settings, ``prompt_info`` is the prompt. The part of
    the document ``document_id`` begins at the character ``start`` (from 0) and ends before ``end``.
    """

    model: str
    prompt_info: dict[str, Any]
    llm_options: dict[str, Any]
    document_id: Id
    start: int
    end: int


def read_queries(path: str | Path) -> dict[str, Query]:
    """Read queries as a mapping of query id to query, in file order; the format is detected by content.

    Tables have a header with a query id and a query text. Columns that are ignored are logged. JSON lines
    have the keys ``query_id`` and ``query_text``, or names that other collections use for them. Of TREC
    topics (``<top>`` or XML) the title is the text; requests for reports are read with their problem
    statement and background. Other texts of topics are logged. In TREC CAR outlines (CBOR) pages are queries
    and sections are facets. ``irds:NAME`` is a data set of the package ir_datasets, which downloads missing
    data. A plug-in offers ``queries of exports``: a function of a path, which returns texts by id, or none.

    Raises :class:`DataError` for duplicate ids and keys, queries without id or text, and unknown formats.
    """
    problems, texts = Problems(path), _Texts()
    try:
        queries = _checked(_parse(path, problems, texts), path, problems)
    except DataError:
        for found in filter(None, (read(path) for read in offered("queries of exports"))):
            return {key: Query(query_id=key, query_text=text) for key, text in found.items()}
        raise
    texts.log(path)
    return queries


def read_query_table(path: str | Path, report: Report | None = None) -> dict[str, Query]:
    """Read queries of a table, as :func:`read_queries` does; ignored cells go to ``report``, if any."""
    problems = Problems(path)
    return _checked(_parse_table(path, problems, report), path, problems)


def _checked(
    queries: Iterable[tuple[int | None, Query]], path: str | Path, problems: Problems
) -> dict[str, Query]:
    """The queries by id; raises :class:`DataError` for all problems."""
    checked: dict[str, Query] = {}
    for line, query in queries:
        if query.query_id in checked:
            problem = f"the query id {query.query_id!r} occurs twice."
            problems.add(DataError(problem, file=str(path), line=line), "repeated")
        elif not query.query_id.strip():
            problems.add(DataError("has a query without an id.", file=str(path), line=line))
        elif not query.query_text.strip():
            problem = f"the query {query.query_id!r} has no text."
            problems.add(DataError(problem, file=str(path), line=line), "without text")
        else:
            checked[query.query_id] = query
    problems.check()
    if not checked:
        raise DataError("has no queries.", file=str(path))
    return checked


def _parse_table(
    path: str | Path, problems: Problems, report: Report | None = None
) -> Iterator[tuple[int | None, Query]]:
    for row, cells in read_table(path, QUERIES, problems, report):
        yield row.line, Query(query_id=cells["query_id"], query_text=cells["query_text"])


def read_query_texts(path: str | Path) -> dict[str, str]:
    """Read queries as a mapping of query id to text; see :func:`read_queries`."""
    return {query_id: query.query_text for query_id, query in read_queries(path).items()}


def write_queries(texts: Mapping[str, str], path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write queries as a JSON object that maps ids to texts."""
    write_text(path, json.dumps(texts, ensure_ascii=False, indent=1) + "\n", inputs=inputs)


def write_query_lines(
    queries: Iterable[Query],
    path: str | Path,
    *,
    as_json: bool = True,
    inputs: Iterable[str | Path] = (),
) -> None:
    """Write queries as JSON lines with facets, or as TSV, where whitespace in texts becomes single spaces.

    Raises :class:`DataError` for an id that a TSV file cannot represent.
    """
    with atomic_output(path, inputs=inputs) as stream:
        for query in queries:
            if as_json:
                stream.write(query.model_dump_json(exclude_unset=True).encode() + b"\n")
                continue
            if (
                query.query_id != query.query_id.strip()
                or set(query.query_id) & set("\t\n\r")
                or query.query_id.startswith(("{", "<", "\ufeff"))  # the first characters of other formats
            ):
                raise DataError(
                    f"the query id {query.query_id!r} cannot be written to TSV. Ids must not contain tabs or "
                    "line breaks, have whitespace around them, or start with '{' or '<'."
                )
            stream.write(f"{query.query_id}\t{' '.join(query.query_text.split())}\n".encode())


def _parse(path: str | Path, problems: Problems, texts: _Texts) -> Sequence[tuple[int | None, Query]]:
    if str(path).startswith(IRDS):
        return [(None, query) for query in _of_ir_datasets(str(path).removeprefix(IRDS), texts)]
    if is_outlines(next(read_lines(path), (0, b""))[1]):
        return [(None, _of_page(*page)) for page in read_outlines(path)]
    if _is_table(path):
        return list(_parse_table(path, problems))
    lines = list(read_text_lines(path))
    if not lines:
        return []
    first = lines[0][1]
    if first.startswith("<"):
        topics = parse_topics("\n".join(text for _, text in lines), path)
        return [(None, Query(query_id=key, query_text=texts.of(fields))) for key, fields in topics]
    if not first.startswith("{"):
        return list(_queries_of_rows(lines, path, problems))
    if '"query_id"' in first or (_is_object(first) and QUERIES.fits(tuple(json.loads(first)))):
        return list(_queries_of_lines(lines, path, problems, texts))
    if len(lines) > 1 and _is_object(first):
        id_names, text_names = (
            ", ".join(dict.fromkeys((name, *QUERIES.names[name]))) for name in QUERIES.required
        )
        raise DataError(
            f"has no query id ({id_names}) or no query text ({text_names}).", file=str(path), line=lines[0][0]
        )
    pairs = _pairs("\n".join(text for _, text in lines), path)
    return [(None, Query(query_id=key, query_text=text)) for key, text in pairs]


def _is_table(path: str | Path) -> bool:
    """Whether a file is a table that the other readers do not know."""
    return QUERIES.fits(column_names(path)) and not _is_object(next(read_text_lines(path))[1])


def _queries_of_rows(
    lines: list[tuple[int, str]], path: str | Path, problems: Problems
) -> Iterator[tuple[int, Query]]:
    """Queries of TSV without a header: id, text, and columns that are ignored."""
    if "\t" not in lines[0][1]:
        check_header(path, QUERIES)
    more = 0
    for number, cells in numbered_rows(lines, path, "\t"):
        if len(cells) < 2:
            error = DataError("has no tab between query id and text.", file=str(path), line=number)
            problems.add(error)
        else:
            more += any(cells[2:])
            yield number, Query(query_id=cells[0], query_text=cells[1])
    if more:
        of_queries = counted(more, "query", "queries")
        log.warning(
            "%s: ignored the cells after the text of %s. If they are text, remove the tabs.", path, of_queries
        )


def _queries_of_lines(
    lines: Iterable[tuple[int, str]], path: str | Path, problems: Problems, texts: _Texts
) -> Iterator[tuple[int, Query]]:
    for number, text in lines:
        try:
            yield number, _record(text, path, number, texts)
        except DataError as error:
            problems.add(error)


def _of_page(query_id: str, title: str, sections: list[tuple[str, str]]) -> Query:
    facets = [Facet(facet_id=key, facet_text=heading) for key, heading in sections]
    return Query(query_id=query_id, query_text=title, **({"facets": facets} if facets else {}))


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _record(line: str, path: str | Path, number: int, texts: _Texts) -> Query:
    value = parse_json(line, path, number)
    if (key := duplicate_key(line.encode("utf-8", "surrogatepass"))) is not None:
        raise DataError(f"has the key {key!r} twice in one object.", file=str(path), line=number)
    if isinstance(value, dict):
        text = texts.of(value)
        for role, name in texts.used(tuple(value)).items():
            read = [value.pop(part) for part in parts_of(name, value)]
            value[role] = read[0] if len(read) == 1 else text
        line = json.dumps(value)
    return parse_record(Query, line, path, number)


def _pairs(text: str, path: str | Path) -> list[tuple[str, str]]:
    """Return the keys and values of a JSON object, including duplicate keys."""
    if isinstance(parse_json(text, path), dict):
        pairs: list[tuple[str, str]] = json.loads(text, object_pairs_hook=list)
        if all(isinstance(value, str) for _, value in pairs):
            return pairs
    raise DataError("is not a JSON object that maps query ids to query texts.", file=str(path))


def _of_ir_datasets(name: str, texts: _Texts) -> list[Query]:
    try:
        ir_datasets: Any = import_module("ir_datasets")
    except ImportError as error:
        raise MissingExtraError(f"Queries of {IRDS}{name}", "irds") from error
    try:
        queries = list(ir_datasets.load(name).queries_iter())
    except (KeyError, AttributeError) as error:
        raise DataError("is not an ir_datasets data set with queries.", file=f"{IRDS}{name}") from error
    read = []
    for query in queries:
        query_id, *values = query
        others = " ".join(value for value in values if isinstance(value, str))  # such as disease and gene
        read.append(Query(query_id=query_id, query_text=texts.of(query._asdict()) or others))
    return read
