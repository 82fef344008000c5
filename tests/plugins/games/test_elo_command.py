"""``exam-pp evaluate elo``: formats, several judges, figures, official ranks, and refused options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from tests.plugins.games.games import file_of, game, game_set, games_file
from tests.plugins.games.table_5 import TABLE_6, table_5_games


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    file_of(tmp_path / "games.jsonl.gz", [g for g in table_5_games() if int(g.query_id[1:]) < 20])
    sets = [
        game_set([game("a", "b", w)], m)
        for w, m in (("A", "gpt"), ("C", "gpt"), ("B", "llama"), ("C", "llama"))
    ]
    games_file(tmp_path / "judges.jsonl", {"1": sets})
    (tmp_path / "official.json").write_text(json.dumps({s: rank for rank, s in enumerate(TABLE_6, start=1)}))
    return tmp_path


def run(line: str) -> None:
    samples = [] if "--intervals" in line else ["-S", "samples=100"]
    main(["-q", "evaluate", "elo", *line.split(), "--elo", "tournaments=20", *samples])


@pytest.mark.usefixtures("folder")
def test_official_ranks_and_trec_eval(capsys: pytest.CaptureFixture[str]) -> None:
    run("games.jsonl.gz --official official.json")
    text = capsys.readouterr().out
    assert "Correlation with the official ranks of 6 systems" in text
    assert "official rank" in text

    run("games.jsonl.gz --format trec_eval")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 12
    assert lines[1].split()[:2] == ["Elo", "all"]


@pytest.mark.usefixtures("folder")
def test_scores_decide_games(capsys: pytest.CaptureFixture[str]) -> None:
    Path("scores.tsv").write_text(
        "system\tquery\tmeasure\tvalue\nx\tq1\tF1(k=2)@5\t1\ny\tq1\tF1(k=2)@5\t0\n"
        "x\tq1\tF2\t0\ny\tq1\tF2\t1\n"
    )
    for measure, best in (("F1", "x"), ("F1(k=2)@5", "x"), ("F2", "y")):
        run(f"scores.tsv --by {measure} --format json")
        report = json.loads(capsys.readouterr().out)
        assert report["tables"][0]["rows"][0]["system"] == best
        assert any(note.startswith("Games are made from scores (F") for note in report["notes"])


@pytest.mark.usefixtures("folder")
def test_head_to_head(capsys: pytest.CaptureFixture[str]) -> None:
    main(["-q", "evaluate", "elo", "games.jsonl.gz", "-S", "samples=100", "--elo", "tournaments=5",
          "--head-to-head", "--system", "RAGF BM25", "--system", "RAG BM25"])  # fmt: skip
    assert "Head to head\n" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_judges_are_columns(capsys: pytest.CaptureFixture[str]) -> None:
    run("judges.jsonl --grader gpt --grader llama --intervals none --format json")
    leaderboard, *others = json.loads(capsys.readouterr().out)["tables"]

    first, second = leaderboard["rows"]
    assert first["system"] == "a"
    assert first["Elo[gpt]"] > second["Elo[gpt]"]
    assert first["Elo[llama]"] < second["Elo[llama]"]
    assert [table["title"].split(", ")[-1] for table in others] == ["gpt", "gpt", "llama", "llama"]


@pytest.mark.usefixtures("folder")
def test_figures() -> None:
    run("games.jsonl.gz --plot elo.svg --plot matrix=matrix.svg -o out")
    assert b"95 % intervals over queries" in Path("elo.svg").read_bytes()
    assert b"Share of games won" in Path("matrix.svg").read_bytes()
