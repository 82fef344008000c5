"""The decoder's keys and values of prompts, shared by all replies to a prompt. Imports transformers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from transformers import DynamicCache, EncoderDecoderCache
from transformers.cache_utils import DynamicLayer

if TYPE_CHECKING:
    import torch


def shared_cache(layers: Iterable[Any], rows: list[int], times: int) -> Any:
    """A cache of a decoder for ``times`` replies to each of the prompts in these rows of the layers."""
    prompts = DynamicCache()
    prompts.layers = [_SharedLayer(layer, rows, times) for layer in layers]
    return EncoderDecoderCache(DynamicCache(), prompts)


class _SharedLayer(DynamicLayer):  # type: ignore[misc]
    """A layer that repeats the keys and values of its prompts only while the decoder reads them."""

    def __init__(self, layer: Any, rows: list[int], times: int) -> None:
        is_whole = len(rows) == len(layer.keys)
        self._keys, self._values = (t if is_whole else t[rows] for t in (layer.keys, layer.values))
        self._times = times

    @property
    def keys(self) -> torch.Tensor:
        return _repeated(self._keys, self._times)

    @property
    def values(self) -> torch.Tensor:
        return _repeated(self._values, self._times)

    def get_seq_length(self) -> int:
        return int(self._keys.shape[-2])

    def reorder_cache(self, _beams: torch.Tensor) -> None:
        """Do nothing, because all beams of a prompt read the same keys and values."""


def _repeated(prompts: torch.Tensor, times: int) -> torch.Tensor:
    """Each row, ``times`` in succession; a view if it is once."""
    return prompts.unsqueeze(1).expand(-1, times, -1, -1, -1).flatten(0, 1)
