"""Passages files, with or without grades: one line per query."""

from __future__ import annotations

from collections.abc import Iterator

from exam_pp.data_model import Id, Passage, QueryPassages
from exam_pp.duplicate_keys import duplicate_key
from exam_pp.formats.base import Format, Schema, Source, make_writer, register
from exam_pp.formats.sample import Sample, fits
from exam_pp.store.files import read_lines
from exam_pp.store.passages.graded_file import parse_query, write_passages


def _is_graded(sample: Sample) -> bool:
    value = sample.value
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[1], list)
        and not isinstance(value[0], dict | list)
    )


def _read(source: Source) -> Iterator[QueryPassages]:
    for number, line in read_lines(source.path):
        yield parse_query(line, str(source.path), number)
        if duplicate_key(line) is not None:  # the last value is kept, as by every JSON reader
            source.dropped.add("lines with a key twice in an object", 1)


register(
    Format(
        "graded", "passages", "passages file, one line per query", fits(_is_graded),
        read=_read, write=make_writer(write_passages),
        schema=Schema(
            "graded", "a line of a passages file: [query_id, [passage, ...]]", tuple[Id, list[Passage]]
        ),
    ),
)  # fmt: skip
