"""The queries of a graded file for verification reports, with checks and warnings."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from exam_pp.data_model import LEGACY_PROMPT_CLASS, Passage
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.phases.evaluation.result import counted_names
from exam_pp.phases.evaluation.selected_grades import threshold
from exam_pp.phases.passages.merge import merge_passages
from exam_pp.phases.review.checked_passages import (
    CheckedQuery,
    checked_passages,
    entries_of,
    in_bank_order,
)
from exam_pp.provenance import Provenance, file_names, graded_by
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.text.wording import counted, no_query

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

    def shows(self, passage: Passage) -> bool:
        """Whether the report shows the passage, if it shows its query."""
        if self.systems and not any(ranking.method in self.systems for ranking in passage.rankings):
            return False
        relevance = max((judgment.relevance for judgment in passage.judgments), default=None)
        return self.min_judgment is None or (relevance is not None and relevance >= self.min_judgment)


@dataclass(frozen=True)
class CheckedFile:
    """The queries of a graded file; a grade covers an entry from ``min_grade``."""

    queries: list[CheckedQuery]
    min_grade: int
    provenance: Provenance


def checked_file(
    graded: str | Path,
    grade_filter: GradeFilter,
    *,
    bank: str | Path | None = None,
    shown: Shown | None = None,
    needs_judgments: bool = False,
) -> CheckedFile:
    """Read a graded file for a report, with all lines of a query as one query.

    Unless the filter names a prompt class, only grades on a scale count. With a bank, only its entries count,
    and a bank of only questions or only nuggets selects the grades of that kind. Logs skipped queries and
    ids, and passages that may count twice. Raises :class:`SelectionError` if no grades or several sets of
    grades match; if a query, a system, the bank or ``answers_class`` does not match the file; and if the
    report needs judgments and the file has none.
    """
    shown = shown or Shown()
    test_bank = read_bank(bank) if bank else None
    selector = GradeSelector(grade_filter.for_ratings(test_bank.kinds if test_bank else ()))
    lines: Counter[str] = Counter()
    queries: dict[str, CheckedQuery] = {}
    systems: set[str] = set()
    classes: set[str] = set()
    judged, foreign = False, 0
    for line in read_passages(graded):
        if shown.queries and line.query_id not in shown.queries:
            continue
        lines[line.query_id] += 1
        for passage in line.passages:
            judged = judged or bool(passage.judgments)
            systems |= {ranking.method for ranking in passage.rankings}
            classes |= {g.prompt_class or LEGACY_PROMPT_CLASS for g in passage.grade_sets()}
        bank_query = test_bank.queries.get(line.query_id) if test_bank else None
        if test_bank and bank_query is None:
            continue
        merged = merge_passages(line.query_id, [(Path(graded), line)])
        # The selector sees all grades, so that its errors do not depend on which passages are shown.
        passages = checked_passages(merged, selector, shown.answers_class)
        of_bank = test_bank.entries(line.query_id) if test_bank else None
        entries, unknown = entries_of(passages, of_bank)
        avoided = {key for key, entry in (of_bank or {}).items() if entry.to_avoid}
        foreign += len(unknown)
        text = (bank_query.query_text if bank_query else "") or line.query_text
        query = queries.setdefault(line.query_id, CheckedQuery(line.query_id, text, {}, []))
        query.entries.update(entries)
        shown_ids = {passage.passage_id for passage in merged if shown.shows(passage)}
        query.passages.extend(
            in_bank_order(p, entries, avoided) for p in passages if p.passage_id in shown_ids
        )
    _check_shown(graded, shown, lines, systems, classes)
    if bank is not None and lines and not queries:
        raise SelectionError(f"The bank {bank} has no entries for the queries of {graded}.")
    selector.check(str(graded))
    if needs_judgments and not judged:
        raise SelectionError(
            f"{graded} has no judgments, which this report needs: import the passages again with --qrels, "
            "and add them to the file with `exam-pp merge`."
        )
    _warn(graded, lines, lines.keys() - queries.keys(), foreign)
    min_grade = threshold(selector, shown.min_grade)
    provenance = replace(
        graded_by([selector.key]), banks=file_names(bank), min_grades=(min_grade,), queries=len(queries)
    )
    return CheckedFile(list(queries.values()), min_grade, provenance)


def _check_shown(
    graded: str | Path, shown: Shown, queries: Collection[str], systems: set[str], classes: set[str]
) -> None:
    """Raise SelectionError for an absent query, system or prompt class."""
    for query_id in shown.queries:
        if query_id not in queries:
            raise SelectionError(no_query(graded, query_id, queries))
    for system in shown.systems:
        if system not in systems:
            known = ", ".join(sorted(systems)) or "none"
            raise SelectionError(f"{graded} has no system {system!r}; it has: {known}.")
    if shown.answers_class is not None and shown.answers_class not in classes:
        raise SelectionError(
            f"{graded} has no grades of the prompt {shown.answers_class!r} (--grades answers); its "
            f"prompts: {', '.join(sorted(classes)) or 'none'}."
        )


def _warn(graded: str | Path, lines: Counter[str], skipped: Collection[str], foreign: int) -> None:
    """Log skipped queries and ids, and passages that may count twice."""
    if skipped:
        queries = counted_names(sorted(skipped), "query", "queries")
        log.warning("Skipped: %s without an entry in the bank.", queries)
    if foreign:
        log.warning("Skipped: %s not in the bank.", counted(foreign, "graded id"))
    if several := [query_id for query_id, count in lines.items() if count > 1]:
        log.warning(
            "%s on several lines of %s: a passage on two of these lines counts twice. "
            "Merge the lines with `exam-pp merge`.",
            counted(len(several), "query is", "queries are"),
            graded,
        )
