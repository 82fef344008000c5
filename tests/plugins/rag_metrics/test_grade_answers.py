"""Ratings of answers by criteria: what is asked, read, stored and reused."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from exam_pp.data_model import parse_object
from exam_pp.errors import SelectionError
from exam_pp.llm import ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.grading.grading_run import GradeFiles
from exam_pp.plugins.rag_metrics.grading import (
    MAX_NEW_TOKENS,
    AnswerOptions,
    AnswerSummary,
    grade_answers,
    make_grader,
    with_grades,
)
from exam_pp.plugins.rag_metrics.prompts import NO_KEY, parse_criteria
from exam_pp.prompts.base import NO_DOCUMENTS
from exam_pp.store.passages.raw_passages import RawQuery, raw_query
from tests.llm.asking import answers

Json = dict[str, Any]
TEXTS = {"q": "what do bees do?"}
ALL_TWO = '{"relevance": 2, "accuracy": 2, "completeness": 2, "precision": 2}'


def passage(key: str, text: str, *entries: tuple[str, int, list[str]], **more: Any) -> Json:
    rankings = [
        {"method": system, "paragraphId": key, "queryId": "q", "rank": rank, "score": 1.0}
        | ({"role": "answer", "citations": citations} if "/" in key else {})
        | more
        for system, rank, citations in entries
    ]
    return {"paragraph_id": key, "text": text, "paragraph_data": {"judgments": [], "rankings": rankings}}


LINE: list[Any] = [
    "q",
    [
        passage("A", "bees dance", ("rag", 1, [])),
        passage("B", "bees  sting\nwasps", ("rag", 2, []), ("mute", 1, [])),
        passage("C", "cited only"),
        passage("empty", " ", ("rag", 3, [])),
        passage("rag/q#1", "Bees dance.", ("rag", 1, ["A", "C"])),
        passage("rag/q#2", "They sting.", ("rag", 2, ["gone"])),
        passage("lonely/q#1", "bees", ("lonely", 1, [])),
        passage("mute/q#1", "", ("mute", 1, [])),
    ],
]


def line() -> RawQuery:
    return raw_query(parse_object(json.loads(json.dumps(LINE))), "answers.jsonl")


def judge(script: Callable[[Request], Completion | str] | None = None, name: str = "judge") -> FakeLLM:
    return FakeLLM(script or (lambda _request: ALL_TWO), name)


def run(
    llm: FakeLLM, query: RawQuery | None = None, texts: dict[str, str] | None = None, **options: Any
) -> tuple[dict[str, list[Json]], AnswerSummary]:
    """Id of the first part to its ratings, and the summary."""
    summary = AnswerSummary()
    texts = TEXTS if texts is None else texts
    grader = make_grader("criteria", llm, ModelOptions("judge"), AnswerOptions(**options), texts)
    (graded,) = with_grades([query or line()], partial(answers, llm), grader, summary)
    grades = {
        item["paragraph_id"]: item["criteria_grades"]
        for item in json.loads(graded.dump())[1]
        if "criteria_grades" in item
    }
    return grades, summary


def ratings(grades: Json) -> dict[str, int | None]:
    return {item["criterion"]: item["rating"] for item in grades["ratings"]}


def test_each_answer_is_asked_once_with_the_documents_of_its_system() -> None:
    asked: list[tuple[str | None, ...]] = []

    def script(request: Request) -> str:
        asked.append(tuple(request.slot(slot) for slot in ("query", "context", "answer")))
        return "The user asks ...\n" + ALL_TWO

    grades, summary = run(judge(script))
    assert asked == [
        (
            "what do bees do?",
            "[A] bees dance\n[B] bees sting wasps\n[C] cited only",
            "Bees dance. They sting.",
        ),
        ("what do bees do?", NO_DOCUMENTS, "bees"),
    ]
    assert grades.keys() == {"rag/q#1", "lonely/q#1", "mute/q#1"}, "the first parts"
    (of_rag,) = grades["rag/q#1"]
    assert ratings(of_rag) == dict.fromkeys(("relevance", "accuracy", "completeness", "precision"), 2)
    assert (of_rag["method"], of_rag["llm"], of_rag["prompt_type"]) == ("rag", "judge", "criteria")
    assert of_rag["answer"] == "The user asks ...\n" + ALL_TWO
    assert of_rag["prompt_info"]["prompt_class"] == "RAGEloCriteria"
    assert of_rag["prompt_info"]["criteria"]["precision"] == 2
    assert (summary.answers, summary.graded.total(), summary.empty) == (3, 12, 1)


def test_an_empty_answer_gets_the_lowest_ratings_without_a_call() -> None:
    llm = judge()
    grades, _ = run(llm, systems=["mute"])
    assert llm.calls == 0
    (of_mute,) = grades["mute/q#1"]
    assert set(ratings(of_mute).values()) == {0}
    assert "answer" not in of_mute


def test_only_documents_can_be_cut_and_the_last_first() -> None:
    asked: list[Request] = []

    def script(request: Request) -> str:
        asked.append(request)
        return ALL_TWO

    run(judge(script), systems=["rag"])
    (request,) = asked
    (cut,) = (part for part in request.parts if part.may_be_cut)
    assert cut.text == "[A] bees dance\n[B] bees sting wasps\n[C] cited only"
    assert not request.one_line
    assert request.max_new_tokens == MAX_NEW_TOKENS
    assert request.labels == ()


def test_at_most_so_many_retrieved_passages_and_all_cited_ones() -> None:
    asked = []

    def script(request: Request) -> str:
        asked.append(request.slot("context"))
        return ALL_TWO

    query = line()
    grades, _ = run(judge(script), query, systems=["rag"], max_passages=1)
    assert asked == ["[A] bees dance\n[C] cited only"]
    assert grades["rag/q#1"][0]["prompt_info"]["max_passages"] == 1
    assert run(judge(), query, systems=["rag"], max_passages=1)[1].reused == 1
    assert run(judge(), query, systems=["rag"])[1].reused == 0, "the model reads other documents"


def test_missing_ratings_have_their_reason_and_others_count() -> None:
    grades, summary = run(judge(lambda _r: '{"relevance": 2, "accuracy": 1}'), systems=["rag"])
    (of_rag,) = grades["rag/q#1"]
    assert ratings(of_rag) == {"relevance": 2, "accuracy": 1, "completeness": None, "precision": None}
    errors = [item.get("llm_response_error") for item in of_rag["ratings"]]
    assert errors == [None, None, {"failure_reason": NO_KEY}, {"failure_reason": NO_KEY}]
    assert summary.reasons == {NO_KEY: 2}
    failed, summary = run(judge(lambda _r: Completion(error="timeout", tokens_cut=3)), systems=["rag"])
    assert set(ratings(failed["rag/q#1"][0]).values()) == {None}
    assert failed["rag/q#1"][0]["tokens_cut"] == {"context": 3}
    assert summary.reasons == {"timeout": 4}
    assert "1 text shortened to fit the model." in list(summary.lines())


def test_complete_ratings_are_kept_and_others_are_asked_again() -> None:
    query = line()
    run(judge(lambda r: ALL_TWO if r.slot("answer") == "bees" else "?"), query)
    again = judge()
    _, second = run(again, query)
    assert (again.calls, second.reused) == (1, 2)
    assert (run(judge(), query)[1].reused, run(judge(name="other"), query)[1].reused) == (3, 0)
    assert run(judge(), query, regrade=True)[1].reused == 0


def test_own_criteria() -> None:
    own = parse_criteria(
        'name = "Tone"\n[[criteria]]\nname = "tone"\ndescription = "?"\nlevels = ["rude", "polite"]\n',
        "own.toml",
    )
    grades, _ = run(judge(lambda _r: '{"tone": 1}'), criteria=own, systems=["rag"])
    assert ratings(grades["rag/q#1"][0]) == {"tone": 1}
    assert grades["rag/q#1"][0]["prompt_info"]["prompt_class"] == "Tone"


def test_queries_without_a_text_are_not_graded() -> None:
    grades, summary = run(judge(), texts={"other": "why"})
    assert (grades, summary.without_text) == ({}, ["q"])


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "queries.tsv"
    path.write_text("q\twhat do bees do?\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("model", ["fake", "lexical", "random", "constant"])
def test_a_file_is_graded_with_every_baseline(
    model: str, queries: Path, write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path
) -> None:
    output = tmp_path / "graded.jsonl"
    files = GradeFiles(write_jsonl("answers.jsonl", [LINE]), output, queries=queries)
    summary = grade_answers("criteria", files, ModelOptions(model), AnswerOptions())
    assert (summary.graded.total(), summary.reasons, summary.asked) == (12, {}, 2)
    assert not list(tmp_path.glob("*.journal"))
    query_id, passages = json.loads(output.read_text())
    assert [query_id, [{k: v for k, v in p.items() if k != "criteria_grades"} for p in passages]] == LINE


@pytest.mark.parametrize(
    ("query", "options", "message"),
    [
        (LINE, {"systems": ["bm25"]}, "no answers of the system 'bm25'"),
        (["q", LINE[1][:1]], {}, r"no answers; import answers with exam-pp import --answers"),
        (["r", LINE[1]], {}, r"queries\.tsv has no text for the queries in .*, such as 'r'"),
        (["q", [{**each, "text": ""} for each in LINE[1]]], {}, "has no texts of passages"),
    ],
)
def test_bad_input(
    query: Any, options: Any, message: str,
    queries: Path, write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path,
) -> None:  # fmt: skip
    files = GradeFiles(write_jsonl("answers.jsonl", [query]), tmp_path / "out.jsonl", queries=queries)
    with pytest.raises(SelectionError, match=message):
        grade_answers("criteria", files, ModelOptions("fake"), AnswerOptions(**options))
    assert not files.output.exists()
