"""What is asked of a model, and what comes back."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

Role = Literal["system", "user", "assistant"]

DEFAULT_MAX_NEW_TOKENS = 511
"""The published ``max_length=512`` counts the decoder's start token."""

THOUGHT_MARKS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),  # Magistral
    ("<|channel>", "<channel|>"),  # Gemma 4
)
"""What models put around the thoughts before a reply; in some vocabularies these are special tokens."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a prompt.

    ``slot`` is the template's placeholder that this text fills (``"question"``, ``"context"`` ...),
    or None for the prompt's own words. Only a part with ``may_be_cut`` is ever shortened.
    """

    text: str
    slot: str | None = None
    may_be_cut: bool = False
    role: Role = "user"


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model. The prompt is the parts' texts, one after the other.

    ``labels`` are the strings of the answer scale whose probabilities are wanted (soft grades), in
    ascending order of grade; empty for free text. A reply of ``one_line`` ends with its first line where a
    model would otherwise go on with a text of its own. ``pairs`` is how many grades the reply is to give.
    """

    parts: tuple[Part, ...]
    labels: tuple[str, ...] = ()
    max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS
    one_line: bool = False
    pairs: int = field(default=1, compare=False)

    @property
    def text(self) -> str:
        """The whole prompt; what different roles say is separated by a blank line."""
        turns = groupby(self.parts, key=lambda part: part.role)
        return "\n\n".join("".join(part.text for part in turn) for _, turn in turns)

    def slot(self, name: str) -> str | None:
        """The text that fills a placeholder, if the prompt has it."""
        return next((part.text for part in self.parts if part.slot == name), None)

    def key(self) -> str:
        """A hash of everything about the request that decides the reply, for a given model."""
        digest = hashlib.sha256()
        for part in self.parts:
            data = part.text.encode("utf-8", "surrogatepass")
            digest.update(f"{part.role}|{int(part.may_be_cut)}|{len(data)}|".encode())
            digest.update(data)
        digest.update(repr((self.labels, self.max_new_tokens, self.one_line)).encode())
        return digest.hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply, or the reason why there is none (``error``; the text is then empty).

    ``label_logprobs`` are the joint log-probabilities of ``Request.labels`` (each with its end of
    sequence), where the backend can give them. ``tokens_cut`` counts tokens of the passage that did
    not fit the model.
    """

    text: str = ""
    error: str | None = None
    label_logprobs: tuple[float, ...] = field(default=())
    tokens_cut: int = 0
