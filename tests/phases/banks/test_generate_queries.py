"""Generated queries: windows, examples, duplicates, pools, failures, and interrupted runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import DataError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.banks.generate_queries import (
    QueriesSummary,
    QueryOptions,
    generate_queries_file,
    query_id,
)
from exam_pp.prompts.generation import QUERIES, QUERIES_FEW_SHOT
from exam_pp.store.passages.journal import journal_path
from exam_pp.store.trec.queries import read_queries
from tests.conftest import written

WriteLines = Callable[[str, list[Any]], Path]
Backend = Callable[[FakeLLM], None]
FAKE = ModelOptions("fake")
TIDES = "The moon causes tides. Tides are waves."
SKY = "Air scatters blue light."


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    return written(tmp_path / "documents.tsv", f"d1\t{TIDES}\nd2\t{SKY}\n")


def listed(*questions: str) -> str:
    return json.dumps({"questions": questions})


def generate(documents: Path, output: Path, **options: Any) -> tuple[list[dict[str, Any]], QueriesSummary]:
    summary = generate_queries_file(documents, output, FAKE, QueryOptions(**options))
    return [json.loads(line) for line in output.read_text().splitlines()], summary


def _reply(text: str, _request: Request) -> str:
    return text


def texts(lines: list[dict[str, Any]]) -> list[str]:
    return [line["query_text"] for line in lines]


def test_queries_record_model_prompt_document_and_span(
    documents: Path, tmp_path: Path, backend: Backend
) -> None:
    seen: list[Request] = []

    def reply(request: Request) -> str:
        seen.append(request)
        return (
            listed("What causes tides?", "What are tides?") if "moon" in request.text else listed("Why blue?")
        )

    backend(FakeLLM(reply))
    output = tmp_path / "queries.jsonl"
    lines, summary = generate(documents, output, per_window=2, top_ups=0)

    prompt = {"prompt_class": QUERIES.name, "prompt_version": 1, "prompt_hash": QUERIES.hash}
    assert lines[0] == {
        "query_id": query_id("what causes  tides"),
        "query_text": "What causes tides?",
        "model": "fake",
        "prompt_info": prompt,
        "llm_options": {"engine": "fake"},
        "document_id": "d1",
        "start": 0,
        "end": len(TIDES),
    }
    assert texts(lines) == ["What causes tides?", "What are tides?", "Why blue?"]
    assert [part.slot for part in seen[0].parts if part.may_be_cut] == ["context"]
    assert seen[0].text == Request(QUERIES.render({"context": TIDES, "count": "2"})).text
    assert list(read_queries(output)) == [line["query_id"] for line in lines]
    assert list(summary.lines()) == [
        "3 queries from 2 windows of 2 documents (2 model calls).",
        f"Written: {output}",
    ]
    assert not journal_path(output).exists()


def test_windows_are_drawn_by_seed_whatever_their_order(tmp_path: Path, backend: Backend) -> None:
    rows = [f"d{number}\tFact {number} is here.\n" for number in range(20)]
    backend(FakeLLM(lambda request: listed(f"Is it {request.slot('context')}")))
    drawn = {}
    for name, order, seed in (("a", rows, 1), ("b", rows[::-1], 1), ("c", rows, 2)):
        documents = written(tmp_path / f"{name}.tsv", "".join(order))
        lines, summary = generate(documents, tmp_path / name, max_windows=5, seed=seed, top_ups=0)
        drawn[name] = {line["document_id"] for line in lines}
        assert list(summary.lines())[1] == "Drawn: 5 of 20 windows."
    assert len(drawn["a"]) == 5
    assert drawn["a"] == drawn["b"] != drawn["c"]


def test_examples_are_shown_and_not_repeated(
    documents: Path, tmp_path: Path, write_jsonl: WriteLines, backend: Backend
) -> None:
    """Few-shot examples of section 4 of the RAGElo paper."""
    users = {"u1": "why are there tides", "u2": "moon\nphases"}
    examples = write_jsonl("users.jsonl", [{"query_id": q, "query_text": text} for q, text in users.items()])
    seen: list[Request] = []

    def reply(request: Request) -> str:
        seen.append(request)
        return listed("Why are there tides?", "What are phases of the moon?", "What are waves?")

    backend(FakeLLM(reply))
    lines, summary = generate(documents, tmp_path / "out.jsonl", examples=examples, top_ups=0)
    assert texts(lines) == ["What are waves?"]
    assert "questions:\n\n- why are there tides\n- moon phases\n\nDo not" in seen[0].text
    assert lines[0]["prompt_info"]["prompt_class"] == QUERIES_FEW_SHOT.name
    assert "Dropped: 5 queries that repeat another one or an example, or nearly so." in summary.lines()


def test_duplicates_and_near_duplicates(documents: Path, tmp_path: Path, backend: Backend) -> None:
    replies = {
        TIDES: listed(
            "What is the TLV4961 sensor?", "what is the tlv4961 sensor", "What is the TLV4962 sensor?"
        ),
        SKY: listed("The TLV4961 sensor: what is it?", "Why is the sky blue?"),
    }
    backend(FakeLLM(lambda request: replies[request.slot("context") or ""]))
    lines, summary = generate(documents, tmp_path / "out.jsonl", top_ups=0)
    assert texts(lines) == [
        "What is the TLV4961 sensor?", "What is the TLV4962 sensor?", "Why is the sky blue?",
    ]  # fmt: skip
    assert summary.duplicates == 2


def test_queries_of_several_models_are_pooled(documents: Path, tmp_path: Path, backend: Backend) -> None:
    """Figure 2 of the RAGElo paper: queries of four models are pooled, each with the name of its model."""
    files: list[Path] = []
    for model in ("large", "small"):
        reply = listed("What are tides?", f"What is {model}?")
        backend(FakeLLM(partial(_reply, reply), name=model))
        files.append(tmp_path / f"{model}.jsonl")
        lines, summary = generate(documents, files[-1], pool=files[:-1], top_ups=0)
    assert [(line["query_text"], line["model"]) for line in lines] == [
        ("What are tides?", "large"), ("What is large?", "large"), ("What is small?", "small"),
    ]  # fmt: skip
    assert (summary.pooled, summary.queries) == (2, 1)
    assert "Pooled: 2 queries of other files." in summary.lines()
    assert lines[:2] == [json.loads(line) for line in files[0].read_text().splitlines()]


def test_a_pooled_id_has_one_text(documents: Path, tmp_path: Path, write_jsonl: WriteLines) -> None:
    pool = [
        write_jsonl(f"{text}.jsonl", [{"query_id": "q1", "query_text": text}]) for text in ("tides", "waves")
    ]
    with pytest.raises(DataError, match="'q1' has another text in an earlier file"):
        generate(documents, tmp_path / "out.jsonl", pool=pool)


def test_documents_without_queries_are_listed(tmp_path: Path, backend: Backend) -> None:
    documents = written(
        tmp_path / "documents.tsv", f"d1\t{TIDES}\nd2\t{SKY}\nd3\t\nd4\tTides are waves.\nd5\tBroken.\n"
    )
    replies: dict[str, Completion | str] = {
        TIDES: listed("What are tides?"), SKY: "No idea.", "Tides are waves.": listed("what are tides"),
        "Broken.": Completion("", error="the server is down"),
    }  # fmt: skip
    backend(FakeLLM(lambda request: replies[request.slot("context") or ""]))
    output = tmp_path / "out.jsonl"
    lines, summary = generate(documents, output, top_ups=0)
    assert len(lines) == 1
    assert list(summary.lines())[-4:] == [
        "No queries from 'd2' (characters 0 to 24): the reply does not contain a list of questions.",
        "No queries from 'd4' (characters 0 to 16): the reply has only duplicates.",
        "No queries from 'd5' (characters 0 to 7): the server is down.",
        f"Written: {output}",
    ]


PROMPT = """name = "Mine"
kind = "query"
reading = "questions"
template = "{template}"
"""


def test_an_own_prompt(documents: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(PROMPT.replace("{template}", 'Ask in \\"questions\\": {context}'))
    output = tmp_path / "out.jsonl"
    main(["generate", "queries", str(documents), "-o", str(output), "--model", "fake", "--prompt-file",
          str(tmp_path / "mine.toml")])  # fmt: skip
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert {line["prompt_info"]["prompt_class"] for line in lines} == {"Mine"}
