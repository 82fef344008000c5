"""Queries: JSON, TSV, JSON lines with facets, TREC topics, and outlines of TREC CAR."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Literal

from exam_pp.formats.base import Format, Schema, Target, make_reader, register
from exam_pp.formats.dropped_fields import count_dropped_query_fields
from exam_pp.formats.sample import Fit, Sample, fits, nearly_all
from exam_pp.store.files import read_text
from exam_pp.store.trec.queries import (
    Query,
    is_query,
    read_queries,
    unused_fields,
    write_queries,
    write_query_lines,
)

_IDS = {"query_id", "topic_id", "request_id", "narrative_id"}
"""Keys that only queries have; documents have ``id`` or ``_id``."""
_TOPIC = re.compile(rb"<(top|topic)\b", re.IGNORECASE)


def _is_object_of_texts(sample: Sample) -> bool:
    return nearly_all(isinstance(value, str) for value in sample.values)


def _is_object(sample: Sample) -> bool:
    """Whether the first object is a query; one of BEIR is a document without a title."""
    keys = sample.object.keys()
    is_of_beir = {"_id", "text"} <= keys <= {"_id", "text", "metadata"}
    return is_of_beir or (bool(keys & _IDS) and is_query(sample.object))


def _is_table(sample: Sample) -> bool:
    return sample.is_tabbed and sample.is_of_pairs and not sample.is_of_numbered_pairs


def _are_topics(sample: Sample) -> bool:
    return any(_TOPIC.search(line) for line in sample.markup)


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
        "queries-tsv", "queries", "queries, id<TAB>text", fits(_is_table, Fit.LOOSE), _read, "query",
        make_reader(_read), partial(_write, form="tsv"),
    ),
    Format(
        "queries-jsonl", "queries", "queries, JSON lines with facets", fits(_is_object, Fit.FAIR), _read,
        "query", make_reader(_read), partial(_write, form="jsonl"),
        schema=Schema("queries", "a line of queries", Query),
    ),
    Format(
        "topics", "queries", "TREC topics, titles only", fits(_are_topics), _read, "query",
        make_reader(_read, lambda path, dropped: dropped.fields(unused_fields(read_text(path)))),
    ),
    Format(
        "car-outlines", "queries", "outlines of TREC CAR (CBOR): pages with sections",
        fits(lambda sample: sample.is_outlines), _read, "query", make_reader(_read),
    ),
)  # fmt: skip
