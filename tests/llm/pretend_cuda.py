"""Pretended GPUs: tensors on the CPU whose device is ``cuda``, with the device rules of CUDA.

As with real GPUs, an operation on tensors of two devices fails, except for copies, indices on the CPU, and
single numbers on the CPU.
"""

# mypy: disable-error-code="override, no-untyped-call, arg-type"
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_map

_aten = torch.ops.aten
_CROSSING = {_aten.copy_, _aten._to_copy, _aten.to}
_INDEXING = {_aten.index, _aten.index_put, _aten.index_put_, _aten._index_put_impl_}


class OnGpu(torch.Tensor):
    """A tensor on a pretended GPU; ``held`` contains its numbers.

    The core of torch, which may be built without CUDA, sees a tensor without numbers (``meta``).
    """

    held: torch.Tensor
    on: torch.device

    @staticmethod
    def __new__(cls, held: torch.Tensor, device: torch.device) -> OnGpu:
        tensor: OnGpu = torch.Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device="meta",
        )
        tensor.held, tensor.on = held, device
        return tensor

    @property
    def device(self) -> torch.device:
        return self.on

    @property
    def is_cuda(self) -> bool:
        return True

    def tolist(self) -> Any:
        return self.held.tolist()

    def __repr__(self, **_: Any) -> str:
        return f"OnGpu({self.held!r}, {self.device})"

    def __deepcopy__(self, _memo: Any) -> OnGpu:
        return OnGpu(self.held.clone(), self.device)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


class _Indices(TorchFunctionMode):
    """Replaces ``cuda`` by a device with an index, for which torch would ask the driver."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.device:
            return func(*args, **(kwargs or {}))
        options = {key: _indexed(value) for key, value in (kwargs or {}).items()}
        if func is torch.tensor and options.get("device") is not None:
            device = options.pop("device")  # torch would copy it without a call to the dispatch mode
            return torch.tensor(*args, **options).to(device)
        if func is torch.Tensor.new_tensor and isinstance(args[0], OnGpu):
            return torch.tensor(args[1], dtype=options.get("dtype", args[0].dtype)).to(args[0].device)
        if func is torch.nn.functional.scaled_dot_product_attention:
            return _run(torch.ops.aten.scaled_dot_product_attention.default, args, options)
        if func in (torch.Tensor.__getitem__, torch.Tensor.__setitem__) and isinstance(args[0], OnGpu):
            args = (args[0], _tensors(args[1]), *args[2:])
        return func(*map(_indexed, args), **options)


def _tensors(index: Any) -> Any:
    """Convert lists in an index to tensors; torch would make them on the device without numbers."""
    if isinstance(index, tuple):
        return tuple(map(_tensors, index))
    return torch.tensor(index) if isinstance(index, list) else index


def _indexed(value: Any) -> Any:
    if (
        value == "cuda"
        if isinstance(value, str)
        else isinstance(value, torch.device) and value.type == "cuda"
    ):
        return _with_index(value)
    return value


class _Factories(TorchDispatchMode):
    """Makes tensors that are created on or moved to a GPU tensors of a pretended GPU."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    values = tree_flatten((args, kwargs))[0]
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    devices = [value for value in values if isinstance(value, torch.device)]
    if func.overloadpacket is _aten.scalar_tensor:  # a single number may stay on the CPU
        with _disable_current_modes():
            return func(*args, **kwargs | {"device": torch.device("cpu")})
    if not any(isinstance(tensor, OnGpu) for tensor in tensors) and "cuda" not in [d.type for d in devices]:
        with _disable_current_modes():
            return func(*args, **kwargs)
    devices = [device for device in devices if device.type != "meta"]
    common = _common_device(func, args, tensors)
    device = _with_index(devices[0]) if devices else common
    with _disable_current_modes():
        result = func(*tree_map(_on_cpu, args), **tree_map(_on_cpu, kwargs))
    if func._schema.returns and (alias := func._schema.returns[0].alias_info) and alias.is_write:
        return args[0]  # an in-place operation returns its argument
    if device.type != "cuda":
        return result
    return tree_map(lambda value: OnGpu(value, device) if isinstance(value, torch.Tensor) else value, result)


def _on_cpu(value: Any) -> Any:
    if isinstance(value, torch.device):
        return torch.device("cpu")
    return value.held if isinstance(value, OnGpu) else value


def _with_index(device: Any) -> torch.device:
    device = torch.device(device)
    return torch.device("cuda", device.index or 0) if device.type == "cuda" else device


def _common_device(func: Any, args: Any, tensors: list[torch.Tensor]) -> torch.device:
    name = func.overloadpacket
    if name in _CROSSING:
        return tensors[0].device
    if name in _INDEXING:
        first = args[0].device
        for index in args[1]:
            if index is not None and index.device != first and index.device.type != "cpu":
                raise RuntimeError(
                    "indices should be either on cpu or on the same device as the indexed tensor"
                )
        tensors = [args[0], *(value for value in args[2:] if isinstance(value, torch.Tensor))]
    devices = {t.device for t in tensors if t.dim() or t.device.type != "cpu"} or {torch.device("cpu")}
    if len(devices) > 1:
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found {sorted(map(str, devices))} ({func})"
        )
    return devices.pop()


@contextmanager
def pretended_gpus(monkeypatch: pytest.MonkeyPatch, count: int = 1, bf16: bool = True) -> Iterator[None]:
    """In this block torch has ``count`` GPUs."""
    cuda: Any = torch.cuda
    monkeypatch.setattr(cuda, "is_available", lambda: True)
    monkeypatch.setattr(cuda, "_lazy_init", lambda: None)
    monkeypatch.setattr(cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(cuda, "device_count", lambda: count)
    monkeypatch.setattr(cuda, "current_device", lambda: 0)
    monkeypatch.setattr(cuda, "set_device", lambda _device: None)
    monkeypatch.setattr(cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(cuda, "synchronize", lambda *_: None)
    monkeypatch.setattr(cuda, "is_bf16_supported", lambda including_emulation=True: bf16)
    monkeypatch.setattr(cuda, "get_device_capability", lambda *_: (9, 0))
    monkeypatch.setattr(cuda, "mem_get_info", lambda *_: (60 * 2**30, 80 * 2**30))
    monkeypatch.setattr(torch, "inference_mode", torch.no_grad)
    with _Indices(), _Factories():
        yield
