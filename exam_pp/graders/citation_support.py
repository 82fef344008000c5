"""Citation support: how far the passages that a part of an answer cites support it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exam_pp.data_model import SUPPORT_LABELS, CitationSupport, SupportGrades
from exam_pp.graders.base import SupportGrading
from exam_pp.prompts.base import CUT_SLOT, Prompt, Unparsed
from exam_pp.prompts.claims import CLAIM_SLOT
from exam_pp.requests import DEFAULT_MAX_NEW_TOKENS, Completion, Request


@dataclass(frozen=True)
class CitingPart:
    """A part of an answer, and the passages with text that it cites, as pairs of id and text."""

    text: str
    cited: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class SupportGrader:
    """Labels every citation of a part with a prompt of the kind ``support``, in one request each.

    ``model`` and ``options`` are recorded with the grades. With ``choose``, the label is the likeliest one.
    """

    prompt: Prompt
    model: str
    options: dict[str, Any]
    unparsed: Unparsed = "ungraded"
    choose: bool = False
    max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS

    def run(self, part: CitingPart) -> SupportGrading:
        """Ask about each citation; a reply without a label leaves its citation ungraded."""
        requests = [self._request(part.text, text) for _, text in part.cited]
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

    def _request(self, claim: str, passage: str) -> Request:
        return Request(
            self.prompt.render({CUT_SLOT: passage, CLAIM_SLOT: claim}),
            self.prompt.labels if self.choose else (),
            self.max_new_tokens,
            one_line=True,
            search=self.prompt.label_search(self.unparsed),
        )

    def _support(self, citation: str, reply: Completion, request: Request) -> CitationSupport:
        reason = reply.error
        if reason is None:
            verdict = self.prompt.parse(reply.text, None, self.unparsed)
            if verdict.rating is not None:
                return CitationSupport(
                    citation=citation, support=SUPPORT_LABELS[verdict.rating], answer=reply.text
                )
            reason = verdict.reason
        error = {"response": reply.text, "prompt": request.text, "failure_reason": reason}
        return CitationSupport(citation=citation, answer=reply.text, error=error)

    def _cut(self, part: CitingPart, replies: Sequence[Completion]) -> dict[str, Any]:
        cut = {
            citation: reply.tokens_cut
            for (citation, _), reply in zip(part.cited, replies, strict=True)
            if reply.tokens_cut
        }
        return {"tokens_cut": cut} if cut else {}
