"""The progress of a grading: counts of a first run, a continued run, and a file with grades."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.cli.progress import Advance, Pace
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.grading.grade import grade

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
WriteLines = Callable[[str, list[Any]], Path]


class Watched(FakeLLM):
    """A fake model that is interrupted after some replies, and sees the progress before each reply."""

    def __init__(self, replies: int | None = None) -> None:
        super().__init__()
        self.pace = Pace()
        self._replies = replies
        self.done: list[int] = []

    def reply(self, request: Request) -> Completion:
        self.done.append(self.pace.done)
        if self._replies is not None and self.calls >= self._replies:
            raise KeyboardInterrupt
        return super().reply(request)


@pytest.fixture
def graded(
    write_jsonl: WriteLines, tiny_bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Watched]:
    """A function that grades 130 pairs, or a given file, and returns the model.

    The passages repeat some texts, also in another window of requests.
    """
    texts = [{"paragraph_id": f"p{i}", "text": f"This text number {i % 25} was written."} for i in range(30)]
    lines: list[Any] = [["q1", texts], ["007", texts], ["q1", texts[20:]], ["q1", texts[10:15]]]
    many = write_jsonl("many.jsonl", lines)
    assert grade.__kwdefaults__ is not None
    monkeypatch.setitem(grade.__kwdefaults__, "window_requests", 40)

    def run(
        passages: Path | None = None, *, replies: int | None = None, output: str = "out.jsonl"
    ) -> Watched:
        llm = Watched(replies)

        @contextmanager
        def progress(_title: str, _unit: str) -> Iterator[Advance]:
            yield llm.pace.add

        monkeypatch.setattr("exam_pp.cli.grading.grade.progress", progress)
        monkeypatch.setattr("exam_pp.phases.grading.grading_run.load_llm", lambda _options: llm)
        arguments = [str(passages or many), "-o", str(tmp_path / output), "--bank", str(tiny_bank)]
        try:
            main(["-q", "grade", *arguments, "--model", "fake", "--prompt", RATING])
        except SystemExit:
            assert replies is not None
        return llm

    return run


@pytest.mark.parametrize("replies", [16, 40, 70, 80])
def test_a_continued_run_starts_with_the_replies_in_the_journal(
    graded: Callable[..., Watched], replies: int
) -> None:
    first = graded(replies=replies)
    second = graded()
    assert second.done[0] >= first.pace.done > 0  # before the first request
    assert second.done == sorted(second.done)
    assert max(second.done) <= (second.pace.total or 0) == second.pace.done
    assert second.calls + first.calls < second.pace.done  # equal texts are requested once


def test_pairs_with_a_grade_in_the_file_do_not_count(graded: Callable[..., Watched], tmp_path: Path) -> None:
    graded()
    second = graded(tmp_path / "out.jsonl", output="again.jsonl")
    assert (second.pace.done, second.pace.total) == (0, 0)
