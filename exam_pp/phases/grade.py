"""Phase 2: a model grades every passage against every bank entry of its query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from exam_pp.data_model import Passage, QueryPassages, RubricGrades
from exam_pp.graders.base import PassageUnit
from exam_pp.graders.rubric import RubricGrader
from exam_pp.messages import Completion, Request
from exam_pp.phases.ask import drive
from exam_pp.prompts.base import Prompt, Unparsed
from exam_pp.test_bank import Entry, TestBank

WINDOW_REQUESTS = 8192
"""Requests that are sorted and batched together; a window ends with the query that reaches it."""

Answer = Callable[[Sequence[Request]], list[Completion]]


@dataclass(frozen=True)
class GradeOptions:
    """What to grade, and how replies are read.

    Entries that the file already answers for the same model and prompt are not asked again, unless
    ``regrade``. ``max_queries`` and ``max_paragraphs`` keep the first of each.
    """

    prompts: Sequence[Prompt]
    unparsed: Unparsed = "default"
    soft: bool = True
    regrade: bool = False
    max_queries: int | None = None
    max_paragraphs: int | None = None


@dataclass
class GradeSummary:
    """Counts for the closing lines."""

    queries: int = 0
    passages: int = 0
    pairs: int = 0
    graded: int = 0
    ungraded: int = 0
    reused: int = 0
    shortened: int = 0
    sources: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    without_bank: list[str] = field(default_factory=list)

    def add(self, grades: RubricGrades) -> None:
        """Count the grades of one passage."""
        self.graded += len(grades.correct) + len(grades.wrong)
        self.shortened += len(grades.tokens_cut or {})
        self.sources.update(rating.source or "number" for rating in grades.self_ratings or ())
        errors = grades.errors if isinstance(grades.errors, dict) else {}
        self.ungraded += len(errors)
        self.reasons.update(str(error["failure_reason"]) for error in errors.values())

    @property
    def not_numbers(self) -> int:
        """Ratings that a rule gave, because the reply was no number of the scale."""
        return sum(count for source, count in self.sources.items() if source != "number")


def select(queries: Iterable[QueryPassages], options: GradeOptions) -> Iterator[QueryPassages]:
    """The first ``max_queries`` queries with their first ``max_paragraphs`` passages."""
    for query in islice(queries, options.max_queries):
        yield QueryPassages(query.query_id, query.passages[: options.max_paragraphs])


def open_entries(passage: Passage, entries: dict[str, Entry], prompt: Prompt, model: str) -> list[Entry]:
    """The entries of the prompt's kind that no grades by ``model`` with ``prompt`` answer yet."""
    answered = {
        entry_id
        for grades in passage.rubric_grades or ()
        if grades.model == model and grades.prompt_class == prompt.name
        if grades.prompt_hash in (None, prompt.hash)
        for entry_id in (*grades.correct, *grades.wrong, *grades.entry_ratings())
    }
    return [entry for key, entry in entries.items() if key not in answered and entry.kind == prompt.kind]


def count_pairs(queries: Iterable[QueryPassages], bank: TestBank, model: str, options: GradeOptions) -> int:
    """How many (passage, entry, prompt) pairs a grading will ask."""
    return sum(
        len(_entries_to_ask(passage, bank.entries(query.query_id), prompt, model, options))
        for query in select(queries, options)
        for passage in query.passages
        for prompt in options.prompts
    )


def _entries_to_ask(
    passage: Passage, entries: dict[str, Entry], prompt: Prompt, model: str, options: GradeOptions
) -> list[Entry]:
    if options.regrade:
        return [entry for entry in entries.values() if entry.kind == prompt.kind]
    return open_entries(passage, entries, prompt, model)


def grade(
    queries: Iterable[QueryPassages],
    bank: TestBank,
    answer: Answer,
    *,
    model: str,
    provenance: dict[str, Any],
    options: GradeOptions,
    summary: GradeSummary | None = None,
    window_requests: int = WINDOW_REQUESTS,
) -> Iterator[QueryPassages]:
    """The queries with the new grades appended to their passages, in input order.

    Grades that are in the input stay as they are. Queries without a bank entry pass through and are
    counted in ``summary``.
    """
    counts = summary if summary is not None else GradeSummary()
    graders = [
        RubricGrader(prompt, model, provenance, options.unparsed, options.soft) for prompt in options.prompts
    ]
    window: list[tuple[QueryPassages, list[tuple[int, PassageUnit, RubricGrader]]]] = []
    size = 0
    for query in select(queries, options):
        work = list(_work(query, bank, graders, model, options, counts))
        window.append((query, work))
        size += sum(len(unit.entries) for _, unit, _ in work)
        if size >= window_requests:
            yield from _grade_window(window, answer, counts)
            window, size = [], 0
    yield from _grade_window(window, answer, counts)


def _work(
    query: QueryPassages,
    bank: TestBank,
    graders: Sequence[RubricGrader],
    model: str,
    options: GradeOptions,
    counts: GradeSummary,
) -> Iterator[tuple[int, PassageUnit, RubricGrader]]:
    """What is to be asked about a query: (position of the passage, unit, grader)."""
    entries = bank.entries(query.query_id)
    counts.queries += 1
    counts.passages += len(query.passages)
    if not entries:
        counts.without_bank.append(query.query_id)
        return
    text = bank.queries[query.query_id].query_text
    for grader in graders:
        of_kind = sum(entry.kind == grader.prompt.kind for entry in entries.values())
        for position, passage in enumerate(query.passages):
            asked = _entries_to_ask(passage, entries, grader.prompt, model, options)
            counts.pairs += len(asked)
            counts.reused += of_kind - len(asked)
            if asked:
                unit = PassageUnit(query.query_id, text, passage.passage_id, passage.text, asked)
                yield position, unit, grader


def _grade_window(
    window: Sequence[tuple[QueryPassages, list[tuple[int, PassageUnit, RubricGrader]]]],
    answer: Answer,
    counts: GradeSummary,
) -> Iterator[QueryPassages]:
    gradings = [grader.run(unit) for _, work in window for _, unit, grader in work]
    results = iter(drive(gradings, answer))
    for query, work in window:
        new: dict[int, list[RubricGrades]] = {}
        for position, _, _ in work:
            grades = next(results)
            assert isinstance(grades, RubricGrades)
            counts.add(grades)
            new.setdefault(position, []).append(grades)
        for position, grades_list in new.items():
            passage = query.passages[position]
            passage.rubric_grades = [*(passage.rubric_grades or ()), *grades_list]
        yield query
