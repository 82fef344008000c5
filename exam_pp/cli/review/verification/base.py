"""Verification reports: what each query adds, the reading of the graded file, and the form of a report."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, Generic, TypeVar

from exam_pp.banks import TestBank
from exam_pp.data_model import LEGACY_PROMPT_CLASS, Passage, QueryPassages
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.packed import LazySequence
from exam_pp.phases.evaluation.result import counted_names
from exam_pp.phases.evaluation.selected_grades import DEFAULT_MIN_GRADE
from exam_pp.phases.passages.merge import merge_passages
from exam_pp.phases.review.checked_passages import (
    UNGRADED,
    CheckedQuery,
    Reading,
    checked_passages,
    entries_of,
    in_bank_order,
)
from exam_pp.phases.review.rating_scale import rating_scale
from exam_pp.prompts import PROMPTS
from exam_pp.provenance import Provenance, file_names, graded_by
from exam_pp.rendering.document import Block, Paragraph, Report, Table
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.text.wording import counted, no_query

T = TypeVar("T")


class Selection(ABC):
    """The content of a verification report, collected query by query.

    A query may be added in several parts. Selections keep only the items that their report shows, so that
    memory use does not grow with the file.
    """

    needs_judgments = False
    """Whether the report needs manual judgments."""

    @abstractmethod
    def add(self, query: CheckedQuery) -> None:
        """Add a query."""


S = TypeVar("S", bound=Selection)


class Smallest(Generic[T]):
    """The ``limit`` added items with the smallest keys (None: all items)."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.added = 0
        self._items: list[tuple[Any, T]] = []

    def add(self, key: Any, item: T) -> None:
        """Add an item; keys only need to be comparable with each other."""
        self.added += 1
        self._items.append((key, item))
        if self.limit is not None and len(self._items) > 2 + self.limit + self.limit // 2:
            self._prune()

    def items(self) -> list[T]:
        """The kept items, sorted by key."""
        self._prune()
        return [item for _, item in self._items]

    @property
    def omitted(self) -> int:
        """The number of items that were added but not kept."""
        return self.added - (self.added if self.limit is None else min(self.limit, self.added))

    def _prune(self) -> None:
        self._items.sort(key=itemgetter(0))
        if self.limit is not None:
            del self._items[self.limit :]


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shown:
    """The passages that a report shows, and how.

    ``queries`` and ``systems``, if not empty, limit the report to these queries and to passages that these
    systems returned. With ``min_judgment``, only passages whose highest judgment is at least this value are
    shown. ``answers_class`` is the prompt whose answers explain the ratings (default: any prompt without a
    scale). ``min_grade`` is the threshold (None: 4, or the top of a shorter scale; 1 for prompts without a
    scale).
    """

    queries: Collection[str] = ()
    systems: Collection[str] = ()
    min_judgment: int | None = None
    answers_class: str | None = None
    min_grade: int | None = None


def verify(
    graded: str | Path,
    selection: Selection,
    grade_filter: GradeFilter,
    *,
    bank: str | Path | None = None,
    shown: Shown | None = None,
) -> Provenance:
    """Add the queries of a graded file to a selection, one at a time; returns what made the grades.

    Unless the filter names a prompt class, only grades on a scale count. With a bank, only its entries count,
    and a bank of only questions or only nuggets selects the grades of that kind. Raises
    :class:`SelectionError` if no grades or several sets of grades match; if a query, a system, the bank or
    ``answers_class`` does not match the file; and if the selection needs judgments and the file has none.
    """
    shown = shown or Shown()
    test_bank = read_bank(bank) if bank else None
    selector = GradeSelector(grade_filter.for_ratings(test_bank.kinds if test_bank else ()))
    reading = _Reading(graded, selector, test_bank, shown)
    for query in reading:
        selection.add(query)
    reading.check(bank)
    selector.check(str(graded))
    if selection.needs_judgments and not reading.judged:
        raise SelectionError(
            f"{graded} has no judgments, which this report needs: import the passages again with --qrels, "
            "and add them to the file with `exam-pp merge`."
        )
    reading.warn()
    return replace(
        graded_by([selector.key]),
        banks=file_names(bank),
        min_grades=(reading.min_grade,),
        queries=reading.queries,
    )


@dataclass
class _Reading:
    """Iterates over the queries of a file, and collects data for checks and warnings."""

    graded: str | Path
    selector: GradeSelector
    bank: TestBank | None
    shown: Shown
    judged: bool = False
    lines: Counter[str] = field(default_factory=Counter)
    systems: set[str] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)
    foreign: int = 0

    def __iter__(self) -> Iterator[CheckedQuery]:
        for line in read_passages(self.graded):
            if self.shown.queries and line.query_id not in self.shown.queries:
                continue
            self.lines[line.query_id] += 1
            self._collect(line)
            if self.bank is None or line.query_id in self.bank.queries:
                yield self._checked(line)

    def _collect(self, line: QueryPassages) -> None:
        for passage in line.passages:
            self.judged = self.judged or bool(passage.judgments)
            self.classes |= {g.prompt_class or LEGACY_PROMPT_CLASS for g in passage.grade_sets()}
            if self.shown.systems:
                self.systems |= {ranking.method for ranking in passage.rankings}

    def _checked(self, line: QueryPassages) -> CheckedQuery:
        merged = merge_passages(line.query_id, [(Path(self.graded), line)])
        bank_entries = self.bank.entries(line.query_id) if self.bank else None
        # The selector sees all grades, so that its errors do not depend on which passages are shown.
        passages = checked_passages(merged, self.selector, self.shown.answers_class, _read_again)
        entries, foreign = entries_of(passages, bank_entries)
        shown_ids = {passage.passage_id for passage in merged if self._is_shown(passage)}
        self.foreign += len(foreign)
        return CheckedQuery(
            line.query_id,
            (self.bank.queries[line.query_id].query_text if self.bank else "") or line.query_text,
            entries,
            [in_bank_order(passage, entries) for passage in passages if passage.passage_id in shown_ids],
            self.min_grade,
        )

    def _is_shown(self, passage: Passage) -> bool:
        systems, min_judgment = self.shown.systems, self.shown.min_judgment
        if systems and not any(ranking.method in systems for ranking in passage.rankings):
            return False
        relevance = max((judgment.relevance for judgment in passage.judgments), default=None)
        return min_judgment is None or (relevance is not None and relevance >= min_judgment)

    @property
    def queries(self) -> int:
        """The number of queries that the report checks; call this at the end."""
        return sum(self.bank is None or query_id in self.bank.queries for query_id in self.lines)

    @property
    def min_grade(self) -> int:
        """The threshold; before the selector has seen a grade, the value is not used."""
        if self.shown.min_grade is not None:
            return self.shown.min_grade
        if not self.selector.rated:
            return 1
        prompt = PROMPTS.find(self.selector.key.prompt_class)
        recorded = self.selector.max_rating or DEFAULT_MIN_GRADE
        top = recorded if prompt is None else rating_scale(prompt)[-1].rating
        return min(DEFAULT_MIN_GRADE, top)

    def check(self, bank_file: str | Path | None) -> None:
        """Raise SelectionError for an absent query, system or prompt class, or for an unrelated bank."""
        for query_id in self.shown.queries:
            if query_id not in self.lines:
                raise SelectionError(no_query(self.graded, query_id, self.lines))
        if self.bank is not None and self.lines and not self.lines.keys() & self.bank.queries.keys():
            raise SelectionError(f"The bank {bank_file} has no entries for the queries of {self.graded}.")
        for system in self.shown.systems:
            if system not in self.systems:
                known = ", ".join(sorted(self.systems)) or "none"
                raise SelectionError(f"{self.graded} has no system {system!r}; it has: {known}.")
        answers_class = self.shown.answers_class
        if answers_class is not None and answers_class not in self.classes:
            raise SelectionError(
                f"{self.graded} has no grades of the prompt {answers_class!r} (--grades answers); its "
                f"prompts: {', '.join(sorted(self.classes)) or 'none'}."
            )

    def warn(self) -> None:
        """Log skipped queries and ids, and passages that may count twice."""
        if self.bank is not None and (unknown := self.lines.keys() - self.bank.queries.keys()):
            queries = counted_names(sorted(unknown), "query", "queries")
            log.warning("Skipped: %s without an entry in the bank.", queries)
        if self.foreign:
            log.warning("Skipped: %s not in the bank.", counted(self.foreign, "graded id"))
        if several := [query_id for query_id, lines in self.lines.items() if lines > 1]:
            log.warning(
                "%s on several lines of %s: a passage on two of these lines counts twice. "
                "Merge the lines with `exam-pp merge`.",
                counted(len(several), "query is", "queries are"),
                self.graded,
            )


@lru_cache(maxsize=10_000)
def _read_again(prompt_class: str | None, reply: str) -> Reading | None:
    """Read the reply by the prompt's default rule; None for an unknown prompt."""
    prompt = PROMPTS.find(prompt_class)
    if prompt is None:
        return None
    verdict = prompt.parse(reply, None, "default")
    return Reading(verdict.rating, UNGRADED if verdict.rating is None else verdict.source)


@dataclass(frozen=True)
class VerificationReport(Generic[S]):
    """Functions that turn a selection into a report.

    ``summary`` gives a sentence with counts over all pairs or passages, shown or not. ``blocks`` gives the
    blocks below it, which may be generated lazily. ``table`` gives one flat table for scripts and
    spreadsheets.
    """

    title: str
    summary: Callable[[S], str]
    blocks: Callable[[S], Iterable[Block]]
    table: Callable[[S], Table]

    def report(self, selection: S, provenance: Provenance, *, flat: bool = False) -> Report:
        """The report of a selection; with ``flat`` only the table for scripts."""
        title = f"{self.title}: {provenance.prompt_classes[0]} by {provenance.models[0]}"
        content: Sequence[Block] = (
            [self.table(selection)]
            if flat
            else LazySequence(lambda: chain([Paragraph(self.summary(selection))], self.blocks(selection)))
        )
        return Report(title, content, provenance)


def omission(count: int, noun: str, shown: int) -> list[Block]:
    """A line with the number of items that are not shown; empty for 0. ``noun`` is the singular."""
    if not count:
        return []
    name = f"more {noun}" if shown else noun
    return [Paragraph(f"{counted(count, name)} {'is' if count == 1 else 'are'} not shown.")]


def without_empty_columns(table: Table) -> Table:
    """The table without columns that are empty in every row."""
    kept = [i for i, _ in enumerate(table.columns) if any(row[i] not in (None, "") for row in table.rows)]
    if not table.rows:
        return table
    columns = [table.columns[i] for i in kept]
    return Table(columns, [[row[i] for i in kept] for row in table.rows], table.title, table.decimals)
