"""Reports on how the model graded, from a graded file and its bank."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from exam_pp.data_model import LEGACY_PROMPT_CLASS, GradesView, QueryPassages
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.reports.document import Report
from exam_pp.reports.verification import (
    NOT_ASKED,
    GradedEntry,
    graded_entries,
    grading_pages,
    grading_table,
)
from exam_pp.store.banks import read_bank
from exam_pp.store.passages import read_passages
from exam_pp.test_bank import TestBank

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GradingOptions:
    """What a grading report shows.

    ``answers_class`` is the prompt whose answers explain the ratings (default: any without a scale).
    ``queries`` restricts the report. Of every entry, the first ``limit`` passages with at least the
    rating ``min_grade`` are shown. ``flat`` puts everything in one table, for scripts.
    """

    answers_class: str | None = None
    queries: Collection[str] = ()
    min_grade: int | None = None
    limit: int | None = None
    flat: bool = False


class _Ratings(GradeFilter):
    """Prompts without a scale explain ratings; they are listed as grades only when asked for by name."""

    def accepts(self, grades: GradesView) -> bool:
        return (self.prompt_class is not None or grades.is_rated) and super().accepts(grades)


@dataclass
class _Counts:
    """Of all pairs, shown or not."""

    queries: int = 0
    entries: int = 0
    pairs: int = 0
    odd_replies: int = 0
    by_default: int = 0
    ungraded: int = 0
    not_asked: int = 0

    def add(self, entries: list[GradedEntry]) -> None:
        self.queries += 1
        self.entries += len(entries)
        for pair in (pair for entry in entries for pair in entry.pairs):
            self.pairs += 1
            self.odd_replies += pair.rating is not None and pair.reply is not None
            self.by_default += pair.by_default
            asked = pair.reason != NOT_ASKED
            self.not_asked += not asked
            self.ungraded += asked and pair.rating is None

    def __str__(self) -> str:
        return (
            f"{self.queries} queries, {self.entries} entries, {self.pairs} pairs: {self.odd_replies} with a "
            f"reply that is not just the rating ({self.by_default} of them marked as read by the default "
            f"rule), {self.ungraded} ungraded, {self.not_asked} not asked."
        )


def verify_grading(
    graded: str | Path,
    grade_filter: GradeFilter,
    *,
    bank: str | Path | None = None,
    options: GradingOptions | None = None,
) -> Report:
    """For every bank entry its passages by rating, with extracted answer, judgment and raw reply.

    Unless the filter names a prompt class, only grades on a scale are listed; a bank of one kind
    selects the grades of that kind. The file is read one query at a time. Raises
    :class:`SelectionError` when no grades or several sets of grades match, or a query, the bank or the
    answers' prompt class fits nothing in the file.
    """
    options = options or GradingOptions()
    test_bank = read_bank(bank) if bank else None
    selector = GradeSelector(_rating_filter(grade_filter, test_bank))
    counts = _Counts()
    shown: list[GradedEntry] = []
    seen: set[str] = set()
    classes: set[str] = set()
    for query in read_passages(graded):
        if options.queries and query.query_id not in options.queries:
            continue
        seen.add(query.query_id)
        classes |= _prompt_classes(query)
        if test_bank is not None and query.query_id not in test_bank.queries:
            continue
        known = test_bank.entries(query.query_id) if test_bank else None
        entries = graded_entries(query.query_id, query.passages, known, selector, options.answers_class)
        counts.add(entries)
        shown.extend(entry.only(options.min_grade, options.limit) for entry in entries)
    _check_queries(graded, bank, test_bank, options.queries, seen)
    selector.check(str(graded))
    _check_answers_class(graded, options.answers_class, classes)
    log.info("%s", counts)
    title = f"Verify grading: {selector.key.prompt_class} by {selector.key.model}"
    if options.flat:
        return grading_table(shown, title)
    texts = {query.query_id: query.query_text for query in test_bank} if test_bank else {}
    return grading_pages(shown, title, texts, [str(counts)])


def _rating_filter(chosen: GradeFilter, bank: TestBank | None) -> GradeFilter:
    ratings = _Ratings(**vars(chosen))
    if chosen.kind is None and chosen.prompt_class is None and bank is not None and len(bank.kinds) == 1:
        return replace(ratings, kind=next(iter(bank.kinds)))
    return ratings


def _prompt_classes(query: QueryPassages) -> set[str]:
    return {
        grades.prompt_class or LEGACY_PROMPT_CLASS
        for passage in query.passages
        for grades in passage.grade_sets()
    }


def _check_queries(
    graded: str | Path,
    bank_file: str | Path | None,
    bank: TestBank | None,
    wanted: Collection[str],
    seen: set[str],
) -> None:
    for query_id in wanted:
        if query_id not in seen:
            raise SelectionError(f"{graded} has no query {query_id!r}.")
    if bank is not None and seen:
        unknown = seen - bank.queries.keys()
        if unknown == seen:
            raise SelectionError(f"The bank {bank_file} has no entries for the queries of {graded}.")
        if unknown:
            log.warning("%d queries have no entry in the bank and are left out.", len(unknown))


def _check_answers_class(graded: str | Path, answers_class: str | None, classes: set[str]) -> None:
    if answers_class is not None and answers_class not in classes:
        raise SelectionError(
            f"No grades in {graded} have the prompt class {answers_class!r} of --answers-class; it holds: "
            f"{', '.join(sorted(classes))}."
        )
