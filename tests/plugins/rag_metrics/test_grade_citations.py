"""Grading of citations: what is asked, read, stored and reused."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from exam_pp.data_model import SUPPORT_LABELS, parse_object
from exam_pp.errors import SelectionError
from exam_pp.llm import ModelOptions
from exam_pp.llm.baselines import answer_scale
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.grading.grading_run import GradeFiles
from exam_pp.plugins.rag_metrics.grading import (
    AnswerOptions,
    AnswerSummary,
    grade_answers,
    make_grader,
    with_grades,
)
from exam_pp.plugins.rag_metrics.prompts import CITATION_SUPPORT, FACTUAL_CONSISTENCY
from exam_pp.store.passages.raw_passages import RawQuery, raw_query
from tests.llm.asking import answers

Json = dict[str, Any]


def passage(key: str, text: str, *entries: tuple[str, int, list[str]]) -> Json:
    rankings = [
        {"method": system, "paragraphId": key, "queryId": "q", "rank": rank, "score": 1.0}
        | ({"citations": citations} if citations else {})
        for system, rank, citations in entries
    ]
    return {"paragraph_id": key, "text": text, "paragraph_data": {"judgments": [], "rankings": rankings}}


LINE = [
    "q",
    [
        passage("A", "bees dance", ("bm25", 1, [])),
        passage("B", "bees sting"),
        passage("empty", " "),
        passage("rag/q#1", "bees dance and sting", ("rag", 1, ["A", "B", "A", "gone"])),
        passage("rag/q#2", "wasps", ("rag", 2, ["A", "empty"])),
        passage("rag/q#3", "the end", ("rag", 3, [])),
        passage("other/q#1", "bees", ("other", 1, ["B"])),
        passage("mute/q", "", ("mute", 1, [])),
    ],
]


def line() -> RawQuery:
    return raw_query(parse_object(json.loads(json.dumps(LINE))), "answers.jsonl")


def judge(script: Callable[[Request], Completion | str] | None = None, name: str = "judge") -> FakeLLM:
    return FakeLLM(script or (lambda _request: "full_support"), name)


def run(
    llm: FakeLLM, query: RawQuery | None = None, **options: Any
) -> tuple[dict[str, list[Json]], AnswerSummary]:
    """Id of the part to its sets of grades, and the summary."""
    summary = AnswerSummary()
    grader = make_grader("support", llm, ModelOptions("judge"), AnswerOptions(**options))
    (graded,) = with_grades([query or line()], partial(answers, llm), grader, summary)
    grades = {
        item["paragraph_id"]: item["support_grades"]
        for item in json.loads(graded.dump())[1]
        if "support_grades" in item
    }
    return grades, summary


def labels(grades: list[Json]) -> dict[str, str | None]:
    return {item["citation"]: item["support"] for of_set in grades for item in of_set["supports"]}


def test_each_part_is_asked_once_with_each_passage_that_it_cites() -> None:
    asked: list[tuple[str | None, str | None]] = []

    def script(request: Request) -> str:
        asked.append((request.slot("claim"), request.slot("context")))
        return "no_support" if "wasps" in request.text else "full_support"

    grades, summary = run(judge(script))
    assert asked == [
        ("bees dance and sting", "bees dance"),
        ("bees dance and sting", "bees sting"),
        ("wasps", "bees dance"),
        ("bees", "bees sting"),
    ]
    assert labels(grades["rag/q#1"]) == {"A": "full_support", "B": "full_support"}
    assert labels(grades["rag/q#2"]) == {"A": "no_support"}
    assert grades.keys() == {"rag/q#1", "rag/q#2", "other/q#1"}
    (of_part,) = grades["rag/q#1"]
    assert (of_part["llm"], of_part["prompt_type"]) == ("judge", "support")
    assert of_part["prompt_info"]["prompt_class"] == "CitationSupport"
    assert summary.graded == {"full_support": 3, "no_support": 1}
    assert (summary.answers, summary.empty) == (3, 1)


def test_missing_passages_and_passages_without_text_are_listed_and_not_asked() -> None:
    _, summary = run(judge())
    assert list(summary.missing) == ["gone", "empty"]
    (line,) = (line for line in summary.lines() if "cited passages" in line)
    assert line.startswith("2 cited passages are not in the file, or without text: gone, empty.")


READABLE = {
    "full_support": 2,
    "Full support": 2,
    "**full_support**": 2,
    "Label: partial support": 1,
    "partial-support.": 1,
    "NO SUPPORT": 0,
    "<think>full_support or not?</think>no_support": 0,
    "partial_support: the date is missing. So partial support.": 1,
}
UNREADABLE = (
    "",
    "supported",
    "no support ... full support",
    "full_support, partial_support or no_support",
    "This is not full support.",
    "There is no partial support here",
    "nofull_supporting",
    "not_support",
    "2",
)


@pytest.mark.parametrize(("reply", "rating"), READABLE.items())
def test_replies_with_one_label_are_read(reply: str, rating: int) -> None:
    verdict = CITATION_SUPPORT.parse(reply, None, "ungraded")
    assert (verdict.rating, verdict.correct) == (rating, rating > 0)


@pytest.mark.parametrize("reply", UNREADABLE)
def test_other_replies_stay_ungraded(reply: str) -> None:
    verdict = CITATION_SUPPORT.parse(reply, None, "ungraded")
    assert verdict.rating is None
    assert verdict.reason


def test_a_failed_request_leaves_its_citation_ungraded() -> None:
    def script(request: Request) -> Completion:
        if request.slot("context") == "bees dance":
            return Completion(error="timeout")
        return Completion("Perhaps", tokens_cut=3)

    grades, summary = run(judge(script))
    first, second = grades["rag/q#1"][0]["supports"]
    assert second["answer"] == "Perhaps"
    assert "support" not in first.keys() | second.keys()
    assert first["llm_response_error"]["failure_reason"] == "timeout"
    assert second["llm_response_error"]["response"] == "Perhaps"
    assert "bees sting" in second["llm_response_error"]["prompt"]
    assert grades["rag/q#1"][0]["tokens_cut"] == {"B": 3}
    assert (summary.reasons["timeout"], summary.shortened) == (2, 2)


def test_known_labels_are_kept_and_ungraded_citations_are_asked_again() -> None:
    query = line()
    _, first = run(judge(lambda r: "?" if r.slot("context") == "bees sting" else "full_support"), query)
    assert (first.graded.total(), first.reasons.total()) == (2, 2)
    again = judge()
    _, second = run(again, query)
    assert (again.calls, second.reused, second.graded.total()) == (2, 2, 2)
    assert run(judge(), query)[1].reused == 4
    assert run(judge(name="other"), query)[1].graded.total() == 4
    assert run(judge(), query, regrade=True)[1].graded.total() == 4


def test_the_likeliest_label_with_choose() -> None:
    asked: list[Request] = []

    def script(request: Request) -> str:
        asked.append(request)
        return "full_support"

    llm = judge(script)
    grader = make_grader("support", llm, ModelOptions("judge", choose=True), AnswerOptions())
    list(with_grades([line()], partial(answers, llm), grader, AnswerSummary()))
    assert {request.labels for request in asked} == {SUPPORT_LABELS}


@pytest.mark.parametrize(
    ("prompt", "scale"), [(CITATION_SUPPORT, SUPPORT_LABELS), (FACTUAL_CONSISTENCY, ("no", "yes"))]
)
def test_baselines_read_the_scale_of_claim_prompts_lowest_first(prompt: Any, scale: tuple[str, ...]) -> None:
    assert answer_scale(Request(prompt.render({"claim": "full support", "context": "3: no"}))) == scale


@pytest.mark.parametrize("model", ["fake", "lexical", "random", "constant"])
def test_a_file_is_graded_with_every_baseline(
    model: str, write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path
) -> None:
    source = write_jsonl("answers.jsonl", [LINE])
    output = tmp_path / "graded.jsonl"
    summary = grade_answers("support", GradeFiles(source, output), ModelOptions(model), AnswerOptions())
    assert (summary.graded.total(), summary.reasons) == (4, {})
    assert not list(tmp_path.glob("*.journal"))
    query_id, passages = json.loads(output.read_text())
    assert [query_id, [{k: v for k, v in p.items() if k != "support_grades"} for p in passages]] == LINE


@pytest.mark.parametrize(
    ("passages", "options", "message"),
    [
        (LINE[1], {"prompt": FACTUAL_CONSISTENCY}, r"'FactualConsistency' does not grade citations.*'claim'"),
        (LINE[1], {"systems": ["bm25"]}, "no answers of the system 'bm25'"),
        (LINE[1][:1], {}, r"no answers; import answers with exam-pp import --answers"),
    ],
)
def test_bad_input(
    passages: Any, options: Any, message: str,
    write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path,
) -> None:  # fmt: skip
    files = GradeFiles(write_jsonl("answers.jsonl", [["q", passages]]), tmp_path / "out.jsonl")
    with pytest.raises(SelectionError, match=message):
        grade_answers("support", files, ModelOptions("fake"), AnswerOptions(**options))
    assert not files.output.exists()
