"""``exam-pp evaluate`` and ``exam-pp analyze`` as commands: layouts, files, one-sentence errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from tests.conftest import passage, rubric

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command line; exit code, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stop:
            return int(stop.code or 0), *capfd.readouterr()
        return 0, *capfd.readouterr()

    return call


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "one.run").write_text("q1 Q0 p1 1 2 t\nq1 Q0 p2 2 1 t\n007 Q0 p3 1 1 t\n")
    (folder / "two.run").write_text("q1 Q0 p2 1 2 t\nq1 Q0 p1 2 1 t\n")
    return folder


def test_qrels_with_runs_is_a_leaderboard(run: Run, tiny_passages: Path, runs: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved.qrels"
    code, out, err = run(
        "evaluate", "qrels", tiny_passages, "--runs", runs, "-m", "RR", "--min-grade", 5,
        "--also", f"qrels={saved}", "--format", "tsv",
    )  # fmt: skip

    assert code == 0
    assert out.splitlines()[0] == "system\tRR(rel=5)\tRR(rel=5) stderr"
    assert [line.split("\t")[:2] for line in out.splitlines()[1:]] == [
        ["one", "0.500000"],
        ["two", "0.250000"],
    ]
    assert "two for 1 query (007)" in err
    assert len(saved.read_text().splitlines()) == 3


def test_a_system_without_judged_passages_is_noted(run: Run, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 P1 1\nq1 0 p2 0\n")
    (runs / "two.run").write_text("q1 Q0 x1 1 2 t\nq1 Q0 x2 2 1 t\n")
    code, out, _ = run("evaluate", "judgments", tmp_path / "qrels", "--runs", runs)
    assert code == 0
    assert (
        "None of the 2 passages of two for q1 (at most 10 each) is judged; ids are x1, x2 in the run"
        in " ".join(out.split())
    )
    assert "passages of one" not in out
    (tmp_path / "qrels").write_text("q01 0 p1 1\n")
    code, _, err = run("evaluate", "judgments", tmp_path / "qrels", "--runs", runs)
    assert code == 1
    assert "ids differ in zeros at the front: 007, q1 in the run, q01 in the judgments" in err


def test_leaderboard_of_judgments_as_official_leaderboard(
    run: Run, tiny_passages: Path, runs: Path, tmp_path: Path
) -> None:
    official, leaderboard = tmp_path / "official.json", tmp_path / "board.tsv"
    judged = ["evaluate", "judgments", tiny_passages, "--runs", runs, "-m", "RR"]

    assert run(*judged, "--format", "official", "-o", official)[0] == 0
    assert json.loads(official.read_text()) == {"one": 1, "two": 2}
    assert (
        run("evaluate", "qrels", tiny_passages, "--runs", runs, "--format", "tsv", "-o", leaderboard)[0] == 0
    )
    code, out, _ = run("analyze", "correlation", leaderboard, "--official", official, "--format", "json")
    assert code == 0
    assert json.loads(out)["tables"][0]["rows"][0] == {
        "measure": "nDCG@10", "systems": 2, "Spearman": pytest.approx(1), "Kendall tau-b": pytest.approx(1),
        "tau-AP": 1.0, "top-5 overlap": None,
    }  # fmt: skip


def test_layout_of_trec_eval(run: Run, tiny_passages: Path, runs: Path) -> None:
    judged = [
        "evaluate",
        "judgments",
        tiny_passages,
        "--runs",
        runs,
        "-m",
        "recip_rank",
        "--format",
        "trec_eval",
    ]
    _, out, _ = run(*judged, "--per-query")

    assert out.splitlines()[:3] == [
        "recip_rank            \tq1\t1.0000", "runid                 \tall\tone",
        "recip_rank            \tall\t1.0000",
    ]  # fmt: skip
    assert "\tq1\t" not in run(*judged)[1]


def test_subtopic_qrels_and_their_leaderboard(
    run: Run, tiny_passages: Path, tiny_bank: Path, runs: Path
) -> None:
    pytest.importorskip("pyndeval")
    command = ["evaluate", "qrels", tiny_passages, "--bank", tiny_bank, "--facets", "entry"]
    code, out, err = run(*command)

    assert code == 0
    assert out.splitlines()[:4] == ["q1 1 p1 5", "q1 1 p2 1", "q1 2 p1 0", "q1 2 p2 4"]
    assert "007 1 no-passage-covers-entry-1 4" in out.splitlines()
    assert "placeholder passages" in err
    _, out, _ = run(*command, "--runs", runs, "-m", "StRecall@20", "--format", "tsv")
    assert out.splitlines()[0].startswith("system\tStRecall(rel=4)@20")
    _, out, _ = run(*command, "--label", "binary", "--runs", runs, "-m", "StRecall@20", "--format", "tsv")
    assert out.splitlines()[0].startswith("system\tStRecall@20")  # no relevance level for labels 0 and 1


def test_judgments_of_subtopics(run: Run, tmp_path: Path) -> None:
    """The value is that of ir_measures with pyndeval."""
    pytest.importorskip("pyndeval")
    qrels, ranking = tmp_path / "diversity.qrels", tmp_path / "A.run"
    qrels.write_text("q1 1 a 0\nq1 2 a 1\nq1 1 b 1\nq1 2 c 1\nq2 1 a 1\n")
    ranking.write_text("q1 Q0 a 1 3 A\nq1 Q0 b 2 2 A\nq1 Q0 c 3 1 A\n")
    command = ["evaluate", "judgments", qrels, "--runs", ranking, "--format", "tsv"]
    _, out, _ = run(*command, "-m", "alpha_nDCG@20")
    assert out.splitlines()[1].split("\t")[:2] == ["A", "0.500000"]
    (tmp_path / "queries.tsv").write_text("q1\tWhat?\n")
    _, out, _ = run(*command, "-m", "alpha_nDCG@20", "--queries", tmp_path / "queries.tsv")
    assert out.splitlines()[1].split("\t")[:2] == ["A", "1.000000"]
    code, _, err = run(*command)
    assert code == 1
    assert "Its second column may be a subtopic, for measures such as alpha_nDCG@20" in err


def test_a_sweep_names_systems_by_tag(run: Run, tiny_passages: Path, runs: Path, tmp_path: Path) -> None:
    """The run files have one tag, which does not name two systems."""
    for name in ("one", "two"):
        path = runs / f"{name}.run"
        path.write_text(path.read_text().replace(" t\n", f" {name.upper()}\n"))
    official = tmp_path / "official.json"
    official.write_text('{"ONE": 1, "TWO": 2}')
    command = ["analyze", "sweep", tiny_passages, "--official", official, "--runs", runs, "--format", "tsv"]

    assert run(*command)[0] == 1
    code, out, _ = run(*command, "--method-name", "tag")
    assert code == 0
    assert "nDCG@10\t2\t1.000000" in out


def test_qrels_by_a_label_rule(run: Run, write_jsonl: Callable[..., Path], tmp_path: Path) -> None:
    """Labels on the scale of the judgments, 0 to 3; a label that no judge could give is noted."""

    def judged(passage_id: str, judgment: int, ratings: list[int]) -> dict[str, Any]:
        data = {
            "judgments": [
                {"paragraphId": passage_id, "query": "q", "relevance": judgment, "titleQuery": "q"}
            ],
            "rankings": [],
        }
        grades = rubric({f"q/{number}": rating for number, rating in enumerate(ratings)})
        return passage(passage_id, paragraph_data=data, exam_grades=[grades])

    graded = write_jsonl(
        "g.jsonl", [["q", [judged("a", 3, [5, 5]), judged("b", 1, [5, 4]), judged("c", 0, [3, 3])]]]
    )
    _, out, err = run("evaluate", "qrels", graded, "--label", "2nd>=5:3, 2nd>=4:1, else 0")
    assert out.splitlines() == ["q 0 a 3", "q 0 b 1", "q 0 c 0"]
    assert "scale" not in err
    _, out, err = run("evaluate", "qrels", graded, "--label", "2nd>=5:5, 2nd>=4:4, else -1")
    note = "3 labels are outside the scale of the judgments (0 to 3): -1, 4, 5."
    assert out.splitlines() == ["q 0 a 5", "q 0 b 4", "q 0 c -1"]
    assert note in err
    (tmp_path / "s.run").write_text("q Q0 c 1 2 s\nq Q0 b 2 1 s\n")
    _, scored, _ = run(
        "evaluate", "qrels", graded, "--label", "2nd>=5:3, 2nd>=4:1, else 0",
        "--runs", tmp_path / "s.run", "-m", "RR",
    )  # fmt: skip
    assert "Rubric-Qrels (2nd>=5:3, 2nd>=4:1, else 0)" in scored
    assert "0.500" in scored, "a label of 1 is relevant"

    (tmp_path / "human.qrels").write_text("q 0 z 2\n")
    _, _, err = run("evaluate", "qrels", graded, "--fill-holes", tmp_path / "human.qrels")
    assert "Filled holes: 3 labels are outside the scale of the judgments (0 to 2): 3, 5." in err

    _, report, _ = run("analyze", "agreement", graded, "--label-rule", "2nd>=5:5, 2nd>=4:4, else -1")
    assert note in " ".join(report.split())


def test_quiet_commands_log_only_what_affects_the_numbers(
    tiny_passages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", "cover", str(tiny_passages), "--format", "tsv"]
    main(["-q", *words])
    quiet = capsys.readouterr().err
    main(words)
    assert "Means over" not in quiet
    assert "Means over 2 queries" in capsys.readouterr().err
