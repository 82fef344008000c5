"""Requests to language models and their completions."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

Role = Literal["system", "user", "assistant"]

DEFAULT_MAX_NEW_TOKENS = 511
"""Default number of new tokens: the published ``max_length=512`` without the decoder's start token."""

THINKING_TAGS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),  # Magistral
    ("<|channel>", "<channel|>"),  # Gemma 4
)
"""Start and end tags of thinking text; in some vocabularies they are special tokens."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a prompt: a literal text of the template, or the text of a placeholder.

    ``slot`` is the name of the placeholder (``"question"``, ``"context"`` ...); None for a literal text. Only
    parts with ``may_be_cut`` are truncated to fit the model.
    """

    text: str
    slot: str | None = None
    may_be_cut: bool = False
    role: Role = "user"


SoftDefinition = Literal["reply", "number", "choice", "calibrated"]
"""The meaning of the likelihood of a label.

``reply``: of the label as the whole reply, with its end. ``number``: of the label after the words of the
reply before its own label. ``choice``: of the label at the beginning of the reply. ``calibrated``: the same,
divided by that for a prompt without a passage.
"""

LOW_MASS = 0.5
"""A soft grade says little if the labels of the scale together have less than this probability."""


@dataclass(frozen=True, slots=True)
class LabelSearch:
    """How a backend finds the label, such as the rating, in the reply to a request.

    ``find`` returns begin and end of the label in a reply, or None. ``is_settled`` returns whether a reply
    can be cut because no further text changes its label; None if the reading needs the whole reply.
    """

    name: str
    find: Callable[[str], tuple[int, int] | None]
    is_settled: Callable[[str], bool] | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a model. The prompt is the concatenated text of the parts.

    ``labels`` are the labels of the scale whose probabilities are requested (soft grades), in ascending order
    of grade; empty for free text. With ``one_line``, generation of base models stops after the first line.
    ``pairs`` is the number of grades that the reply contains. ``search`` finds the label in the reply; None:
    the likelihoods of the labels are those at the beginning of the reply.
    """

    parts: tuple[Part, ...]
    labels: tuple[str, ...] = ()
    max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS
    one_line: bool = False
    pairs: int = field(default=1, compare=False)
    search: LabelSearch | None = field(default=None, compare=False)

    @property
    def cuts(self) -> bool:
        """Whether the reply ends as soon as its label is known."""
        return self.search is not None and self.search.is_settled is not None

    @property
    def text(self) -> str:
        """The whole prompt, with a blank line between the texts of different roles."""
        turns = groupby(self.parts, key=lambda part: part.role)
        return "\n\n".join("".join(part.text for part in turn) for _, turn in turns)

    def slot(self, name: str) -> str | None:
        """Return the text that fills a placeholder; None if the prompt does not have the placeholder."""
        return next((part.text for part in self.parts if part.slot == name), None)

    def key(self) -> str:
        """Return a hash of the fields that determine the reply: all except ``pairs``, and slot names.

        Of ``search``, only the name of a search that cuts replies counts.
        """
        digest = hashlib.sha256()
        for part in self.parts:
            data = part.text.encode("utf-8", "surrogatepass")
            digest.update(f"{part.role}|{int(part.may_be_cut)}|{len(data)}|".encode())
            digest.update(data)
        digest.update(repr((self.labels, self.max_new_tokens, self.one_line)).encode())
        if self.search is not None and self.cuts:
            digest.update(self.search.name.encode())
        return digest.hexdigest()[:32]


SOURCE_SLOT, CLAIM_SLOT = "source", "claim"
"""The parts of a request to a pair scorer."""


def pair_request(source: str, claim: str) -> Request:
    """Return the request that asks a pair scorer how consistent a claim is with a source.

    Returns A request without a prompt.
    """
    return Request((Part(source, SOURCE_SLOT, may_be_cut=True), Part(claim, CLAIM_SLOT)))


# The key of ``llm_options`` with the names of settings that the endpoint refused.
NOT_SENT = "not_sent"


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply, or the reason why it is missing (``error``; the text is then empty).

    ``label_logprobs`` are the log-probabilities of ``Request.labels``, as ``definition`` says; empty if the
    backend does not compute them, or the reply has no label. ``tokens_cut`` is the number of tokens of the
    passage that were truncated; ``claim_tokens_cut`` those of a claim that is too long for a pair scorer.
    ``not_sent`` names the settings that the endpoint refused, and that the request therefore did not have.
    ``tokens`` are those of prompt and reply, as an endpoint counts them; empty if it does not.
    """

    text: str = ""
    error: str | None = None
    label_logprobs: tuple[float, ...] = field(default=())
    tokens_cut: int = 0
    definition: SoftDefinition = "reply"
    claim_tokens_cut: int = 0
    not_sent: tuple[str, ...] = ()
    tokens: tuple[int, ...] = ()


DECIMALS = 6
"""Decimals of a cosine in the reply of a judge by similarity, whose grade is cut from the rounded number."""

_COSINE = re.compile(rf"\(cosine (-?\d\.\d{{{DECIMALS}}})\)$")


def grade_of(cosine: float, cut_points: Sequence[float]) -> int:
    """The number of cut points, in ascending order, that are at most the rounded cosine."""
    return bisect_right(cut_points, round(cosine, DECIMALS))


def cosine_reply(cosine: float, cut_points: Sequence[float]) -> str:
    """The reply with a grade and its cosine, in a form that all reading rules of ratings read."""
    return (
        f"Final score: {grade_of(cosine, cut_points)} (cosine {round(cosine, DECIMALS) + 0.0:.{DECIMALS}f})"
    )


def cosine_in(reply: str) -> float | None:
    """The cosine in a reply of :func:`cosine_reply`; None in all other replies."""
    match = _COSINE.search(reply)
    return None if match is None else float(match[1])
