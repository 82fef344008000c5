"""Encoding of prompts as token ids; only the passage is shortened if the prompt is too long."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from exam_pp.llm_requests import Completion, Part, Request, SoftDefinition

_CACHED_TEXTS = 4096


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids of a prompt and the number of removed passage tokens, or the reason why it is too long."""

    ids: list[int]
    tokens_cut: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _Piece:
    """The ids of a text that was encoded alone, without special tokens."""

    ids: list[int]
    has_unknown: bool


class PromptEncoder:
    """Encodes requests with a tokenizer, to at most ``max_tokens`` ids each.

    If the tokenizer works word by word, each text is encoded once and the ids are joined. This gives the same
    ids as encoding the whole prompt, which is the method for all other tokenizers.
    """

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self._tokenizer = tokenizer
        self.max_tokens = max_tokens
        self._joins_ids = _works_word_by_word(tokenizer)
        self._piece = lru_cache(maxsize=_CACHED_TEXTS)(self._encoded_alone)
        self._start_of = lru_cache(maxsize=_CACHED_TEXTS)(self._beginning)
        probe = self._whole([Part("a")])
        alone = tokenizer("a", add_special_tokens=False)["input_ids"]
        start = next((i for i in range(len(probe)) if probe[i : i + len(alone)] == alone), None)
        self._joins_ids = self._joins_ids and start is not None
        self._prefix = probe[:start] if start is not None else []
        self._suffix = probe[start + len(alone) :] if start is not None else []

    def encode(self, requests: Sequence[Request]) -> list[Encoded]:
        """Encode each request, in order; prompts that are too long have an error."""
        return [self._encode(request) for request in requests]

    def _encode(self, request: Request) -> Encoded:
        parts = [Part(self._clean(p.text), p.slot, p.may_be_cut, p.role) for p in request.parts]
        limit = self._limit(request)
        ids = self._ids(parts, limit)
        if ids is not None and len(ids) <= limit:
            return Encoded(ids)
        return self._shorten(parts, limit)

    def _limit(self, request: Request) -> int:
        """Maximal number of ids of the prompt."""
        return self.max_tokens

    def _clean(self, text: str) -> str:
        """Replace characters that the tokenizer would refuse or misread."""
        return clean(text)

    def _ids(self, parts: list[Part], limit: int) -> list[int] | None:
        """The ids of the prompt; None if the passage alone exceeds the limit."""
        pieces = [self._piece(part.text) for part in parts]
        if sum(len(p.ids) for p, part in zip(pieces, parts, strict=True) if part.may_be_cut) > limit:
            return None
        if self._joins_ids and _joinable(parts) and not any(piece.has_unknown for piece in pieces):
            return [*self._prefix, *(i for piece in pieces for i in piece.ids), *self._suffix]
        return self._whole(parts)

    def _shorten(self, parts: list[Part], limit: int) -> Encoded:
        """Cut the end of the passage until the whole prompt fits."""
        at = next((i for i, part in enumerate(parts) if part.may_be_cut and part.text), None)
        room = limit - len(self._whole([part for i, part in enumerate(parts) if i != at]))
        while at is not None and room > 0:
            text, cut = self._start_of(parts[at].text, room)
            ids = self._whole([*parts[:at], replace(parts[at], text=text), *parts[at + 1 :]])
            excess = len(ids) - limit
            if excess <= 0:
                return Encoded(ids, cut)
            room -= excess
        return Encoded([], error=f"the prompt without its passage is longer than {limit} tokens")

    def _beginning(self, text: str, tokens: int) -> tuple[str, int]:
        """The text up to the end of its ``tokens``-th token, and the number of tokens after it."""
        encoding = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        ids, offsets = encoding["input_ids"], encoding.get("offset_mapping")
        kept = min(tokens, len(ids))
        if offsets is None:  # tokenizers in Python, such as ByT5's, have no offsets
            start = self._tokenizer.decode(
                ids[:kept], skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
        else:
            start = text[: offsets[kept - 1][1] if kept else 0]
        return start, len(ids) - kept

    def _encoded_alone(self, text: str) -> _Piece:
        ids = self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return _Piece(ids, self._tokenizer.unk_token_id in ids)

    def _whole(self, parts: list[Part]) -> list[int]:
        ids: list[int] = self._tokenizer(
            "".join(part.text for part in parts),
            verbose=False,  # no warning about long prompts: the caller shortens them
        )["input_ids"]
        return ids


def label_pieces(tokenizer: Any, labels: Sequence[str]) -> list[list[int]]:
    """The token ids of each label of a scale, without special tokens."""
    return [tokenizer(label, add_special_tokens=False)["input_ids"] for label in labels]


def exclusive(logprobs: Sequence[float], pieces: Sequence[Sequence[int]]) -> tuple[float, ...]:
    """The log-probability that a text begins with each label and with no longer label, such as 1 and not 10.

    ``logprobs`` are those of beginning with the ``pieces`` of each label.
    """
    result = []
    for label, logprob in zip(pieces, logprobs, strict=True):
        longer = [
            other
            for continued, other in zip(pieces, logprobs, strict=True)
            if len(continued) > len(label) and list(continued[: len(label)]) == list(label)
        ]
        rest = math.exp(logprob) - math.fsum(map(math.exp, longer)) if longer else 0.0
        result.append(logprob if not longer else math.log(rest) if rest > 0 else -math.inf)
    return tuple(result)


def choice(
    labels: Sequence[str], logprobs: Sequence[float], definition: SoftDefinition = "reply"
) -> Completion | None:
    """The completion with the likeliest label, the first of several; None if the numbers overflow."""
    if any(map(math.isnan, logprobs)) or not math.isfinite(max(logprobs)):
        return None
    best = labels[list(logprobs).index(max(logprobs))]
    return Completion(best, label_logprobs=tuple(logprobs), definition=definition)


def clean(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode and tokenizers refuse."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def _joinable(parts: list[Part]) -> bool:
    """Whether all parts are separated by whitespace; empty parts are ignored."""
    texts = [part.text for part in parts if part.text]
    return all(a[-1].isspace() or b[0].isspace() for a, b in pairwise(texts))


# These steps change a word independently of its neighbours.
_WORDWISE_NORMALIZERS = {"Precompiled", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents"}


def _works_word_by_word(tokenizer: Any) -> bool:
    """Whether the tokenizer splits text at whitespace before any step that depends on several words."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return False
    state = json.loads(backend.to_str())
    splits = any(step["type"] in ("WhitespaceSplit", "Whitespace") for step in _steps(state["pre_tokenizer"]))
    return splits and all(
        step["type"] in _WORDWISE_NORMALIZERS or _collapses_spaces(step)
        for step in _steps(state["normalizer"])
    )


def _steps(step: dict[str, Any] | None) -> list[dict[str, Any]]:
    if step is None:
        return []
    inner = step.get("normalizers") or step.get("pretokenizers")
    return [step] if inner is None else [leaf for child in inner for leaf in _steps(child)]


def _collapses_spaces(step: dict[str, Any]) -> bool:
    return step["type"] == "Replace" and step["pattern"] in ({"Regex": " {2,}"}, {"Regex": "\\s+"})
