"""Conversion: answers of RAG systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from exam_pp.phases.interchange.dropped_fields import Used, answer_losses, used
from exam_pp.phases.interchange.formats.base import Target, add_format, reading
from exam_pp.store.trec.answer_lines import AnswerFormat, write_answers
from exam_pp.store.trec.answers import Answer, read_answers

_CITED = frozenset({"cited documents", "references that are not cited", "boundaries of parts"})
_ELEMENTS = used("text citations")
_RESPONSES = used("text", citations="confidences of citations")


class _Shape(NamedTuple):
    form: AnswerFormat
    words: str
    used: Used
    keeps: frozenset[str]


_SHAPES: Mapping[str, _Shape] = {
    "rag24": _Shape(
        "rag24",
        "answers, TREC RAG 2024",
        used("run_id topic_id topic references", answer=_ELEMENTS),
        _CITED | {"query texts"},
    ),
    "rag25": _Shape(
        "rag25",
        "answers, TREC RAG 2025",
        used("references", metadata=used("team_id run_id narrative_id narrative"), answer=_ELEMENTS),
        _CITED | {"query texts", "teams"},
    ),
    "ragtime": _Shape(
        "ragtime",
        "answers, NeuCLIR and RAGTIME",
        used("references", metadata=used("team_id run_id topic_id request_id"), responses=_RESPONSES),
        _CITED | {"teams"},
    ),
    "plain-answers": _Shape(
        "plain",
        "answers, JSON lines of query_id, system, text",
        used("query_id system text"),
        frozenset(),
    ),
}


def _write_answers(
    answers: Iterable[Answer], target: Target, form: AnswerFormat, keeps: frozenset[str]
) -> None:
    def noted() -> Iterator[Answer]:
        for answer in answers:
            answer_losses(answer, keeps, target.losses)
            yield answer

    write_answers(noted(), target.path, form, inputs=target.inputs)


for _name, _shape in _SHAPES.items():
    add_format(
        _name,
        "answers",
        _shape.words,
        reading(read_answers, _shape.used),
        partial(_write_answers, form=_shape.form, keeps=_shape.keeps),
    )
