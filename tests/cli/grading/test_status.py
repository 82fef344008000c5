"""The status file of a grading: counts of a first run, a continued run, and a file with grades."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.grading import status as status_module
from exam_pp.cli.main import main
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.grading.grade import grade

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
WriteLines = Callable[[str, list[Any]], Path]


class Watched(FakeLLM):
    """A fake model that is interrupted after some replies, and reads the status file before each reply."""

    def __init__(self, status: Path, replies: int | None = None) -> None:
        super().__init__()
        self._status, self._replies = status, replies
        self.seen: list[dict[str, Any]] = []

    def reply(self, request: Request) -> Completion:
        self.seen.append(json.loads(self._status.read_text()))
        if self._replies is not None and self.calls >= self._replies:
            raise KeyboardInterrupt
        return super().reply(request)

    @property
    def done(self) -> list[int]:
        return [values["done"] for values in self.seen]


@pytest.fixture
def graded(
    write_jsonl: WriteLines, tiny_bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Watched, dict[str, Any]]]:
    """A function that grades 130 pairs, or a given file, and returns the model and the last status.

    The passages repeat some texts, also in another window of requests.
    """
    texts = [{"paragraph_id": f"p{i}", "text": f"This text number {i % 25} was written."} for i in range(30)]
    lines: list[Any] = [["q1", texts], ["007", texts], ["q1", texts[20:]], ["q1", texts[10:15]]]
    many = write_jsonl("many.jsonl", lines)
    monkeypatch.setattr(status_module, "_EVERY_SECONDS", 0.0)
    assert grade.__kwdefaults__ is not None
    monkeypatch.setitem(grade.__kwdefaults__, "window_requests", 40)

    def run(
        passages: Path | None = None, *, replies: int | None = None, output: str = "out.jsonl"
    ) -> tuple[Watched, dict[str, Any]]:
        status = tmp_path / "status.json"
        llm = Watched(status, replies)
        monkeypatch.setattr("exam_pp.phases.grading.grading_run.load_llm", lambda _options: llm)
        arguments = [str(passages or many), "-o", str(tmp_path / output), "--bank", str(tiny_bank)]
        try:
            main(["-q", "grade", *arguments, "--model", "fake", "--prompt", RATING,
                  "--status", str(status)])  # fmt: skip
        except SystemExit:
            assert replies is not None
        return llm, json.loads(status.read_text())

    return run


@pytest.mark.parametrize("replies", [16, 40, 70, 80])
def test_a_continued_run_starts_with_the_replies_in_the_journal(
    graded: Callable[..., tuple[Watched, dict[str, Any]]], replies: int
) -> None:
    first, stopped = graded(replies=replies)
    assert stopped["state"] == "stopped"
    second, last = graded()
    assert second.done[0] >= stopped["done"] > 0  # before the first request
    assert second.done == sorted(second.done)
    assert max(second.done) <= last["total"] == last["done"]
    assert second.calls + first.calls < last["total"]  # equal texts are requested once


def test_pairs_with_a_grade_in_the_file_do_not_count(
    graded: Callable[..., tuple[Watched, dict[str, Any]]], tmp_path: Path
) -> None:
    graded()
    _, second = graded(tmp_path / "out.jsonl", output="again.jsonl")
    assert (second["state"], second["done"], second["total"]) == ("done", 0, 0)
