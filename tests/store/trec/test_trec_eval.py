"""Parsing trec_eval output: its own golden output, and concatenated output of several systems."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.reports.evaluation.leaderboards import trec_eval_text
from exam_pp.results import Score
from exam_pp.store.trec.scores import is_leaderboard, read_leaderboard_means, read_leaderboard_queries

GOLDEN = Path(__file__).parents[2] / "data" / "trec_eval"


def test_trec_eval_s_own_output() -> None:
    """out.test.aq of trec_eval's quicktest: three queries and their means, of the run STANDARD."""
    single, means = (
        read_leaderboard_queries(GOLDEN / "out.test.aq"),
        read_leaderboard_means(GOLDEN / "out.test.aq"),
    )

    assert {score.query_id for score in single} == {"301", "302", "303"}
    assert Score("STANDARD", "301", "num_ret", 500) in single
    assert {score.query_id for score in means} == {"all"}
    assert Score("STANDARD", "all", "map", 0.1785) in means
    assert len(single) + len(means) == 387 - 1 - 3  # all lines but runid and the queries' relstring


@pytest.mark.parametrize("per_query", [True, False])
def test_concatenated_output_of_several_systems(tmp_path: Path, per_query: bool) -> None:
    scores = [
        Score(system, query_id, measure, value / 8)
        for system, values in {"one": (1, 3), "two": (5, 7)}.items()
        for query_id, value in zip(("q1", "q2"), values, strict=True)
        for measure in ("RR", "nDCG@10")
    ]
    path = tmp_path / "board.txt"
    path.write_text(trec_eval_text(Evaluation(scores), per_query=per_query))
    names = {"RR": "recip_rank", "nDCG@10": "ndcg_cut_10"}

    assert is_leaderboard(path)
    expected = [score._replace(metric=names[score.metric]) for score in scores] if per_query else []
    assert read_leaderboard_queries(path) == expected
    assert {(s.system, s.metric, s.value) for s in read_leaderboard_means(path)} == {
        (system, name, mean) for system, mean in (("one", 0.25), ("two", 0.75)) for name in names.values()
    }


def test_without_runid_the_system_is_the_file_name(tmp_path: Path) -> None:
    path = tmp_path / "bm25.eval.gz"
    path.write_bytes(gzip.compress(b"map\t01\t0.5\nmap\tall\t0.5\n"))

    assert read_leaderboard_queries(path) == [Score("bm25", "01", "map", 0.5)]
    assert read_leaderboard_means(path) == [Score("bm25", "all", "map", 0.5)]
