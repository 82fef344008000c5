"""The plan counts the requests that the grading then sends."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.grading.grade import GradeOptions
from exam_pp.phases.grading.grading_run import GradeFiles
from exam_pp.phases.grading.plan import plan_grading
from exam_pp.prompts import PROMPTS
from exam_pp.reports.grading.plan import length_histogram
from exam_pp.store.passages.journal import Journal, journal_path

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
WriteLines = Callable[[str, list[Any]], Path]


def plan(
    capsys: pytest.CaptureFixture[str], *arguments: object
) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """Exit code, counts, timing."""
    code = 0
    try:
        main(["-q", "grade", *map(str, arguments), "--prompt-class", RATING, "--plan", "--format", "json"])
    except SystemExit as stop:
        code = int(stop.code or 0)
    tables = {table["title"]: table["rows"] for table in json.loads(capsys.readouterr().out)["tables"]}
    counts = {row["item"]: row["count"] for row in tables["Work"]}
    timing = {row["property"]: row["value"] for row in tables.get("Timed probe", [])}
    return code, counts, timing


def test_counts_are_those_of_the_grading(
    write_jsonl: WriteLines, tiny_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [{"paragraph_id": f"p{i}", "text": f"Text number {i % 3}"} for i in range(5)]
    passages, output = write_jsonl("in.jsonl", [["q1", texts], ["007", texts[:1]]]), tmp_path / "out.jsonl"
    arguments = [passages, "-o", output, "--bank", tiny_bank, "--model", "fake"]
    before = sorted(tmp_path.iterdir())
    code, counts, timing = plan(capsys, *arguments)
    assert sorted(tmp_path.iterdir()) == before
    assert code == 0
    assert counts["pairs to grade"] == counts["pairs in all"] == 11
    assert counts["distinct requests"] == counts["requests to send"] == 7
    assert timing["requests in the probe"] == 7
    assert timing["seconds for all"] >= timing["seconds to load the model"]

    main(["-q", "grade", *map(str, arguments), "--prompt-class", RATING])
    code, counts, _ = plan(capsys, output, "-o", tmp_path / "again.jsonl", *arguments[3:])
    assert code == 3  # all pairs are graded
    assert (counts["pairs with a grade in the file"], counts["pairs to grade"]) == (11, 0)


def test_the_journal_of_an_interrupted_run_counts(
    tiny_passages: Path, tiny_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.jsonl"
    arguments = [tiny_passages, "-o", output, "--bank", tiny_bank, "--model", "fake"]
    main(["-q", "grade", *map(str, arguments), "--prompt-class", RATING, "--keep-journal"])
    with Journal(journal_path(output)) as journal:
        assert len(journal) == 5
    code, counts, timing = plan(capsys, *arguments)
    assert (code, counts["requests with a reply in the journal"], counts["requests to send"]) == (3, 5, 0)
    assert timing == {}
    with Journal(journal_path(output)) as journal:
        assert len(journal) == 5
    with pytest.raises(SystemExit):
        main(["grade", *map(str, arguments), "--prompt-class", RATING, "--plan"])
    assert "Continuing" not in capsys.readouterr().err


def test_a_plan_of_passages_from_a_pipe_is_refused(
    tiny_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    grading = ["grade", str(tmp_path / "pipe"), "-o", "x", "--bank", str(tiny_bank), "--model", "fake"]
    with pytest.raises(SystemExit):
        main([*grading, "--prompt-class", RATING, "--plan"])
    assert "--plan reads the passages before the grading does" in capsys.readouterr().err


def test_a_plan_of_passages_from_standard_input(
    tiny_passages: Path, tiny_bank: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def plan(passages: str) -> list[str]:
        grading = ["grade", passages, "-o", "x", "--bank", str(tiny_bank), "--model", "fake"]
        main([*grading, "--prompt-class", RATING, "--plan"])
        return [line for line in capsys.readouterr().out.splitlines() if "requests to send" in line]

    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(tiny_passages.read_bytes())))
    monkeypatch.setattr("sys.stdin", stdin)
    planned = plan("-")
    assert planned == plan(str(tiny_passages))
    assert planned


@pytest.mark.integration
def test_the_whole_of_dl19_is_counted(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "dl19-gpt4"
    files = GradeFiles(
        folder / "dl19-graded.jsonl.gz", tmp_path / "out.jsonl", folder / "dl19-gpt4-questions.jsonl.gz"
    )
    options = GradeOptions(prompts=[PROMPTS.get(RATING)])
    plan = plan_grading(files, ModelOptions("fake"), options, probe_seconds=0.1)
    assert (plan.summary.queries, plan.summary.passages, plan.summary.pairs) == (43, 9260, 92600)
    assert sum(row[1] for row in length_histogram(plan)) == plan.requests
