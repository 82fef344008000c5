"""Decoding options: which backend supports which, their ranges and form in files; sampling."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from itertools import chain
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from exam_pp.errors import ModelError
from exam_pp.judges import E5
from exam_pp.llm.base import ModelOptions

if TYPE_CHECKING:
    import torch


DECODING = (
    "temperature",
    "top_p",
    "sampling_seed",
    "presence_penalty",
    "frequency_penalty",
    "max_tokens",
    "stop",
    "reasoning_effort",
    "response_format",
)
"""Names of the decoding options in :class:`ModelOptions` and ``llm_options``; commands have dashes."""

_SAMPLING = ("top_p", "sampling_seed")
ENDPOINTS = ("openai", "openai-completions")
_WRITING = ("text2text", "text-generation", *ENDPOINTS)
_NEEDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("temperature", *_SAMPLING, "max_tokens", "choose"), _WRITING),
    **dict.fromkeys(("presence_penalty", "frequency_penalty", "stop", "base_url"), ENDPOINTS),
    **dict.fromkeys(("reasoning_effort", "response_format"), ("openai",)),
    "thinking_tokens": ("text-generation", "openai"),
    "no_answer_at": ("question-answering",),
    **dict.fromkeys(("positive_class", "trust_remote_code"), ("text-classification",)),
    **dict.fromkeys(("cut_points", "query_prefix", "passage_prefix"), ("sentence-similarity", E5)),
}
"""The pipelines, or own models, that support an option which not all support."""
_PIPELINES = frozenset(chain.from_iterable(_NEEDS.values()))
_FLAGS = {"base_url": "--base-url", "choose": "--reply chosen", "trust_remote_code": "--trust-remote-code"}
"""Options of commands that are no keys of ``-M``."""
_RANGES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "temperature": (lambda value: 0 <= value < math.inf, "at least 0"),
    "top_p": (lambda value: 0 < value <= 1, "above 0 and at most 1"),
    "presence_penalty": (lambda value: -2 <= value <= 2, "from -2 to 2"),
    "frequency_penalty": (lambda value: -2 <= value <= 2, "from -2 to 2"),
    "max_tokens": (lambda value: value >= 1, "at least 1"),
    "stop": (all, "a text that is not empty"),
}
_SCHEMA_HASH_DIGITS = 16


_NO_CHOICE = ("temperature", "top_p", "sampling_seed", "max_tokens", "stop", "response_format")
"""Options that determine how a reply is decoded, so that they have no effect on a choice."""


def check_options(options: ModelOptions, *, has_own_rules: bool = False) -> None:
    """Raise :class:`ModelError` for an option that the backend does not support, or a value out of range.

    ``has_own_rules`` says that the model is not a language model, such as a baseline. Backends of other
    packages check their options themselves.
    """
    used = options.model if has_own_rules else options.pipeline
    for option in fields(options):
        fitting = _NEEDS.get(option.name, (used,))
        is_known = has_own_rules or used in _PIPELINES
        if getattr(options, option.name) != option.default and is_known and used not in fitting:
            needed = " or ".join(f"--model {name}" if name == E5 else name for name in fitting)
            raise ModelError(
                f"{_FLAGS.get(option.name, f'-M {option.name}')} needs --model-pipeline {needed}, and cannot "
                f"be used with {f'the model {used!r}' if has_own_rules else used}."
            )
    given = _given(options)
    for name, value in given.items():
        is_valid, expected = _RANGES.get(name, (None, ""))
        if is_valid is not None and not is_valid(value):
            raise ModelError(f"-M {name} must be {expected}, not {value!r}.")
    if options.choose:
        for name in (*(name for name in _NO_CHOICE if name in given), *options.thinking):
            raise ModelError(
                f"-M {name} cannot be combined with --reply chosen, which takes the likeliest label "
                "without decoding."
            )
    if options.pipeline in ("text2text", "text-generation"):
        _check_sampling(options)


def _check_sampling(options: ModelOptions) -> None:
    """Raise ModelError for options that would have no effect on the replies of a local model."""
    if not options.samples:
        for name in _SAMPLING:
            if getattr(options, name) is not None:
                raise ModelError(
                    f"-M {name} needs -M temperature above 0: at temperature 0 a local model always "
                    "takes the likeliest token."
                )
        return
    if options.num_beams is not None and options.num_beams > 1:
        raise ModelError("-M temperature above 0 cannot be combined with beam search: use one beam.")
    if options.requests_ctranslate2:
        raise ModelError(
            "-M temperature above 0 needs -M engine=transformers: the samples of CTranslate2 depend on the "
            "batches."
        )


def check_reply_limit(options: ModelOptions, limit: int) -> None:
    """Raise :class:`ModelError` if ``-M max_tokens`` is above the longest reply of a local model."""
    if options.max_tokens is not None and options.max_tokens > limit:
        raise ModelError(
            f"-M max_tokens={options.max_tokens} is above the longest reply of the model {options.model!r}: "
            f"{limit} tokens."
        )


def recorded_decoding(options: ModelOptions) -> dict[str, Any]:
    """The decoding options that differ from the defaults, as grades record them.

    A JSON Schema is recorded as ``json-schema:HASH``. Without ``-M max_tokens`` the limit is that of model
    and prompt, which backends record as ``max_new_tokens``. Raises :class:`ModelError` for a schema that
    cannot be read.
    """
    recorded = _given(options) | ({"choose": True} if options.choose else {})
    if options.samples and options.pipeline in ("text2text", "text-generation"):
        recorded["sampling_seed"] = options.sampling_seed or 0
    schema = response_format(options)
    if schema is not None and schema["type"] == "json_schema":
        text = json.dumps(schema["json_schema"]["schema"], sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:_SCHEMA_HASH_DIGITS]
        recorded["response_format"] = f"json-schema:{digest}"
    return recorded


def response_format(options: ModelOptions) -> dict[str, Any] | None:
    """The ``response_format`` of a call to an endpoint; None without ``-M response_format``.

    Raises :class:`ModelError` for a file that is not a JSON Schema.
    """
    name = options.response_format
    if name is None:
        return None
    if name in ("text", "json"):
        return {"type": "text" if name == "text" else "json_object"}
    try:
        if Path(name).exists() and not Path(name).is_file():  # a pipe may never end
            raise OSError(None, "not a regular file")
        schema = json.loads(Path(name).read_text("utf-8"))
    except OSError as error:
        raise ModelError(
            f"-M response_format={name!r} is neither text nor json nor a readable file with a JSON Schema "
            f"({error.strerror})."
        ) from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"The JSON Schema {name!r} of -M response_format is not JSON: {error}.") from error
    if not isinstance(schema, dict):
        raise ModelError(f"The JSON Schema {name!r} of -M response_format is not a JSON object.")
    title = re.sub(r"[^A-Za-z0-9_-]+", "_", str(schema.get("title") or "reply"))[:64]
    return {"type": "json_schema", "json_schema": {"name": title, "schema": schema, "strict": True}}


def _given(options: ModelOptions) -> dict[str, Any]:
    """The decoding options that differ from the defaults, by name."""
    given: dict[str, Any] = {}
    for name in DECODING:
        value = getattr(options, name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # 1.0 and 1 are the same in files and calls
        if name == "stop":
            value = list(value) or None
        if value is not None and (name, value) != ("temperature", 0):
            given[name] = value
    return given


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
