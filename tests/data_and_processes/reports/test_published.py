"""Reports on published files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from exam_pp.formats.scores import read_means
from exam_pp.phases.analysis.correlation import (
    correlation,
    ranked,
)
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.reports.analysis.evaluation_page import write_evaluation
from exam_pp.reports.analysis.report_folder import Sources
from exam_pp.reports.evaluation.leaderboards import rank_column
from exam_pp.store.trec.scores import read_leaderboard_means
from tests.reports.analysis.test_report_folder import QUICK, checks, part, rows_of


def test_real_evaluation(shared_data: Path, tmp_path: Path) -> None:
    """TREC DL 2019: all leaderboards, no external resources."""
    folder = shared_data / "dl19-gpt4"
    sources = Sources(
        folder / "dl19-graded.jsonl.gz",
        [folder / "dl19-gpt4-questions.jsonl.gz"],
        [folder / "runs"],
        min_relevant=2,
    )
    index = write_evaluation(sources, tmp_path, QUICK)
    page = index.read_text()

    boards = {row[1] for row in rows_of(part(page, "All leaderboards"))}
    assert boards == {"Rubric-Cover", "Rubric-Qrels", "Manual judgments"}
    judge = checks(page)[1]
    assert judge.startswith("doubt"), "GPT-4 wrote the bank, too"
    assert "favour its own style" in judge
    assert "baseline" not in judge
    assert not re.search("https?:", re.sub(r"(?s)<script>.*?</script>", "", page))
    assert ".work" not in page
    assert json.loads((tmp_path / "official.json").read_text())["REP_LLAMA"] == 1
    assert {score.metric for score in read_means(tmp_path / "rubric-qrels.tsv")} == {"nDCG@10", "RR(rel=4)"}
    single = correlation(tmp_path / "cover.tsv", tmp_path / "official.json").measures[0].correlation
    (first,) = [row for row in rows_of(part(page, "All leaderboards")) if row[0] == "1"]
    assert float(first[7]) == pytest.approx(single.kendall, abs=0.001), first


def test_correlations_of_the_published_columns_of_dl20(shared_data: Path) -> None:
    """ρ and τ of question-4 and question-5 are published; the table has all six columns."""
    folder = shared_data / "dl20"
    scores = [score._replace(query_id="1") for score in read_leaderboard_means(folder / "dl20-qrels.csv")]
    below = rank_column(ranked(Evaluation(scores), folder / "official_DL20_Leaderboard.json")).below

    assert below is not None
    names = [f"{kind}-{grade}" for kind in ("nugget", "question") for grade in (3, 4, 5)]
    assert below.columns == ["correlation", *names]
    spearman, kendall = (dict(zip(names, row[1:], strict=True)) for row in below.rows)
    assert (spearman["question-4"], kendall["question-4"]) == pytest.approx((0.953, 0.818), abs=0.0005)
    assert (spearman["question-5"], kendall["question-5"]) == pytest.approx((0.972, 0.872), abs=0.0005)
