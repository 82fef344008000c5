"""Conversion: graded passages."""

from __future__ import annotations

from collections.abc import Iterable

from exam_pp.data_model import QueryPassages
from exam_pp.phases.interchange.dropped_fields import used
from exam_pp.phases.interchange.formats.base import Target, add_format, reading
from exam_pp.store.interchange.squad import read_squad
from exam_pp.store.passages.graded_file import passages_writer, read_passages


def _write_passages(queries: Iterable[QueryPassages], target: Target) -> None:
    with passages_writer(target.path, inputs=target.inputs) as writer:
        for query in queries:
            writer.write(query)


add_format("graded", "passages", "graded passages, one line a query", reading(read_passages), _write_passages)

add_format(
    "squad2-paragraphs", "passages", "paragraphs of SQuAD2-style files",
    reading(
        lambda path: (paragraph.passages for paragraph in read_squad(path)),
        {"data": used("title", paragraphs=used("context"))},
    ),
    None, written_by="--to squad2 --contexts",
)  # fmt: skip
