"""Scores by criteria: means, ungraded ratings, several graders, scales, missing queries."""

from __future__ import annotations

from typing import Any

import pytest

from exam_pp.data_model import QueryPassages, parse_object
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import AnswerFilter
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.plugins.rag_metrics.answers import criteria

Json = dict[str, Any]
LEVELS = {"accuracy": 2, "depth": 2}


def rated(
    system: str,
    model: str = "m",
    prompt_hash: str = "1",
    levels: dict[str, int] | None = None,
    **ratings: Any,
) -> Json:
    info = {"prompt_class": "Own", "prompt_hash": prompt_hash, "criteria": levels or LEVELS}
    items = [
        {"criterion": name, "rating": rating}
        | ({"llm_response_error": {"failure_reason": "no"}} if rating is None else {})
        for name, rating in ratings.items()
    ]
    return {"method": system, "llm": model, "prompt_info": info, "ratings": items}


def part(key: str, *sets: Json, text: str = "text", **entry: Any) -> Json:
    system, _, query = key.partition("/")
    ranking = {"method": system, "paragraphId": key, "queryId": query[:1], "rank": 1, "score": 1.0}
    return {
        "paragraph_id": key,
        "text": text,
        "paragraph_data": {"judgments": [], "rankings": [ranking | {"role": "answer"} | entry]},
        "criteria_grades": list(sets),
    }


def query(*passages: Json, query_id: str = "q") -> QueryPassages:
    return parse_object([query_id, list(passages)])


def values(evaluation: Evaluation, system: str = "rag", query_id: str = "q") -> dict[str, float]:
    return {s.metric: s.value for s in evaluation.scores if (s.system, s.query_id) == (system, query_id)}


def test_the_mean_and_each_criterion() -> None:
    evaluation = criteria([query(part("rag/q#1", rated("rag", accuracy=2, depth=1)))])
    assert values(evaluation) == {"mean": 1.5, "accuracy": 2.0, "depth": 1.0}
    assert evaluation.notes == ["Ratings are from 0 to 2."]
    assert not evaluation.best_case
    assert evaluation.provenance is not None
    assert evaluation.provenance.models == ("m",)


def test_ungraded_ratings_count_0_and_have_bounds() -> None:
    evaluation = criteria(
        [
            query(part("rag/q#1", rated("rag", accuracy=2, depth=None)), part("other/q#1")),
            query(part("rag/r#1", rated("rag", accuracy=1, depth=2)), part("other/r#1"), query_id="r"),
        ]
    )
    assert values(evaluation) == {"mean": 1.0, "accuracy": 2.0, "depth": 0.0}
    assert values(evaluation, "other") == {"mean": 0.0, "accuracy": 0.0, "depth": 0.0}
    best = {(s.system, s.query_id, s.metric): s.value for s in evaluation.best_case}
    assert best["rag", "q", "depth"] == 2.0
    assert best["rag", "r", "accuracy"] == 1.0
    assert best["other", "q", "mean"] == 2.0
    assert evaluation.notes[1] == "5 ratings are missing and count 0: depth 3, accuracy 2."


def test_scales_of_different_lengths() -> None:
    levels = {"accuracy": 1, "depth": 3}
    evaluation = criteria([query(part("rag/q#1", rated("rag", levels=levels, accuracy=1, depth=1)))])
    assert values(evaluation) == pytest.approx({"mean": (1 + 1 / 3) / 2, "accuracy": 1.0, "depth": 1.0})
    assert evaluation.notes == [
        "Scales: accuracy 0 to 1, depth 0 to 3; the mean is that of ratings divided by their highest level."
    ]


def test_the_last_rating_counts_and_ratings_of_other_systems_do_not() -> None:
    sets = [
        rated("rag", accuracy=0, depth=0),
        rated("rag", accuracy=2, depth=None),
        rated("other", accuracy=1, depth=1),
    ]
    assert values(criteria([query(part("rag/q#1", *sets))])) == {"mean": 1.0, "accuracy": 2.0, "depth": 0.0}


def test_several_graders_need_a_choice() -> None:
    sets = [rated("rag", accuracy=0, depth=0), rated("rag", "human:ann", accuracy=2, depth=2)]
    answers = [query(part("rag/q#1", *sets))]
    with pytest.raises(
        SelectionError,
        match=r"The file has ratings of answers by criteria by several graders; choose one: "
        r"--grader 'human:ann' --prompt 'Own'; --grader 'm' --prompt 'Own'\.",
    ):
        criteria(answers)
    assert values(criteria(answers, selection=AnswerFilter("human:ann")))["mean"] == 2.0
    with pytest.raises(SelectionError, match="make them with `exam-pp grade --prompt criteria"):
        criteria(answers, selection=AnswerFilter("other"))


def test_missing_queries_score_0_or_are_skipped() -> None:
    answers = [
        query(
            part("rag/q#1", rated("rag", accuracy=2, depth=2)),
            part("mute/q", rated("mute", accuracy=0, depth=0)),
        ),
        query(part("mute/r#1", rated("mute", accuracy=1, depth=1)), query_id="r"),
    ]
    evaluation = criteria(answers)
    assert values(evaluation, "rag", "r") == {"mean": 0.0, "accuracy": 0.0, "depth": 0.0}
    assert "No answer of rag to 1 query (r): scored 0." in evaluation.notes
    assert values(criteria(answers, missing_queries="skip"), "rag", "r") == {}
    assert {s.query_id for s in criteria(answers, queries=["r"]).scores} == {"r"}
    assert {s.system for s in criteria(answers, selection=AnswerFilter(systems=["mute"])).scores} == {"mute"}
