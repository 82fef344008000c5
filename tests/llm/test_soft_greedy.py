"""Greedy replies are the same with and without label likelihoods."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from exam_pp.graders.soft import soft_grade
from exam_pp.llm import ModelOptions, load_llm
from exam_pp.llm_requests import Completion, Part, Request

LABELS = tuple("012345")
ENGINES = [
    "transformers",
    pytest.param(
        "ctranslate2",
        marks=pytest.mark.skipif(not importlib.util.find_spec("ctranslate2"), reason="the fast extra"),
    ),
]


def grade(folder: Path, engine: Any, prompts: list[str], labels: tuple[str, ...]) -> list[Completion]:
    llm = load_llm(ModelOptions(str(folder), engine=engine, num_beams=1))
    requests = [Request((Part(prompt, "context", may_be_cut=True),), labels, 24) for prompt in prompts]
    replies = dict(llm.generate(requests))
    return [replies[index] for index in range(len(prompts))]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["keyed", "flat"])
def test_replies_with_and_without_likelihoods(
    checkpoints: dict[str, Path], prompts: list[str], engine: Any, kind: str
) -> None:
    soft = grade(checkpoints[kind], engine, prompts, LABELS)
    assert [reply.text for reply in soft] == [
        reply.text for reply in grade(checkpoints[kind], engine, prompts, ())
    ]


def test_soft_grades_of_text_replies_are_equal_in_both_engines(
    checkpoints: dict[str, Path], prompts: list[str]
) -> None:
    """Labels are scored even if the model gives them nearly no probability."""
    pytest.importorskip("ctranslate2")
    reference, fast = (
        [soft_grade(reply.label_logprobs) for reply in grade(checkpoints["keyed"], engine, prompts, LABELS)]
        for engine in ("transformers", "ctranslate2")
    )
    for soft, expected in zip(fast, reference, strict=True):
        assert soft is not None
        assert expected is not None
        assert soft.expected == pytest.approx(expected.expected, abs=3e-4)
