"""Local models on pretended GPUs: no operation mixes devices, and replies equal those on the CPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from exam_pp.llm.backends import load_llm
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.checkpoint import ModelCheckpoint
from exam_pp.llm_requests import Completion, Part, Request
from tests.llm.pretend_cuda import OnGpu, pretended_gpus

LABELS = tuple("012345")
INSTRUCTION = "Rate from 0 to 5 how well this is said, and say nothing else. Text: "


def requests(prompts: list[str], labels: tuple[str, ...] = LABELS) -> list[Request]:
    return [
        Request((Part(INSTRUCTION), Part(text, "context", may_be_cut=True)), labels, 12, one_line=True)
        for text in prompts[:4]
    ]


def run(options: ModelOptions, prompts: list[Request]) -> list[Completion]:
    llm = load_llm(options)
    replies = dict(llm.generate(prompts))
    return [replies[index] for index in range(len(prompts))]


def run_on_cpu(options: ModelOptions, prompts: list[Request]) -> list[Completion]:
    return run(replace(options, device="cpu", device_map=None, engine="transformers"), prompts)


def assert_equal(replies: list[Completion], expected: list[Completion]) -> None:
    assert [reply.text for reply in replies] == [reply.text for reply in expected]
    for a, b in zip(replies, expected, strict=True):
        assert a.label_logprobs == pytest.approx(b.label_logprobs, abs=1e-4)


def test_the_pretended_gpu_has_the_rules_of_a_real_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    with pretended_gpus(monkeypatch, 2):
        gpu0, gpu1, cpu = torch.arange(3, device="cuda"), torch.ones(3, device="cuda:1"), torch.ones(3)
        assert isinstance(gpu0, OnGpu)
        with pytest.raises(RuntimeError, match="on the same device"):
            gpu0 + cpu
        with pytest.raises(RuntimeError, match="on the same device"):
            gpu0 + gpu1
        with pytest.raises(RuntimeError, match="on the same device"):
            cpu[gpu0]
        with pytest.raises(RuntimeError, match="on the same device"):
            cpu[[0, 1]] = gpu1[:2]
        gpu0[1:] += 5
        assert gpu0[[0, 2]].tolist() == [0, 7]
        assert (gpu0.cpu() * cpu + gpu0.sum().cpu()).tolist() == [13, 19, 20]


@pytest.mark.parametrize("dtype", ["float32", "auto"])
@pytest.mark.parametrize("num_beams", [5, 1])
def test_seq2seq(
    checkpoints: dict[str, Path], prompts: list[str], monkeypatch: Any, num_beams: int, dtype: Any
) -> None:
    model = ModelOptions(str(checkpoints["flat"]), engine="transformers", num_beams=num_beams, dtype=dtype)
    batch = requests(prompts)
    with pretended_gpus(monkeypatch):
        llm = load_llm(model)
        assert [llm.provenance()[key] for key in ("device", "dtype")] == [
            "cuda",
            "bfloat16" if dtype == "auto" else dtype,
        ]
        replies = dict(llm.generate(batch))
    assert all(reply.error is None and len(reply.label_logprobs) == 6 for reply in replies.values())
    if dtype == "float32":
        assert_equal([replies[index] for index in range(4)], run_on_cpu(model, batch))


@pytest.mark.parametrize("labels", [LABELS, ()])
@pytest.mark.parametrize("dtype", ["float32", "auto"])
def test_causal(
    causal_checkpoints: dict[str, Path], prompts: list[str], monkeypatch: Any, dtype: Any, labels: Any
) -> None:
    model = ModelOptions(str(causal_checkpoints["plain"]), "text-generation", dtype=dtype)
    batch = requests(prompts, labels)
    with pretended_gpus(monkeypatch):
        replies = run(model, batch)
    assert all(reply.error is None for reply in replies)
    if dtype == "float32":
        assert_equal(replies, run_on_cpu(model, batch))


def test_extractive(qa_checkpoint: Path, prompts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    model = ModelOptions(str(qa_checkpoint), "question-answering", dtype="float32")
    batch = [Request((Part("which tides?", "question"), Part(text * 9, "context"))) for text in prompts[:4]]
    with pretended_gpus(monkeypatch):
        replies = run(model, batch)
    assert replies == run_on_cpu(model, batch)


@pytest.fixture
def spread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are spread over two pretended GPUs."""
    accelerate = pytest.importorskip("accelerate")

    def place(checkpoint: ModelCheckpoint, dtype: Any, _device: str) -> Any:
        where = {
            "shared": 0, "encoder": 1, "decoder": 0, "lm_head": 0, "model.embed_tokens": 0,
            "model.layers.0": 0, "model.layers.1": 1, "model.norm": 1, "model.rotary_emb": 0,
        }  # fmt: skip
        model = checkpoint.model(dtype)
        names = {name for name, _ in model.named_modules()}
        return accelerate.dispatch_model(model, {k: f"cuda:{v}" for k, v in where.items() if k in names})

    monkeypatch.setattr(ModelCheckpoint, "placed_model", place)
    monkeypatch.setattr("accelerate.big_modeling.retie_parameters", lambda *_: None)
    return


def test_a_seq2seq_model_on_two_gpus(
    checkpoints: dict[str, Path], prompts: list[str], monkeypatch: pytest.MonkeyPatch, spread: None
) -> None:
    model = ModelOptions(str(checkpoints["flat"]), device_map="auto", dtype="float32")
    with pretended_gpus(monkeypatch, 2):
        replies = run(model, requests(prompts))
    monkeypatch.undo()
    assert_equal(replies, run_on_cpu(model, requests(prompts)))


def test_a_causal_model_on_two_gpus(
    causal_checkpoints: dict[str, Path], prompts: list[str], monkeypatch: pytest.MonkeyPatch, spread: None
) -> None:
    folder = str(causal_checkpoints["plain"])
    model = ModelOptions(folder, "text-generation", device_map="auto", dtype="float32")
    with pretended_gpus(monkeypatch, 2):
        replies = run(model, requests(prompts))
    monkeypatch.undo()
    assert_equal(replies, run_on_cpu(model, requests(prompts)))
