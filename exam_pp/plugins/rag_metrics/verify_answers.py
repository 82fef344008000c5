"""Verification of extracted answers against gold answers by a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from exam_pp.banks import Entry, TestBank
from exam_pp.data_model import Passage, QueryPassages, RubricGrades
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, check_one
from exam_pp.graders.base import Grading
from exam_pp.llm.backends import load_llm
from exam_pp.llm.base import ModelOptions
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.grading.grading_run import (
    Advance,
    FileSummary,
    GradeFiles,
    check_answer_keys,
    write_answered,
)
from exam_pp.phases.grading.scheduler import Job, answer_in_windows
from exam_pp.prompts.answer_key import gold_answers, is_correct
from exam_pp.prompts.base import AnswerMatch, Prompt
from exam_pp.prompts.markup import without_thinking
from exam_pp.prompts.reading import is_ill_formed, is_unanswerable
from exam_pp.prompts.rubric import ANSWER_VERIFICATION
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import check_output
from exam_pp.store.passages.graded_file import read_passages

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


@dataclass
class AnswerSelector:
    """Selects the extracted answers to verify; all must be by the same model and prompt."""

    filter: GradeFilter
    gold_rule: AnswerMatch = "paper"
    seen: Counter[GradeKey] = field(default_factory=Counter)

    def answers(self, passage: Passage, entries: dict[str, Entry]) -> tuple[dict[str, Any], dict[str, str]]:
        """The provenance of the passage's answers, and entry id to the last answer of each entry.

        Raises :class:`SelectionError` for answers by several models or prompts.
        """
        source: dict[str, Any] = {}
        answers: dict[str, str] = {}
        for grades in passage.rubric_grades or ():
            if not self._holds_answers(grades) or not self.filter.accepts(grades):
                continue
            self.seen[GradeKey.of(grades)] += 1
            option = "--grades answers-grader and --grades answers (--model is the model that verifies)"
            check_one(
                sorted(self.seen), "The file has extracted answers by several models or prompts", option
            )
            source = {
                "orig_prompt_class": grades.prompt_class,
                "answers_by": {"llm": grades.model, "llm_options": grades.model_options},
            }
            answers |= {
                entry.entry_id: answer for entry, answer in answers_of(grades, entries, self.gold_rule)
            }
        return source, answers

    @staticmethod
    def _holds_answers(grades: RubricGrades) -> bool:
        return (
            not grades.is_rated
            and bool(grades.answers)
            and grades.prompt_type in (None, "question")
            and "answer_verifier" not in (grades.prompt_info or {})
            and grades.prompt_class != ANSWER_VERIFICATION.name
        )


def verify_answers(
    files: GradeFiles,
    model: ModelOptions,
    answers: GradeFilter,
    *,
    regrade: bool = False,
    only_model: bool = True,
    answer_match: AnswerMatch = "paper",
    prompt: Prompt | None = None,
    advance: Advance = lambda _steps, _total: None,
) -> FileSummary:
    """Write the passages with grades of the verified answers, under the name of ``prompt``.

    ``prompt`` is by default that of the papers. ``answers`` selects the extracted answers. With
    ``only_model``, the model decides on every answer; without it, only on answers whose words do not match by
    the rule ``answer_match``. Answers that the same model verified before in the same way are verified again
    only with ``regrade``. Raises :class:`exam_pp.errors.ExamError`.
    """
    check_output(files.output, files.inputs)
    prompt = prompt or ANSWER_VERIFICATION
    if prompt.kind != "verification":
        raise SelectionError(
            f"The prompt {prompt.name!r} does not verify answers; its kind is {prompt.kind!r}."
        )
    # A verifier before the model, which takes long to load: its rule checks the gold answers first.
    verifier = AnswerVerifier(prompt, model.model, {}, only_model=only_model, answer_match=answer_match)
    if files.bank is None:
        raise SelectionError("Verifying answers needs a test bank with gold answers (--bank).")
    bank = read_bank(files.bank)
    bank.require_kind("question", "Verifying answers")
    check_answer_keys(bank, files.bank, verifier.gold_rule)
    llm = load_llm(model)
    summary = FileSummary(output=str(files.output))
    verifier = replace(verifier, model=llm.name, options=llm.provenance())
    selector = AnswerSelector(answers, verifier.gold_rule)

    def check() -> None:
        if not selector.seen:
            raise SelectionError(
                f"{files.passages} has no selected extracted answers. Grade with a prompt such as "
                "answer-key-2 first."
            )

    work = _work(read_passages(files.passages), bank, selector, verifier, regrade, summary)
    summary.asked = write_answered(
        files, llm, lambda answer: answer_in_windows(work, answer, summary.add), advance, check
    )
    return summary


def _work(
    queries: Iterable[QueryPassages],
    bank: TestBank,
    selector: AnswerSelector,
    verifier: AnswerVerifier,
    regrade: bool,
    summary: FileSummary,
) -> Iterator[tuple[QueryPassages, list[Job]]]:
    for query in queries:
        entries = bank.entries(query.query_id)
        summary.queries += 1
        summary.passages += len(query.passages)
        if not entries:
            summary.without_bank.append(query.query_id)
        jobs = []
        for position, passage in enumerate(query.passages):
            source, answers = selector.answers(passage, entries)
            known = set() if regrade else _verified(passage, verifier)
            todo = [(entries[key], text) for key, text in answers.items() if (key, text) not in known]
            summary.pairs += len(todo)
            summary.reused += len(answers) - len(todo)
            if todo:
                jobs.append(Job(position, replace(verifier, source=source).run(todo), len(todo)))
        yield query, jobs


def _verified(passage: Passage, verifier: AnswerVerifier) -> set[tuple[str, str]]:
    """Entry id and text of the answers that the model has already verified in the same way."""
    return {
        (entry_id, answer)
        for grades in passage.rubric_grades or ()
        if grades.model == verifier.model and grades.prompt_class == verifier.prompt.name
        if grades.prompt_hash in (None, verifier.prompt.hash)
        if _policy(grades.prompt_info or {}) == verifier.policy
        for entry_id, answer in grades.answers
    }


def _policy(info: Mapping[str, Any]) -> dict[str, Any]:
    """The recorded policy; files of earlier versions have words or model, and the strict rule."""
    if info.get("verified_by") == "model":
        return {"verified_by": "model"}
    return {"verified_by": "words or model", "answer_match": info.get("answer_match", "strict")}
