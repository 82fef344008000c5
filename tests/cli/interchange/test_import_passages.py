"""`exam-pp import` and `exam-pp export` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from tests.conftest import without_times


def run(*arguments: str | Path) -> int:
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_the_demo_collection(demo_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "passages.jsonl.gz"
    code = run(
        "import", "-o", output, "--runs", demo_data / "runs", "--texts", demo_data / "passages.tsv",
        "--qrels", demo_data / "qrels.txt", "--queries", demo_data / "queries.jsonl", "--judged",
        "--answers", demo_data / "answers" / "gen-long.jsonl",
    )  # fmt: skip
    assert code == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    imported, dropped = without_times(captured.err).splitlines()
    assert imported.startswith("Imported 8 queries, ")
    assert dropped.endswith(
        ": boundaries of answer parts (49), parts with their own citations (57), query texts (8)."
    )
    assert run("export", "runs", output, "-o", tmp_path / "runs") == 0
    assert (tmp_path / "runs" / "gen-long.run").exists()


def test_the_output_in_the_documentation(
    repository: Path, demo_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(
        "import", "-o", tmp_path / "passages.jsonl.gz", "--runs", demo_data / "runs", "--judged",
        "--texts", demo_data / "passages.tsv", "--qrels", demo_data / "qrels.txt",
        "--queries", demo_data / "queries.jsonl",
    )  # fmt: skip
    assert (
        without_times(capsys.readouterr().err) in (repository / "docs" / "how-to" / "import.md").read_text()
    )


def test_to_standard_output(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    answers = tmp_path / "a.jsonl"
    answers.write_text('{"query_id": "q", "system": "s", "text": "Words."}\n')
    assert run("--quiet", "import", "--answers", answers) == 0
    captured = capfdbinary.readouterr()
    assert json.loads(captured.out)[1][0]["paragraph_id"] == "s/q#1"
    assert captured.err == b""


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        ([], "--answers"),
        (["--judged"], "--qrels"),
    ],
)
def test_wrong_usage(
    arguments: list[str], missing: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run("import", "-o", tmp_path / "out.jsonl", *arguments) == 2
    assert missing in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_problem_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 9 tag\n")
    assert run("import", "-o", tmp_path / "out.jsonl", "--runs", tmp_path / "a.run") == 1
    message = capsys.readouterr().err
    assert message.startswith("exam-pp: ")
    assert message.count("\n") == 1
    assert "(d1)" in message
    assert "--skip-missing-texts" in message
    assert not (tmp_path / "out.jsonl").exists()
