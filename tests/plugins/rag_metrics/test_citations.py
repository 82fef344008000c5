"""Citation scores of graded files: missing passages, bounds, several graders, repeats, missing queries."""

from __future__ import annotations

from typing import Any

import pytest

from exam_pp.data_model import QueryPassages, parse_object
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import AnswerFilter
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.plugins.rag_metrics.citations import citation_scores, citations

Json = dict[str, Any]
FULL, PARTIAL, NO = "full_support", "partial_support", "no_support"


def grades(model: str = "m", prompt_hash: str = "1", **supports: str | None) -> Json:
    info = {"prompt_class": "CitationSupport", "prompt_hash": prompt_hash}
    items = [
        {"citation": key, "support": label}
        | ({} if label else {"llm_response_error": {"failure_reason": "no label"}})
        for key, label in supports.items()
    ]
    return {"llm": model, "prompt_info": info, "supports": items}


def part(key: str, cited: list[str], *sets: Json, text: str = "text", **entry: Any) -> Json:
    system = key.partition("/")[0]
    rank = int(key.partition("#")[2] or 1)
    ranking = {
        "method": system,
        "paragraphId": key,
        "queryId": "q",
        "rank": rank,
        "score": 1.0,
        "citations": cited,
    }
    return {
        "paragraph_id": key,
        "text": text,
        "paragraph_data": {"judgments": [], "rankings": [ranking | {"role": "answer"} | entry]},
        "support_grades": list(sets),
    }


def source(key: str, text: str = "text") -> Json:
    return {"paragraph_id": key, "text": text}


def query(*passages: Json, query_id: str = "q") -> QueryPassages:
    return parse_object([query_id, list(passages)])


EXAMPLE = (
    source("A"),
    source("B"),
    part("rag/q#1", ["A", "B", "A"], grades(A=FULL, B=PARTIAL)),
    part("rag/q#2", ["A"], grades(A=NO)),
    part("rag/q#3", []),
)


def values(evaluation: Evaluation, system: str = "rag", query_id: str = "q") -> list[float]:
    return [
        score.value for score in evaluation.scores if (score.system, score.query_id) == (system, query_id)
    ]


def test_the_example_of_open_rag_eval_from_a_file() -> None:
    evaluation = citations([query(*EXAMPLE)])
    assert values(evaluation) == pytest.approx([0.5, 0.25, 1 / 3])
    assert not evaluation.best_case
    assert evaluation.notes == ["1 of 3 parts of answers cite no passage."]
    assert evaluation.provenance is not None
    assert evaluation.provenance.models == ("m",)
    assert values(citations([query(*EXAMPLE)], rule="first")) == pytest.approx([0.5, 1 / 3, 0.4])


def test_sentences_that_all_their_citations_support() -> None:
    """ARGUE's sentence support: 4 of 11 sentences are 4 / 11, and so on; here by hand."""
    answer = [
        source("A"),
        source("B"),
        part("rag/q#1", ["A", "B"], grades(A=FULL, B=FULL)),
        part("rag/q#2", ["A", "B"], grades(A=FULL, B=PARTIAL)),
        part("rag/q#3", ["A", "gone"], grades(A=FULL)),
        part("rag/q#4", ["B"], grades(B=None)),
        part("rag/q#5", []),
    ]
    evaluation = citations([query(*answer)], rule="together")
    assert [(score.metric, score.value) for score in evaluation.scores] == [("sentence_support", 1 / 5)]
    assert [score.value for score in evaluation.best_case] == [2 / 5]


def test_missing_passages_are_no_support_and_are_listed() -> None:
    """Open RAG Eval skips such citations, and drops a part that has no others."""
    answer = [
        source("A"),
        source("empty", " "),
        part("rag/q#1", ["A", "gone"], grades(A=FULL)),
        part("rag/q#2", ["empty"]),
    ]
    evaluation = citations([query(*answer)])
    assert values(evaluation)[:2] == pytest.approx([1 / 3, 0.25])
    assert not evaluation.best_case, "these are no ungraded citations"
    assert (
        "Not in the file, or without text, and so no support: 2 cited passages (gone, empty)."
        in evaluation.notes
    )


def test_ungraded_citations_have_bounds() -> None:
    answer = [
        source("A"),
        source("B"),
        part("rag/q#1", ["A", "B"], grades(A=None)),
        part("rag/q#2", ["A"], grades(A=FULL)),
    ]
    evaluation = citations([query(*answer)])
    assert values(evaluation) == pytest.approx(citation_scores([{"A": 0, "B": 0}, {"A": 1}]))
    assert [s.value for s in evaluation.best_case] == pytest.approx([1.0, 1.0, 1.0])
    assert evaluation.notes == ["2 citations are ungraded and count as no support."]
    single = citations([query(source("A"), part("rag/q#1", ["A"], grades(A=None)))])
    assert single.notes == ["1 citation is ungraded and counts as no support."]


def test_of_several_grades_the_last_label_counts() -> None:
    sets = [grades(A=NO), grades(A=FULL), grades(A=None)]
    assert values(citations([query(source("A"), part("rag/q#1", ["A"], *sets))])) == [1.0, 1.0, 1.0]


def test_several_graders_need_a_choice() -> None:
    sets = [grades(A=NO), grades("human:ann", A=FULL), grades("m", "2", A=PARTIAL)]
    answer = [query(source("A"), part("rag/q#1", ["A"], *sets))]
    with pytest.raises(
        SelectionError, match=r"choose one: --grader 'human:ann' .*--grades hash=1; .*--grades hash=2"
    ):
        citations(answer)
    assert values(citations(answer, selection=AnswerFilter("human:ann")))[0] == 1.0
    assert values(citations(answer, selection=AnswerFilter("m", prompt_hash="2")))[0] == 0.5
    with pytest.raises(SelectionError, match="no selected grades of citations"):
        citations(answer, selection=AnswerFilter("other"))


def test_empty_answers_and_missing_queries_score_0() -> None:
    first = query(*EXAMPLE, part("mute/q", [], text=""))
    second = query(source("A"), part("mute/r#1", ["A"], grades(A=FULL)), query_id="r")
    evaluation = citations([first, second])
    assert values(evaluation, "mute") == [0.0, 0.0, 0.0]
    assert values(evaluation, "mute", "r") == [1.0, 1.0, 1.0]
    assert values(evaluation, "rag", "r") == [0.0, 0.0, 0.0]
    assert "No answer of rag to 1 query (r): scored 0." in evaluation.notes
    skipped = citations([first, second], missing_queries="skip")
    assert values(skipped, "rag", "r") == []
    assert values(skipped, "mute") == [0.0, 0.0, 0.0]


def test_repeats_are_separate_systems_that_are_selected_together() -> None:
    answer = [
        source("A"),
        part("rag-run-1/q#1", ["A"], grades(A=FULL), method="rag", repeat=1),
        part("rag-run-2/q#1", ["A"], grades(A=NO), method="rag", repeat=2),
        part("other/q#1", ["A"], grades(A=NO)),
    ]
    evaluation = citations([query(*answer)], selection=AnswerFilter(systems=["rag"]))
    assert {score.system for score in evaluation.scores} == {"rag-run-1", "rag-run-2"}
    assert values(evaluation, "rag-run-1") == [1.0, 1.0, 1.0]


def test_selected_queries() -> None:
    second = query(source("A"), part("rag/r#1", ["A"], grades(A=FULL)), query_id="r")
    assert {s.query_id for s in citations([query(*EXAMPLE), second], queries=["r"]).scores} == {"r"}


def test_scores_do_not_change_when_texts_are_removed() -> None:
    """`exam-pp filter --remove texts` keeps the grades; an ungraded citation stays ungraded."""
    answer = [*EXAMPLE, part("rag/q#4", ["B"], grades(B=None))]
    without = [{**passage, "text": ""} for passage in answer]
    before, after = citations([query(*answer)]), citations([query(*without)])
    assert (after.scores, after.best_case, after.notes) == (before.scores, before.best_case, before.notes)
