"""Grading of answers: criteria, support of citations, factual consistency of claims with sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from exam_pp.data_model import (
    SUPPORT_LABELS,
    CitationSupport,
    ConsistencyGrade,
    CriteriaGrades,
    CriterionRating,
    SourceScore,
    SupportGrades,
)
from exam_pp.graders.base import Grading
from exam_pp.graders.rubric import PromptGrader
from exam_pp.graders.soft import soft_grade
from exam_pp.llm_requests import DEFAULT_MAX_NEW_TOKENS, Completion, Request, pair_request
from exam_pp.prompts.base import CUT_SLOT, NO_DOCUMENTS, Prompt, Unparsed
from exam_pp.prompts.claims import CLAIM_SLOT
from exam_pp.prompts.criteria import ANSWER_SLOT, CriteriaSet, read_criteria

MAX_NEW_TOKENS = 1024
"""Enough for an explanation before the ratings."""


@dataclass(frozen=True)
class AnsweredQuery:
    """A system's answer to a query, and its documents as pairs of id and text, most relevant first."""

    system: str
    query_text: str
    answer: str
    documents: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class CriteriaGrader:
    """Rates answers by criteria; ``model`` and ``options`` are recorded with the grades."""

    criteria: CriteriaSet
    model: str
    options: dict[str, Any]
    info: dict[str, Any]

    def run(self, unit: AnsweredQuery) -> Grading[CriteriaGrades]:
        """Ask once; an empty answer gets the lowest ratings without a request.

        If the request is too long for the model, documents are cut from the end, never the answer.
        """
        if not unit.answer.strip():
            ratings: dict[str, int | str] = {criterion.name: 0 for criterion in self.criteria.criteria}
            return self._grades(unit, ratings)
        (reply,) = yield [self._request(unit)]
        if reply.error is None:
            ratings = read_criteria(reply.text, self.criteria.criteria)
        else:
            ratings = {criterion.name: reply.error for criterion in self.criteria.criteria}
        return self._grades(unit, ratings, reply)

    def _request(self, unit: AnsweredQuery) -> Request:
        documents = "\n".join(f"[{key}] {' '.join(text.split())}" for key, text in unit.documents)
        values = {"query": unit.query_text, ANSWER_SLOT: unit.answer, CUT_SLOT: documents or NO_DOCUMENTS}
        return Request(self.criteria.prompt.render(values), max_new_tokens=MAX_NEW_TOKENS)

    def _grades(
        self,
        unit: AnsweredQuery,
        ratings: dict[str, int | str],
        reply: Completion | None = None,
    ) -> CriteriaGrades:
        grades: dict[str, Any] = {
            "system": unit.system,
            "ratings": [_rating(name, rating) for name, rating in ratings.items()],
            "model": self.model,
            "model_options": self.options,
            "prompt_info": self.criteria.prompt.provenance() | self.info,
            "prompt_type": "criteria",
        }
        if reply is not None:
            grades["answer"] = reply.text
            if reply.tokens_cut:
                grades["tokens_cut"] = {CUT_SLOT: reply.tokens_cut}
        return CriteriaGrades(**grades)


def _rating(name: str, rating: int | str) -> CriterionRating:
    if isinstance(rating, int):
        return CriterionRating(criterion=name, rating=rating)
    return CriterionRating(criterion=name, rating=None, error={"failure_reason": rating})


@dataclass(frozen=True)
class CitingPart:
    """A part of an answer, and the passages with text that it cites, as pairs of id and text."""

    text: str
    cited: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class SupportGrader(PromptGrader):
    """Labels every citation of a part with a prompt of the kind ``support``, in one request each.

    With ``soft``, the model may choose the likeliest label.
    """

    unparsed: Unparsed = "ungraded"
    soft: bool = False

    def run(self, part: CitingPart) -> Grading[SupportGrades]:
        """Ask about each citation; a reply without a label leaves its citation ungraded."""
        requests = [self.request({CUT_SLOT: text, CLAIM_SLOT: part.text}) for _, text in part.cited]
        replies = yield requests
        return SupportGrades(
            supports=[
                self._support(citation, reply, request)
                for (citation, _), reply, request in zip(part.cited, replies, requests, strict=True)
            ],
            model=self.model,
            model_options=self.options,
            prompt_info=self.prompt.provenance(),
            prompt_type="support",
            **self._cut(part, replies),
        )

    def _support(self, citation: str, reply: Completion, request: Request) -> CitationSupport:
        verdict = self.prompt.verdict(reply, None, self.unparsed)
        if verdict.rating is not None:
            return CitationSupport(
                citation=citation, support=SUPPORT_LABELS[verdict.rating], answer=reply.text
            )
        error = {"response": reply.text, "prompt": request.text, "failure_reason": verdict.reason}
        return CitationSupport(citation=citation, answer=reply.text, error=error)

    def _cut(self, part: CitingPart, replies: Sequence[Completion]) -> dict[str, Any]:
        cut = {
            citation: reply.tokens_cut
            for (citation, _), reply in zip(part.cited, replies, strict=True)
            if reply.tokens_cut
        }
        return {"tokens_cut": cut} if cut else {}


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

    def run(self, unit: ClaimUnit) -> Grading[ConsistencyGrade]:
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
