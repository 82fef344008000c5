"""Labels and Rubric-Cover in an experiment of PyTerrier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyterrier", reason="the harness is not installed")

import pandas
import pyterrier

import exam_pp
from exam_pp.errors import SelectionError
from tests.conftest import REPOSITORY

DEMO = REPOSITORY / "data" / "demo"
SYSTEMS = ("bm25", "rerank", "tf")


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rankings of the demo, graded by the baseline."""
    output = tmp_path_factory.mktemp("pyterrier") / "graded.jsonl"
    done = exam_pp.study(
        bank=DEMO / "questions.jsonl",
        queries=DEMO / "queries.jsonl",
        runs=[next((DEMO / "runs").glob(f"{system}.*")) for system in SYSTEMS],
        texts=DEMO / "passages.tsv",
    ).grade("lexical")
    exam_pp.write_passages(done.passages, output)
    return output


@pytest.fixture(scope="module")
def results(graded: Path) -> dict[str, pandas.DataFrame]:
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for query in exam_pp.read_passages(graded):
        for passage in query.passages:
            for entry in passage.rankings:
                rows.setdefault(entry.method, []).append(
                    (query.query_id, passage.passage_id, entry.rank, -entry.rank)
                )
    return {
        system: pandas.DataFrame(of_system, columns=["qid", "docno", "rank", "score"])
        for system, of_system in rows.items()
    }


def test_an_experiment_has_the_scores_of_exam_pp(graded: Path, results: dict[str, pandas.DataFrame]) -> None:
    bank = DEMO / "questions.jsonl"
    labels = exam_pp.pyterrier_qrels(graded, bank=bank)
    assert list(labels) == ["qid", "docno", "label"]
    cover = exam_pp.pyterrier_cover(graded, bank)
    topics = pandas.DataFrame(
        [(query.query_id, "?") for query in exam_pp.read_passages(graded)], columns=["qid", "query"]
    )
    table = pyterrier.Experiment(
        list(results.values()), topics, labels, eval_metrics=["ndcg_cut_10", cover, cover @ 5],
        names=list(results),
    ).set_index("name")  # fmt: skip
    of_cover, of_five = (exam_pp.cover(graded, bank, cutoff=cutoff) for cutoff in (None, 5))
    for system in SYSTEMS:
        assert table.loc[system, "Cover"] == pytest.approx(mean(of_cover, system), abs=1e-12)
        assert table.loc[system, "Cover@5"] == pytest.approx(mean(of_five, system), abs=1e-12)
    ndcg = exam_pp.score_rankings(exam_pp.rubric_qrels(graded, bank=bank), graded, ["nDCG@10"])
    for system in SYSTEMS:
        assert table.loc[system, "ndcg_cut_10"] == pytest.approx(mean(ndcg, system), abs=1e-6)


def mean(evaluation: exam_pp.Evaluation, system: str) -> float:
    metric = evaluation.scores[0].metric
    values = [score.value for score in evaluation.scores if score.system == system and score.metric == metric]
    return sum(values) / len(values)


def test_a_topic_without_entries_is_named(graded: Path, results: dict[str, pandas.DataFrame]) -> None:
    cover = exam_pp.pyterrier_cover(graded, exam_pp.TestBank({}))
    with pytest.raises(SelectionError, match="leave it out of the topics"):
        list(cover.iter_calc(*frames(results["tf"])))


def test_results_that_are_not_graded_are_said_and_cover_nothing(
    graded: Path, results: dict[str, pandas.DataFrame], caplog: pytest.LogCaptureFixture
) -> None:
    cover = exam_pp.pyterrier_cover(graded, DEMO / "questions.jsonl")
    qrels, run = frames(results["tf"].head(2).assign(docno=["unknown-1", "unknown-2"]))
    assert [each.value for each in cover.iter_calc(qrels, run)] == [0.0]
    assert "2 results are not graded" in caplog.text


def frames(result: pandas.DataFrame) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    run = result.rename(columns={"qid": "query_id", "docno": "doc_id"})
    return run.assign(relevance=0)[["query_id", "doc_id", "relevance"]], run
