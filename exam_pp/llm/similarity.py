"""Judges by similarity: a grade is the cosine of question and passage, cut at fixed points.

Both texts get a vector from an encoder of sentences, each with a prefix that the encoder was trained with
(Wang et al., "Multilingual E5 Text Embeddings", 2024). The grade is the number of cut points that the cosine
reaches; a passage without text gets 0. Such a judge sees whether a passage is on the topic of a question, and
not whether its statements are right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from exam_pp.errors import ModelError
from exam_pp.llm.base import Batch, failures_as_model_error, reason_of
from exam_pp.llm.baselines import UNANSWERABLE, Baseline, scale_of, sentences
from exam_pp.llm_requests import Completion, Request
from exam_pp.text.cosines import cosine_reply, grade_of
from exam_pp.text.wording import listed

if TYPE_CHECKING:
    import numpy

Side = Literal["query", "passage"]
"""The two sides of a comparison, which have prefixes of their own."""

Text = tuple[str, Side]
"""A text to embed, and its side."""

_SLOTS = {"question", "query", "context"}
_CACHED_TEXTS = 65_536


class SentenceVector(NamedTuple):
    """The vector of a text, of length 1, and the number of its tokens beyond the limit of the encoder."""

    vector: numpy.ndarray[Any, Any]
    tokens_cut: int = 0


Embed = Callable[[Sequence[Text]], Iterable[SentenceVector]]
"""Gives the vector of each text, in order."""


class SentenceEncoder(Protocol):
    """A model that turns a text into a vector, which depends on no other text."""

    name: str

    def provenance(self) -> dict[str, Any]:
        """Return all facts that determine the vectors."""

    def embedding(self, count: int) -> AbstractContextManager[Embed]:
        """A block in which about ``count`` texts are embedded."""


class SimilarityLLM(Baseline):
    """Replies with a grade and its cosine, with the most similar sentence, or with "unanswerable".

    Each text is embedded once, and alone, so that replies do not depend on batches and order.
    """

    def __init__(self, encoder: SentenceEncoder, cut_points: Sequence[float]) -> None:
        self.name = encoder.name
        self._encoder = encoder
        self._cut_points = tuple(cut_points)
        if not all(low < high for low, high in pairwise(self._cut_points)):
            raise ModelError(
                "-M cut_points must be ascending cosines, such as cut_points=.81,.84,.86,.88,.90."
            )
        self._known: dict[Text, SentenceVector] = {}

    def provenance(self) -> dict[str, Any]:
        """Return all facts that determine the replies."""
        return {
            **self._encoder.provenance(),
            "cut_points": list(self._cut_points),
            "batch_invariant": True,
        }

    def batches(self, requests: Sequence[Request]) -> list[Batch]:
        """Batches in the order of the requests; raises ModelError for prompts that cannot be answered."""
        for request in requests:
            self._check(request)
        return super().batches(requests)

    def _check(self, request: Request) -> None:
        slots = {part.slot for part in request.parts if part.slot is not None}
        if not (slots <= _SLOTS and "context" in slots and len(slots) > 1):
            raise ModelError(
                f"The model {self.name!r} compares questions with passages and does not answer this prompt: "
                "for nuggets, citations and comparisons of answers, use --model lexical."
            )
        labels, grades = scale_of(request), range(len(self._cut_points) + 1)
        if labels and labels != tuple(map(str, grades)):
            raise ModelError(
                f"The model {self.name!r} gives grades from 0 to {grades[-1]}, and the prompt asks for "
                f"{listed(labels)}: use a prompt with this scale, or other -M cut_points."
            )

    def generate(
        self, requests: Sequence[Request], batches: Iterable[Batch] | None = None
    ) -> Iterator[tuple[int, Completion]]:
        """Answer batch by batch; the texts of a batch are embedded together."""
        plan = self.batches(requests) if batches is None else list(batches)
        for text in list(islice(self._known, max(0, len(self._known) - _CACHED_TEXTS))):
            del self._known[text]
        texts = {text for batch in plan for index in batch for text in _compared(requests[index])}
        with self._encoder.embedding(len(texts - self._known.keys())) as embed:
            for batch in plan:
                asked = [requests[index] for index in batch]
                self._learn(embed, (text for request in asked for text in _compared(request)))
                self._learn(
                    embed, ((span, "passage") for request in asked for span in self._candidates(request))
                )
                for index in batch:
                    yield index, self.reply(requests[index])

    def _learn(self, embed: Embed, texts: Iterable[Text]) -> None:
        """Embed the texts without a vector, the longest first, so that several processes end together."""
        new = sorted(set(texts) - self._known.keys(), key=lambda text: (-len(text[0]), text))
        with failures_as_model_error(self._failure):
            self._known.update(zip(new, embed(new), strict=True))

    def reply(self, request: Request) -> Completion:
        """Reply to a request that :meth:`batches` has checked, and whose texts have vectors."""
        rates, texts = bool(scale_of(request)), _compared(request)
        if not texts:
            return Completion("Final score: 0 (no text)" if rates else UNANSWERABLE)
        question, passage = texts
        cosine, cut = self._cosine(question, passage), self._known[passage].tokens_cut
        if not math.isfinite(cosine):
            return Completion(error="the model's numbers overflow; use another -M dtype")
        if rates:
            return Completion(cosine_reply(cosine, self._cut_points), tokens_cut=cut)
        best = max(
            self._candidates(request),
            key=lambda span: self._cosine(question, (span, "passage")),
            default=UNANSWERABLE,
        )
        return Completion(best, tokens_cut=cut)

    def _candidates(self, request: Request) -> list[str]:
        """The sentences from which an answer is taken; none if a rating is asked for, or it would be low."""
        texts = _compared(request)
        if scale_of(request) or not texts:
            return []
        low = grade_of(self._cosine(*texts), self._cut_points) <= len(self._cut_points) // 2
        return [] if low else sentences(texts[1][0])

    def _cosine(self, question: Text, passage: Text) -> float:
        return float(self._known[question].vector.astype(float) @ self._known[passage].vector.astype(float))

    def _failure(self, error: BaseException) -> ModelError:
        return ModelError(f"The model {self.name!r} has failed ({type(error).__name__}: {reason_of(error)}).")


def _compared(request: Request) -> tuple[Text, Text] | tuple[()]:
    """Question and passage of a request; nothing if the passage has no text."""
    question = request.slot("question") or request.slot("query") or ""
    passage = request.slot("context") or ""
    return ((question, "query"), (passage, "passage")) if passage.strip() else ()
