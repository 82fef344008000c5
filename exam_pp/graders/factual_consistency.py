"""Factual consistency of claims: an answer, or a part of it, against its sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from exam_pp.data_model import ConsistencyGrade, SourceScore
from exam_pp.graders.base import ConsistencyGrading
from exam_pp.graders.soft import soft_grade
from exam_pp.prompts.base import CUT_SLOT, Prompt, Unparsed
from exam_pp.prompts.claims import CLAIM_SLOT
from exam_pp.requests import DEFAULT_MAX_NEW_TOKENS, Completion, Request, pair_request

NO_TEXT = "the claim has no text"
NO_CITATION = "the part cites no passage"
NO_SOURCE = "the file has no text of its sources"


@dataclass(frozen=True)
class ClaimUnit:
    """A claim of a system with its sources, as pairs of passage id and text.

    The sources of a whole answer are joined with spaces; a part is scored against each of its sources.
    ``missing`` are ids that the claim cites, but the file lacks.
    """

    system: str
    claim: Literal["answer", "part"]
    text: str
    sources: Sequence[tuple[str, str]]
    missing: Sequence[str] = ()

    @property
    def requests(self) -> int:
        """The number of requests; 0 if the claim cannot be scored."""
        if not self.text.strip() or not self.with_text:
            return 0
        return 1 if self.claim == "answer" else len(self.with_text)

    @property
    def with_text(self) -> list[tuple[str, str]]:
        """The sources with a text."""
        return [(key, text) for key, text in self.sources if text.strip()]


@dataclass(frozen=True)
class ConsistencyGrader:
    """Scores claims with a pair scorer, or with a prompt for a language model.

    ``prompt``: A prompt of the kind ``claim``; None for a pair scorer. ``soft``: Whether the score is the
    probability of "Yes" or the expected rating, if the model has label likelihoods; otherwise it is that of
    the written reply. ``max_new_tokens``: The maximal number of tokens in a reply to the prompt.
    """

    model: str
    options: dict[str, Any]
    prompt: Prompt | None = None
    unparsed: Unparsed = "ungraded"
    soft: bool = True
    max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS

    def run(self, unit: ClaimUnit) -> ConsistencyGrading:
        """Score a claim against each source, or against all sources together.

        If a request fails, the claim has no score, because the highest score could be missing.
        """
        sources = unit.with_text
        if not unit.requests:
            cites = unit.claim == "answer" or unit.sources or unit.missing
            no_source = NO_SOURCE if cites else NO_CITATION
            return self._grade(unit, [], NO_TEXT if not unit.text.strip() else no_source)
        joined = unit.claim == "answer"
        texts = [" ".join(text for _, text in sources)] if joined else [text for _, text in sources]
        replies = yield [self._request(text, unit.text) for text in texts]
        scored = [(reply, *self._score(reply)) for reply in replies]
        reason = next((reason for _, score, reason in scored if score is None), None)
        kept = [SourceScore(passage_id=key) for key, _ in sources]
        if not joined:
            kept = [
                SourceScore(passage_id=key, score=score)
                for (key, _), (_, score, _) in zip(sources, scored, strict=True)
            ]
        scores = [score for _, score, _ in scored if score is not None]
        return self._grade(unit, kept, reason, replies, max(scores) if reason is None else None)

    def _request(self, source: str, claim: str) -> Request:
        if self.prompt is None:
            return pair_request(source, claim)
        return Request(
            self.prompt.render({CUT_SLOT: source, CLAIM_SLOT: claim}),
            self.prompt.labels if self.soft else (),
            self.max_new_tokens,
            one_line=True,
            search=self.prompt.label_search(self.unparsed),
        )

    def _score(self, reply: Completion) -> tuple[float | None, str | None]:
        """The score from 0 to 1, or the reason why it is missing."""
        if reply.error is not None:
            return None, reply.error
        if self.prompt is None:
            return float(reply.text), None
        verdict = self.prompt.parse(reply.text, None, self.unparsed)
        if verdict.reason is not None:
            return None, verdict.reason
        top = self.prompt.max_rating or 1
        soft = soft_grade(reply.label_logprobs)
        if soft is not None:
            return soft.expected / top, None
        return (float(verdict.correct) if verdict.rating is None else verdict.rating / top), None

    def _grade(
        self,
        unit: ClaimUnit,
        sources: list[SourceScore],
        reason: str | None,
        replies: Sequence[Completion] = (),
        score: float | None = None,
    ) -> ConsistencyGrade:
        grade: dict[str, Any] = {
            "system": unit.system,
            "claim": unit.claim,
            "score": score,
            "sources": sources,
            "model": self.model,
            "model_options": self.options,
            "prompt_type": "claim",
        }
        if self.prompt is not None:
            grade["prompt_info"] = self.prompt.provenance()
        if unit.missing:
            grade["missing"] = list(unit.missing)
        cut = {
            "source": sum(reply.tokens_cut for reply in replies),
            "claim": max((reply.claim_tokens_cut for reply in replies), default=0),
        }
        if any(cut.values()):
            grade["tokens_cut"] = {text: count for text, count in cut.items() if count}
        if reason is not None:
            response = next((reply.text for reply in replies if self._score(reply)[0] is None), "")
            grade["error"] = {"response": response, "failure_reason": reason}
        return ConsistencyGrade(**grade)
