"""``exam-pp evaluate elo``: formats, several judges, figures, official ranks, and refused options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from tests.metrics.ragelo_games import TABLE_6, table_5_games
from tests.phases.tournaments.games import file_of, game, game_set, games_file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file_of(tmp_path / "games.jsonl.gz", [g for g in table_5_games() if int(g.query_id[1:]) < 20])
    sets = [
        game_set([game("a", "b", w)], m)
        for w, m in (("A", "gpt"), ("C", "gpt"), ("B", "llama"), ("C", "llama"))
    ]
    games_file(tmp_path / "judges.jsonl", {"1": sets})
    (tmp_path / "official.json").write_text(json.dumps({s: rank for rank, s in enumerate(TABLE_6, start=1)}))
    return tmp_path


def run(line: str) -> None:
    samples = [] if "--intervals" in line else ["--samples", "100"]
    main(["-q", "evaluate", "elo", *line.split(), "--tournaments", "20", *samples])


def failed(line: str, capsys: pytest.CaptureFixture[str], code: int = 1) -> str:
    with pytest.raises(SystemExit) as stop:
        run(line)
    assert stop.value.code == code
    return capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_json_has_all_tables() -> None:
    run("games.jsonl.gz -m elo -m bradley-terry --all-pairs --format json -o out.json")
    document = json.loads(Path("out.json").read_text())
    leaderboard, games, matrix, pairs = document["tables"]

    assert {row["system"] for row in leaderboard["rows"]} == set(TABLE_6)
    assert {"Elo", "Elo low", "Elo rank high", "Bradley-Terry"} <= leaderboard["rows"][0].keys()
    assert games["rows"][0]["games"] == 100
    assert len(matrix["rows"]) == 6
    assert len(pairs["rows"]) == 15
    assert document["provenance"]["queries"] == 20


@pytest.mark.usefixtures("folder")
def test_tsv_is_a_leaderboard_for_other_commands(capsys: pytest.CaptureFixture[str]) -> None:
    run("games.jsonl.gz --format tsv -o elo.tsv")
    main(["-q", "analyze", "correlation", "elo.tsv", "--official", "official.json", "--format", "json"])

    (row,) = (row for row in json.loads(capsys.readouterr().out)["tables"][0]["rows"])
    assert row["measure"] == "Elo"
    assert row["systems"] == 6


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
def test_head_to_head(capsys: pytest.CaptureFixture[str]) -> None:
    main(["-q", "evaluate", "elo", "games.jsonl.gz", "--samples", "100", "--tournaments", "5",
          "--head-to-head", "RAGF BM25", "RAG BM25"])  # fmt: skip
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
def test_several_judges_need_a_choice(capsys: pytest.CaptureFixture[str]) -> None:
    assert failed("judges.jsonl", capsys) == (
        "exam-pp: judges.jsonl has games by several judges; choose one: --grader 'gpt' --prompt-class 'P'; "
        "--grader 'llama' --prompt-class 'P'.\n"
    )


@pytest.mark.usefixtures("folder")
def test_figures() -> None:
    pytest.importorskip("matplotlib")
    run("games.jsonl.gz --plot elo.svg --plot-matrix matrix.svg -o out")
    assert b"bootstrap over queries" in Path("elo.svg").read_bytes()
    assert b"share of games won" in Path("matrix.svg").read_bytes()


@pytest.mark.usefixtures("folder")
def test_refused(capsys: pytest.CaptureFixture[str]) -> None:
    systems = "--system a --system z"
    assert "'z' of --system plays no games in judges.jsonl" in failed(f"judges.jsonl {systems}", capsys)
    assert "'z' of --head-to-head plays no games" in failed(
        "judges.jsonl --grader gpt --head-to-head a z", capsys
    )
    for line in (
        "games.jsonl.gz --all-pairs --format tsv",
        "games.jsonl.gz --official official.json --format trec_eval",
        "judges.jsonl --grader gpt --grader llama --plot-matrix x.svg",
    ):
        assert "Usage" in failed(line, capsys, 2)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-m bradley-terry --elo-integer", "--elo-integer needs -m elo."),
        ("-m bradley-terry --k-factor 16", "--k-factor needs -m elo."),
        ("--intervals none --confidence 0.9", "--confidence needs --intervals queries."),
    ],
)
@pytest.mark.usefixtures("folder")
def test_options_without_an_effect(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", "elo", "games.jsonl.gz", *line.split()])
    assert message in capsys.readouterr().err
