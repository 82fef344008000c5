"""Bounds of Rubric-Qrels leaderboards over the possible labels of ungraded passages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.metrics.qrels import Label
from exam_pp.phases.evaluation.leaderboards import Statistics, leaderboard, uncertainty
from exam_pp.phases.evaluation.rubric_qrels import rubric_qrels
from exam_pp.phases.evaluation.score_runs import score_rankings, score_runs
from exam_pp.rendering.document import Table
from exam_pp.reports.evaluation.leaderboards import leaderboard_report
from tests.conftest import passage, rubric


@pytest.fixture
def graded(write_jsonl: Callable[[str, list[Any]], Path]) -> Path:
    """Two entries; the second passage has a grade for one of them, the third has no grades."""

    def ranked(passage_id: str, ratings: dict[str, int] | None, rank: int) -> dict[str, Any]:
        entry = {"method": "in file", "paragraphId": passage_id, "queryId": "q", "rank": rank, "score": 1.0}
        grades = None if ratings is None else [rubric(ratings)]
        data = {"judgments": [], "rankings": [entry]}
        return passage(passage_id, paragraph_data=data, exam_grades=grades)

    return write_jsonl(
        "graded.jsonl",
        [["q", [ranked("p1", {"q/a": 5, "q/b": 0}, 1), ranked("p2", {"q/a": 1}, 3), ranked("p3", None, 4)]]],
    )


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "graded.run").write_text("q Q0 p1 1 2 t\n")
    (folder / "partly.run").write_text("q Q0 p2 1 2 t\nq Q0 p1 2 1 t\n")
    (folder / "unseen.run").write_text("q Q0 elsewhere 1 2 t\n")
    return folder


def bounds(graded: Path, runs: Path, label: Any, measure: str) -> dict[str, tuple[float, float]]:
    labels = rubric_qrels(graded, label=label)
    level = 4 if label == "max" else None
    evaluation = score_runs(labels.qrels, runs, [measure], min_grade=level, ungraded=labels.ungraded)
    low = {score.system: score.value for score in evaluation.worst_case}
    return {s.system: (low[s.system], s.value) for s in evaluation.best_case}


def test_an_ungraded_passage_could_be_relevant_or_not(graded: Path, runs: Path) -> None:
    assert bounds(graded, runs, "max", "P@1") == {"graded": (1, 1), "partly": (0, 1), "unseen": (0, 1)}
    assert bounds(graded, runs, "binary", "RR") == {"graded": (1, 1), "partly": (0.5, 1), "unseen": (0, 1)}


def test_the_best_label_is_the_top_of_the_scale_or_a_higher_grade(
    write_jsonl: Callable[[str, list[Any]], Path],
) -> None:
    """No passage has the top grade 5; a grade of 7, such as another tool gives, is kept."""

    def best(ratings: dict[str, int], **keys: Any) -> dict[tuple[str, str], float]:
        lines = [["q", [passage("p1", exam_grades=[rubric(ratings, **keys)]), passage("p2")]]]
        entries = {"a": "a", "b": "b"}
        items = [{"query_id": "q", "question_id": e, "question_text": e} for e in entries]
        bank = [{"query_id": "q", "query_text": "q", "test_collection": "t", "items": items}]
        labels = rubric_qrels(write_jsonl("g.jsonl", lines), bank=write_jsonl("b.jsonl", bank))
        assert labels.ungraded is not None
        return dict(labels.ungraded().labels)

    assert best({"a": 3}) == {("q", "p1"): 5, ("q", "p2"): 5}
    assert best({"a": 3, "b": 3}) == {("q", "p1"): 3, ("q", "p2"): 5}
    assert best({"a": 7}) == {("q", "p1"): 7, ("q", "p2"): 5}
    assert best({"a": 0}, prompt_info={"prompt_class": "Own"}) == {("q", "p1"): 0, ("q", "p2"): 0}


@pytest.mark.parametrize(("label", "best"), [("max", 5), ("count", 2), ("binary", 1)])
def test_the_best_label_of_a_passage_without_grades(graded: Path, label: Label, best: int) -> None:
    ungraded = rubric_qrels(graded, label=label).ungraded
    assert ungraded is not None
    assert (ungraded().unlabelled["q"], ungraded().labels["q", "p3"]) == (best, best)


def test_a_facet_is_bounded_by_its_own_entries(write_jsonl: Callable[[str, list[Any]], Path]) -> None:
    """p1 has all grades of facet one, none of facet two."""
    passages = [
        passage("p1", exam_grades=[rubric({"q/one/a": 3})]),
        passage("p2", exam_grades=[rubric({"q/two/b": 0})]),
    ]
    labels = rubric_qrels(write_jsonl("g.jsonl", [["q", passages]]), facets="facet")
    assert labels.ungraded is not None

    assert labels.ungraded().labels == {
        ("q/one", "p1"): 3, ("q/one", "p2"): 5, ("q/two", "p1"): 5, ("q/two", "p2"): 0
    }  # fmt: skip


def test_fully_graded_files_have_no_bounds(graded: Path, tmp_path: Path) -> None:
    (tmp_path / "s.run").write_text("q Q0 p1 1 2 t\n")
    labels = rubric_qrels(graded)
    evaluation = score_runs(labels.qrels, tmp_path / "s.run", ["nDCG@10"], ungraded=labels.ungraded)

    assert (evaluation.worst_case, evaluation.best_case) == ([], [])


def test_an_order_that_could_change_is_flagged(graded: Path, runs: Path) -> None:
    labels = rubric_qrels(graded)
    evaluation = score_runs(labels.qrels, runs, ["P@1"], min_grade=4, ungraded=labels.ungraded)
    (runs / "graded.run").write_text("q Q0 p1 1 2 t\n")
    result = uncertainty(evaluation, Statistics()).systems

    # With one query, "graded" at 1 can be reached, not passed.
    assert not result["graded", "P(rel=4)@1"].order_open
    three = score_runs(labels.qrels, runs, ["RR"], min_grade=4, ungraded=labels.ungraded)
    result = uncertainty(three, Statistics()).systems
    assert result["partly", "RR(rel=4)"].order_open
    assert result["unseen", "RR(rel=4)"].order_open
    table = leaderboard_report(leaderboard(three), "t", audience="scripts").blocks[0]
    assert isinstance(table, Table)
    assert table.columns[3:] == ["RR(rel=4) worst case", "RR(rel=4) best case", "RR(rel=4) order open"]
    assert [row[0] for row in table.rows if row[-1] == "yes"] == ["partly", "unseen"]


def test_two_cases_of_measures_that_divide_by_what_is_relevant(graded: Path, runs: Path) -> None:
    labels = rubric_qrels(graded)
    board = leaderboard(score_runs(labels.qrels, runs, ["nDCG@10", "P@1"], ungraded=labels.ungraded))
    table = leaderboard_report(board, "t", audience="papers").blocks[0]
    assert isinstance(table, Table)
    assert table.columns == ["system", "nDCG@10", "two cases", "P@1", "bounds"]
    bounds, cases, *_ = board.uncertainty.remarks
    assert bounds == "Bounds: lowest and highest score over all grades that ungraded pairs could have."
    assert cases.startswith("nDCG@10: two cases, which are no bounds.")


def test_missing_ranks_are_not_ungraded_passages(graded: Path) -> None:
    labels = rubric_qrels(graded)
    evaluation = score_rankings(labels.qrels, graded, ["P@2", "P@4"], min_grade=4, ungraded=labels.ungraded)

    # Rank 2 is missing, so P@2 is certain; p2 (partly graded) and p3 (ungraded) have ranks 3 and 4.
    assert [(s.metric, s.value) for s in evaluation.best_case] == [("P(rel=4)@4", 0.75)]
    assert [(s.metric, s.value) for s in evaluation.worst_case] == [("P(rel=4)@4", 0.25)]


def test_labels_by_a_rule_and_their_bounds(graded: Path, runs: Path) -> None:
    """p2 has one of two ratings, p3 none: a rule for the second best rating leaves both open."""
    rule = "2nd>=5:3, 1st>=5:2, else 0"
    labels = rubric_qrels(graded, label_rule=rule)
    assert [(qrel.passage_id, qrel.relevance) for qrel in labels.qrels] == [("p1", 2), ("p2", 0)]
    assert labels.level is None
    assert labels.provenance.min_grades == ()
    assert labels.ungraded is not None
    assert labels.ungraded().labels == {("q", "p1"): 2, ("q", "p2"): 2, ("q", "p3"): 3}
    assert labels.ungraded().unlabelled == {"q": 3}
    evaluation = score_runs(labels.qrels, runs, ["RR"], ungraded=labels.ungraded)
    assert {score.system: score.value for score in evaluation.scores} == {
        "graded": 1, "partly": 0.5, "unseen": 0,
    }  # fmt: skip
