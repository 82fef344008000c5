"""Choice of devices and dtypes, and recovery from out of memory, with pretended GPUs."""

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
from exam_pp.llm_requests import Completion, Part, Request
from exam_pp.phases.grading.distributed import TorchProcessGroup


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


def test_the_first_gpu_is_used_if_there_is_one(gpus: Callable[..., list[int]]) -> None:
    gpus(0)
    assert pick_device(ModelOptions("m")) == "cpu"
    current = gpus(2)
    assert pick_device(ModelOptions("m")) == "cuda"
    assert pick_device(ModelOptions("m", device="cuda:1")) == "cuda:1"
    assert pick_device(ModelOptions("m", device="cpu")) == "cpu"
    assert current == [0, 1]


@pytest.mark.parametrize(
    ("count", "device", "message"),
    [(0, "cuda", "0 GPUs"), (2, "cuda:2", "2 GPUs"), (1, "cuda:x", "'cuda:x' .* 1 GPU\\b")],
)
def test_a_missing_gpu(gpus: Callable[..., list[int]], count: int, device: str, message: str) -> None:
    current = gpus(count)
    with pytest.raises(ModelError, match=message):
        pick_device(ModelOptions("m", device=device))
    assert not current


def test_half_precision_only_if_the_gpu_supports_it(gpus: Callable[..., list[int]]) -> None:
    gpus(1)
    assert pick_dtype(ModelOptions("m"), "cuda") == "bfloat16"
    assert pick_dtype(ModelOptions("m"), "cpu") == "float32"
    assert pick_dtype(ModelOptions("m", dtype="float16"), "cuda") == "float16"
    gpus(1, bf16=False)
    assert pick_dtype(ModelOptions("m"), "cuda") == "float32"


def test_compute_types_of_ctranslate2(monkeypatch: pytest.MonkeyPatch) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    calls: list[tuple[str, int]] = []

    def supported(device: str, index: int = 0) -> set[str]:
        calls.append((device, index))
        return {"float32", "float16"} | ({"bfloat16"} if index else set())

    monkeypatch.setattr(ctranslate2, "get_supported_compute_types", supported)
    monkeypatch.setattr(ctranslate2, "get_cuda_device_count", lambda: 2)
    options = ModelOptions("m")
    assert conversion.engine_device(options) == "cuda"
    assert conversion.engine_compute_type(options, "cuda") == "float32"
    assert conversion.engine_compute_type(ModelOptions("m", device="cuda:1"), "cuda") == "bfloat16"
    assert conversion.engine_compute_type(ModelOptions("m", compute_type="int8"), "cuda") == "int8"
    assert conversion.engine_compute_type(ModelOptions("m", dtype="float16"), "cuda") == "float16"
    assert conversion.engine_compute_type(options, "cpu") == "float32"
    assert calls == [("cuda", 0), ("cuda", 1)]
    assert conversion.worker_threads(options, "cuda") == (1, 0)


@pytest.mark.parametrize(("rank", "device"), [(0, "cuda:0"), (5, "cuda:1")])
def test_each_process_gets_a_gpu(gpus: Callable[..., list[int]], rank: int, device: str) -> None:
    gpus(4)
    group = TorchProcessGroup.__new__(TorchProcessGroup)
    group.local_rank, group.local_size = rank, 8
    assert group.assign_device(ModelOptions("m")).device == device
    assert group.assign_device(ModelOptions("m", device="cuda")).device == device
    assert group.assign_device(ModelOptions("m", device="cuda:3")).device == "cuda:3"
    assert group.assign_device(ModelOptions("m", device="cpu")).device == "cpu"


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
    """A model that fails with more than two prompts while it holds a tensor."""

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


def test_batches_are_split_if_their_size_failed_before() -> None:
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


def test_memory_of_a_failed_batch_is_free_before_its_halves_start() -> None:
    llm = Hungry()
    requests = [Request((Part(str(number)),)) for number in range(7)]
    assert {index: reply.text for index, reply in llm.generate(requests)} == {i: str(i) for i in range(7)}
    assert len(llm.activations) == 7
