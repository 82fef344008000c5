"""Numbers of runs, qrels and leaderboards have ASCII digits and no underscores."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from exam_pp.errors import DataError
from exam_pp.store.numbers import is_number, parse_finite, parse_integer, parse_number
from exam_pp.store.trec.ranks import read_ranks
from exam_pp.store.trec.runs import read_qrels, read_rankings, read_run
from exam_pp.store.trec.scores import read_leaderboard_means

ODD = ["1_0", "１", "१", "²", "1０", "", "x"]


@pytest.mark.parametrize("text", [*ODD, "1.0", "nan", "1e3", "0x1", "1" * 5000])
def test_text_that_is_no_integer(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_integer(text)


@pytest.mark.parametrize("text", ODD)
def test_text_that_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_number(text)
    assert not is_number(text)


def test_numbers() -> None:
    assert [parse_integer(text) for text in ("3", "-1", "+2", "007")] == [3, -1, 2, 7]
    assert [parse_finite(text) for text in ("3", "-1.5", ".5", "1e-3")] == [3, -1.5, 0.5, 0.001]
    assert math.isnan(parse_number("nan"))
    with pytest.raises(ValueError, match="not finite"):
        parse_finite("inf")


def _ranked(file: Path) -> object:
    return list(read_run(file))


@pytest.mark.parametrize("read", [_ranked, read_rankings])
@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("q Q0 p2 1_0 1.0 s", "rank"),
        ("q Q0 p2 ２ 1.0 s", "rank"),
        ("q Q0 p2 nan 1.0 s", "rank"),
        ("q Q0 p2 2 1_0.5 s", "score"),
        ("q Q0 p2 2 １.5 s", "score"),
        ("q Q0 p2 2 nan s", "score"),
    ],
)
def test_runs(read: Callable[[Path], object], line: str, field: str, tmp_path: Path) -> None:
    file = tmp_path / "a.run"
    file.write_text(f"q Q0 p 1 2.0 s\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError, match=rf"a\.run, line 2, {field}: '.*' is not a (\w+ )?number\.$"):
        read(file)


@pytest.mark.parametrize("grade", ["1_0", "２", "nan"])
def test_qrels(grade: str, tmp_path: Path) -> None:
    file = tmp_path / "qrels"
    file.write_text(f"q 0 p 1\nq 0 p2 {grade}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"qrels, line 2, grade: '.*' is not a number\.$"):
        read_qrels(file)


@pytest.mark.parametrize("cell", ["1_0", "２", "nan"])
def test_official_ranks_and_scores(cell: str, tmp_path: Path) -> None:
    ranks, scores = tmp_path / "ranks.tsv", tmp_path / "scores.tsv"
    ranks.write_text(f"a\t1\nb\t{cell}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"ranks\.tsv, line 2, rank: .* is not a (finite )?number\.$"):
        read_ranks(ranks)
    scores.write_text(f"system\tnDCG\na\t0.5\nb\t{cell}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"scores\.tsv, line 3, nDCG: .* is not a number\.$"):
        read_leaderboard_means(scores)
