"""Scores of answers against their sources: what is scored, stored, reused and reported."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from exam_pp.data_model import QueryPassages, parse_object
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import AnswerFilter
from exam_pp.llm import ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.grading.grading_run import GradeFiles
from exam_pp.plugins.rag_metrics.answers import factual_consistency
from exam_pp.plugins.rag_metrics.grading import (
    NO_CITATION,
    NO_SOURCE,
    NO_TEXT,
    AnswerOptions,
    AnswerSummary,
    grade_answers,
    make_grader,
    with_grades,
)
from exam_pp.prompts import PROMPTS
from tests.llm.asking import answers

Json = dict[str, Any]


class Scorer(FakeLLM):
    """A pair scorer that replies with the share of the claim's words that the source contains."""

    positive_class = "supported"

    def __init__(self, failing: str = "") -> None:
        super().__init__(self._score, "scorer")
        self.failing = failing
        self.asked: list[tuple[str, str]] = []

    def provenance(self) -> dict[str, Any]:
        return {"engine": "fake", "positive_class": self.positive_class}

    def _score(self, request: Request) -> Completion:
        source, claim = request.slot("source") or "", request.slot("claim") or ""
        self.asked.append((source, claim))
        if self.failing and self.failing in source:
            return Completion(error="out of memory")
        words = claim.split()
        share = sum(word in source.split() for word in words) / len(words)
        return Completion(f"{share:.4f}", tokens_cut=len(source) // 30, claim_tokens_cut=len(claim) // 30)


def passage(key: str, text: str, *entries: tuple[str, int, list[str]]) -> Json:
    rankings = [
        {"method": system, "paragraphId": key, "queryId": "q", "rank": rank, "score": 1.0}
        | ({"citations": citations} if citations else {})
        for system, rank, citations in entries
    ]
    data = {"judgments": [], "rankings": rankings}
    return {"paragraph_id": key, "text": text, "paragraph_data": data}


LINE = [
    "q",
    [
        passage("d1", "bees dance", ("rag", 2, [])),
        passage("d2", "bees fly", ("rag", 1, []), ("bm25", 1, [])),
        passage("d3", "wasps sting"),
        passage("d4", ""),
        passage("rag/q#2", "bees sting", ("rag", 2, ["d3", "d1", "d3", "gone"])),
        passage("rag/q#1", "bees dance", ("rag", 1, ["d1"])),
        passage("rag/q#3", "and more", ("rag", 3, [])),
        passage("rag/q#4", "bees", ("rag", 4, ["d4"])),
        passage("mute/q", " ", ("mute", 1, [])),
    ],
]


def line() -> QueryPassages:
    return parse_object(json.loads(json.dumps(LINE)))


def run(
    scorer: FakeLLM, query: QueryPassages | None = None, claim: str = "", **options: Any
) -> tuple[list[Json], AnswerSummary]:
    """The grades in the order of passages, and the summary."""
    summary = AnswerSummary()
    grader = make_grader("claim", scorer, ModelOptions(scorer.name), AnswerOptions(**options))
    (scored,) = with_grades([query or line()], partial(answers, scorer), grader, summary)
    grades = [
        {"at": item["paragraph_id"], **grade}
        for item in json.loads(scored.dump())[1]
        for grade in item.get("consistency_grades", ())
        if claim in grade["claim"]
    ]
    return grades, summary


def test_a_part_has_the_highest_score_over_the_passages_that_it_cites() -> None:
    grades, summary = run(Scorer(), claim="part")
    scores = {grade["at"]: grade["score"] for grade in grades}
    assert scores == {
        "rag/q#1": 1.0, "rag/q#2": 0.5, "rag/q#3": None, "rag/q#4": None, "mute/q": None,
    }  # fmt: skip
    second = next(grade for grade in grades if grade["at"] == "rag/q#2")
    assert second["sources"] == [{"passage_id": "d3", "score": 0.5}, {"passage_id": "d1", "score": 0.5}]
    assert second["missing"] == ["gone"]
    assert (second["method"], second["claim"], second["llm"]) == ("rag", "part", "scorer")
    assert second["llm_options"]["positive_class"] == "supported"
    assert summary.graded == {"answer": 1, "part": 2}
    assert summary.reasons == {NO_CITATION: 1, NO_SOURCE: 1, NO_TEXT: 2}
    assert list(summary.missing) == ["gone", "d4"]


def test_the_sources_of_a_whole_answer_are_joined() -> None:
    scorer = Scorer()
    grades, _ = run(scorer, claim="answer")
    assert scorer.asked[0] == ("bees fly bees dance wasps sting", "bees dance bees sting and more bees")
    whole, mute = grades
    assert whole["at"] == "rag/q#1"
    assert whole["score"] == round(5 / 7, 4)
    assert whole["sources"] == [{"passage_id": key} for key in ("d2", "d1", "d3")]
    assert mute["llm_response_error"]["failure_reason"] == NO_TEXT
    assert "score" in mute
    assert mute["score"] is None


def test_a_failed_source_leaves_its_part_without_a_score() -> None:
    grades, summary = run(Scorer(failing="wasps"), claim="part")
    second = next(grade for grade in grades if grade["at"] == "rag/q#2")
    assert second["score"] is None
    assert second["sources"] == [{"passage_id": "d3", "score": None}, {"passage_id": "d1", "score": 0.5}]
    assert second["llm_response_error"]["failure_reason"] == "out of memory"
    assert summary.reasons["out of memory"] == 2, "also the whole answer"


def test_cut_tokens_are_counted() -> None:
    query = parse_object(["q", [passage("d", "x " * 40), passage("s/q", "y " * 20, ("s", 1, ["d"]))]])
    grades, summary = run(Scorer(), query)
    assert [grade["tokens_cut"] for grade in grades] == [{"source": 2, "claim": 1}] * 2
    assert summary.shortened == 4
    notes = factual_consistency([query]).notes
    assert "2 claims have sources that were too long for the model and shortened." in notes
    assert "2 claims were longer than the model's context and shortened." in notes


def test_known_scores_are_kept_unless_their_sources_changed() -> None:
    grader, first = Scorer(), line()
    _, summary = run(grader, first)
    assert (summary.graded.total(), summary.reused) == (3, 0)
    _, again = run(grader, first)
    assert (again.graded.total(), again.reused) == (0, 3)
    assert run(grader, first, regrade=True)[1].graded.total() == 3
    _, wider = run(grader, first, sources="all")
    assert wider.reused == 1, "the whole answer"


@pytest.mark.parametrize(
    ("reply", "score", "reason"),
    [
        (Completion("Yes."), 1.0, None),
        (Completion("No, it does not."), 0.0, None),
        (Completion("Perhaps"), None, "the reply is neither yes nor no"),
        (Completion("Yes", label_logprobs=(-1.3862944, -0.2876821)), 0.75, None),
        (Completion(error="timeout"), None, "timeout"),
    ],
)
def test_a_judge_answers_a_prompt(reply: Completion, score: float | None, reason: str | None) -> None:
    asked: list[Request] = []

    def script(request: Request) -> Completion:
        asked.append(request)
        return reply

    query = parse_object(["q", [passage("d", "bees"), passage("s/q", "bees fly", ("s", 1, ["d"]))]])
    (grade,), _ = run(FakeLLM(script, "judge"), query, claim="part")
    assert "Source: bees\nClaim: bees fly" in asked[0].text
    assert [part.text for part in asked[0].parts if part.may_be_cut] == ["bees"]
    assert grade["score"] == score
    assert grade.get("llm_response_error", {}).get("failure_reason") == reason
    assert grade["prompt_info"]["prompt_class"] == "FactualConsistency"


def test_a_file_from_answers_to_a_leaderboard(
    write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path
) -> None:
    source = write_jsonl("answers.jsonl", [LINE])
    output = tmp_path / "scored.jsonl.gz"
    model = ModelOptions("fake")
    assert grade_answers("claim", GradeFiles(source, output), model, AnswerOptions()).answers == 2
    assert not list(tmp_path.glob("*.journal"))
    _, passages = json.loads(gzip.decompress(output.read_bytes()))
    assert [{k: v for k, v in p.items() if k != "consistency_grades"} for p in passages] == LINE[1]

    evaluation = factual_consistency(output)
    assert {(score.system, score.metric) for score in evaluation.scores} == {
        ("rag", "FactualConsistency"), ("rag", "FactualConsistency_parts"),
    }  # fmt: skip
    notes = " ".join(evaluation.notes)
    assert "Higher means more consistent" in notes
    assert f"1 × {NO_CITATION}" in notes
    assert "1 cited passage (gone)" in notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prompt": PROMPTS.get("GradedRelevance")}, "does not grade claims"),
        ({"systems": ["bm25"]}, "no answers of the system 'bm25'"),
    ],
)
def test_bad_input(
    options: Any, message: str, write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path
) -> None:
    files = GradeFiles(write_jsonl("answers.jsonl", [LINE]), tmp_path / "out.jsonl")
    with pytest.raises(SelectionError, match=message):
        grade_answers("claim", files, ModelOptions("fake"), AnswerOptions(**options))
    assert not files.output.exists()


def test_scores_by_two_models_need_a_choice() -> None:
    query = line()
    run(Scorer(), query)
    other = Scorer()
    other.name = "other"
    run(other, query)
    with pytest.raises(SelectionError, match="--grader 'other'; --grader 'scorer'"):
        factual_consistency([query])
    scores = factual_consistency([query], selection=AnswerFilter("other")).scores
    assert [(s.metric, s.value) for s in scores] == [
        ("FactualConsistency", round(5 / 7, 4)), ("FactualConsistency_parts", 0.75),
    ]  # fmt: skip
