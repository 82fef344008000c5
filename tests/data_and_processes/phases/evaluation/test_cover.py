"""Evaluation of files: query sets, notes, real data."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.analysis.correlation import correlation
from exam_pp.phases.evaluation.cover import cover
from exam_pp.phases.evaluation.judgments import judgments
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.evaluation.rubric_qrels import rubric_qrels
from exam_pp.phases.evaluation.score_runs import score_rankings, score_runs
from exam_pp.results import OVERALL_SYSTEM
from tests.phases.evaluation.test_cover import means


@pytest.mark.parametrize(
    ("column", "spearman", "kendall"), [("question-5", 0.972, 0.872), ("question-4", 0.953, 0.818)]
)
def test_published_leaderboard_of_dl20(
    shared_data: Path, column: str, spearman: float, kendall: float
) -> None:
    """The published correlations of this leaderboard with the official ranks of TREC DL 2020."""
    folder = shared_data / "dl20"
    actual = correlation(folder / "dl20-qrels.csv", folder / "official_DL20_Leaderboard.json")
    (row,) = [row.correlation for row in actual.measures if row.measure == column]

    assert row.systems == 59
    assert (row.spearman, row.kendall) == pytest.approx((spearman, kendall), abs=0.0005)


def test_gpt4_grades_of_dl19_order_systems_as_judgments_do(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "dl19-gpt4"
    graded = folder / "dl19-graded.jsonl.gz"
    by_judgments = score_runs(judgments(graded), folder / "runs", ["nDCG@10"])
    by_grades = score_runs(rubric_qrels(graded).qrels, folder / "runs", ["nDCG@10"])
    covered = cover(graded, bank=folder / "dl19-gpt4-questions.jsonl.gz", min_grade=3)

    def order(evaluation: Evaluation) -> list[str]:
        rows = standings(evaluation.scores)
        first = [row for row in rows if row.metric == rows[0].metric and row.system != OVERALL_SYSTEM]
        return [row.system for row in sorted(first, key=lambda row: -row.mean)]

    assert order(by_grades) == order(by_judgments)
    assert set(order(covered)[4:]) == {"BM25", "BM25_RM3"}
    assert {row.queries for row in standings(covered.scores)} == {43}
    # BM25 on the judgments of TREC DL 2019 is known to reach nDCG@10 of 0.506 (Anserini, Pyserini).
    assert round(means(by_judgments)["BM25", "nDCG@10"], 3) == 0.506


def test_rankings_equal_the_run_files(shared_data: Path) -> None:
    """TREC DL 2019: the file's rankings are those of the runs, with unjudged passages left out.

    REP_LLAMA has tied scores, which trec_eval orders by passage id, whatever the ranks say.
    """
    folder = shared_data / "dl19-gpt4"
    labels = rubric_qrels(folder / "dl19-graded.jsonl.gz").qrels
    inside = means(score_rankings(labels, folder / "dl19-graded.jsonl.gz", ["nDCG@10", "RR@10"]))
    outside = means(score_runs(labels, folder / "runs", ["nDCG@10", "RR@10"]))

    assert inside == {
        key: pytest.approx(value, abs=0.003 if key[0] == "REP_LLAMA" else 1e-9)
        for key, value in outside.items()
    }
