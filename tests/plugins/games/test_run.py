"""``exam-pp run --games``: the judge of a study also compares answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.cli.main import main
from tests.cli.study.test_run import QUESTIONS, files, run
from tests.llm.endpoint_server import completion, serve

__all__ = ["files"]


def test_answers_get_nuggets_and_games(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{query},nugget,{text}" for query, texts in QUESTIONS.items() for text in texts]
    Path("nuggets.csv").write_text("query_id,kind,text\n" + "\n".join(rows) + "\n")
    systems = "--answers rag.jsonl --answers other.jsonl --queries queries.tsv"
    out = run(f"run {systems} --bank nuggets.csv --games -o rag", capsys)
    assert "Nugget scores" in out
    assert "Elo" in out
    assert "See why: open rag/report-nuggets/index.html" in out
    assert "Can I believe it?" in (files / "rag" / "report-nuggets" / "index.html").read_text("utf-8")


def test_games_that_are_all_ungraded_leave_the_other_results(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    systems = "--answers rag.jsonl --answers other.jsonl --queries queries.tsv --bank bank.csv"
    with serve(lambda body, _: completion("4" if "Why does air" in str(body) else "Neither.")) as server:
        judge = f"--model m --model-pipeline openai --base-url {server.url}"
        main(f"run {systems} {judge} --games -o rag".split())
    shown = capsys.readouterr()
    assert "games are ungraded, or the game in the other order is missing" in shown.err
    assert "Rubric-Cover" in shown.out
    assert "Next:" in shown.out
