"""Answer verification: a model is asked about extracted answers that match no gold answer by words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from exam_pp.data_model import RubricGrades
from exam_pp.graders.base import Grading
from exam_pp.messages import Completion, Request
from exam_pp.prompts.answer_key import checkable_golds, is_correct
from exam_pp.prompts.base import Prompt
from exam_pp.prompts.reading import is_ill_formed, is_unanswerable
from exam_pp.prompts.thoughts import without_thoughts
from exam_pp.test_bank import Entry

MAX_NEW_TOKENS = 16
"""Enough for "yes" or "no"."""


@dataclass(frozen=True)
class AnswerVerifier:
    """Grades answers that were extracted before (EXAM++, 2024, section 4.2.1).

    An answer that matches the key by its words is correct, an unanswerable or ill-formed one is wrong; of
    every other the model is asked whether it is as correct as a gold answer, one gold answer at a time.
    ``source`` is recorded in ``prompt_info``: who extracted the answers, with which prompt.
    """

    prompt: Prompt
    model: str
    options: dict[str, Any]
    source: dict[str, Any] = field(default_factory=dict)

    def of(self, source: dict[str, Any]) -> AnswerVerifier:
        """The same verifier for answers of ``source``."""
        return replace(self, source=source)

    def run(self, answers: Sequence[tuple[Entry, str]]) -> Grading[RubricGrades]:
        """Ask about the answers that need it; an answer whose replies cannot be read stays ungraded."""
        asked = [
            (entry, gold, self._request(entry, gold, answer))
            for entry, answer in answers
            for gold in self._golds_to_ask(entry, answer)
        ]
        replies: dict[str, list[tuple[Request, Completion]]] = {}
        if asked:
            completions = yield [request for _, _, request in asked]
            for (entry, _, request), completion in zip(asked, completions, strict=True):
                replies.setdefault(entry.entry_id, []).append((request, completion))
        return self._grades(answers, replies)

    def _golds_to_ask(self, entry: Entry, answer: str) -> list[str]:
        golds = checkable_golds(entry) or []
        if is_correct(answer, golds) or is_unanswerable(answer) or is_ill_formed(answer):
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
            mine = replies.get(entry.entry_id, [])
            accepted, problem = self._read(mine)
            if not mine:
                accepted = is_correct(answer, checkable_golds(entry) or [])
            if problem is not None and not accepted:
                errors[entry.entry_id] = problem
                continue
            (correct if accepted else wrong).append(entry.entry_id)
            kept.append((entry.entry_id, answer))
        grades: dict[str, Any] = {
            "model": self.model,
            "model_options": self.options,
            "prompt_info": {**self.prompt.provenance(), "answer_verifier": self.model, **self.source},
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
                [entry_id, reply.text] for entry_id, mine in replies.items() for _, reply in mine
            ]
        return RubricGrades(**grades)

    def _read(self, replies: Sequence[tuple[Request, Completion]]) -> tuple[bool, dict[str, Any] | None]:
        """Whether any reply says yes, and the first that says neither yes nor no."""
        accepted = False
        problem = None
        for request, reply in replies:
            reason = reply.error
            if reason is None:
                verdict = self.prompt.parse(reply.text, None, "default")
                accepted, reason = accepted or verdict.correct, verdict.reason
            if reason is not None and problem is None:
                problem = {"response": reply.text, "prompt": request.text, "failure_reason": reason}
        return accepted, problem


def answers_of(grades: RubricGrades, entries: dict[str, Entry]) -> Iterator[tuple[Entry, str]]:
    """The stored answers to questions whose key can be compared with text, without what was thought aloud."""
    for entry_id, answer in grades.answers:
        entry = entries.get(entry_id)
        if entry is not None and entry.gold_answers is not None and checkable_golds(entry) is not None:
            yield entry, without_thoughts(answer) or ""
