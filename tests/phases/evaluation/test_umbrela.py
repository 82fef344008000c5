"""UMBRELA end to end: labels, qrels, measures at threshold 2, agreement with judgments, hole filling."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.banks import TestBank
from exam_pp.cli.main import main
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.llm.fake import FakeLLM
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.analysis.agreement import agreement, labelled_passages
from exam_pp.phases.evaluation.judgments import fill_holes, write_filled
from exam_pp.phases.evaluation.rubric_qrels import rubric_qrels
from exam_pp.phases.evaluation.score_runs import score_rankings
from exam_pp.phases.grading.grade import Exam, GradeOptions, GradeSummary, count_work, grade
from exam_pp.phases.grading.scheduler import Answerer
from exam_pp.prompts.direct import GRADED_RELEVANCE
from exam_pp.rendering.document import Report, Table
from exam_pp.reports.analysis.agreement import agreement_report
from exam_pp.results import Qrel
from exam_pp.store.passages.graded_file import passages_writer, read_passages
from exam_pp.store.passages.journal import Journal
from exam_pp.store.trec.runs import read_qrels
from tests.conftest import passage

WriteJsonl = Callable[[str, list[Any]], Path]
# The replies of a chat model for p1, p2 ...: labels 2, 0, 3, unparsed, 1.
REPLIES = {
    "p1": "##final score: 2",
    "p2": "the passage relates to 2 topics. final score: 0",
    "p3": "3",
    "p4": "I cannot judge this passage from 2013.",
    "p5": "On the scale of 0 to 3 this passage is weak. ##final score: 1",
}
LABELS = {"p1": 2, "p2": 0, "p3": 3, "p5": 1}


def judged(passage_id: str, rank: int, relevance: int | None) -> dict[str, Any]:
    judgments = (
        []
        if relevance is None
        else [{"paragraphId": passage_id, "query": "q", "relevance": relevance, "titleQuery": "q"}]
    )
    ranking = {"method": "bm25", "paragraphId": passage_id, "queryId": "q", "rank": rank, "score": 9.0 - rank}
    return passage(passage_id, paragraph_data={"judgments": judgments, "rankings": [ranking]})


@pytest.fixture
def passages(write_jsonl: WriteJsonl) -> Path:
    """Ranked p2, p1, p4, p3, p5; the first three are judged."""
    result = [judged("p2", 1, 0), judged("p1", 2, 1), judged("p4", 3, 2), judged("p3", 4, None)]
    return write_jsonl("passages.jsonl", [["q", [*result, judged("p5", 5, None)]]])


def judge(passages: Path, output: Path, **options: Any) -> GradeSummary:
    llm = FakeLLM(lambda request: REPLIES[str(request.slot("context")).split()[-1].rstrip(".")])
    summary = GradeSummary()
    graded = grade(
        read_passages(passages),
        TestBank({}),
        Answerer(llm, Journal(None)),
        model="judge",
        provenance={},
        options=GradeOptions(prompts=[GRADED_RELEVANCE], **options),
        summary=summary,
        query_texts={"q": "a query"},
    )
    with passages_writer(output) as writer:
        for query in graded:
            writer.write(query)
    return summary


@pytest.fixture
def labelled(passages: Path, tmp_path: Path) -> Path:
    judge(passages, tmp_path / "labelled.jsonl")
    return tmp_path / "labelled.jsonl"


def test_labels_become_qrels(labelled: Path) -> None:
    """An unparsed reply gives no line instead of a 0."""
    labels = rubric_qrels(labelled, grade_filter=GradeFilter(prompt_class="GradedRelevance"))
    assert {qrel.passage_id: qrel.relevance for qrel in labels.qrels} == LABELS
    assert labels.notes == ["1 passage of these queries has no grade and therefore no label."]


def test_derived_measures_by_hand(labelled: Path) -> None:
    """Threshold 2; P@K divides by K, AP by all relevant ones of the query, within the cutoff or not."""
    labels = rubric_qrels(labelled, grade_filter=GradeFilter(prompt_class="GradedRelevance"))
    names = ["P@1", "P@3", "P@5", "P@10", "AP@3", "AP@10", "RR"]
    evaluation = score_rankings(labels.qrels, labelled, names, min_grade=2)
    result = {row.metric: row.mean for row in standings(evaluation.scores)}

    relevant_ranks = [2, 4]  # p1 and p3
    assert result == {
        "P(rel=2)@1": 0,
        "P(rel=2)@3": pytest.approx(1 / 3),
        "P(rel=2)@5": pytest.approx(2 / 5),
        "P(rel=2)@10": pytest.approx(2 / 10),
        "AP(rel=2)@3": pytest.approx((1 / 2) / 2),
        "AP(rel=2)@10": pytest.approx((1 / 2 + 2 / 4) / 2),
        "RR(rel=2)": pytest.approx(1 / relevant_ranks[0]),
    }


def test_only_unjudged_passages_are_asked(passages: Path, tmp_path: Path) -> None:
    summary = judge(passages, tmp_path / "holes.jsonl", only_unjudged=True)
    graded = [
        p for query in read_passages(tmp_path / "holes.jsonl") for p in query.passages if p.direct_grades
    ]

    assert [p.passage_id for p in graded] == ["p3", "p5"]
    assert (summary.pairs, summary.judged, summary.reused) == (2, 3, 0)
    options = GradeOptions(prompts=[GRADED_RELEVANCE], only_unjudged=True)
    exam = Exam(TestBank({}), {"q": "a query"})
    counts = count_work(read_passages(passages), exam, "judge", options)
    assert (counts.pairs, counts.reused) == (2, 0)


def test_holes_are_filled_and_judgments_are_kept(labelled: Path, tmp_path: Path) -> None:
    existing = tmp_path / "human.qrels"
    existing.write_text("q Q0 p2  1\nother 0 x 3\nq 0 p1 0\n")
    labels = rubric_qrels(labelled, grade_filter=GradeFilter(prompt_class="GradedRelevance"))
    filled, notes = fill_holes(existing, [*labels.qrels, Qrel("new", "y", 1)])
    write_filled(existing, filled, tmp_path / "filled.qrels", inputs=[existing])

    assert (tmp_path / "filled.qrels").read_text() == (
        "q Q0 p2  1\nother 0 x 3\nq 0 p1 0\nq 1 p3 3\nq 1 p5 1\n"
    )
    assert sorted(read_qrels(tmp_path / "filled.qrels")) == sorted(filled)
    assert "3 judgments" in notes[0]
    assert "filled 2 holes" in notes[0]
    assert "2 judged passages are also graded" in notes[1]
    assert "labels of 1 query without judgments in" in notes[2]
    with pytest.raises(SelectionError, match=r"queries .*human\.qrels"):
        fill_holes(existing, [Qrel("new", "y", 1)])


def tables_of(report: Report) -> dict[str, Table]:
    return {block.title.split(",")[0]: block for block in report.blocks if isinstance(block, Table)}


def test_kappa_of_two_qrels_files(tmp_path: Path) -> None:
    """κ of the published counts, methods of the workbench paper's Table 5: .2488."""
    counts = {(3, 2): 998, (3, 0): 2377, (0, 2): 668, (0, 0): 7343}
    model: list[str] = []
    human: list[str] = []
    for (label, judgment), count in counts.items():
        for _ in range(count):
            model.append(f"q{len(model) % 7} 0 d{len(model)} {label}\n")
            human.append(f"q{len(human) % 7} 0 d{len(human)} {judgment}\n")
    (tmp_path / "model.qrels").write_text("".join(model))
    (tmp_path / "human.qrels").write_text("".join(human))
    passages = labelled_passages(tmp_path / "model.qrels", tmp_path / "human.qrels")
    report = agreement_report(agreement(passages, min_relevant=2, same_scale=True))
    binary = tables_of(report)["BINARY"]

    assert [row[1:4] for row in binary.rows] == [[998, 2377, 3375], [668, 7343, 8011]]
    assert binary.rows[0][4] == pytest.approx(0.2488, abs=5e-5)


def test_agreement_of_qrels_by_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model, human = tmp_path / "model.qrels", tmp_path / "human.qrels"
    model.write_text("q 1 a 3\nq 1 b 1\nq 1 c 2\nq 1 only 2\n")
    human.write_text("q 0 a 3\nq 0 b 0\nq 0 c 2\nq 0 unlabelled 1\nanother 0 a 1\n")
    main(
        ["analyze", "agreement", str(model), "--qrels", str(human), "--min-judgment", "2",
         "--format", "json"]
    )  # fmt: skip
    printed = json.loads(capfd.readouterr().out)
    graded, binary, summary = printed["tables"]

    assert [list(row.values())[1:5] for row in graded["rows"]] == [
        [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0],
    ]  # fmt: skip
    assert [row["κ"] for row in binary["rows"]] == [1, 1]
    assert printed["notes"][1] == "Skipped: 1 passage with a judgment and without a grade."
    assert summary["rows"][0]["Cohen's κ"] == pytest.approx((2 / 3 - 2 / 9) / (1 - 2 / 9))
    for command in (
        ["analyze", "agreement", str(model)],
        ["analyze", "agreement", str(model), "--label-rule", "1st>=2:1, else 0", "--min-answers", "2"],
    ):
        with pytest.raises(SystemExit) as stop:
            main(command)
        assert stop.value.code == 2
    human.write_text("q 0 z 3\n")
    with pytest.raises(SelectionError, match=r"model\.qrels and .*human\.qrels .*passage"):
        labelled_passages(model, human)
