"""Tables of queries (``qid, query``) and of answers (``qid, agent, answer``), such as files of RAGElo.

Source: RAGElo's readers, which accept further column names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from exam_pp.formats.base import Format, Target, register
from exam_pp.formats.dropped_fields import (
    count_dropped_answer_fields,
    count_dropped_query_fields,
    trimmed,
)
from exam_pp.formats.sample import Fit, Sample
from exam_pp.roles import DistinctNames, System
from exam_pp.store.csv_cells import write_cells
from exam_pp.store.tables import ANSWERS, QUERIES, Layout
from exam_pp.store.trec.answers import Answer, read_answer_table
from exam_pp.store.trec.queries import Query, read_query_table

RAGELO_IDS = ("qid", "did")
RAGELO_NAMES: Mapping[str, Sequence[str]] = {
    "qid": ("query_id", "question_id", "q_id", "queryid", "questionid"),
    "did": ("doc_id", "document_id", "docid", "d_id", "documentid", "passage_id", "pid", "p_id", "passageid"),
    "document": ("document_text", "doc_text", "text"),
    "agent": ("agent_id", "system"),
}
DOCUMENTS = Layout(("qid", "did", "document"), ("agent",), ("qid", "did"), RAGELO_NAMES)


def _are_queries(sample: Sample) -> Fit:
    """Other columns hold metadata, so that only a table of two columns is certainly one of queries.

    Scores of Open RAG Eval, and others, begin with query_id and query, too.
    """
    if not sample.has(QUERIES) or sample.object:
        return Fit.NOT
    if len(sample.names) == 2:
        return Fit.LOOSE if "text" in sample.names else Fit.FAIR
    return Fit.FAINT if {"query_id", "query"} <= set(sample.names) else Fit.LOOSE


def _write_queries(queries: Iterable[Query], target: Target) -> None:
    def rows() -> Iterator[tuple[str, str]]:
        for query in queries:
            count_dropped_query_fields(query, target.dropped)
            yield query.query_id, trimmed(query.query_text, target.dropped)

    write_cells(("qid", "query"), rows(), target.path, ids=RAGELO_IDS, inputs=target.inputs)


def _write_answers(answers: Iterable[Answer], target: Target) -> None:
    distinct = DistinctNames()

    def rows() -> Iterator[tuple[str, str, str]]:
        for answer in answers:
            count_dropped_answer_fields(answer, {"repeats"}, target.dropped)
            text = " ".join(part.text for part in answer.parts)
            system = distinct(System(answer.system, answer.repeat))
            yield answer.query_id, system, trimmed(text, target.dropped)

    ids = (*RAGELO_IDS, "agent")
    write_cells(("qid", "agent", "answer"), rows(), target.path, ids=ids, inputs=target.inputs)


def _has_answers(sample: Sample) -> Fit:
    """Whether a table has all columns of answers, and none of documents; the file may name the system."""
    used = ANSWERS.used(sample.names)
    if not sample.has(ANSWERS) or sample.has(DOCUMENTS) or "passage_id" in sample.names:
        return Fit.NOT
    if "system" in used:
        return Fit.GOOD
    return Fit.NOT if used["answer"].lower() == "text" else Fit.LOOSE


register(
    Format(
        "ragelo-queries", "queries", "queries as a table, such as those of RAGElo", _are_queries,
        lambda path: read_query_table(path).values(), "query",
        lambda source: read_query_table(source.path, source.dropped.fields).values(), _write_queries,
    ),
    Format(
        "ragelo-answers", "answers", "answers as a table, such as those of RAGElo", _has_answers,
        read_answer_table, "answer",
        lambda source: read_answer_table(source.path, source.dropped.fields), _write_answers,
    ),
)  # fmt: skip
