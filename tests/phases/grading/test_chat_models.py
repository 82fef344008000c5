"""Defaults of gradings with chat models, and soft grades with a low mass."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import exam_pp
from exam_pp.errors import SelectionError
from exam_pp.graders.make import RATING_TOKENS
from exam_pp.llm import ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import LOW_MASS, Completion, Request
from exam_pp.phases.grading.grade import GradeOptions, GradeSummary, grade
from exam_pp.phases.grading.grading_run import check_fit, resolve_options
from exam_pp.prompts import PROMPTS
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages, write_passages

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
EXTRACTION = "QuestionCompleteConciseUnanswerablePromptWithChoices"


def options(*names: str, **more: Any) -> GradeOptions:
    return GradeOptions([PROMPTS.get(name) for name in names or (RATING,)], **more)


@pytest.mark.parametrize(
    ("pipeline", "policy"),
    [("text2text", None), ("text-generation", "chat"), ("openai", "chat"), ("openai-completions", "chat")],
)
def test_the_policy_of_a_model(pipeline: str, policy: str | None) -> None:
    model = ModelOptions("m", pipeline=pipeline)
    assert resolve_options(options(), FakeLLM(), model).unparsed == (policy or "default")
    assert resolve_options(options(unparsed="ungraded"), FakeLLM(), model).unparsed == "ungraded"


def test_a_choice_needs_labels_and_gives_soft_grades() -> None:
    model = ModelOptions("m", choose=True)
    with pytest.raises(SelectionError, match="asks for a text"):
        check_fit(model, options(EXTRACTION))
    with pytest.raises(SelectionError, match="--no-soft"):
        check_fit(model, options(soft=False))
    with pytest.raises(SelectionError, match="needs --reply chosen"):
        check_fit(ModelOptions("m"), options(calibrate=True))
    check_fit(model, options(calibrate=True))
    assert resolve_options(options(), FakeLLM(), model).soft is True


def run(
    tiny_passages: Path, tiny_bank: Path, mass: float, unparsed: Any
) -> tuple[list[Any], GradeSummary, Any]:
    """Grades of a model that writes a sentence, with this mass of its labels; and a request."""
    seen: list[Request] = []

    def reply(request: Request) -> Completion:
        seen.append(request)
        logprobs = tuple(math.log(mass * p) for p in (0.1, 0.1, 0.1, 0.1, 0.4, 0.2))
        return Completion("The coverage of it is 4: good", label_logprobs=logprobs, definition="number")

    llm, summary = FakeLLM(reply), GradeSummary()
    graded = list(
        grade(
            read_passages(tiny_passages),
            read_bank(tiny_bank),
            lambda requests: [llm.reply(request) for request in requests],
            model="m",
            provenance={"max_new_tokens": 4096},
            options=options(unparsed=unparsed),
            summary=summary,
        )
    )
    return graded, summary, seen[0]


def test_files_record_policy_limit_definition_and_mass(tiny_passages: Path, tiny_bank: Path) -> None:
    graded, summary, request = run(tiny_passages, tiny_bank, 0.3, "chat")
    (grades,) = graded[0].passages[0].rubric_grades[-1:]
    assert grades.prompt_info["unparsed"] == "chat"
    assert grades.model_options["max_new_tokens"] == RATING_TOKENS == request.max_new_tokens
    rating = grades.self_ratings[0]
    assert (rating.self_rating, rating.definition, rating.mass) == (4, "number", 0.3)
    assert 0 < summary.low_masses == summary.soft
    assert summary.sources.keys() == {"number"}
    assert run(tiny_passages, tiny_bank, 0.9, "chat")[1].low_masses == 0


def test_the_policy_of_the_papers_asks_for_whole_replies(tiny_passages: Path, tiny_bank: Path) -> None:
    graded, _, request = run(tiny_passages, tiny_bank, 0.9, None)
    (grades,) = graded[0].passages[0].rubric_grades[-1:]
    assert grades.self_ratings[0].source == "default-1"
    assert "unparsed" not in grades.prompt_info
    assert request.max_new_tokens == 511
    assert not request.cuts


def test_soft_cover_flags_low_masses(tiny_passages: Path, tiny_bank: Path, tmp_path: Path) -> None:
    for mass, flagged in ((0.3, True), (0.9, False)):
        graded, summary, _ = run(tiny_passages, tiny_bank, mass, "chat")
        path = tmp_path / f"{mass}.jsonl.gz"
        write_passages(graded, path)
        notes = " ".join(
            exam_pp.cover(path, tiny_bank, soft=True, grade_filter=exam_pp.GradeFilter(model="m")).notes
        )
        assert (
            f"{summary.soft} of {summary.soft} soft grades have a mass below {LOW_MASS}" in notes
        ) is flagged
