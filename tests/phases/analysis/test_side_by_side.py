"""Leaderboards side by side: scaled scores, official order, standard errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from exam_pp.errors import SelectionError
from exam_pp.phases.analysis.correlation import ComparedLeaderboards, compare_leaderboards
from exam_pp.rendering.document import Table
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.correlation import compared_picture, compared_report
from tests.conftest import written


@pytest.fixture
def leaderboards(tmp_path: Path) -> list[Path]:
    """A leaderboard of means, and one with scores of each query, of the same measure."""
    means = written(
        tmp_path / "means.tsv",
        "system\tRR\tRR stderr\none\t0.9\t0.1\ntwo\t0.5\t0.1\nthree\t0.1\t0.1\n_overall_\t1\t0\n",
    )
    rows = ["system\tquery\tmeasure\tvalue"]
    for system, values in {"one": (0.2, 0.4), "two": (1.0, 0.8)}.items():
        rows += [f"{system}\tq{n}\tRR\t{value}" for n, value in enumerate(values)]
        rows.append(f"{system}\tall\tRR\t{sum(values) / 2}")
    return [means, written(tmp_path / "single.tsv", "\n".join(rows) + "\n")]


def test_leaderboards_are_scaled_and_in_the_official_order(leaderboards: list[Path], tmp_path: Path) -> None:
    official = written(tmp_path / "official.json", '{"two": 1, "one": 2, "elsewhere": 3}')
    result = compare_leaderboards(leaderboards, official)
    table = compared_report(result).blocks[0]
    assert isinstance(table, Table)

    assert table.columns == ["system", "official rank", "means: RR", "single: RR"]
    assert "Only in the official ranks: elsewhere." in render(compared_report(result), "text")
    assert "two                 1      0.500       1.000" in render(compared_report(result), "text")
    assert [list(row) for row in table.rows] == [
        ["two", 1.0, pytest.approx(0.5), 1.0], ["one", 2.0, 1.0, 0.0], ["three", None, 0.0, None]
    ]  # fmt: skip
    assert result.standard_errors == {
        "means: RR": {},
        "single: RR": {"one": pytest.approx(0.1), "two": pytest.approx(0.1)},
    }


def test_without_ranks_the_first_leaderboard_orders(leaderboards: list[Path], tmp_path: Path) -> None:
    """Systems that are not in it come last; distinct measures are named without their file."""
    other = written(tmp_path / "other.tsv", "system\tAP\nzero\t0.5\ntwo\t0.25\n")
    result = compare_leaderboards([leaderboards[0], other])

    assert result.order == ["one", "two", "three", "zero"]
    assert list(result.leaderboards) == ["RR", "AP"]


def test_an_official_leaderboard_of_scores_is_also_compared(leaderboards: list[Path]) -> None:
    result = compare_leaderboards(leaderboards[:1], leaderboards[1])

    assert list(result.leaderboards) == ["means: RR", "single: RR"]
    assert result.ranks == {"two": 1.0, "one": 2.0}


def test_files_of_the_same_name_are_named_with_their_folders(tmp_path: Path) -> None:
    files = [tmp_path / folder / "board.tsv" for folder in ("one", "two")]
    for file, scores in zip(files, ((0.1, 0.2), (0.4, 0.3)), strict=True):
        file.parent.mkdir()
        file.write_text(f"system\tRR\na\t{scores[0]}\nb\t{scores[1]}\n")

    assert compare_leaderboards([*files, files[0]]).leaderboards == {
        f"{files[0]}: RR": {"a": 0.1, "b": 0.2}, f"{files[1]}: RR": {"a": 0.4, "b": 0.3}
    }  # fmt: skip


def test_standard_errors_are_scaled_like_their_leaderboard() -> None:
    """Scores from 0.2 to 0.6 are multiplied by 2.5, and so are their errors."""
    leaderboards = {"RR": {"a": 0.6, "b": 0.2, "c": 0.4}, "tied": {"a": 0.5, "b": 0.5}}
    errors = {"RR": {"a": 0.1, "b": 0.2}, "tied": {"a": 0.1}}
    shapes = compared_picture(ComparedLeaderboards(leaderboards, errors, {})).shapes

    dots = {text: float(cy) for cy, text in re.findall(r'cy="([\d.]+)" r="3"><title>(.*?)<', shapes)}
    high, low = dots["RR, a: 1.000"], dots["RR, b: 0.000"]
    bars = [float(end) - float(start) for start, end in re.findall(r"M[\d.]+ ([\d.]+)V([\d.]+)", shapes)]
    assert [abs(bar) / (low - high) for bar in bars] == pytest.approx([0.5, 1.0], abs=0.01)


def test_leaderboards_without_a_common_system_are_refused(leaderboards: list[Path], tmp_path: Path) -> None:
    other = written(tmp_path / "other.tsv", "system\tRR\nx\t0.9\n")
    with pytest.raises(SelectionError, match="system in common"):
        compare_leaderboards([leaderboards[0], other])
    ranks = written(tmp_path / "ranks.json", '{"x": 1, "y": 2}')
    two_measures = written(tmp_path / "two.tsv", "system\tRR\tAP\none\t0.9\t0.8\n")
    with pytest.raises(SelectionError, match="system in common"):
        compare_leaderboards([two_measures], ranks)
