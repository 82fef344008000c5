"""The doctor detects replies that depend on the batch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from exam_pp.cli.grading.doctor import Choices, doctor_report, examine_model, probe_requests
from exam_pp.cli.main import main
from exam_pp.errors import ModelError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.rendering.document import Paragraph, Table


class Careless(FakeLLM):
    """Replies differently in larger batches, like a model with a padding error."""

    def generate(
        self, requests: Sequence[Request], batches: Iterable[list[int]] | None = None
    ) -> Iterator[tuple[int, Completion]]:
        for batch in self.batches(requests) if batches is None else batches:
            for index in batch:
                text = "4" if len(batch) == 1 else "2"
                yield index, Completion(text, label_logprobs=(-1.0, -0.5 * len(batch)))


def examined(monkeypatch: pytest.MonkeyPatch, llm: FakeLLM) -> tuple[Table, str]:
    monkeypatch.setattr("exam_pp.cli.grading.doctor.load_llm", lambda _options: llm)
    *_, probe, conclusion, _ = doctor_report(examine_model(ModelOptions("fake"))).blocks
    assert isinstance(probe, Table)
    assert isinstance(conclusion, Paragraph)
    return probe, conclusion.text


def test_a_careful_model_has_no_flips(monkeypatch: pytest.MonkeyPatch) -> None:
    probe, conclusion = examined(monkeypatch, FakeLLM())
    assert [(row[0], row[1], row[2]) for row in probe.rows] == [
        ("all in one batch", len(probe_requests()), 0),
        ("in a batch with a long prompt", len(probe_requests()), 0),
    ]
    assert conclusion.startswith("No reply changed")


def test_replies_that_depend_on_the_batch_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    probe, conclusion = examined(monkeypatch, Careless())
    assert [row[2] for row in probe.rows] == [len(probe_requests())] * 2
    assert all(isinstance(row[3], float) and row[3] > 0.2 for row in probe.rows)
    assert conclusion.startswith(f"{2 * len(probe_requests())} replies changed")


@pytest.mark.parametrize(
    ("dtype", "code", "message"), [("float32", 1, "is a defect"), ("bfloat16", 0, "In reduced precision")]
)
def test_a_change_in_float32_is_a_defect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[Any], dtype: str, code: int, message: str
) -> None:
    llm = Careless()
    monkeypatch.setattr("exam_pp.cli.grading.doctor.load_llm", lambda _options: llm)
    monkeypatch.setattr(llm, "provenance", lambda: {"engine": "transformers", "dtype": dtype})
    try:
        main(["grade", "--plan", "--model", "fake"])
        ended = 0
    except SystemExit as stop:
        ended = int(stop.code or 0)
    assert ended == code
    assert message in " ".join(capsys.readouterr().out.split())


def test_a_reference_engine_that_cannot_be_loaded_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    llm = FakeLLM()
    monkeypatch.setattr(llm, "provenance", lambda: {"engine": "transformers", "dtype": "bfloat16"})

    def load(options: ModelOptions) -> FakeLLM:
        if options.dtype == "float32":
            raise ModelError("The model 'm' cannot be loaded: CUDA out of memory.")
        return llm

    monkeypatch.setattr("exam_pp.cli.grading.doctor.load_llm", load)
    findings = examine_model(ModelOptions("m"))
    *_, conclusion, _ = doctor_report(findings).blocks
    assert isinstance(conclusion, Paragraph)
    assert findings.sound
    assert "could not be used: The model 'm' cannot be loaded: CUDA out of memory." in conclusion.text


class Choosing(FakeLLM):
    """Writes the rating 3 or no rating, and chooses the rating 3 of every second pair, else 0."""

    def __init__(self, options: ModelOptions) -> None:
        super().__init__()
        self.chooses = options.choose

    def generate(
        self, requests: Sequence[Request], batches: Iterable[list[int]] | None = None
    ) -> Iterator[tuple[int, Completion]]:
        for index in range(len(requests)):
            if self.chooses:
                likelihoods = tuple(math.log(0.05) for _ in requests[index].labels)
                yield index, Completion("30"[index % 2], label_logprobs=likelihoods, definition="choice")
            else:
                yield index, Completion("no idea" if index % 4 == 0 else "3")


def test_choices_are_compared_with_written_ratings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve of sixteen replies have a rating; of these, every third is chosen, too."""
    monkeypatch.setattr("exam_pp.cli.grading.doctor.load_llm", Choosing)
    findings = examine_model(ModelOptions("m", pipeline="text-generation"))
    choices = findings.choices
    assert isinstance(choices, Choices)
    assert (choices.pairs, choices.written, choices.agreeing) == (16, 12, 4)
    assert choices.mass == pytest.approx(0.3)
    shown = doctor_report(findings).blocks[-1]
    assert isinstance(shown, Paragraph)
    assert "Of 16 ratings, 12 could be read" in shown.text
    assert "4 of these equal" in shown.text
    assert "With so low a probability" in shown.text


def test_a_model_that_cannot_choose_is_reported(capsys: pytest.CaptureFixture[Any]) -> None:
    main(["grade", "--plan", "--model", "lexical"])
    assert "--reply chosen cannot be used with the model 'lexical'" in " ".join(
        capsys.readouterr().out.split()
    )
