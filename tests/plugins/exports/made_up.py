"""Made-up exports of tools: two questions with contexts and references, and the answers of one system."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

QUESTIONS = ("How warm is the lake in May?", "Who keeps the boat keys?")
ANSWERS = ("About 14 degrees.", "The harbour office has them.")
CONTEXTS = (("The lake has 14 degrees in May.", "In July it has 22."), ("Keys: harbour office.",))
REFERENCES = ("14 degrees", "the harbour office")
ROWS = list(zip(QUESTIONS, ANSWERS, map(list, CONTEXTS), REFERENCES, strict=True))


def _lines(records: list[Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def _table(header: str, rows: list[list[Any]]) -> str:
    stream = io.StringIO()
    csv.writer(stream).writerows([header.split(","), *rows])
    return stream.getvalue()


def _numpy(texts: list[str]) -> str:
    """A list as numpy prints it, without commas."""
    return "[" + "\n ".join(map(repr, texts)) + "]"


def _spans() -> list[dict[str, Any]]:
    spans: list[dict[str, Any]] = []
    for place, (question, answer, contexts, _) in enumerate(ROWS):
        docs = [{"document.content": text, "document.score": 0.5} for text in contexts]
        shared: dict[str, Any] = {"context.trace_id": f"trace-{place}", "status_code": "OK"}
        spans.append({
            **shared, "name": "retrieve", "span_kind": "RETRIEVER", "parent_id": f"root-{place}",
            "attributes.input.value": question, "attributes.retrieval.documents": docs,
        })  # fmt: skip
        spans.append({
            **shared, "name": "query", "span_kind": "CHAIN", "parent_id": None,
            "attributes.input.value": question, "attributes.output.value": answer,
        })  # fmt: skip
    return spans


def _envelope(key: str) -> str:
    records = [
        {
            "topic_id": f"t{place}", "topic": question,
            "references": [f"d{place}.{number}" for number, _ in enumerate(contexts)],
            "response_length": 3, "answer": [{"text": answer, "citations": [0]}],
        }
        for place, (question, answer, contexts, _) in enumerate(ROWS)
    ]  # fmt: skip
    envelope = {
        "schema_version": "castorini.cli.v1", "repo": "ragnarok", "command": "generate", "status": "success",
        "artifacts": [{"name": "generation-results", "kind": "data", key: records}], "errors": [],
    }  # fmt: skip
    return json.dumps(envelope, indent=1)


EXPORTS: dict[str, tuple[str, str]] = {
    "ragas-0.1": (
        "ragas",
        _table(
            ",question,answer,contexts,ground_truth,faithfulness",
            [[n, q, a, _numpy(c), r, 0.5] for n, (q, a, c, r) in enumerate(ROWS)],
        ),
    ),
    "ragas-0.2": (
        "ragas",
        _lines([
            {"user_input": q, "response": a, "retrieved_contexts": c, "reference": r, "context_recall": 1.0}
            for q, a, c, r in ROWS
        ]),
    ),
    "ragas-columns": (
        "ragas",
        json.dumps({
            "question": QUESTIONS, "answer": ANSWERS, "contexts": CONTEXTS, "ground_truth": REFERENCES,
        }, indent=1),
    ),
    "ragas-frame": (
        "ragas",
        json.dumps({
            name: dict(enumerate(values))
            for name, values in (
                ("user_input", QUESTIONS), ("response", ANSWERS), ("retrieved_contexts", CONTEXTS),
                ("reference", REFERENCES), ("rubrics", ({"score1": "cold"},) * 2),
            )
        }),
    ),
    "ragas-csv": (
        "ragas",
        _table("user_input,retrieved_contexts,response,reference", [[q, c, a, r] for q, a, c, r in ROWS]),
    ),
    "deepeval": (
        "deepeval",
        json.dumps([
            {"input": q, "actual_output": a, "expected_output": r, "retrieval_context": c, "context": None,
             "tools_called": [{"name": "search"}]}
            for q, a, c, r in ROWS
        ], indent=1),
    ),
    "deepeval-csv": (
        "deepeval",
        _table(
            "input,actual_output,expected_output,retrieval_context,name",
            [[q, a, r, "|".join(c), "case"] for q, a, c, r in ROWS],
        ),
    ),
    "deepeval-run": (
        "deepeval",
        json.dumps({"testCases": [
            {"name": f"test_{n}", "input": q, "actualOutput": a, "expectedOutput": r, "retrievalContext": c,
             "metricsData": [{"name": "Faithfulness", "score": 1.0}]}
            for n, (q, a, c, r) in enumerate(ROWS)
        ]}),
    ),
    "promptfoo": (
        "promptfoo",
        json.dumps({"evalId": "eval-1", "results": {"version": 3, "results": [
            {"promptIdx": 0, "testIdx": n, "provider": {"id": "lakebot", "label": ""}, "success": True,
             "vars": {"question": q, "reference": r}, "metadata": {"contexts": c},
             "response": {"output": a, "tokenUsage": {"total": 9}}, "score": 1}
            for n, (q, a, c, r) in enumerate(ROWS)
        ]}, "config": {"description": "lake"}}),
    ),
    "langsmith-runs": (
        "langsmith",
        _lines([
            {"id": f"run-{n}", "name": "chain", "run_type": "chain", "parent_run_id": None,
             "inputs": {"question": q}, "outputs": {"answer": a, "documents": [
                 {"page_content": text, "metadata": {"source": "lake.md"}} for text in c]},
             "reference_outputs": {"answer": r}, "reference_example_id": None, "start_time": "2026-05-01"}
            for n, (q, a, c, r) in enumerate(ROWS)
        ]),
    ),
    "langsmith-csv": (
        "langsmith",
        _table(
            "inputs.question,outputs.answer,outputs.contexts,reference.answer,feedback.correct,id",
            [[q, a, c, r, 1, f"run-{n}"] for n, (q, a, c, r) in enumerate(ROWS)],
        ),
    ),
    "langsmith-cells": (
        "langsmith",
        _table(
            "Inputs,Outputs,Reference Outputs",
            [
                list(map(json.dumps, ({"question": q}, {"answer": a, "contexts": c}, {"answer": r})))
                for q, a, c, r in ROWS
            ],
        ),
    ),
    "langfuse": (
        "langfuse",
        json.dumps({"datasetName": "lake", "runName": "", "datasetRunItems": [
            {"datasetItemId": f"item-{n}", "traceId": f"trace-{n}", "input": {"question": q},
             "output": {"answer": a, "contexts": c}, "expectedOutput": {"answer": r}, "latency": 1.5}
            for n, (q, a, c, r) in enumerate(ROWS)
        ]}),
    ),
    "langfuse-traces": (
        "langfuse",
        _table("id,timestamp,name,input,output,metadata,latency", [
            [f"trace-{n}", "2026-05-01", "chain",
             *map(json.dumps, ({"question": q}, {"answer": a}, {"contexts": c})), 1.5]
            for n, (q, a, c, _) in enumerate(ROWS)
        ]),
    ),
    "phoenix": ("phoenix", _lines(_spans())),
    "phoenix-experiment": (
        "phoenix",
        json.dumps([
            {"example_id": f"e{n}", "repetition_number": 1, "input": {"question": q},
             "reference_output": {"answer": r}, "output": {"answer": a, "documents": c}, "error": None,
             "latency_ms": 9.0, "start_time": "2026-05-01", "trace_id": f"t{n}", "annotations": []}
            for n, (q, a, c, r) in enumerate(ROWS)
        ]),
    ),
    "phoenix-csv": (
        "phoenix",
        _table("context.span_id,context.trace_id,input,output,context",
               [[f"s{n}", f"t{n}", q, a, c] for n, (q, a, c, _) in enumerate(ROWS)]),
    ),
    "phoenix-rest": (
        "phoenix",
        json.dumps({"data": [
            {"name": "query", "span_kind": "CHAIN", "parent_id": None, "context": {"trace_id": f"t{n}"},
             "attributes": {"input.value": json.dumps({"question": q}), "output.value": a, **{
                 f"retrieval.documents.{m}.document.content": text for m, text in enumerate(c)}}}
            for n, (q, a, c, _) in enumerate(ROWS)
        ], "next_cursor": None}),
    ),
    "llamaindex": (
        "llamaindex",
        json.dumps({"faithfulness": [
            {"query": q, "contexts": c, "response": a, "passing": True, "feedback": "YES", "score": 1.0}
            for q, a, c, _ in ROWS
        ]}),
    ),
    "llamaindex-responses": (
        "llamaindex",
        _lines([
            {"query": q, "response": a, "metadata": {}, "source_nodes": [
                {"node": {"text": text, "class_name": "TextNode"}, "score": 0.7} for text in c]}
            for q, a, c, _ in ROWS
        ]),
    ),
    "inspect-ai": (
        "inspect-ai",
        json.dumps({"version": 2, "status": "success", "eval": {"model": "lakebot"}, "samples": [
            {"id": n, "epoch": 1, "input": [{"role": "system", "content": "Be short."},
                                            {"role": "user", "content": q}],
             "target": r, "metadata": {"contexts": c}, "scores": {"match": {"value": "C"}},
             "output": {"model": "lakebot", "completion": a, "choices": [
                 {"message": {"role": "assistant", "content": a}}]}}
            for n, (q, a, c, r) in enumerate(ROWS)
        ]}),
    ),
    "ragchecker": (
        "ragchecker",
        json.dumps({"results": [
            {"query_id": f"c{n}", "query": q, "gt_answer": r, "response": a, "metrics": {},
             "retrieved_context": [{"doc_id": f"d{n}.{m}", "text": text} for m, text in enumerate(c)],
             "response_claims": [["lake", "has", "14"]]}
            for n, (q, a, c, r) in enumerate(ROWS)
        ], "metrics": {"overall_metrics": {"f1": 50.0}}}),
    ),
    "mt-rag": (
        "mt-rag",
        _lines([
            {"conversation_id": "conv", "task_id": f"conv<::>{n}", "Collection": "lake",
             "input": [{"speaker": "user", "text": "Hello"}, {"speaker": "agent", "text": "Hi"},
                       {"speaker": "user", "text": q}],
             "contexts": [{"document_id": f"d{n}.{m}", "text": text, "score": 9} for m, text in enumerate(c)],
             "predictions": [{"text": a}], "targets": [{"speaker": "agent", "text": r}]}
            for n, (q, a, c, r) in enumerate(ROWS)
        ]),
    ),
    "ragnarok": (
        "castorini",
        json.dumps(json.loads(_envelope("value"))["artifacts"][0]["value"], indent=2),
    ),
    "ragnarok-query": (
        "castorini",
        _lines([
            {"query": {"text": q, "qid": n}, "references": [f"d{n}.0"], "rag_exec_summary": {"candidates": [
                {"docid": f"d{n}.{m}", "score": 1.0, "doc": {"segment": text}} for m, text in enumerate(c)]},
             "answer": [{"text": a, "citations": [0]}]}
            for n, (q, a, c, _) in enumerate(ROWS)
        ]),
    ),
    "castorini-envelope": ("castorini", _envelope("value")),
    "castorini-envelopes": (
        "castorini", "".join(json.dumps({"command": "generate", "artifacts": [{"data": [each]}]}) + "\n"
                             for each in json.loads(_envelope("value"))["artifacts"][0]["value"]),
    ),
    "table": ("unnamed-answers", _table("question,answer", [[q, a] for q, a, _, _ in ROWS])),
}  # fmt: skip
"""Name to the tool and the text of an export."""
WITHOUT_CONTEXTS = {"ragnarok", "castorini-envelope", "castorini-envelopes", "table"}
WITHOUT_REFERENCES = WITHOUT_CONTEXTS | {
    "langfuse-traces", "phoenix", "phoenix-csv", "phoenix-rest", "llamaindex", "llamaindex-responses",
    "ragnarok-query",
}  # fmt: skip
DATA_SETS: dict[str, str] = {
    "ragas": _lines([
        {"user_input": q, "reference_contexts": c, "reference": r, "synthesizer_name": "one hop"}
        for q, _, c, r in ROWS
    ]),
    "langsmith": _lines([
        {"id": f"e{n}", "dataset_id": "lake", "inputs": {"question": q}, "outputs": {"answer": r},
         "metadata": {"split": "base"}, "created_at": "2026-05-01"}
        for n, (q, _, _, r) in enumerate(ROWS)
    ]),
    "langsmith-csv": _table("id,inputs,outputs,split", [
        [f"e{n}", json.dumps({"question": q}), json.dumps({"answer": r}), "base"]
        for n, (q, _, _, r) in enumerate(ROWS)
    ]),
    "langfuse": json.dumps({"data": [
        {"id": f"item-{n}", "datasetName": "lake", "input": {"question": q}, "expectedOutput": {"answer": r}}
        for n, (q, _, _, r) in enumerate(ROWS)
    ]}, indent=1),
    "llamaindex": json.dumps({"examples": [
        {"query": q, "reference_contexts": c, "reference_answer": r, "query_by": {"type": "human"}}
        for q, _, c, r in ROWS
    ]}),
    "table": _table(",question,ground_truth,topic", [[n, q, r, "x"] for n, (q, _, _, r) in enumerate(ROWS)]),
}  # fmt: skip
"""Name to the text of a data set, whose questions have reference answers and no answers of a system."""
