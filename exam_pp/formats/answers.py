"""Answers of RAG systems in the formats of TREC RAG 2024 and 2025, NeuCLIR, RAGTIME, and plain JSON lines."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Set
from functools import partial

from exam_pp.formats.base import Format, Schema, Target, make_reader, register
from exam_pp.formats.dropped_fields import count_dropped_answer_fields, used
from exam_pp.formats.sample import Sample, fits, with_keys
from exam_pp.store.trec.answers import (
    Answer,
    AnswerFormat,
    PlainAnswer,
    Rag24Answer,
    ReportAnswer,
    read_answers,
    write_answers,
)
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)
_CITED = {"citations", "uncited references", "boundaries of answer parts", "repeats"}
_ELEMENTS = used("text citations")
_RESPONSES = used("text", citations="citation confidences")
_RAG24 = used(
    "run_id topic_id narrative_id request_id query_id qid topic narrative team_id references repeat",
    answer=_ELEMENTS, responses=_RESPONSES, query=used("qid text"),
)  # fmt: skip
_SCHEMA = Schema("answers", "a line of answers of RAG systems", Rag24Answer | ReportAnswer | PlainAnswer)


def _is_rag24(sample: Sample) -> bool:
    """Whether an object has an answer in parts, and its query and system beside it."""
    answer = sample.item.get("answer", sample.item.get("responses", ""))
    return not isinstance(answer, str) and "run_id" in sample.item and "metadata" not in sample.item


def _write(answers: Iterable[Answer], target: Target, form: AnswerFormat, keeps: Set[str]) -> None:
    without_text: set[str] = set()

    def counting_dropped() -> Iterator[Answer]:
        for answer in answers:
            count_dropped_answer_fields(answer, keeps, target.dropped)
            if not answer.query_text:
                without_text.add(answer.query_id)
            yield answer

    write_answers(counting_dropped(), target.path, form, inputs=target.inputs)
    if without_text and "query texts" in keeps:
        have = counted(len(without_text), "query has", "queries have")
        log.warning("%s an empty text; name a file of query texts with --queries.", have)


register(
    Format(
        "rag24", "answers", "answers, TREC RAG 2024", fits(_is_rag24),
        read_answers, "answer",
        make_reader(read_answers, _RAG24),
        partial(_write, form="rag24", keeps=_CITED | {"query texts"}), schema=_SCHEMA,
    ),
    Format(
        "rag25", "answers", "answers, TREC RAG 2025",
        fits(lambda of: of.item.keys() & {"metadata", "answer", "responses"} == {"metadata", "answer"}),
        read_answers, "answer",
        make_reader(
            read_answers,
            used(
                "references",
                metadata=used("team_id run_id narrative_id narrative repeat"),
                answer=_ELEMENTS,
            ),
        ),
        partial(_write, form="rag25", keeps=_CITED | {"query texts", "teams"}), schema=_SCHEMA,
    ),
    Format(
        "ragtime", "answers", "answers, NeuCLIR and RAGTIME", with_keys("metadata", "responses", arrays=True),
        read_answers, "answer",
        make_reader(
            read_answers,
            used(
                "references",
                metadata=used("team_id run_id topic_id request_id repeat"),
                responses=_RESPONSES,
            ),
        ),
        partial(_write, form="ragtime", keeps=_CITED | {"teams"}), schema=_SCHEMA,
    ),
    Format(
        "plain-answers", "answers", "answers, JSON lines of query_id, system, text",
        with_keys("system", "query_id", "text", arrays=True), read_answers, "answer",
        make_reader(read_answers, used("query_id system text references citations repeat")),
        partial(_write, form="plain", keeps=_CITED - {"boundaries of answer parts"}), schema=_SCHEMA,
    ),
)  # fmt: skip
