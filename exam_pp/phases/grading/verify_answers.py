"""Verification of extracted answers against gold answers by a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from exam_pp.banks import Entry, TestBank
from exam_pp.data_model import Passage, QueryPassages, RubricGrades
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, check_one
from exam_pp.graders.answer_verification import AnswerVerifier, answers_of
from exam_pp.llm.backends import load_llm
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.grading.grading_run import (
    Advance,
    FileSummary,
    GradeFiles,
    check_answer_keys,
    write_answered,
)
from exam_pp.phases.grading.scheduler import Job, answer_in_windows
from exam_pp.prompts import Prompt
from exam_pp.prompts.base import AnswerMatch
from exam_pp.prompts.rubric import ANSWER_VERIFICATION
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import check_output
from exam_pp.store.passages.graded_file import read_passages


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
