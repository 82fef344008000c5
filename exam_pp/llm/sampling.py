"""Sampling of replies whose draws depend only on seed and request, not on the batch."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

from exam_pp.llm.base import ModelOptions

if TYPE_CHECKING:
    import torch


class Sampler:
    """A logits processor that leaves only a sampled token of each row, so that greedy search takes it.

    Each request has its own random numbers, one for each token of its reply. They are made from the seed and
    the request's key, so the reply is the same in every batch and after an interruption. ``keys`` are the
    keys of the rows' requests. With ``top_p`` below 1, tokens come from the nucleus: the smallest set of
    likeliest tokens with this probability (Holtzman et al., "The Curious Case of Neural Text Degeneration",
    2020).
    """

    def __init__(self, options: ModelOptions, keys: Sequence[str]) -> None:
        self._temperature = options.temperature
        self._top_p = 1.0 if options.top_p is None else options.top_p
        self._numbers = [Random(f"{options.sampling_seed or 0} {key}") for key in keys]

    def keep(self, rows: Sequence[int]) -> None:
        """Continue with these rows only."""
        self._numbers = [self._numbers[row] for row in rows]

    def __call__(self, _input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores of the next token: 0 for the sampled token of a row, −inf for all others."""
        import torch

        numbers = [[row.random()] for row in self._numbers]
        draws = torch.tensor(numbers, dtype=torch.float64, device=scores.device)
        shares = (scores.double() / self._temperature).softmax(-1)
        if self._top_p < 1:
            ranked, order = shares.sort(dim=-1, descending=True)
            outside = ranked.cumsum(-1) - ranked >= self._top_p
            shares = shares.scatter(-1, order, ranked.masked_fill(outside, 0.0))
        # The tokens divide an interval in the order of the vocabulary. Rounding errors, which depend on the
        # batch, move its borders by very little.
        borders = shares.cumsum(-1)
        sampled = (borders <= draws * borders[:, -1:]).sum(-1, keepdim=True)
        sampled = sampled.clamp(max=scores.shape[-1] - 1)  # a draw next to 1 may be rounded to 1
        return torch.full_like(scores, -torch.inf).scatter(-1, sampled, 0.0)
