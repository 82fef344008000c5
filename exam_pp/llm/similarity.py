"""Judges by similarity: a grade is the cosine of question and passage, cut at fixed points.

The evidence for a fact is half the words that it shares with the text (:func:`exam_pp.llm.lexical.coverage`)
and half the meaning: how near the nearest sentence of the text is to the fact, compared with the fact itself.

Both texts get a vector from an encoder of sentences, each with a prefix that the encoder was trained with
(Wang et al., "Multilingual E5 Text Embeddings", 2024). The grade is the number of cut points that the cosine
reaches; a passage without text gets 0. Such a judge sees whether a passage is on the topic of a question, and
not whether its statements are right.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from exam_pp.errors import ModelError
from exam_pp.llm.base import Batch, failures_as_model_error, reason_of
from exam_pp.llm.baselines import ASSIGNMENTS, UNANSWERABLE, Baseline, answer_scale
from exam_pp.llm.lexical import VERSION, coverage, label_of
from exam_pp.llm_requests import DECIMALS, Completion, Request, cosine_reply, grade_of
from exam_pp.text.sentences import plain_sentences
from exam_pp.text.wording import listed

if TYPE_CHECKING:
    import numpy

Side = Literal["query", "passage"]
"""The two sides of a comparison, which have prefixes of their own."""

Text = tuple[str, Side]
"""A text to embed, and its side."""

_SLOTS = {"question", "query", "context"}
_SLOTS_OF_FACTS = {"nugget", "query", "context"}
_SCALES_OF_FACTS = (ASSIGNMENTS, tuple("012345"))
_CACHED_TEXTS = 65_536


class SentenceVector(NamedTuple):
    """The vector of a text, of length 1, and the number of its tokens beyond the limit of the encoder."""

    vector: numpy.ndarray[Any, Any]
    tokens_cut: int = 0


class SentenceEncoder(Protocol):
    """A model that turns a text into a vector, which depends on no other text."""

    name: str

    def provenance(self) -> dict[str, Any]:
        """Return all facts that determine the vectors."""

    def vectors(self, texts: Sequence[Text]) -> Generator[SentenceVector]:
        """The vector of each text, in order; those to come may be computed before they are asked for."""


class SimilarityLLM(Baseline):
    """Replies with a grade and its cosine, with the most similar sentence, or with "unanswerable".

    Each text is embedded once, and alone, so that replies do not depend on batches and order.

    ``unrelated`` is the cosine that an unrelated sentence lacks to that of a fact with itself; None: facts
    are refused.
    """

    def __init__(
        self, encoder: SentenceEncoder, cut_points: Sequence[float], unrelated: float | None = None
    ) -> None:
        self.name = encoder.name
        self._encoder = encoder
        self._cut_points = tuple(cut_points)
        self._unrelated = unrelated
        if not all(low < high for low, high in pairwise(self._cut_points)):
            raise ModelError(
                "-M cut_points must be ascending cosines, such as cut_points=.81,.84,.86,.88,.90."
            )
        self._known: dict[Text, SentenceVector] = {}
        self._coming: dict[Text, Iterator[tuple[Text, SentenceVector]]] = {}

    def provenance(self) -> dict[str, Any]:
        """Return all facts that determine the replies."""
        return {
            **self._encoder.provenance(),
            "cut_points": list(self._cut_points),
            **({"unrelated": self._unrelated, "lexical": VERSION} if self._unrelated else {}),
            "batch_invariant": True,
        }

    def batches(self, requests: Sequence[Request]) -> list[Batch]:
        """Batches in the order of the requests; raises ModelError for prompts that cannot be answered."""
        for request in requests:
            self._check(request)
        return super().batches(requests)

    def _check(self, request: Request) -> None:
        slots = {part.slot for part in request.parts if part.slot is not None}
        labels, grades = answer_scale(request), range(len(self._cut_points) + 1)
        if self._unrelated and "nugget" in slots <= _SLOTS_OF_FACTS and labels in _SCALES_OF_FACTS:
            return
        if not (slots <= _SLOTS and "context" in slots and len(slots) > 1):
            read = "questions and facts" if self._unrelated else "questions"
            raise ModelError(
                f"The model {self.name!r} compares {read} with passages and does not answer this prompt: it "
                "does not see what a text denies, so name a language model, or --model lexical."
            )
        if labels and labels != tuple(map(str, grades)):
            raise ModelError(
                f"The model {self.name!r} gives grades from 0 to {grades[-1]}, and the prompt asks for "
                f"{listed(labels)}: use a prompt with this scale, or other -M cut_points."
            )

    def generate(
        self, requests: Sequence[Request], batches: Iterable[Batch] | None = None
    ) -> Iterator[tuple[int, Completion]]:
        """Answer request by request, while the encoder embeds the texts of the next ones."""
        plan = list(self.batches(requests) if batches is None else batches)
        if len(self._known) > _CACHED_TEXTS:
            self._known.clear()
        texts = (text for batch in plan for index in batch for text in _texts(requests[index]))
        new = [text for text in dict.fromkeys(texts) if text not in self._known and text[0].strip()]
        with closing(self._encoder.vectors(new)) as vectors:
            self._coming = dict.fromkeys(new, zip(new, vectors, strict=True))
            yield from super().generate(requests, plan)

    def reply(self, request: Request) -> Completion:
        """Reply to a request that :meth:`batches` has checked."""
        scale, passage = answer_scale(request), request.slot("context") or ""
        fact, question = request.slot("nugget"), _question(request)
        rates = bool(scale)
        if not passage.strip():
            return Completion(scale[0] if fact else "Final score: 0 (no text)" if rates else UNANSWERABLE)
        with failures_as_model_error(self._failure):
            if fact:
                return label_of(self._evidence(fact, passage), scale, soft=False)
            cosine, cut = self._cosine(question, passage)
            if not math.isfinite(cosine):
                return Completion(error="the model's numbers overflow; use another -M dtype")
            if rates:
                return Completion(cosine_reply(cosine, self._cut_points), tokens_cut=cut)
            if grade_of(cosine, self._cut_points) <= len(self._cut_points) // 2:
                return Completion(UNANSWERABLE, tokens_cut=cut)
            best = max(plain_sentences(passage), key=lambda sentence: self._cosine(question, sentence)[0])
            return Completion(best, tokens_cut=cut)

    def _evidence(self, fact: str, passage: str) -> float:
        """The evidence for a fact, from 0 to 1; it depends on the fact and the text alone."""
        nearest = max(self._cosine(fact, sentence)[0] for sentence in plain_sentences(passage))
        distance = (self._cosine(fact, fact)[0] - nearest) / (self._unrelated or 1)
        return round((min(max(1 - distance, 0.0), 1.0) + coverage(fact, passage)) / 2, DECIMALS)

    def _cosine(self, question: str, passage: str) -> tuple[float, int]:
        """The cosine of two texts, and the number of tokens of the passage beyond the limit."""
        query, (vector, cut) = self._vector((question, "query")).vector, self._vector((passage, "passage"))
        return float(query.astype(float) @ vector.astype(float)), cut

    def _vector(self, text: Text) -> SentenceVector:
        while text not in self._known:
            alone = zip([text], self._encoder.vectors([text]), strict=True)  # a sentence of a passage
            self._known.update([next(self._coming.get(text, alone))])
        return self._known[text]

    def _failure(self, error: BaseException) -> ModelError:
        return ModelError(f"The model {self.name!r} has failed ({type(error).__name__}: {reason_of(error)}).")


def _question(request: Request) -> str:
    return request.slot("question") or request.slot("query") or ""


def _texts(request: Request) -> list[Text]:
    """The texts to embed: question and passage, or a fact, as either side, and the sentences of the text."""
    passage = request.slot("context") or ""
    if fact := request.slot("nugget"):
        return [(fact, "query"), *((text, "passage") for text in [fact, *plain_sentences(passage)])]
    return [(_question(request), "query"), (passage, "passage")]
