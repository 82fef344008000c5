"""The bundled grader: a tiny sequence-to-sequence model that answers some prompts through its own ratings.

The checkpoint is trained to rate passages from 0 to 5. It copies text and uses other scales badly, so these
prompts are answered from its ratings instead:

* **Extraction** (free text about a question or nugget and a passage): every sentence of the passage is rated.
  The reply is the sentence with the highest expected rating, or "unanswerable" if that rating is below
  :data:`MIN_ANSWER_RATING`.
* **Other scales** (UMBRELA's 0 to 3, Thomas' 0 to 2, the labels of RAGElo's reasoner): the passage is rated
  from 0 to 5, and the expected rating is scaled to the prompt's range.
* **Criteria** of an answer: the answer is rated for the query, and the expected rating is scaled to the
  levels of each criterion.
* **Claims** (citation support, factual consistency): the passage is rated for the claim as for a key fact,
  and the expected rating is scaled to the labels of the prompt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from exam_pp.llm.baselines import (
    RELEVANCE,
    UNANSWERABLE,
    criteria_of,
    criteria_reply,
    entry_of,
    scale_of,
    sentences,
)
from exam_pp.llm.encoding import Encoded
from exam_pp.llm.seq2seq import Job, Seq2SeqLLM
from exam_pp.llm_requests import Completion, Part, Request

RULES_VERSION = 1
"""Recorded with every grade; raised whenever a rule of this module changes."""
RATINGS = ("0", "1", "2", "3", "4", "5")
MIN_ANSWER_RATING = 2.0
"""Expected rating of the best sentence from which it is an answer; chosen on a sample of SQuAD 2.0."""

# The tokenizer replaces these beginnings by the token of the published rating prompts.
_QUESTION = "Can the question be answered based on the available context?\nQuestion: "
_NUGGET = "Given the context, evaluate the coverage of the key fact.\nKey Fact: "
_CONTEXT = "\nContext: "
_DIGITS_OF_A_RATING = 2


@dataclass(frozen=True, slots=True)
class _FromRatings(Encoded):
    """A request that is answered from ratings: the rating prompts, and the sentences that they rate.

    ``ids`` are the ids of all prompts together, so that batches are planned by their cost. ``texts`` is
    empty for a rating on another scale.
    """

    prompts: tuple[list[int], ...] = ()
    texts: tuple[str, ...] = ()


class BundledLLM(Seq2SeqLLM):
    """The bundled checkpoint behind the :class:`exam_pp.llm.base.LLM` contract."""

    def provenance(self) -> dict[str, Any]:
        """Everything that determines the replies, with the version of the rules of this module."""
        return {**super().provenance(), "bundled_rules": RULES_VERSION}

    def encode(self, requests: Sequence[Request]) -> list[Encoded]:
        """Encode the prompts, or the rating prompts from which a request is answered."""
        ratings = [_ratings_of(request) for request in requests]
        prompts = iter(
            super().encode(
                [
                    prompt
                    for request, rated in zip(requests, ratings, strict=True)
                    for prompt in (rated[0] if rated else [request])
                ]
            )
        )
        return [
            _combined(list(islice(prompts, len(rated[0]))), rated[1]) if rated else next(prompts)
            for rated in ratings
        ]

    def group(self, request: Request, prompt: Encoded) -> Hashable:
        """Requests that are answered from ratings form batches of their own."""
        if isinstance(prompt, _FromRatings):
            return (bool(prompt.texts), scale_of(request))
        return super().group(request, prompt)

    def start(
        self, requests: Sequence[Request], encoded: Sequence[Encoded]
    ) -> Callable[[], list[Completion]]:
        """Start a batch of requests of one group."""
        rated = [prompt for prompt in encoded if isinstance(prompt, _FromRatings)]
        if not rated:
            return super().start(requests, encoded)
        prompts = [ids for prompt in rated for ids in prompt.prompts]
        wait = self._engine.start(Job(prompts, RATINGS, _DIGITS_OF_A_RATING))

        def collect() -> list[Completion]:
            completions = iter(wait())
            return [
                _reply(request, prompt.texts, list(islice(completions, len(prompt.prompts))))
                for request, prompt in zip(requests, rated, strict=True)
            ]

        return collect


def _ratings_of(request: Request) -> tuple[list[Request], tuple[str, ...]] | None:
    """The rating requests (and sentences) from which a request is answered; None if the model answers it."""
    entry, context = entry_of(request), request.slot("context")
    if entry is None or context is None:
        return None
    if criteria_of(request):
        return [rating_request(*entry, request.slot("answer") or "")], ()
    scale = scale_of(request)
    if not scale:
        texts = tuple(sentences(context)) or (context,)
        return [rating_request(*entry, text) for text in texts], texts
    is_scaled = entry[0] == "claim" or scale == RELEVANCE or all(label.isdecimal() for label in scale)
    if scale != RATINGS and is_scaled:
        return [rating_request(*entry, context)], ()
    return None


def rating_request(slot: str, entry: str, context: str) -> Request:
    """The prompt that rates a context for a question, query, nugget or claim, with likelihoods."""
    instruction = _NUGGET if slot in ("nugget", "claim") else _QUESTION
    parts = (Part(instruction), Part(entry, slot), Part(_CONTEXT), Part(context, "context", may_be_cut=True))
    return Request(parts, RATINGS)


def _combined(prompts: list[Encoded], texts: tuple[str, ...]) -> Encoded:
    failed = next((prompt for prompt in prompts if prompt.error is not None), None)
    if failed is not None:
        return failed
    ids = [token for prompt in prompts for token in prompt.ids]
    tokens_cut = sum(prompt.tokens_cut for prompt in prompts)
    return _FromRatings(ids, tokens_cut, prompts=tuple(prompt.ids for prompt in prompts), texts=texts)


def _reply(request: Request, texts: tuple[str, ...], ratings: list[Completion]) -> Completion:
    expected = [_expected(_probabilities(rating.label_logprobs)) for rating in ratings]
    if texts:
        best = max(range(len(texts)), key=expected.__getitem__)
        return Completion(texts[best] if expected[best] >= MIN_ANSWER_RATING else UNANSWERABLE)
    if criteria := criteria_of(request):
        return Completion(criteria_reply(criteria, expected[0] / (len(RATINGS) - 1)))
    scale = scale_of(request)
    text = scale[round(expected[0] * (len(scale) - 1) / (len(RATINGS) - 1))]
    if not request.labels:
        return Completion(text)
    return Completion(text, label_logprobs=_scaled(_probabilities(ratings[0].label_logprobs), len(scale)))


def _probabilities(logprobs: Sequence[float]) -> list[float]:
    highest = max(logprobs)
    weights = [math.exp(value - highest) for value in logprobs]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def _expected(probabilities: Sequence[float]) -> float:
    return math.fsum(rating * probability for rating, probability in enumerate(probabilities))


def _scaled(probabilities: Sequence[float], length: int) -> tuple[float, ...]:
    """Log-probabilities on a scale of another length; each rating is split between its two neighbours."""
    scaled = [0.0] * length
    for rating, probability in enumerate(probabilities):
        position = rating * (length - 1) / (len(probabilities) - 1)
        below = min(int(position), length - 1)
        scaled[below] += probability * (1 - (position - below))
        if position > below:
            scaled[below + 1] += probability * (position - below)
    return tuple(math.log(max(value, 1e-30)) for value in scaled)
