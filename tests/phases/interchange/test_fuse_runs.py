"""Reciprocal rank fusion of run files."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from exam_pp.cli.interchange.fuse import fuse, fuse_files
from exam_pp.cli.main import main
from exam_pp.errors import DataError
from exam_pp.store.trec.runs import read_run

DENSE = """q1 Q0 a 1 9.5 x
q1 Q0 b 2 9.0 x
q1 Q0 c 3 8.5 x
q2 Q0 a 1 1 x
"""
SPARSE = """q1 Q0 c 1 3 y
q1 Q0 a 2 2 y
q1 Q0 d 3 1 y
"""


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "dense.run").write_text(DENSE)
    (folder / "sparse.run").write_text(SPARSE)
    return folder


def test_a_fusion_by_hand(runs: Path, tmp_path: Path) -> None:
    """Equation 1 of RAGElo (2024): RRF(d) = Σ 1 / (k + r(d)), here with k = 60."""
    output = tmp_path / "both.run"
    summary = fuse_files([runs], output)

    a, b = Fraction(1, 61) + Fraction(1, 62), Fraction(1, 62)
    c, d = Fraction(1, 63) + Fraction(1, 61), Fraction(1, 63)
    assert a > c > b > d
    lines = list(read_run(output, method="tag"))
    assert [(line.query_id, line.passage_id, line.rank) for line in lines] == [
        ("q1", "a", 1), ("q1", "c", 2), ("q1", "b", 3), ("q1", "d", 4), ("q2", "a", 1),
    ]  # fmt: skip
    expected = [float(score) for score in (a, c, b, d, Fraction(1, 61))]
    assert [line.score for line in lines] == pytest.approx(expected, abs=1e-15)
    assert {line.system for line in lines} == {"both"}
    assert summary == "Fused 2 runs as 'both': 5 passages for 2 queries."


def test_ranks_are_those_of_trec_eval() -> None:
    """trec_eval orders by score, and ties by descending id; it ignores the order of lines and the rank."""
    tied = {"q": {"a": 1.0, "c": 1.0, "b": 1.0, "top": 2.0}}
    lines = list(fuse([tied, tied], "x", k=0))
    assert [(line.passage_id, line.score) for line in lines] == [
        ("top", 2.0), ("c", 1.0), ("b", pytest.approx(2 / 3)), ("a", 0.5),
    ]  # fmt: skip


def test_depths_and_constant(runs: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.run"
    options = ["-k", "1", "--top", "1", "--max-passages", "1", "--name", "short"]
    main(["-q", "fuse", str(runs), "-o", str(output), *options])
    assert output.read_text() == "q1 Q0 c 1 0.5 short\nq2 Q0 a 1 0.5 short\n"  # 1 / (1 + 1), tied with a


def test_systems_of_one_file(tmp_path: Path) -> None:
    path = tmp_path / "all.run"
    path.write_text(DENSE + SPARSE)
    with pytest.raises(DataError, match="--method-name tag"):  # c twice for q1
        fuse_files([path], tmp_path / "out.run")
    assert fuse_files([path], tmp_path / "out.run", method="tag").startswith("Fused 2 runs")
