"""Devices, dtypes and memory of GPUs, with a torch that claims to have some."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, conversion
from exam_pp.llm.batched import BatchedLLM, _is_out_of_memory
from exam_pp.llm.checkpoint import pick_device, pick_dtype
from exam_pp.llm.encoding import Encoded
from exam_pp.messages import Completion, Part, Request
from exam_pp.phases.grading.distributed import TorchProcessGroup


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Makes torch claim a number of GPUs; returns the devices that were made current."""

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


def test_the_first_gpu_is_used_if_there_is_one(gpus: Callable[..., list[int]]) -> None:
    gpus(0)
    assert pick_device(ModelOptions("m")) == "cpu"
    current = gpus(2)
    assert pick_device(ModelOptions("m")) == "cuda"
    assert pick_device(ModelOptions("m", device="cuda:1")) == "cuda:1"
    assert pick_device(ModelOptions("m", device="cpu")) == "cpu"
    assert current == [0, 1]


@pytest.mark.parametrize(
    ("count", "device", "words"),
    [(0, "cuda", "finds no GPUs"), (2, "cuda:2", "finds 2 GPUs"), (1, "cuda:x", "no device 'cuda:x'")],
)
def test_a_gpu_that_is_not_there(gpus: Callable[..., list[int]], count: int, device: str, words: str) -> None:
    current = gpus(count)
    with pytest.raises(ModelError, match=words):
        pick_device(ModelOptions("m", device=device))
    assert not current


def test_half_precision_only_where_the_gpu_has_it(gpus: Callable[..., list[int]]) -> None:
    gpus(1)
    assert pick_dtype(ModelOptions("m"), "cuda") == "bfloat16"
    assert pick_dtype(ModelOptions("m"), "cpu") == "float32"
    assert pick_dtype(ModelOptions("m", dtype="float16"), "cuda") == "float16"
    gpus(1, bf16=False)
    assert pick_dtype(ModelOptions("m"), "cuda") == "float32"


def test_compute_types_of_ctranslate2(monkeypatch: pytest.MonkeyPatch) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    asked: list[tuple[str, int]] = []

    def known(device: str, index: int = 0) -> set[str]:
        asked.append((device, index))
        return {"float32", "float16"} | ({"bfloat16"} if index else set())

    monkeypatch.setattr(ctranslate2, "get_supported_compute_types", known)
    monkeypatch.setattr(ctranslate2, "get_cuda_device_count", lambda: 2)
    options = ModelOptions("m")
    assert conversion.engine_device(options) == "cuda"
    assert conversion.engine_compute_type(options, "cuda") == "float32"
    assert conversion.engine_compute_type(ModelOptions("m", device="cuda:1"), "cuda") == "bfloat16"
    assert conversion.engine_compute_type(ModelOptions("m", compute_type="int8"), "cuda") == "int8"
    assert conversion.engine_compute_type(ModelOptions("m", dtype="float16"), "cuda") == "float16"
    assert conversion.engine_compute_type(options, "cpu") == "float32"
    assert asked == [("cuda", 0), ("cuda", 1)]
    assert conversion.worker_threads(options, "cuda") == (1, 0)


@pytest.mark.parametrize(("rank", "device"), [(0, "cuda:0"), (5, "cuda:1")])
def test_each_process_gets_a_gpu(gpus: Callable[..., list[int]], rank: int, device: str) -> None:
    gpus(4)
    team = TorchProcessGroup.__new__(TorchProcessGroup)
    team.local_rank, team.local_size = rank, 8
    assert team.place(ModelOptions("m")).device == device
    assert team.place(ModelOptions("m", device="cuda")).device == device
    assert team.place(ModelOptions("m", device="cuda:3")).device == "cuda:3"
    assert team.place(ModelOptions("m", device="cpu")).device == "cpu"


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
def test_what_is_out_of_memory(error: BaseException) -> None:
    assert _is_out_of_memory(error)
    assert not _is_out_of_memory(RuntimeError("CUDA error: device-side assert triggered"))


class Hungry(BatchedLLM[Encoded]):
    """Fails with more than two prompts, while an activation is in its hands."""

    def __init__(self) -> None:
        super().__init__("hungry", 1000)
        self.activations: list[weakref.ref[Any]] = []

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
            if len(requests) > 2:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return [Completion(request.text) for request in requests]

        return run


def test_batches_of_a_size_that_failed_are_not_tried_again() -> None:
    class Counting(Hungry):
        def start(self, requests: Sequence[Request], encoded: Sequence[Encoded]) -> Any:
            sizes.append(len(requests))
            return super().start(requests, encoded)

    sizes: list[int] = []
    llm = Counting()
    requests = [Request((Part(str(number)),)) for number in range(16)]
    batches = [list(range(start, start + 8)) for start in (0, 8)]
    replies = {index: reply.text for index, reply in llm.generate(requests, batches)}
    assert replies == {i: str(i) for i in range(16)}
    assert sizes == [8, 4, 2, 2, 2, 2, 2, 2, 2, 2]


def test_what_a_failed_batch_held_is_free_before_its_halves_are_tried() -> None:
    llm = Hungry()
    requests = [Request((Part(str(number)),)) for number in range(7)]
    assert {index: reply.text for index, reply in llm.generate(requests)} == {i: str(i) for i in range(7)}
    assert len(llm.activations) == 7
