"""``-M device_map=auto`` with the CPU as the only device: replies equal those of a model on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("accelerate")

from exam_pp.errors import ModelError
from exam_pp.llm.backends import load_llm
from exam_pp.llm.base import ModelOptions
from exam_pp.llm_requests import Part, Request


def replies(options: ModelOptions, prompts: list[str]) -> list[str]:
    llm = load_llm(options)
    assert llm.provenance()["engine"] == "transformers"
    requests = [Request((Part(prompt),), max_new_tokens=20) for prompt in prompts]
    completions = dict(llm.generate(requests))
    return [completions[index].text for index in range(len(requests))]


def test_replies_of_a_seq2seq_model_with_device_map(checkpoints: dict[str, Path], prompts: list[str]) -> None:
    model = str(checkpoints["keyed"])
    placed = replies(ModelOptions(model, engine="transformers", device="cpu"), prompts[:6])
    assert replies(ModelOptions(model, device_map="auto"), prompts[:6]) == placed


def test_replies_of_a_causal_model_with_device_map(
    causal_checkpoints: dict[str, Path], prompts: list[str]
) -> None:
    model, pipeline = str(causal_checkpoints["plain"]), "text-generation"
    placed = replies(ModelOptions(model, pipeline, device="cpu"), prompts[:6])
    assert replies(ModelOptions(model, pipeline, device_map="auto"), prompts[:6]) == placed


def test_options_that_contradict_a_device_map(checkpoints: dict[str, Path]) -> None:
    model = str(checkpoints["keyed"])
    with pytest.raises(ModelError, match=r"-M device_map .*--device\b"):
        load_llm(ModelOptions(model, device_map="auto", device="cuda:1"))
    with pytest.raises(ModelError, match=r"-M device_map .*-M engine=ctranslate2"):
        load_llm(ModelOptions(model, device_map="auto", engine="ctranslate2"))
