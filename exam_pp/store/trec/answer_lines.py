"""Writing answers of RAG systems as TREC RAG 2024, TREC RAG 2025, RAGTIME or plain JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from exam_pp.store.files import atomic_output
from exam_pp.store.trec.answers import Answer, AnswerPart

AnswerFormat = Literal["rag24", "rag25", "ragtime", "plain"]


def write_answers(
    answers: Iterable[Answer], path: str | Path, form: AnswerFormat, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write one answer per line, with the references in the order of :func:`references_of`.

    The plain format has the text, with the parts joined by a space, and the citations of all parts.
    """
    with atomic_output(path, inputs=inputs) as stream:
        for answer in answers:
            stream.write(json.dumps(_WRITERS[form](answer), ensure_ascii=False).encode() + b"\n")


def references_of(answer: Answer) -> list[str]:
    """Return the references of an answer in order, then cited documents that are not among them."""
    cited = (docid for part in answer.parts for docid in part.citations)
    return list(dict.fromkeys((*answer.references, *cited)))


def _elements(parts: Sequence[AnswerPart], references: Sequence[str]) -> list[dict[str, Any]]:
    index_of = {docid: index for index, docid in enumerate(references)}
    return [{"text": part.text, "citations": [index_of[docid] for docid in part.citations]} for part in parts]


def _rag24(answer: Answer) -> dict[str, Any]:
    references = references_of(answer)
    return {
        "run_id": answer.system,
        "topic_id": answer.query_id,
        "topic": answer.query_text,
        "references": references,
        "response_length": sum(len(part.text.split()) for part in answer.parts),
        "answer": _elements(answer.parts, references),
        **_repeat(answer),
    }


def _rag25(answer: Answer) -> dict[str, Any]:
    references = references_of(answer)
    metadata = {
        "team_id": answer.team,
        "run_id": answer.system,
        "type": "",
        "narrative_id": answer.query_id,
        "narrative": answer.query_text,
        **_repeat(answer),
    }
    return {"metadata": metadata, "references": references, "answer": _elements(answer.parts, references)}


def _ragtime(answer: Answer) -> dict[str, Any]:
    metadata = {
        "team_id": answer.team,
        "run_id": answer.system,
        "topic_id": answer.query_id,
        **_repeat(answer),
    }
    responses = [{"text": part.text, "citations": list(part.citations)} for part in answer.parts]
    return {"metadata": metadata, "responses": responses, "references": references_of(answer)}


def _plain(answer: Answer) -> dict[str, Any]:
    text = " ".join(part.text for part in answer.parts)
    cited = list(dict.fromkeys(docid for part in answer.parts for docid in part.citations))
    documents = {"references": list(answer.references), "citations": cited}
    return {
        "query_id": answer.query_id,
        "system": answer.system,
        "text": text,
        **{key: ids for key, ids in documents.items() if ids},
        **_repeat(answer),
    }


def _repeat(answer: Answer) -> dict[str, int]:
    """The key ``repeat`` of one of several answers to a query; tracks have no such key."""
    return {} if answer.repeat is None else {"repeat": answer.repeat}


_WRITERS: Mapping[AnswerFormat, Callable[[Answer], dict[str, Any]]] = {
    "rag24": _rag24,
    "rag25": _rag25,
    "ragtime": _ragtime,
    "plain": _plain,
}
