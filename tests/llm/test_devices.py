"""Choice of devices, dtypes and batches, and recovery from out of memory, with pretended GPUs."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, cores, load_llm
from exam_pp.llm.batch_plan import MAX_BATCH_SIZE, plan_batches
from exam_pp.llm.batched import BatchedLLM, _is_out_of_memory
from exam_pp.llm.checkpoint import ModelCheckpoint, pick_device, pick_dtype
from exam_pp.llm.encoding import Encoded
from exam_pp.llm_requests import Completion, Part, Request
from exam_pp.phases.grading.distributed import LaunchedGroup
from tests.llm.asking import LABELS, answers, ask, texts
from tests.llm.pretend_cuda import pretended_gpus


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """A function that makes torch report some GPUs; it returns the list of devices made current."""

    def claim(count: int, bf16: bool = True) -> list[int]:
        current: list[int] = []
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setattr(torch.cuda, "set_device", current.append)
        monkeypatch.setattr(
            torch.cuda, "is_bf16_supported", lambda including_emulation=True: bf16 or including_emulation
        )
        return current

    return claim


@pytest.mark.parametrize(
    ("count", "asked", "device", "made_current"),
    [
        (0, None, "cpu", []),
        (2, None, "cuda", [0]),
        (2, "cuda:1", "cuda:1", [1]),
        (2, "cpu", "cpu", []),
    ],
)
def test_the_first_gpu_is_used_if_there_is_one(
    gpus: Callable[..., list[int]], count: int, asked: str | None, device: str, made_current: list[int]
) -> None:
    current = gpus(count)
    assert pick_device(ModelOptions("m", device=asked)) == device
    assert current == made_current


@pytest.mark.parametrize(
    ("count", "device", "message"),
    [(0, "cuda", "0 GPUs"), (2, "cuda:2", "2 GPUs"), (1, "cuda:x", "'cuda:x' .* 1 GPU\\b")],
)
def test_a_missing_gpu(gpus: Callable[..., list[int]], count: int, device: str, message: str) -> None:
    current = gpus(count)
    with pytest.raises(ModelError, match=message):
        pick_device(ModelOptions("m", device=device))
    assert not current


@pytest.mark.parametrize(
    ("bf16", "asked", "device", "dtype"),
    [
        (True, "auto", "cuda", "bfloat16"),
        (True, "auto", "cpu", "float32"),
        (True, "float16", "cuda", "float16"),
        (False, "auto", "cuda", "float32"),
    ],
)
def test_half_precision_only_if_the_gpu_supports_it(
    gpus: Callable[..., list[int]], bf16: bool, asked: Any, device: str, dtype: str
) -> None:
    gpus(1, bf16)
    assert pick_dtype(ModelOptions("m", dtype=asked), device) == dtype


@pytest.mark.parametrize(
    ("quota", "expected"),
    [("max 100000", 8), ("250000 100000", 2), ("50000 100000", 1), ("1600000 100000", 8)],
)
def test_the_quota_of_a_container_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quota: str, expected: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(8)))
    monkeypatch.setattr(cores, "CPU_QUOTA", tmp_path / "cpu.max")
    assert cores.available_cores() == 8
    (tmp_path / "cpu.max").write_text(f"{quota}\n")
    assert cores.available_cores() == expected


@pytest.mark.parametrize(
    ("rank", "asked", "device"),
    [
        (0, None, "cuda:0"), (5, None, "cuda:1"), (5, "cuda", "cuda:1"), (5, "cuda:3", "cuda:3"),
        (5, "cpu", "cpu"),
    ],
)  # fmt: skip
def test_each_process_gets_a_gpu(
    gpus: Callable[..., list[int]], rank: int, asked: str | None, device: str
) -> None:
    gpus(4)
    group = LaunchedGroup.__new__(LaunchedGroup)
    group.local_rank, group.local_size = rank, 8
    assert group.assign_device(ModelOptions("m", device=asked)).device == device


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("CUDA failed with error out of memory"),  # CTranslate2
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:121] DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("std::bad_alloc"),
        MemoryError(),
    ],
)
def test_out_of_memory_errors_are_recognised(error: BaseException) -> None:
    assert _is_out_of_memory(error)
    assert not _is_out_of_memory(RuntimeError("CUDA error: device-side assert triggered"))


class Hungry(BatchedLLM[Encoded]):
    """A model that fails with more than some prompts while it holds a tensor."""

    def __init__(self, most: int) -> None:
        super().__init__("hungry", 1000)
        self.most = most
        self.activations: list[weakref.ref[Any]] = []
        self.sizes: list[int] = []

    def provenance(self) -> dict[str, Any]:
        return {}

    def encode(self, requests: Sequence[Request]) -> list[Encoded]:
        return [Encoded([1]) for _ in requests]

    def start(
        self, requests: Sequence[Request], encoded: Sequence[Encoded]
    ) -> Callable[[], list[Completion]]:
        def run() -> list[Completion]:
            assert all(activation() is None for activation in self.activations)
            activation = torch.zeros(8)
            self.activations.append(weakref.ref(activation))
            self.sizes.append(len(requests))
            if len(requests) > self.most:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return [Completion(request.text) for request in requests]

        return run


def test_a_batch_that_fails_is_split_like_those_of_its_size_after_it() -> None:
    """Its memory is free before its halves start."""
    llm = Hungry(2)
    asked = [Request((Part(str(number)),)) for number in range(16)]
    replies = answers(llm, asked, [[*range(8)], [*range(8, 16)]])
    assert texts(replies) == [str(number) for number in range(16)]
    assert llm.sizes == [8, 4, 2, 2, 2, 2, 2, 2, 2, 2]
    assert "out of memory" in (answers(Hungry(0), asked[:1])[0].error or "")


LENGTHS = st.lists(st.integers(1, 600), max_size=400)


@given(lengths=LENGTHS, budget=st.integers(1, 4000), groups=st.integers(1, 3))
def test_every_index_once_and_within_the_budget(lengths: list[int], budget: int, groups: int) -> None:
    group_of = [length % groups for length in lengths]
    batches = plan_batches(lengths, budget, group_of)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= budget
        assert len(batch) <= MAX_BATCH_SIZE
        assert len({group_of[i] for i in batch}) == 1
    assert plan_batches(lengths, budget, group_of) == batches


# Local models on pretended GPUs: no operation mixes devices, and replies equal those on the CPU

INSTRUCTION = "Rate from 0 to 5 how well this is said, and say nothing else. Text: "


def requests(prompts: list[str], labels: tuple[str, ...] = LABELS) -> list[Request]:
    return [
        Request((Part(INSTRUCTION), Part(text, "context", may_be_cut=True)), labels, 12, one_line=True)
        for text in prompts[:2]
    ]


def ask_on_cpu(options: ModelOptions, prompts: list[Request]) -> list[Completion]:
    return ask(replace(options, device="cpu", device_map=None, engine="transformers"), prompts)


def assert_equal(replies: list[Completion], expected: list[Completion]) -> None:
    assert texts(replies) == texts(expected)
    for a, b in zip(replies, expected, strict=True):
        assert a.label_logprobs == pytest.approx(b.label_logprobs, abs=1e-4)


def test_the_pretended_gpu_has_the_rules_of_a_real_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    with pretended_gpus(monkeypatch, 2):
        gpu0, gpu1, cpu = torch.arange(3, device="cuda"), torch.ones(3, device="cuda:1"), torch.ones(3)
        for other in (gpu1, cpu):
            with pytest.raises(RuntimeError, match="on the same device"):
                gpu0 + other
        with pytest.raises(RuntimeError, match="on the same device"):
            cpu[gpu0]
        gpu0[1:] += 5
        assert (gpu0.cpu() * cpu + gpu0.sum().cpu()).tolist() == [13, 19, 20]


@pytest.mark.parametrize(
    ("num_beams", "dtype", "recorded"), [(5, "float32", "float32"), (1, "auto", "bfloat16")]
)
def test_seq2seq(
    checkpoints: dict[str, Path],
    prompts: list[str],
    monkeypatch: pytest.MonkeyPatch,
    num_beams: int,
    dtype: Any,
    recorded: str,
) -> None:
    model = ModelOptions(str(checkpoints["flat"]), engine="transformers", num_beams=num_beams, dtype=dtype)
    batch = requests(prompts)
    with pretended_gpus(monkeypatch):
        llm = load_llm(model)
        replies = answers(llm, batch)
    assert [llm.provenance()[key] for key in ("device", "dtype")] == ["cuda", recorded]
    assert all(reply.error is None and len(reply.label_logprobs) == 6 for reply in replies)
    if dtype == "float32":
        assert_equal(replies, ask_on_cpu(model, batch))


@pytest.mark.parametrize(("dtype", "labels"), [("float32", LABELS), ("float32", ()), ("auto", LABELS)])
def test_causal(
    causal_checkpoints: dict[str, Path],
    prompts: list[str],
    monkeypatch: pytest.MonkeyPatch,
    dtype: Any,
    labels: Any,
) -> None:
    model = ModelOptions(str(causal_checkpoints["plain"]), "text-generation", dtype=dtype)
    batch = requests(prompts, labels)
    with pretended_gpus(monkeypatch):
        replies = ask(model, batch)
    assert all(reply.error is None for reply in replies)
    if dtype == "float32":
        assert_equal(replies, ask_on_cpu(model, batch))


def test_extractive(qa_checkpoint: Path, prompts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    model = ModelOptions(str(qa_checkpoint), "question-answering", dtype="float32")
    batch = [Request((Part("which tides?", "question"), Part(text * 9, "context"))) for text in prompts[:2]]
    with pretended_gpus(monkeypatch):
        replies = ask(model, batch)
    assert replies == ask_on_cpu(model, batch)


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


@pytest.fixture
def models(checkpoints: dict[str, Path], causal_checkpoints: dict[str, Path]) -> dict[str, ModelOptions]:
    plain = str(causal_checkpoints["plain"])
    return {
        "seq2seq": ModelOptions(str(checkpoints["flat"]), device_map="auto", dtype="float32"),
        "causal": ModelOptions(plain, "text-generation", device_map="auto", dtype="float32"),
    }


@pytest.mark.parametrize("kind", ["seq2seq", "causal"])
def test_a_model_on_two_gpus(
    models: dict[str, ModelOptions],
    prompts: list[str],
    monkeypatch: pytest.MonkeyPatch,
    spread: None,
    kind: str,
) -> None:
    with pretended_gpus(monkeypatch, 2):
        replies = ask(models[kind], requests(prompts))
    monkeypatch.undo()
    assert_equal(replies, ask_on_cpu(models[kind], requests(prompts)))


@pytest.mark.parametrize("kind", ["seq2seq", "causal"])
def test_a_device_map_with_the_cpu_alone(
    models: dict[str, ModelOptions], prompts: list[str], kind: str
) -> None:
    pytest.importorskip("accelerate")
    llm = load_llm(models[kind])
    assert llm.provenance()["engine"] == "transformers"
    assert_equal(answers(llm, requests(prompts)), ask_on_cpu(models[kind], requests(prompts)))


def test_a_device_contradicts_a_device_map(models: dict[str, ModelOptions]) -> None:
    with pytest.raises(ModelError, match=r"-M device_map .*--device\b"):
        load_llm(replace(models["seq2seq"], device="cuda:1"))
