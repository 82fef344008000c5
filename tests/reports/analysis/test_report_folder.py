"""The whole evaluation in a folder, and figures of commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.scores import read_means
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.analysis.correlation import correlation
from exam_pp.phases.analysis.response_lengths import compare_lengths, pareto_front, response_lengths
from exam_pp.phases.evaluation import rubric as evaluate
from exam_pp.phases.evaluation.leaderboards import leaderboard
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.evaluation.uncertainty import Statistics
from exam_pp.rendering.plots import draw
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.correlation import correlation_report
from exam_pp.reports.analysis.report_folder import Sources, write_evaluation
from exam_pp.reports.analysis.response_lengths import length_report
from exam_pp.reports.evaluation.leaderboards import leaderboard_figure
from exam_pp.results import Score
from tests.conftest import passage

pytest.importorskip("matplotlib")
QUICK = Statistics("nested", significance=True, samples=100)


def test_what_the_sources_do_not_allow_is_left_out(
    tiny_passages: Path, tiny_bank: Path, tmp_path: Path
) -> None:
    index = write_evaluation(Sources(tiny_passages, tiny_bank), tmp_path / "new" / "out", QUICK)
    page = index.read_text()

    assert "Rubric-Cover" in page
    assert "Agreement with judgments" in page
    assert "Rubric-Qrels" not in page
    for target in re.findall(r'href="([^"]+)"', page):
        assert (index.parent / unquote(target)).stat().st_size


def test_an_evaluation_that_fails_leaves_the_one_before(
    tiny_passages: Path, tiny_bank: Path, tmp_path: Path
) -> None:
    """The leaderboard is finished when the runs turn out to be none."""
    out, runs = tmp_path / "out", tmp_path / "runs"
    runs.mkdir()
    with pytest.raises(DataError):
        write_evaluation(Sources(tiny_passages, tiny_bank, runs), out, QUICK)
    assert not out.exists()
    write_evaluation(Sources(tiny_passages, tiny_bank), out, QUICK)
    before = {path: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(DataError):
        write_evaluation(Sources(tiny_passages, tiny_bank, runs, min_grade=1), out, QUICK)
    assert {path: path.read_bytes() for path in out.iterdir()} == before


def test_a_stream_is_refused(tmp_path: Path) -> None:
    """Whatever is read after the first time would be left out of the report."""
    with pytest.raises(SelectionError, match="is read several times"):
        write_evaluation(Sources("-"), tmp_path / "out", QUICK)
    assert not (tmp_path / "out").exists()


@pytest.mark.integration
def test_real_evaluation(shared_data: Path, tmp_path: Path) -> None:
    """TREC DL 2019: every section, figures inside the page, no connection to elsewhere."""
    folder = shared_data / "dl19-gpt4"
    sources = Sources(
        folder / "dl19-graded.jsonl.gz",
        folder / "dl19-gpt4-questions.jsonl.gz",
        folder / "runs",
        min_relevant=2,
    )
    index = write_evaluation(sources, tmp_path, QUICK)
    page = index.read_text()

    for title in ("Rubric-Cover", "Rubric-Qrels", "Manual judgments", "Correlation with", "Agreement with"):
        assert f">{title}" in page
    assert "http:" not in re.sub(r"data:image/png;base64,[^\"]*", "", page)
    assert "https:" not in page
    assert page.count("<img") >= 8
    assert ".work" not in page
    assert json.loads((tmp_path / "official.json").read_text())["REP_LLAMA"] == 1
    assert {score.metric for score in read_means(tmp_path / "rubric-qrels.tsv")} == {"nDCG@10", "RR"}
    single = correlation(tmp_path / "cover.tsv", tmp_path / "official.json", intervals="systems", samples=100)
    assert (tmp_path / "cover-correlation.tsv").read_text() == render(
        correlation_report(single, decimals=6), "tsv"
    )


def test_the_options_are_those_of_every_part(tiny_passages: Path, tiny_bank: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "bm25.run").write_text("q1 Q0 p1 1 2 t\n007 Q0 p3 1 1 t\n")
    (runs / "other.run").write_text("q1 Q0 p2 1 2 t\nq1 Q0 p1 2 1 t\n")
    sources = Sources(
        tiny_passages, tiny_bank, runs, measures=("RR", "P@1"), min_grade=2, min_relevant=3, cutoff=1
    )
    write_evaluation(sources, tmp_path / "out", QUICK)
    found = {file.name: file for file in (tmp_path / "out").iterdir()}

    def measures(name: str) -> set[str]:
        return {score.metric for score in read_means(found[name])}

    assert measures("cover.tsv") == {"Cover(min_grade=2)@1", "nCover(min_grade=2)@1"}
    assert measures("rubric-qrels.tsv") == {"RR(rel=2)", "P(rel=2)@1"}
    assert measures("judgments.tsv") == {"RR(rel=3)", "P(rel=3)@1"}
    assert "Cover@1\t" in found["sweep.tsv"].read_text()
    assert "5th best rating" in found["agreement.tsv"].read_text()
    assert not [name for name in found if name.startswith("ranks-judgments")]


def test_lengths_and_the_pareto_front(tiny_passages: Path) -> None:
    """bm25 has one passage of three words for one of two queries."""
    lengths = response_lengths(tiny_passages)
    assert lengths == {"bm25": 1.5}

    evaluation = evaluate.cover(tiny_passages)
    report = length_report(compare_lengths(evaluation, lengths))
    mean = next(row.mean for row in standings(evaluation.scores))
    assert list(report.blocks[0].rows) == [["bm25", 1.5, mean, "yes"]]  # type: ignore[union-attr]


def test_equal_points_are_both_on_the_front_and_beaten_ones_are_not() -> None:
    """Beaten is who is as long and worse, or as good and longer."""
    points = {"a": (10, 0.5), "same": (10, 0.5), "worse": (10, 0.25), "longer": (11, 0.5), "best": (20, 0.75)}

    assert pareto_front(points) == ["a", "same", "best"]


def test_a_rank_0_anywhere_counts_for_all_queries(write_jsonl: Callable[[str, list[Any]], Path]) -> None:
    """Within the cutoff 1 is rank 0 alone, in the first query; the words are means over both."""
    lines: list[Any] = [
        [f"q{rank}", [passage("p", paragraph_data={"rankings": [
            {"method": "s", "paragraphId": "p", "queryId": f"q{rank}", "rank": rank, "score": 1.0}
        ]})]]
        for rank in (0, 1)
    ]  # fmt: skip
    path = write_jsonl("ranks.jsonl", lines)
    words = len(lines[0][1][0]["text"].split())

    assert response_lengths(path, cutoff=1) == {"s": words / 2}
    assert response_lengths(path, cutoff=2) == {"s": words}


def test_the_figure_has_the_best_system_on_top() -> None:
    board = Evaluation(
        [Score(s, q, "RR", v) for s, v in (("b", 0.5), ("a", 0.5), ("best", 0.75)) for q in "12"]
    )
    figure, size = leaderboard_figure(leaderboard(board, Statistics(samples=100).intervals_only))
    svg = draw(figure, "svg", size=size).decode()
    # Ticks are written in the order that they are given in, from the highest place down.
    assert re.findall(r">(best|a|b)</text>", svg) == ["best", "a", "b"]


def test_plot_options(tiny_passages: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    board, official = tmp_path / "board.tsv", tmp_path / "official.json"
    main(["evaluate", "cover", str(tiny_passages), "--plot", str(tmp_path / "a.svg"), "--format", "tsv"])
    board.write_text("system\tm\na\t1\nb\t2\n")
    official.write_text('{"a": 1, "b": 2}')
    main(
        ["analyze", "correlation", str(board), "--official", str(official), "--plot", str(tmp_path / "b.png")]
    )
    capsys.readouterr()

    assert b"bm25" in (tmp_path / "a.svg").read_bytes()
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SystemExit):
        main(["evaluate", "cover", str(tiny_passages), "--plot", str(tmp_path / "a.pdf")])
    assert ".png or .svg" in capsys.readouterr().err
