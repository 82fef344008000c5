"""Reading of ratings from stored replies again, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from exam_pp.banks import Entry, TestBank
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
    sources: Counter[str] = field(default_factory=Counter)
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)
    output: str = ""

    def add(self, before: AnyGrades, after: AnyGrades) -> None:
        """Count one set of grades."""
        old, new = before.entry_ratings(), after.entry_ratings()
        failed = len(after.failures())
        self.read += len(new) + failed
        self.changed += sum(old.get(key) != new.get(key) for key in old.keys() | new.keys())
        self.ungraded += failed
        if isinstance(after, RubricGrades):
            self.sources.update(rating.source or "number" for rating in after.self_ratings or ())

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        yield f"{counted(self.read, 'grade')} read again: {self.changed} changed, {self.ungraded} ungraded."
        by_rule = {source: n for source, n in sorted(self.sources.items()) if source != "number"}
        if by_rule:
            rules = ", ".join(f"{n} × {source}" for source, n in by_rule.items())
            yield f"Ratings by a rule, because the reply is not a number of the scale: {rules}."
        for (prompt, reason), count in sorted(self.skipped.items()):
            were = counted(count, "set of grades", "sets of grades")
            yield f"Not read again: {were} with {prompt}, because {reason}."
        if self.output != STDIO:
            yield f"Written: {self.output}"


@dataclass(frozen=True)
class Rereader:
    """Reads stored replies again, for sets of grades that the filter accepts and whose prompt is known."""

    filter: GradeFilter
    unparsed: Unparsed
    answer_match: AnswerMatch
    prompts: Mapping[str, Prompt]
    bank: TestBank | None
    summary: RereadSummary

    def query(self, query: RawQuery) -> RawQuery:
        """Replace the grades of a query's passages, set by set."""
        entries = {} if self.bank is None else self.bank.entries(query.query_id)
        for passage in query.passages:
            passage.edit_grades(partial(self._read_again, entries))
        return query

    def _read_again(self, entries: dict[str, Entry], before: AnyGrades) -> AnyGrades:
        prompt = self._prompt(before)
        if prompt is None:
            return before
        after: AnyGrades
        if isinstance(before, RubricGrades):
            after = reread_rubric(before, prompt, self.unparsed, entries)
        else:
            after = reread_direct(before, prompt, self.unparsed)
        self.summary.add(before, after)
        return after

    def _prompt(self, grades: AnyGrades) -> Prompt | None:
        """The prompt that reads these grades; None, with the reason counted, if they cannot be read again."""
        is_direct = isinstance(grades, DirectGrade)
        if not self.filter.accepts(grades):
            return None
        name = GradeKey.of(grades).prompt_class
        prompt = self.prompts.get(name) or PROMPTS.find(name)
        reason = None
        if is_human(grades.model):
            reason = "a reviewer gave them"
        elif is_consensus(grades):
            reason = "they are a consensus of graders"
        elif prompt is None:
            reason = "the prompt is unknown (use --prompt-file)"
        elif prompt.kind == "verification":
            reason = "a model verified them"
        elif prompt.answer_key and self.bank is None:
            reason = "the prompt compares replies with gold answers (use --bank)"
        elif (prompt.kind == "direct") != is_direct:
            reason = "they are not of the prompt's kind"
        elif not is_direct and prompt.is_rated != grades.is_rated:
            reason = "they are not on the prompt's scale"
        if reason is not None:
            self.summary.skipped[name, reason] += 1
            return None
        if prompt is None:
            return None
        return with_answer_match(prompt, self.answer_match)


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
    reader = Rereader(criteria, unparsed, answer_match, prompts or {}, test_bank, summary)

    def check(_counts: Rewritten) -> None:
        if not summary.read:
            reasons = "; ".join(f"{prompt}: {reason}" for prompt, reason in sorted(summary.skipped))
            raise SelectionError(
                f"{graded} has no replies to read again ({reasons or 'no grades match the filter'})."
            )

    rewrite(graded, output, reader.query, inputs=inputs, check=check)
    return summary
