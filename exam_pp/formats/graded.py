"""Passages files, with or without grades: one line per query."""

from __future__ import annotations

from exam_pp.data_model import Id, Passage
from exam_pp.formats.base import Format, Schema, make_reader, make_writer, register
from exam_pp.formats.sample import Sample, fits
from exam_pp.store.passages.graded_file import read_passages, write_passages


def _is_graded(sample: Sample) -> bool:
    value = sample.value
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[1], list)
        and not isinstance(value[0], dict | list)
    )


register(
    Format(
        "graded", "passages", "passages file, one line per query", fits(_is_graded),
        read=make_reader(read_passages), write=make_writer(write_passages),
        schema=Schema(
            "graded", "a line of a passages file: [query_id, [passage, ...]]", tuple[Id, list[Passage]]
        ),
    ),
)  # fmt: skip
