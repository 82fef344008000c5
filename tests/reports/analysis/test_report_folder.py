"""The whole evaluation in a folder, and figures of commands."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.scores import read_means
from exam_pp.phases.analysis.correlation import correlation
from exam_pp.phases.evaluation.uncertainty import Statistics
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.correlation import correlation_report
from exam_pp.reports.analysis.report_folder import Sources, write_evaluation

pytest.importorskip("matplotlib")
QUICK = Statistics("nested", significance=True, samples=100)


def test_sections_without_inputs_are_left_out(tiny_passages: Path, tiny_bank: Path, tmp_path: Path) -> None:
    index = write_evaluation(Sources(tiny_passages, [tiny_bank]), tmp_path / "new" / "out", QUICK)
    page = index.read_text()

    assert "Rubric-Cover" in page
    assert "Agreement with judgments" in page
    assert "Rubric-Qrels" not in page
    for target in re.findall(r'href="([^"]+)"', page):
        assert (index.parent / unquote(target)).stat().st_size


def test_a_failed_evaluation_keeps_the_previous_files(
    tiny_passages: Path, tiny_bank: Path, tmp_path: Path
) -> None:
    """The evaluation fails at the runs, after the first leaderboard was written."""
    out, runs = tmp_path / "out", tmp_path / "runs"
    runs.mkdir()
    with pytest.raises(DataError):
        write_evaluation(Sources(tiny_passages, [tiny_bank], runs), out, QUICK)
    assert not out.exists()
    write_evaluation(Sources(tiny_passages, [tiny_bank]), out, QUICK)
    before = {path: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(DataError):
        write_evaluation(Sources(tiny_passages, [tiny_bank], runs, min_grade=1), out, QUICK)
    assert {path: path.read_bytes() for path in out.iterdir()} == before


def test_a_stream_is_refused(tmp_path: Path) -> None:
    """A stream can be read only once, but the report reads the graded file several times."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SelectionError, match=r"pipe' .*stream"):
        write_evaluation(Sources(tmp_path / "pipe"), tmp_path / "out", QUICK)
    assert not (tmp_path / "out").exists()


@pytest.mark.integration
def test_real_evaluation(shared_data: Path, tmp_path: Path) -> None:
    """TREC DL 2019: every section, figures embedded in the page, no external resources."""
    folder = shared_data / "dl19-gpt4"
    sources = Sources(
        folder / "dl19-graded.jsonl.gz",
        [folder / "dl19-gpt4-questions.jsonl.gz"],
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
    assert {score.metric for score in read_means(tmp_path / "rubric-qrels.tsv")} == {"nDCG@10", "RR(rel=4)"}
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
        tiny_passages, [tiny_bank], runs, measures=("RR", "P@1"), min_grade=2, min_relevant=3, cutoff=1
    )
    write_evaluation(sources, tmp_path / "out", QUICK)
    files = {file.name: file for file in (tmp_path / "out").iterdir()}

    def measures(name: str) -> set[str]:
        return {score.metric for score in read_means(files[name])}

    assert measures("cover.tsv") == {"Cover(min_grade=2)@1", "nCover(min_grade=2)@1"}
    assert measures("rubric-qrels.tsv") == {"RR(rel=2)", "P(rel=2)@1"}
    assert measures("judgments.tsv") == {"RR(rel=3)", "P(rel=3)@1"}
    assert "Cover@1\t" in files["sweep.tsv"].read_text()
    assert "5th best rating" in files["agreement.tsv"].read_text()
    assert not [name for name in files if name.startswith("ranks-judgments")]


def test_plot_options(tiny_passages: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores_file, official = tmp_path / "board.tsv", tmp_path / "official.json"
    main(["evaluate", "cover", str(tiny_passages), "--plot", str(tmp_path / "a.svg"), "--format", "tsv"])
    scores_file.write_text("system\tm\na\t1\nb\t2\n")
    official.write_text('{"a": 1, "b": 2}')
    main(
        [
            "analyze",
            "correlation",
            str(scores_file),
            "--official",
            str(official),
            "--plot",
            str(tmp_path / "b.png"),
        ]
    )
    capsys.readouterr()

    assert b"bm25" in (tmp_path / "a.svg").read_bytes()
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SystemExit):
        main(["evaluate", "cover", str(tiny_passages), "--plot", str(tmp_path / "a.pdf")])
    assert ".png or .svg" in capsys.readouterr().err
