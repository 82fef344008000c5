"""The plan counts the requests that the grading then sends."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.grading.plan import plan_grading
from exam_pp.cli.main import main
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion
from exam_pp.phases.grading.distributed import ProcessGroup
from exam_pp.phases.grading.grade import GradeOptions
from exam_pp.phases.grading.grading_run import GradeFiles
from exam_pp.prompts import PROMPTS
from exam_pp.rendering.document import Paragraph, Table
from exam_pp.store.passages.journal import journal_path

TOKENS = "tokens of their prompts (estimated with 4 characters per token)"
RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
WriteLines = Callable[[str, list[Any]], Path]


def plan(
    capsys: pytest.CaptureFixture[str], *arguments: object
) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """Exit code, counts, timing."""
    code = 0
    try:
        main(["-q", "grade", *map(str, arguments), "--prompt", RATING, "--plan", "--format", "json"])
    except SystemExit as stop:
        code = int(stop.code or 0)
    tables = {table["title"]: table["rows"] for table in json.loads(capsys.readouterr().out)["tables"]}
    counts = {row["item"]: row["count"] for row in tables["Work"]}
    return code, counts, {row["property"]: row["value"] for row in tables.get("Timed sample", [])}


def test_counts_are_those_of_the_grading(
    write_jsonl: WriteLines, tiny_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [{"paragraph_id": f"p{i}", "text": f"Text number {i % 3}"} for i in range(5)]
    passages, output = write_jsonl("in.jsonl", [["q1", texts], ["007", texts[:1]]]), tmp_path / "out.jsonl"
    arguments = [passages, "-o", output, "--bank", tiny_bank, "--model", "fake"]
    before = set(tmp_path.iterdir())
    code, counts, timing = plan(capsys, *arguments)
    assert set(tmp_path.iterdir()) == before
    assert code == 0
    assert counts["pairs to grade"] == counts["pairs in total"] == 11
    assert counts["distinct requests"] == counts["requests to send"] == 7
    assert timing["requests in the sample"] == 7
    assert timing["total seconds"] >= timing["seconds to load the model"]
    assert counts["tokens of the longest prompt"] <= counts[TOKENS] / 7 * 2

    main(["-q", "grade", *map(str, arguments), "--prompt", RATING, "--journal", str(tmp_path / "journal")])
    output.unlink()
    code, counts, timing = plan(capsys, *arguments, "--journal", tmp_path / "journal")
    assert (code, counts["requests with a reply in the journal"], timing) == (3, 7, {})
    main(["-q", "grade", *map(str, arguments), "--prompt", RATING])
    code, counts, _ = plan(capsys, output, "-o", tmp_path / "again.jsonl", *arguments[3:])
    assert code == 3  # all pairs are graded
    assert (counts["pairs with a grade in the file"], counts["pairs to grade"]) == (11, 0)


def test_failures_of_the_sample_are_shown(
    tiny_passages: Path, tiny_bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = GradeFiles(tiny_passages, tmp_path / "out.jsonl", tiny_bank)
    llm = FakeLLM(lambda _request: Completion("", "the endpoint is down"))
    monkeypatch.setattr("exam_pp.cli.grading.plan.load_llm", lambda _options: llm)
    planned = plan_grading(files, ModelOptions("fake"), GradeOptions([PROMPTS.get(RATING)]))
    assert planned.report.blocks[-1] == Paragraph("5 requests of the sample failed: the endpoint is down.")
    assert not journal_path(files.output).exists()


def test_the_sample_ends_with_its_time(write_jsonl: WriteLines, tiny_bank: Path, tmp_path: Path) -> None:
    texts = [{"paragraph_id": f"p{i}", "text": f"Text {i} " + "long " * (i % 7)} for i in range(900)]
    files = GradeFiles(write_jsonl("in.jsonl", [["q1", texts]]), tmp_path / "out.jsonl", tiny_bank)
    planned = plan_grading(files, ModelOptions("fake"), GradeOptions([PROMPTS.get(RATING)]), seconds=1e-9)
    timed = planned.report.blocks[1]
    assert isinstance(timed, Table)
    asked = {row[0]: row[1] for row in timed.rows}["requests in the sample"]
    assert isinstance(asked, int)
    assert 0 < asked < planned.requests == 1800


def test_only_the_first_process_of_a_group_plans(
    tiny_passages: Path, tiny_bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    class Second(ProcessGroup):
        rank, size = 1, 2

    monkeypatch.setattr(
        "exam_pp.phases.grading.distributed.process_group_from_environment", lambda: nullcontext(Second())
    )
    main(["-q", "grade", str(tiny_passages), "-o", str(tmp_path / "out.jsonl"), "--bank", str(tiny_bank),
          "--model", "fake", "--prompt", RATING, "--plan"])  # fmt: skip
    assert capsys.readouterr().out == ""
    assert not journal_path(tmp_path / "out.jsonl").exists()
