"""Reading of ratings from stored replies again, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from exam_pp.banks import Entry
from exam_pp.data_model import AnyGrades, DirectGrade, RubricGrades, is_consensus, is_human
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey
from exam_pp.graders.reread import reread_direct, reread_rubric
from exam_pp.phases.grading.grading_run import check_answer_keys
from exam_pp.phases.passages.transform import Rewritten, rewrite
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.prompts.answer_key import with_answer_match
from exam_pp.prompts.base import AnswerMatch, Unparsed
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import STDIO, check_output
from exam_pp.store.passages.raw_passages import RawQuery
from exam_pp.text.wording import counted


@dataclass
class RereadSummary:
    """Counts of grades; ``skipped`` counts sets of grades that were not read again, by prompt and reason."""

    read: int = 0
    changed: int = 0
    ungraded: int = 0
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)
    output: str = ""

    def add(self, before: AnyGrades, after: AnyGrades) -> None:
        """Count one set of grades."""
        old, new = before.entry_ratings(), after.entry_ratings()
        failed = len(after.failures())
        self.read += len(new) + failed
        self.changed += sum(old.get(key) != new.get(key) for key in old.keys() | new.keys())
        self.ungraded += failed

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        yield f"{counted(self.read, 'grade')} read again: {self.changed} changed, {self.ungraded} ungraded."
        for (prompt, reason), count in sorted(self.skipped.items()):
            were = counted(count, "set of grades", "sets of grades")
            yield f"Not read again: {were} with {prompt}, because {reason}."
        if self.output != STDIO:
            yield f"Written: {self.output}"


def reread(
    graded: Path,
    output: Path,
    *,
    unparsed: Unparsed = "default",
    answer_match: AnswerMatch = "paper",
    grade_filter: GradeFilter | None = None,
    bank: Path | None = None,
    prompts: Mapping[str, Prompt] | None = None,
) -> RereadSummary:
    """Write the graded file with the selected grades read again from their stored replies.

    Prompts with an answer key need ``bank``; ``answer_match`` is their rule. ``prompts`` has prompts that are
    not in the registry, by name.
    Raises :class:`SelectionError` if no selected grade can be read again.
    """
    inputs = [] if bank is None else [bank]
    check_output(output, [graded, *inputs])
    test_bank = None if bank is None else read_bank(bank)
    if test_bank is not None and bank is not None:
        check_answer_keys(test_bank, bank, answer_match)
    summary = RereadSummary(output=str(output))
    criteria = grade_filter or GradeFilter()

    def read_again(entries: Mapping[str, Entry], before: AnyGrades) -> AnyGrades:
        if not criteria.accepts(before):
            return before
        name = GradeKey.of(before).prompt_class
        prompt = (prompts or {}).get(name) or PROMPTS.find(name)
        reason = _why_not(before, prompt, has_bank=test_bank is not None)
        if prompt is None or reason is not None:
            summary.skipped[name, str(reason)] += 1
            return before
        prompt = with_answer_match(prompt, answer_match)
        after = (
            reread_rubric(before, prompt, unparsed, entries)
            if isinstance(before, RubricGrades)
            else reread_direct(before, prompt, unparsed)
        )
        summary.add(before, after)
        return after

    def change(query: RawQuery) -> RawQuery:
        entries = {} if test_bank is None else test_bank.entries(query.query_id)
        for passage in query.passages:
            passage.edit_grades(partial(read_again, entries))
        return query

    def check(_counts: Rewritten) -> None:
        if not summary.read:
            reasons = "; ".join(f"{prompt}: {reason}" for prompt, reason in sorted(summary.skipped))
            raise SelectionError(
                f"{graded} has no replies to read again ({reasons or 'no grades match the filter'})."
            )

    rewrite(graded, output, change, inputs=inputs, check=check)
    return summary


def _why_not(grades: AnyGrades, prompt: Prompt | None, *, has_bank: bool) -> str | None:
    """Why a prompt cannot read these grades again; None if it can."""
    is_direct = isinstance(grades, DirectGrade)
    if is_human(grades.model):
        return "a reviewer gave them"
    if is_consensus(grades):
        return "they are a consensus of graders"
    if prompt is None:
        return "the prompt is unknown (use --prompt-file)"
    if prompt.kind == "verification":
        return "a model verified them"
    if prompt.answer_key and not has_bank:
        return "the prompt compares replies with gold answers (use --bank)"
    if (prompt.kind == "direct") != is_direct:
        return "they are not of the prompt's kind"
    if not is_direct and prompt.is_rated != grades.is_rated:
        return "they are not on the prompt's scale"
    return None
