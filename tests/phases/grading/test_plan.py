"""The plan counts the requests that the grading then sends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from exam_pp.cli.grading.plan import plan_grading
from exam_pp.cli.main import main
from exam_pp.llm.base import Batch, ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.grading.distributed import ProcessGroup
from exam_pp.phases.grading.grade import GradeOptions, grade
from exam_pp.phases.grading.grading_run import GradeFiles, grade_file
from exam_pp.prompts import PROMPTS
from exam_pp.store.passages.journal import Journal, journal_path

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
    return code, counts, {row["property"]: row["value"] for row in tables.get("Timed probe", [])}


def test_counts_are_those_of_the_grading(
    write_jsonl: WriteLines, tiny_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [{"paragraph_id": f"p{i}", "text": f"Text number {i % 3}"} for i in range(5)]
    passages, output = write_jsonl("in.jsonl", [["q1", texts], ["007", texts[:1]]]), tmp_path / "out.jsonl"
    arguments = [passages, "-o", output, "--bank", tiny_bank, "--model", "fake"]
    before = set(tmp_path.iterdir())
    code, counts, timing = plan(capsys, *arguments)
    assert set(tmp_path.iterdir()) == {*before, journal_path(output)}
    assert code == 0
    assert counts["pairs to grade"] == counts["pairs in total"] == 11
    assert counts["distinct requests"] == counts["requests to send"] == 7
    assert timing["requests in the probe"] == 7
    assert timing["total seconds"] >= timing["seconds to load the model"]
    assert timing["replies kept in the journal"] == 7
    code, counts, timing = plan(capsys, *arguments)
    assert (code, counts["requests with a reply in the journal"], timing) == (3, 7, {})

    main(["-q", "grade", *map(str, arguments), "--prompt", RATING])
    code, counts, _ = plan(capsys, output, "-o", tmp_path / "again.jsonl", *arguments[3:])
    assert code == 3  # all pairs are graded
    assert (counts["pairs with a grade in the file"], counts["pairs to grade"]) == (11, 0)


class OfBatches(FakeLLM):
    """A model whose replies depend on the other requests of the batch, as in half precision."""

    def generate(
        self, requests: Sequence[Request], batches: Iterable[Batch] | None = None
    ) -> Iterator[tuple[int, Completion]]:
        for batch in self.batches(requests) if batches is None else batches:
            rating = crc32("".join(requests[index].text for index in batch).encode()) % 6
            for index in batch:
                self.calls += 1
                yield index, Completion(str(rating))


def grading(folder: Path, passages: Path, bank: Path) -> tuple[GradeFiles, GradeOptions]:
    return GradeFiles(passages, folder / "out.jsonl", bank), GradeOptions([PROMPTS.get(RATING)])


def use(monkeypatch: pytest.MonkeyPatch, llm: FakeLLM) -> FakeLLM:
    monkeypatch.setattr("exam_pp.phases.grading.grading_run.load_llm", lambda _options: llm)
    return llm


@pytest.mark.parametrize("seconds", [1e-9, 10.0])
def test_the_grading_uses_the_replies_of_the_probe_and_gives_the_same_output(
    write_jsonl: WriteLines, tiny_bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    texts = [{"paragraph_id": f"p{i}", "text": f"Text {i % 70} " + "long " * (i % 7)} for i in range(90)]
    lines: list[Any] = [["q1", texts[:60]], ["007", texts], ["q1", texts[30:]], ["q1", texts[:20]]]
    monkeypatch.setattr("exam_pp.cli.grading.plan.WINDOW_REQUESTS", 50)
    assert grade.__kwdefaults__ is not None
    monkeypatch.setitem(grade.__kwdefaults__, "window_requests", 50)
    files, options = grading(tmp_path, write_jsonl("in.jsonl", lines), tiny_bank)
    alone = use(monkeypatch, OfBatches())
    grade_file(files, ModelOptions("fake"), options)
    whole = files.output.read_bytes()
    files.output.unlink()

    probed = use(monkeypatch, OfBatches())
    probe = plan_grading(files, ModelOptions("fake"), options, probe_seconds=seconds).probe
    assert probe is not None
    assert probe.journal == journal_path(files.output)
    with Journal(journal_path(files.output)) as journal:
        assert len(journal) == probe.kept <= probed.calls
    assert not files.output.exists()
    assert probed.calls <= alone.calls
    second = use(monkeypatch, OfBatches())
    grade_file(files, ModelOptions("fake"), options)
    assert files.output.read_bytes() == whole
    assert second.calls <= alone.calls - probe.kept + 16  # a batch may hold a request of an earlier window
    assert not journal_path(files.output).exists()


def test_without_replies_no_journal_is_made(
    tiny_passages: Path, tiny_bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, options = grading(tmp_path, tiny_passages, tiny_bank)
    use(monkeypatch, FakeLLM(lambda _request: Completion("", "the endpoint is down")))
    probe = plan_grading(files, ModelOptions("fake"), options).probe
    assert probe is not None
    assert (probe.kept, probe.failures["the endpoint is down"]) == (0, 5)
    assert not journal_path(files.output).exists()


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
