"""Grading a sample again: which grades change, by order, batch and seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import ModelError
from exam_pp.llm.base import Batch, ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.grading.grade import GradeOptions
from exam_pp.phases.grading.grading_run import GradeFiles
from exam_pp.plugins.trust import again
from exam_pp.plugins.trust.again import PASSAGES, QUESTIONS, examine_model, grade_again
from exam_pp.prompts.rubric import QUESTION_SELF_RATED
from exam_pp.rendering.document import Cell, Report, Table
from exam_pp.store.passages.graded_file import read_passages

OPTIONS = GradeOptions([QUESTION_SELF_RATED])


class OfBatch(FakeLLM):
    """A model whose replies are 0 alone, and 5 in a batch."""

    def generate(
        self, requests: Sequence[Request], batches: Iterable[Batch] | None = None
    ) -> Iterator[tuple[int, Completion]]:
        for batch in self.batches(requests) if batches is None else batches:
            for index in batch:
                yield index, Completion("0" if len(batch) == 1 else "5")


@pytest.fixture
def graded(tiny_passages: Path, tiny_bank: Path, tmp_path: Path) -> GradeFiles:
    """The grades of the model ``fake`` for all five pairs."""
    output = tmp_path / "by-fake.jsonl"
    main(["-q", "grade", str(tiny_passages), "-o", str(output), "--bank", str(tiny_bank), "--model", "fake"])
    return GradeFiles(output, Path("-"), tiny_bank)


def rows(report: Report, title: str) -> Sequence[Sequence[Cell]]:
    (table,) = (block for block in report.blocks if isinstance(block, Table) and title in block.title)
    return table.rows


def counts(report: Report) -> list[tuple[Cell, ...]]:
    return [(*row[:3],) for row in rows(report, "that changed")]


def test_equal_requests_get_equal_grades(graded: GradeFiles) -> None:
    result = grade_again(graded, ModelOptions("fake"), OPTIONS, 100)
    assert counts(result) == [("in another order", 5, 0), ("in another order, one at a time", 5, 0)]
    # Three passages without a change: one more that changed would be 1 - .025^(1/3) of them.
    low, high = map(float, str(rows(result, "that changed")[0][4]).strip("[]").split(","))
    assert low == 0
    assert 50 < high < 90
    assert "3 passages" in str(result.blocks[-1])


def test_a_model_that_depends_on_the_batch_is_shown(
    graded: GradeFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(again, "load_llm", lambda _model: OfBatch())
    ratings = [
        rating
        for query in read_passages(graded.passages)
        for passage in query.passages
        for grades in passage.rubric_grades or ()
        if grades.model == "fake"
        for rating in grades.entry_ratings().values()
    ]
    assert counts(grade_again(graded, ModelOptions("fake"), OPTIONS, 100)) == [
        ("in another order", 5, sum(rating != 5 for rating in ratings)),
        ("in another order, one at a time", 5, sum(rating != 0 for rating in ratings)),
    ]


def test_another_seed_of_a_model_that_samples(graded: GradeFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []

    def load(model: ModelOptions) -> FakeLLM:
        seeds.append(model.sampling_seed)
        return FakeLLM()

    monkeypatch.setattr(again, "load_llm", load)
    result = grade_again(graded, ModelOptions("fake", temperature=0.7, sampling_seed=4), OPTIONS, 100)
    assert seeds == [4, 5]
    assert counts(result)[-1] == ("with another seed", 5, 0)


def test_a_sample_of_the_passages(graded: GradeFiles) -> None:
    result = grade_again(graded, ModelOptions("fake"), OPTIONS, 1)
    assert "1 passage," in str(result.blocks[-1])
    assert int(str(counts(result)[0][1])) < 5


@pytest.mark.parametrize("model", ["lexical", "random", "constant"])
def test_the_command(
    tiny_passages: Path, tiny_bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], model: str
) -> None:
    """Graders that answer alone record it, and repeat themselves."""
    words = ["--bank", str(tiny_bank), "--model", model]
    output = tmp_path / "graded-again.jsonl"
    main(["-q", "grade", str(tiny_passages), "-o", str(output), *words])
    assert '"batch_invariant":true' in output.read_text()
    main(["-q", "grade", str(output), *words, "--again", "9", "--format", "tsv"])
    out = capsys.readouterr().out
    assert "in another order\t5\t0\t0" in out
    assert "batch_invariant\tTrue" in out


def examined(monkeypatch: pytest.MonkeyPatch, llm: FakeLLM) -> tuple[Sequence[Cell], str]:
    monkeypatch.setattr(again, "load_llm", lambda _options: llm)
    report, _ = examine_model(ModelOptions("fake"))
    (row,) = rows(report, "Replies")
    return row, " ".join(str(block) for block in report.blocks)


ASKED = len(QUESTIONS) * len(PASSAGES)


def test_a_careful_model_has_no_flips(monkeypatch: pytest.MonkeyPatch) -> None:
    row, text = examined(monkeypatch, FakeLLM())
    assert row[:3] == ("in batches", ASKED, 0)
    assert "No reply changed" in text


class Careless(FakeLLM):
    """Replies differently in larger batches, like a model with a padding error."""

    def generate(
        self, requests: Sequence[Request], batches: Iterable[Batch] | None = None
    ) -> Iterator[tuple[int, Completion]]:
        for batch in self.batches(requests) if batches is None else batches:
            for index in batch:
                text = "4" if len(batch) == 1 else "2"
                yield index, Completion(text, label_logprobs=(-1.0, -0.5 * len(batch)))


def test_replies_that_depend_on_the_batch_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    row, text = examined(monkeypatch, Careless())
    assert row[2] == ASKED
    assert isinstance(row[3], float)
    assert row[3] > 0.2
    assert f"{ASKED} replies changed" in text


@pytest.mark.parametrize(
    ("dtype", "code", "message"), [("float32", 1, "is a defect"), ("bfloat16", 0, "In reduced precision")]
)
def test_a_change_in_float32_is_a_defect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[Any], dtype: str, code: int, message: str
) -> None:
    llm = Careless()
    monkeypatch.setattr(again, "load_llm", lambda _options: llm)
    monkeypatch.setattr(llm, "provenance", lambda: {"engine": "transformers", "dtype": dtype})
    try:
        main(["grade", "--plan", "--model", "fake"])
        ended = 0
    except SystemExit as stop:
        ended = int(stop.code or 0)
    assert ended == code
    assert message in " ".join(capsys.readouterr().out.split())


def test_a_reference_engine_that_cannot_be_loaded_is_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    llm = FakeLLM()
    monkeypatch.setattr(llm, "provenance", lambda: {"engine": "transformers", "dtype": "bfloat16"})

    def load(options: ModelOptions) -> FakeLLM:
        if options.dtype == "float32":
            raise ModelError("The model 'm' cannot be loaded: CUDA out of memory.")
        return llm

    monkeypatch.setattr(again, "load_llm", load)
    _, sound = examine_model(ModelOptions("m"))
    assert sound
    assert "could not be used: The model 'm' cannot be loaded: CUDA out of memory." in caplog.text
