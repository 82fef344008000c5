"""Reading official leaderboards."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.results import Score
from exam_pp.store.trec.ranks import read_ranks
from exam_pp.store.trec.scores import count_ignored_values, read_leaderboard_means


@pytest.mark.parametrize(
    "content",
    ['{"a": 1, "b": 2.5, "c": 2.5}', "a\t1\nb\t2.5\nc\t2.5\n", "system,rank\na, 1\nb, 2.5\nc, 2.5\n"],
    ids=["json", "tsv", "csv with header"],
)
def test_shapes(tmp_path: Path, content: str) -> None:
    path = tmp_path / "board"
    path.write_text(content)
    assert read_ranks(path) == {"a": 1.0, "b": 2.5, "c": 2.5}


def test_names_of_csv_may_be_quoted(tmp_path: Path) -> None:
    """In tab-separated cells a quote is part of the name."""
    path = tmp_path / "board.csv"
    path.write_text('system,rank\n"a, b",1\n"c ""d""",2\n')
    assert read_ranks(path) == {"a, b": 1.0, 'c "d"': 2.0}
    path.write_text('system,team,RR\n"a, b","x, y",0.5\n"c",z,0.25\n')
    assert [(s.system, s.value) for s in read_leaderboard_means(path)] == [("a, b", 0.5), ("c", 0.25)]
    path.write_text('system\tRR\na, "b"\t0.5\n')
    assert [s.system for s in read_leaderboard_means(path)] == ['a, "b"']


def test_a_measure_may_have_rank_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / "board.tsv"
    path.write_text(
        "system\tRankDCG\tofficial rank\torig_TREC_leaderboard_rank\tRR rank low\na\t.5\t1\t1\t1\n"
    )
    assert [(s.metric, s.value) for s in read_leaderboard_means(path)] == [("RankDCG", 0.5)]
    assert count_ignored_values(path) == {
        "official rank": 1,
        "orig_TREC_leaderboard_rank": 1,
        "RR rank low": 1,
    }


def test_columns_that_are_not_scores_are_ignored(tmp_path: Path) -> None:
    """Numbers of queries, errors, and the correlations of a published leaderboard."""
    path = tmp_path / "board.tsv"
    path.write_text(
        "method\texam\t+/-\texam-std\tqueries\na\t0.5\t+/-\t0.1\t25\nspearman\t0.9\nkendall\t0.8\n"
    )
    assert read_leaderboard_means(path) == [Score("a", "all", "exam", 0.5)]
    assert count_ignored_values(path) == {"exam-std": 1, "queries": 1, "spearman": 1, "kendall": 1}
    path.write_text("system\tRR\tsystem\na\t0.5\tof theirs\n")
    assert read_leaderboard_means(path) == [Score("a", "all", "RR", 0.5)]


@pytest.mark.parametrize(
    "text",
    [
        "rank,run_id,ndcg\n1,a,0.41\n2,b,0.34\n",
        "Team;Run ID;nDCG\nx;a;0,41\nx;b;0,34\n",
        "#\tSubmission\tnDCG\n1\ta\t0.41\n2\tb\t0.34\n",
        ",system,ndcg\n0,a,0.41\n1,b,0.34\n",
        "\tsystem\tndcg\n0\ta\t0.41\n1\tb\t0.34\n",
        ",ndcg\na,0.41\nb,0.34\n",
        "run\tndcg\na\t0.41\nb\t0.34\nspearman_correlation\t=0.67\n",
    ],
)
def test_systems_of_other_leaderboards(tmp_path: Path, text: str) -> None:
    path = tmp_path / "board.csv"
    path.write_text(text)
    means = read_leaderboard_means(path)
    assert [(score.system, score.value) for score in means] == [("a", 0.41), ("b", 0.34)]


@pytest.mark.parametrize(
    "text",
    [
        'rank,run_id\n999,a\n"1,000",b\n',
        "system;rank\na;999\nb;1.000\n",
        "a\t999\nb\t1000\nspearman_correlation =0.67\tkendall\nkendall_correlation\t=0.5\n",
    ],
)
def test_official_ranks_of_others(tmp_path: Path, text: str) -> None:
    path = tmp_path / "official.csv"
    path.write_text(text)
    assert read_ranks(path) == {"a": 999, "b": 1000}


def test_scores_of_a_board_are_of_one_language(tmp_path: Path) -> None:
    path = tmp_path / "board.csv"
    path.write_text('system,score\na,"1,200"\nb,900\n')
    assert [score.value for score in read_leaderboard_means(path)] == [1200, 900]
