"""Reading answers of RAG systems in the formats of evaluation campaigns."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import DataError
from exam_pp.formats.base import known_format
from exam_pp.store.trec.answers import Answer, AnswerPart, read_answers
from tests.conftest import data_error

Write = Callable[[str, list[Any]], Path]

REFERENCES = ["msmarco_v2.1_doc_1#2_3", "a/b#1"]
PARTS = (AnswerPart("One.", ("a/b#1", "msmarco_v2.1_doc_1#2_3")), AnswerPart("Two."))
ELEMENTS = [{"text": "One.", "citations": [1, 0, 1]}, {"text": "Two.", "citations": []}]


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (
            {"run_id": "r", "topic_id": "007", "topic": "t", "references": REFERENCES, "answer": ELEMENTS},
            Answer("007", "r", PARTS, query_text="t", references=tuple(REFERENCES)),
        ),
        (
            {
                "metadata": {"team_id": "x", "run_id": "r", "type": "automatic", "narrative_id": 7},
                "references": REFERENCES,
                "answer": ELEMENTS,
            },
            Answer("7", "r", PARTS, references=tuple(REFERENCES), team="x"),
        ),
        (
            {
                "metadata": {"team_id": "x", "run_id": "r", "topic_id": "leaf"},
                "responses": [{"text": "One.", "citations": {"a": 0.9, "b": None}}, {"text": "Two."}],
            },
            Answer("leaf", "r", (AnswerPart("One.", ("a", "b")), AnswerPart("Two.")), team="x"),
        ),
        (
            {
                "team_id": "x",
                "run_id": "r",
                "narrative_id": 7,
                "narrative": "t",
                "references": REFERENCES,
                "response_length": 2,
                "answer": ELEMENTS,
            },
            Answer("7", "r", PARTS, query_text="t", references=tuple(REFERENCES), team="x"),
        ),
        (
            {
                "run_id": "r",
                "query": {"qid": "q", "text": "t"},
                "references": REFERENCES,
                "answer": ELEMENTS,
            },
            Answer("q", "r", PARTS, query_text="t", references=tuple(REFERENCES)),
        ),
        (
            {"run_id": "r", "qid": "q", "query": "t", "responses": [{"text": "Two."}]},
            Answer("q", "r", PARTS[1:], query_text="t"),
        ),
        (
            {"metadata": {"run_id": "r", "request_id": "300"}, "responses": [], "references": None},
            Answer("300", "r", ()),
        ),
        (
            {"query_id": "q", "system": "s/1", "text": "One. Two."},
            Answer("q", "s/1", (AnswerPart("One. Two."),), by_sentence=False),
        ),
        (
            {"query_id": "q", "system": "s", "text": "One.", "references": ["b"], "citations": ["a", 7, "a"]},
            Answer("q", "s", (AnswerPart("One.", ("a", "7")),), by_sentence=False, references=("b",)),
        ),
        ({"query_id": "q", "system": "s", "text": "  "}, Answer("q", "s", (), by_sentence=False)),
        (
            {"run_id": "r", "topic_id": "q", "answer": [{"text": " "}, {"text": "Two."}]},
            Answer("q", "r", (AnswerPart("Two."),)),
        ),
    ],
    ids=[
        "rag24", "rag25", "ragtime", "flat rag25", "ragnarok", "flat", "request", "plain", "cited", "empty",
        "empty-element",
    ],
)  # fmt: skip
def test_shapes(write_jsonl: Write, value: Any, answer: Answer) -> None:
    assert list(read_answers(write_jsonl("answers.jsonl", [value]))) == [answer]


@pytest.mark.parametrize(
    ("value", "field", "about"),
    [
        (["text"], None, "known format"),
        ({"qid": "q", "reply": "x"}, None, "Rename the keys, or name them with --columns"),
        ({"text": "x", "system": "s"}, "query_id", "missing"),
        ({"topic_id": "q", "answer": []}, "run_id", "missing"),
        ({"run_id": "r", "topic_id": "q", "answer": "words"}, "answer", "list"),
        ({"metadata": {"run_id": "r"}, "answer": []}, "metadata.narrative_id", "missing"),
        (
            {
                "run_id": "r",
                "topic_id": "q",
                "references": ["a"],
                "answer": [{"text": "x", "citations": [1]}],
            },
            "element 1 of the answer, citations",
            "the index 1 ",
        ),
        (
            {
                "run_id": "r",
                "topic_id": "q",
                "references": ["a"],
                "answer": [{"text": "", "citations": [-1]}],
            },
            "element 1 of the answer, citations",
            "the index -1 ",
        ),
        (
            {"run_id": "r", "topic_id": "q", "references": ["a"], "answer": [{"text": "x", "citations": 0}]},
            "element 1 of the answer, citations",
            "0 is not a list",
        ),
        (
            {
                "run_id": "r",
                "topic_id": "q",
                "references": ["a"],
                "answer": [{"text": "x", "citations": [0.5]}],
            },
            "element 1 of the answer, citations",
            "0.5",
        ),
    ],
)
def test_broken_answers(write_jsonl: Write, value: Any, field: str | None, about: str) -> None:
    path = write_jsonl("answers.jsonl", [value])
    with data_error(path, 1, field, about=about):
        list(read_answers(path))


ARRAY: list[dict[str, Any]] = [
    {"query_id": "q", "system": "s", "text": "One."},
    {
        "run_id": "r",
        "topic_id": "q",
        "topic": "t",
        "references": ["d"],
        "answer": [{"text": "A", "citations": [0]}],
    },
]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_array_of_answers(indent: int | None, tmp_path: Path, write_jsonl: Write) -> None:
    array = tmp_path / "array.json"
    array.write_text("\n" + json.dumps(ARRAY, indent=indent) + "\n")
    assert list(read_answers(array)) == list(read_answers(write_jsonl("lines.jsonl", ARRAY)))
    form = known_format(array)
    assert form is not None
    assert form.content == "answers"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "x.json: has no answers."),
        ("", "x.json: has no answers."),
        ("time;reply\nq;x\n", "x.json, line 1: is not a file of answers: "),
        (
            '{"query_id": "q", "system": "s", "text": "x"}\n' * 2,
            "x.json, line 2: the system 's' answers the query 'q' twice",
        ),
        ("[\n", "x.json: is not valid JSON"),
        (json.dumps(ARRAY) + "\n{}", "x.json: has several JSON values"),
        ("[1]", "x.json, line 1: is not an answer in a known format"),
        (
            json.dumps([ARRAY[0], ARRAY[0]]),
            "x.json, answer 2 of the array: the system 's' answers the query 'q' twice",
        ),
        (json.dumps([ARRAY[0], 1]), "x.json, answer 2 of the array: is not an answer in a known format"),
        (
            json.dumps([{**ARRAY[1], "references": []}]),
            "x.json, answer 1 of the array, element 1 of the answer, citations: the index 0 is out of range",
        ),
    ],
)
def test_errors_of_whole_files(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.json").write_text(text)
    with pytest.raises(DataError) as raised:
        list(read_answers("x.json"))
    assert str(raised.value).startswith(message)
