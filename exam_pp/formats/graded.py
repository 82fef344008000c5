"""Graded passages: one line a query."""

from __future__ import annotations

from collections.abc import Iterable

from exam_pp.data_model import Id, Passage, QueryPassages
from exam_pp.formats.base import Format, Schema, Target, reading, register
from exam_pp.formats.sample import Sample, fits
from exam_pp.store.passages.graded_file import passages_writer, read_passages


def _is_graded(sample: Sample) -> bool:
    value = sample.value
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[1], list)
        and not isinstance(value[0], dict | list)
    )


def _write(queries: Iterable[QueryPassages], target: Target) -> None:
    with passages_writer(target.path, inputs=target.inputs) as writer:
        for query in queries:
            writer.write(query)


register(
    Format(
        "graded", "passages", "graded passages, one line a query", fits(_is_graded),
        read=reading(read_passages), write=_write,
        schema=Schema(
            "graded", "a line of graded passages: [query_id, [passage, ...]]", tuple[Id, list[Passage]]
        ),
    ),
)  # fmt: skip
