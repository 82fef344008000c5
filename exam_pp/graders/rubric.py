"""One request for each bank entry of a passage, with or without its text, or one for its relevance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from exam_pp.banks import Entry
from exam_pp.data_model import DIRECT_ID, DirectGrade, RubricGrades, SelfRating
from exam_pp.graders.base import Grading, PassageUnit
from exam_pp.graders.soft import soft_fields
from exam_pp.llm_requests import DEFAULT_MAX_NEW_TOKENS, Completion, LabelSearch, Request
from exam_pp.prompts.base import CUT_SLOT, Prompt, ReadReply, Unparsed
from exam_pp.prompts.requirements import ENTRY_SLOTS

NO_TEXT = "the passage has no text"


def recorded_policy(prompt: Prompt, unparsed: Unparsed) -> dict[str, Any]:
    """Return the key ``unparsed`` or ``answer_match`` of ``prompt_info``, if the prompt has such a policy.

    The default of ``unparsed``, the policy of the papers, is not recorded. ``chat`` also changes how replies
    to prompts without ratings are read, if they have labels.
    """
    if prompt.answer_key:
        return {"answer_match": prompt.answer_match}
    applies = prompt.is_rated or (unparsed == "chat" and bool(prompt.labels))
    return {"unparsed": unparsed} if applies and unparsed != "default" else {}


@dataclass(frozen=True)
class PromptGrader:
    """The base of graders that fill a prompt with texts, for one grade in each reply.

    ``model`` and ``options`` are recorded with the grades. With ``soft``, requests of prompts with a scale
    also ask for the likelihoods of the scale's labels.
    """

    prompt: Prompt
    model: str
    options: dict[str, Any]
    unparsed: Unparsed = "default"
    soft: bool = True
    max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS

    def request(self, values: Mapping[str, str]) -> Request:
        """The request with these texts in place of the placeholders."""
        return Request(
            self.prompt.render(values),
            self.prompt.labels if self.soft else (),
            self.max_new_tokens,
            one_line=not self.prompt.keeps_whole_reply,
            search=self._search,
        )

    @cached_property
    def _search(self) -> LabelSearch | None:
        return self.prompt.label_search(self.unparsed)


@dataclass(frozen=True)
class RubricGrader(PromptGrader):
    """Grades a passage with a question or nugget prompt."""

    def run(self, unit: PassageUnit) -> Grading[RubricGrades]:
        """Send one request for each entry; a passage without text stays ungraded and needs no request."""
        if not unit.text.strip():
            empty = Completion(error=NO_TEXT)
            return self._grades(unit, [empty] * len(unit.entries))
        replies = yield [self._request(unit, entry) for entry in unit.entries]
        return self._grades(unit, replies)

    def _request(self, unit: PassageUnit, entry: Entry) -> Request:
        of_entry = {slot: ENTRY_SLOTS[slot](entry) for slot in self.prompt.slots if slot in ENTRY_SLOTS}
        texts = {entry.kind: entry.text, CUT_SLOT: unit.text, "query": unit.query_text}
        return self.request(of_entry | texts)

    def _grades(self, unit: PassageUnit, replies: Sequence[Completion]) -> RubricGrades:
        correct: list[str] = []
        wrong: list[str] = []
        answers: list[tuple[str, str]] = []
        ratings: list[SelfRating] = []
        errors: dict[str, Any] = {}
        cut: dict[str, int] = {}
        for entry, reply in zip(unit.entries, replies, strict=True):
            if reply.tokens_cut:
                cut[entry.entry_id] = reply.tokens_cut
            verdict = self.prompt.verdict(reply, entry, self.unparsed)
            if verdict.reason is not None:
                errors[entry.entry_id] = self._error(unit, entry, reply, verdict.reason)
                continue
            (correct if verdict.correct else wrong).append(entry.entry_id)
            answers.append((entry.entry_id, reply.text))
            if verdict.rating is not None:
                ratings.append(self._self_rating(entry, verdict, reply))
        grades: dict[str, Any] = {
            "model": self.model,
            "model_options": self.options,
            "prompt_info": self.prompt.provenance() | recorded_policy(self.prompt, self.unparsed),
            "prompt_type": self.prompt.entry_kind,
            "correct": correct,
            "wrong": wrong,
            "answers": answers,
            "errors": errors,
            "exam_ratio": len(correct) / (len(correct) + len(wrong)) if answers else 0.0,
        }
        if self.prompt.is_rated:
            grades["self_ratings"] = ratings
            if ratings:
                grades["relevance_label"] = max(rating.self_rating for rating in ratings)
        else:
            grades["relevance_label"] = len(correct)
        if cut:
            grades["tokens_cut"] = cut
        return RubricGrades(**grades)

    def _self_rating(self, entry: Entry, verdict: ReadReply, reply: Completion) -> SelfRating:
        values: dict[str, Any] = {"self_rating": verdict.rating}
        values[f"{entry.kind}_id"] = entry.entry_id
        values |= soft_fields(reply)
        if verdict.source != "number":
            values["source"] = verdict.source
        return SelfRating(**values)

    def _error(self, unit: PassageUnit, entry: Entry, reply: Completion, reason: str) -> dict[str, Any]:
        prompt = self._request(unit, entry).text if unit.text.strip() else ""
        return {"response": reply.text, "prompt": prompt, "failure_reason": reason}


@dataclass(frozen=True)
class ClosedBookGrader(RubricGrader):
    """Asks about every entry with an empty context; other graders leave such entries ungraded."""

    def run(self, unit: PassageUnit) -> Grading[RubricGrades]:
        """Send one request for each entry."""
        replies = yield [self._request(unit, entry) for entry in unit.entries]
        return self._grades(unit, replies)


@dataclass(frozen=True)
class DirectGrader(PromptGrader):
    """Grades a passage as a whole with a direct prompt (EXAM++, appendix A).

    A reply that cannot be read leaves the passage ungraded: the grade has no rating, and ``error`` contains
    the reply and the reason.
    """

    def run(self, unit: PassageUnit) -> Grading[DirectGrade]:
        """Send one request; a passage without text stays ungraded and needs no request.

        For a prompt on whole answers, an answer without text is no attempt, without a request.
        """
        if not unit.text.strip() and self.prompt.whole_answer:
            return self._grade(Completion(), ReadReply(None, False), "")
        if not unit.text.strip():
            return self._grade(Completion(), ReadReply(None, False, reason=NO_TEXT), "")
        request = self.request({"query": unit.query_text, CUT_SLOT: unit.text})
        (reply,) = yield [request]
        return self._grade(reply, self.prompt.verdict(reply, None, self.unparsed), request.text)

    def _grade(self, reply: Completion, verdict: ReadReply, prompt_text: str) -> DirectGrade:
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
