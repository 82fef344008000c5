"""Reading official leaderboards."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.results import Score
from exam_pp.store.trec.ranks import read_ranks
from exam_pp.store.trec.scores import count_ignored_values, read_leaderboard_means
from tests.conftest import data_error


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
    path.write_text("system\tRR\na\t0.5\na\t0.25\n")
    with data_error(path, 3, about="'a'"):
        read_leaderboard_means(path)
    path.write_text("system\tRR\tAP\tRR\na\t0.5\t0.1\t0.25\n")
    with data_error(path, 1, about="'RR'"):
        read_leaderboard_means(path)
    path.write_text("system\tRR\tsystem\na\t0.5\tof theirs\n")
    assert read_leaderboard_means(path) == [Score("a", "all", "RR", 0.5)]


@pytest.mark.parametrize(
    ("content", "line", "field", "about"),
    [
        ("", None, None, "no systems"),
        ("system\trank\n", None, None, "no systems"),
        ('{"a": "first"}', None, "a", "'first'"),
        ('{"a": true}', None, "a", "True"),
        ('{"a": NaN}', None, "a", "nan"),
        ('{"a": 1', None, None, "JSON"),
        ('{"a": 1, "b": 2, "a": 3}', None, None, "'a'"),
        ("a\t1\nb\n", 2, None, "column"),
        ("a\t1\nb\tsecond\n", 2, "rank", "'second'"),
        ("a\t1\nb\tinf\n", 2, "rank", "'inf'"),
        ("a\t1\na\t2\n", 2, None, "'a'"),
    ],
)
def test_broken_files(tmp_path: Path, content: str, line: int | None, field: str | None, about: str) -> None:
    path = tmp_path / "board"
    path.write_text(content)
    with data_error(path, line, field, about=about):
        read_ranks(path)


def test_official_ranks_of_dl20(shared_data: Path) -> None:
    assert len(read_ranks(shared_data / "dl20" / "official_DL20_Leaderboard.json")) == 59
