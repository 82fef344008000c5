"""Direct grading: one request for each passage about its relevance for the query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exam_pp.data_model import DIRECT_ID, DirectGrade
from exam_pp.graders.base import Grading, PassageUnit
from exam_pp.graders.rubric import NO_TEXT, recorded_policy
from exam_pp.graders.soft import soft_fields
from exam_pp.prompts.base import CUT_SLOT, Prompt, Unparsed, Verdict
from exam_pp.requests import DEFAULT_MAX_NEW_TOKENS, Completion, Request


@dataclass(frozen=True)
class DirectGrader:
    """Grades a passage as a whole with a direct prompt (EXAM++, appendix A).

    ``model`` and ``options`` are recorded with the grade. A reply that cannot be read leaves the passage
    ungraded: the grade has no rating, and ``error`` contains the reply and the reason.
    """

    prompt: Prompt
    model: str
    options: dict[str, Any]
    unparsed: Unparsed = "default"
    soft: bool = True
    max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS

    def run(self, unit: PassageUnit) -> Grading[DirectGrade]:
        """Send one request; a passage without text stays ungraded and needs no request.

        For a prompt on whole answers, an answer without text is no attempt, without a request.
        """
        if not unit.text.strip() and self.prompt.whole_answer:
            return self._graded(Completion(), Verdict(None, False), "")
        if not unit.text.strip():
            return self._grade(Completion(error=NO_TEXT), "")
        values = {"query": unit.query_text, CUT_SLOT: unit.text}
        labels = self.prompt.labels if self.soft else ()
        request = Request(
            self.prompt.render(values),
            labels,
            self.max_new_tokens,
            one_line=not self.prompt.keeps_whole_reply,
            search=self.prompt.label_search(self.unparsed),
        )
        (reply,) = yield [request]
        return self._grade(reply, request.text)

    def _grade(self, reply: Completion, prompt_text: str) -> DirectGrade:
        verdict = (
            self.prompt.parse(reply.text, None, self.unparsed)
            if reply.error is None
            else Verdict(None, False, reason=reply.error)
        )
        return self._graded(reply, verdict, prompt_text)

    def _graded(self, reply: Completion, verdict: Verdict, prompt_text: str) -> DirectGrade:
        policy = recorded_policy(self.prompt, self.unparsed) if self.unparsed == "chat" else {}
        grade: dict[str, Any] = {
            "correct": verdict.correct,
            "answer": reply.text,
            "model": self.model,
            "model_options": self.options,
            "prompt_info": self.prompt.provenance() | policy,
            "prompt_type": "direct_grading",
        }
        if reply.tokens_cut:
            grade["tokens_cut"] = {DIRECT_ID: reply.tokens_cut}
        if verdict.reason is not None:
            grade["error"] = {"response": reply.text, "prompt": prompt_text, "failure_reason": verdict.reason}
            return DirectGrade(**grade)
        grade["relevance_label"] = int(verdict.correct) if verdict.rating is None else verdict.rating
        if verdict.rating is not None:
            grade["self_ratings"] = verdict.rating
        grade |= soft_fields(reply)
        return DirectGrade(**grade)
