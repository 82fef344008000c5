"""Queries: JSON, TSV, JSON lines with facets, TREC topics, and outlines of TREC CAR."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Literal

from exam_pp.formats.base import Format, Schema, Target, make_reader, register
from exam_pp.formats.dropped_fields import count_dropped_query_fields
from exam_pp.formats.sample import Fit, Sample, fits, most, nearly_all
from exam_pp.store.files import read_text
from exam_pp.store.tables import ANSWERS, QUERIES, TEXTS
from exam_pp.store.trec.queries import (
    Query,
    read_queries,
    unused_fields,
    write_queries,
    write_query_lines,
)

_IDS = {"query_id", "topic_id", "request_id", "narrative_id"}
"""Keys that only queries have; documents have ``id`` or ``_id``."""
_TOPIC = re.compile(rb"<(top|topic)\b", re.IGNORECASE)


def _is_object_of_texts(sample: Sample) -> bool:
    """Whether an object maps ids to texts, and is not itself a record."""
    return nearly_all(isinstance(value, str) for value in sample.values) and not any(
        map(sample.has, (QUERIES, ANSWERS, TEXTS))
    )


def _are_objects(sample: Sample) -> Fit:
    """Whether the first object is a query; one of BEIR is a document without a title."""
    keys = sample.object.keys()
    is_of_beir = {"_id", "text"} <= keys <= {"_id", "text", "metadata"}
    if is_of_beir or (keys & _IDS and sample.has(QUERIES)):
        return Fit.FAIR
    return Fit.FAINT if sample.object and sample.has(QUERIES) and not sample.has(TEXTS) else Fit.NOT


def _is_table(sample: Sample) -> Fit:
    if sample.is_tabbed and sample.is_of_pairs and not sample.is_of_numbered_pairs:
        return Fit.LOOSE
    # The reader takes further columns for a part of the text.
    are_texts = most(len(row) > 1 and bool(row[0]) and " " in row[1] for row in sample.rows)
    return Fit.FAINT if sample.is_tabbed and are_texts else Fit.NOT


def _read(path: Path) -> list[Query]:
    return list(read_queries(path).values())


def _write(queries: Iterable[Query], target: Target, form: Literal["json", "tsv", "jsonl"]) -> None:
    queries = list(queries)
    if form != "jsonl":
        for query in queries:
            count_dropped_query_fields(query, target.dropped)
            if form == "tsv":
                changed = " ".join(query.query_text.split()) != query.query_text
                target.dropped.add("whitespace in texts", changed)
    if form == "json":
        texts = {query.query_id: query.query_text for query in queries}
        write_queries(texts, target.path, inputs=target.inputs)
    else:
        write_query_lines(queries, target.path, as_json=form == "jsonl", inputs=target.inputs)


register(
    Format(
        "queries-json", "queries", "queries, JSON {id: text}", fits(_is_object_of_texts, Fit.LOOSE), _read,
        "query", make_reader(_read), partial(_write, form="json"),
    ),
    Format(
        "queries-tsv", "queries", "queries, id<TAB>text", _is_table, _read, "query",
        make_reader(_read), partial(_write, form="tsv"),
    ),
    Format(
        "queries-jsonl", "queries", "queries, JSON lines with facets", _are_objects, _read,
        "query", make_reader(_read), partial(_write, form="jsonl"),
        schema=Schema("queries", "a line of queries", Query),
    ),
    Format(
        "topics", "queries", "TREC topics, by default their titles",
        fits(lambda sample: any(map(_TOPIC.search, sample.markup))), _read, "query",
        make_reader(_read, lambda path, dropped: dropped.fields(unused_fields(read_text(path)))),
    ),
    Format(
        "car-outlines", "queries", "outlines of TREC CAR (CBOR): pages with sections",
        fits(lambda sample: sample.is_outlines), _read, "query", make_reader(_read),
    ),
)  # fmt: skip
