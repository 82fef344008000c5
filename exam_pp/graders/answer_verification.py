"""Answer verification: a model compares extracted answers with gold answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from exam_pp.banks import Entry
from exam_pp.data_model import RubricGrades
from exam_pp.graders.base import Grading
from exam_pp.llm_requests import Completion, Request
from exam_pp.prompts.answer_key import gold_answers, is_correct
from exam_pp.prompts.base import AnswerMatch, Prompt
from exam_pp.prompts.markup import without_thinking
from exam_pp.prompts.reading import is_ill_formed, is_unanswerable

MAX_NEW_TOKENS = 16
"""Enough for "yes" or "no"."""


@dataclass(frozen=True)
class AnswerVerifier:
    """Grades answers that an earlier run extracted (EXAM++, 2024, section 4.2.1).

    The model is asked whether an answer is as correct as a gold answer, in one call for each gold answer; one
    yes is enough. With ``only_model``, it is asked about every answer, as in the paper. Otherwise an answer
    whose words match a gold answer (by the rule ``answer_match``) is correct without a call, and an
    unanswerable or ill-formed answer is wrong. Questions without gold answers (``[]``) are never asked about:
    "unanswerable" is correct. ``source`` is recorded in ``prompt_info``: the model and the prompt of the
    extraction.
    """

    prompt: Prompt
    model: str
    options: dict[str, Any]
    source: dict[str, Any] = field(default_factory=dict)
    only_model: bool = True
    answer_match: AnswerMatch = "paper"

    @property
    def gold_rule(self) -> AnswerMatch:
        """The rule that selects the gold answers: a model can be asked about all of them."""
        return "paper" if self.only_model else self.answer_match

    @property
    def policy(self) -> dict[str, str]:
        """The keys of ``prompt_info`` that say who decides on an answer."""
        if self.only_model:
            return {"verified_by": "model"}
        return {"verified_by": "words or model", "answer_match": self.answer_match}

    def run(self, answers: Sequence[tuple[Entry, str]]) -> Grading[RubricGrades]:
        """Verify the answers that need a call, and return the grades of all answers.

        An answer stays ungraded if a reply cannot be read and no reply is yes.
        """
        calls = [
            (entry, self._request(entry, gold, answer))
            for entry, answer in answers
            for gold in self._golds_to_verify(entry, answer)
        ]
        replies: dict[str, list[tuple[Request, Completion]]] = {}
        if calls:
            completions = yield [request for _, request in calls]
            for (entry, request), completion in zip(calls, completions, strict=True):
                replies.setdefault(entry.entry_id, []).append((request, completion))
        return self._grades(answers, replies)

    def _golds_to_verify(self, entry: Entry, answer: str) -> list[str]:
        golds = gold_answers(entry, self.gold_rule) or []
        if not self.only_model and (
            is_correct(answer, golds, self.answer_match) or is_unanswerable(answer) or is_ill_formed(answer)
        ):
            return []
        return list(dict.fromkeys(golds))

    def _request(self, entry: Entry, gold: str, answer: str) -> Request:
        values = {"question": entry.text, "correct_answer": gold, "answer": answer}
        return Request(self.prompt.render(values), max_new_tokens=MAX_NEW_TOKENS)

    def _grades(
        self, answers: Sequence[tuple[Entry, str]], replies: dict[str, list[tuple[Request, Completion]]]
    ) -> RubricGrades:
        correct: list[str] = []
        wrong: list[str] = []
        kept: list[tuple[str, str]] = []
        errors: dict[str, Any] = {}
        for entry, answer in answers:
            entry_replies = replies.get(entry.entry_id, [])
            accepted, problem = self._read(entry_replies)
            if not entry_replies:
                accepted = is_correct(answer, gold_answers(entry, self.gold_rule) or [], self.gold_rule)
            if problem is not None and not accepted:
                errors[entry.entry_id] = problem
                continue
            (correct if accepted else wrong).append(entry.entry_id)
            kept.append((entry.entry_id, answer))
        grades: dict[str, Any] = {
            "model": self.model,
            "model_options": self.options,
            "prompt_info": {
                **self.prompt.provenance(),
                **self.policy,
                "answer_verifier": self.model,
                **self.source,
            },
            "prompt_type": "question",
            "correct": correct,
            "wrong": wrong,
            "answers": kept,
            "errors": errors,
            "exam_ratio": len(correct) / (len(correct) + len(wrong)) if kept else 0.0,
            "relevance_label": len(correct),
        }
        if replies:
            grades["verifications"] = [
                [entry_id, reply.text]
                for entry_id, entry_replies in replies.items()
                for _, reply in entry_replies
            ]
        return RubricGrades(**grades)

    def _read(self, replies: Sequence[tuple[Request, Completion]]) -> tuple[bool, dict[str, Any] | None]:
        """Return whether any reply is yes, and the error record of the first unreadable reply or None."""
        accepted = False
        problem = None
        for request, reply in replies:
            verdict = self.prompt.verdict(reply, None, "default")
            accepted = accepted or verdict.correct
            if verdict.reason is not None and problem is None:
                problem = {
                    "response": reply.text,
                    "prompt": request.text,
                    "failure_reason": verdict.reason,
                }
        return accepted, problem


def answers_of(
    grades: RubricGrades, entries: dict[str, Entry], match: AnswerMatch = "paper"
) -> Iterator[tuple[Entry, str]]:
    """Yield pairs of question and stored answer, without thinking text, if the rule can use a gold answer."""
    for entry_id, answer in grades.answers:
        entry = entries.get(entry_id)
        if entry is None or entry.gold_answers is None:
            continue
        if gold_answers(entry, match) is not None:
            yield entry, without_thinking(answer) or ""
