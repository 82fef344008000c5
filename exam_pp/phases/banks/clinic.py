"""The clinic: what the grades say about a bank, and which entries to remove."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from exam_pp.data_model import QueryView
from exam_pp.edits import FORMAT, BankEdit, Edits
from exam_pp.errors import DataError, SelectionError
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.metrics.clinic import (
    CurvePoint,
    EntryHealth,
    EntryPair,
    alike,
    bank_size_curve,
    entry_health,
)
from exam_pp.metrics.grade_masks import GradedFile, gather
from exam_pp.phases.banks.signs import SIGN_NAMES, SIGNS, ClinicOptions
from exam_pp.phases.evaluation.selected_grades import default_min_grade
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.banks.edits import file_sha256
from exam_pp.store.passages.graded_file import read_passages_for_metrics
from exam_pp.test_bank import TestBank
from exam_pp.wording import counted

log = logging.getLogger(__name__)

REVIEWER = "exam-pp bank clinic"


@dataclass(frozen=True)
class Finding:
    """A sign of a bad entry, in words."""

    query_id: str
    entry_id: str
    sign: str
    reason: str


@dataclass(frozen=True)
class Examination:
    """Everything the clinic found."""

    model: str
    prompt_class: str
    min_grade: int
    cutoff: int
    bank: TestBank
    entries: list[EntryHealth]
    pairs: list[EntryPair]
    curve: list[CurvePoint]
    findings: list[Finding]
    with_judgments: bool
    with_systems: bool
    with_closed_book: bool
    notes: list[str] = field(default_factory=list)

    def text(self, query_id: str, entry_id: str) -> str:
        """The words of an entry."""
        return self.bank.entries(query_id)[entry_id].text


def examine(
    graded: Path,
    bank: Path,
    *,
    grade_filter: GradeFilter | None = None,
    closed_book: Path | None = None,
    options: ClinicOptions | None = None,
) -> Examination:
    """Examine a bank by the grades of a file; ``closed_book`` holds grades without a passage.

    The grades of the bank's kind are selected, if it has one kind. Raises :class:`ExamError`, also where
    the file has no grades for the entries of the bank.
    """
    options = options or ClinicOptions()
    read = read_bank(bank)
    chosen = _filter(grade_filter or GradeFilter(), read)
    selector = GradeSelector(chosen)
    judged: dict[str, dict[str, bool]] = {}
    views = _noting(read_passages_for_metrics(graded), judged, options.min_relevant)
    file = gather(views, selector, read)
    selector.check(str(graded))
    _check(file, graded, bank)
    min_grade = options.min_grade if options.min_grade is not None else default_min_grade(selector)
    closed_book_replies = None if closed_book is None else _closed_book(closed_book, chosen, read)
    texts = {q.query_id: {key: entry.text for key, entry in q.entries.items()} for q in read}
    entries = list(entry_health(file, min_grade, options.cutoff, judged, closed_book_replies))
    pairs = list(alike(file, min_grade, texts))
    systems = len(file.first_ranks)
    curve: list[CurvePoint] = []
    if systems > 1:
        curve = list(bank_size_curve(file, min_grade, options.cutoff, options.samples, options.seed))
    return Examination(
        selector.key.model,
        selector.key.prompt_class,
        min_grade,
        options.cutoff,
        read,
        entries,
        pairs,
        curve,
        list(_findings(entries, pairs, min_grade, options, texts)),
        with_judgments=bool(judged),
        with_systems=systems > 1,
        with_closed_book=closed_book_replies is not None,
        notes=_notes(file, read, judged, entries, systems),
    )


def _filter(given: GradeFilter, bank: TestBank) -> GradeFilter:
    if given.kind is not None or given.prompt_class is not None or len(bank.kinds) != 1:
        return given
    return replace(given, kind=next(iter(bank.kinds)))


def _noting(
    queries: Iterable[QueryView], judged: dict[str, dict[str, bool]], min_relevant: int
) -> Iterator[QueryView]:
    """The queries, unchanged, while their judgments are noted; of several judgments the highest counts."""
    for query in queries:
        for passage in query.passages:
            if passage.judgments:
                relevant = max(judgment.relevance for judgment in passage.judgments) >= min_relevant
                judged.setdefault(query.query_id, {})[passage.passage_id] = relevant
        yield query


def _check(file: GradedFile, graded: Path, bank_file: Path) -> None:
    if not any(query.entries for query in file.queries.values()):
        raise SelectionError(f"None of the queries in {graded} has an entry in {bank_file}.")
    if not any(query.asked for query in file.queries.values()):
        raise SelectionError(f"No grade in {graded} is of an entry in {bank_file}.")


def _closed_book(path: Path, chosen: GradeFilter, bank: TestBank) -> dict[str, dict[str, int]]:
    selector = GradeSelector(chosen)
    grades: dict[str, dict[str, int]] = {}
    for query in read_passages_for_metrics(path):
        for passage in query.passages:
            grades.setdefault(query.query_id, {}).update(selector.ratings(passage))
    selector.check(str(path))
    known = sum(key in bank.entries(query_id) for query_id, of in grades.items() for key in of)
    if not known:
        raise DataError("holds no grades for entries of the bank.", file=str(path))
    return grades


def _notes(
    file: GradedFile,
    bank: TestBank,
    judged: Mapping[str, Mapping[str, bool]],
    entries: Sequence[EntryHealth],
    systems: int,
) -> list[str]:
    notes = []
    examined = {entry.query_id for entry in entries}
    if missing := bank.queries.keys() - examined:
        queries = counted(len(missing), "query of the bank", "queries of the bank")
        notes.append(f"Left out, without graded passages: {queries}.")
    if never := sum(not entry.asked for entry in entries):
        notes.append(f"{counted(never, 'entry was', 'entries were')} never asked.")
    if foreign := sum(len(query.foreign) for query in file.queries.values()):
        notes.append(f"{counted(foreign, 'graded id is no entry', 'graded ids are no entries')} of the bank.")
    if not judged:
        notes.append("The file holds no judgments: what non-relevant passages cover is not known.")
    if systems < 2:
        notes.append(
            f"The file has the rankings of {counted(systems, 'system')}: leaderboards without an entry, and "
            "curves of bank size, need two."
        )
    return notes


def _findings(
    entries: Sequence[EntryHealth],
    pairs: Sequence[EntryPair],
    min_grade: int,
    options: ClinicOptions,
    texts: Mapping[str, Mapping[str, str]],
) -> Iterator[Finding]:
    for entry in entries:
        for sign, reason in _signs(entry, min_grade, options):
            yield Finding(entry.query_id, entry.entry_id, sign, reason)
    for pair in pairs:
        if pair.similarity is None:
            continue
        same_behaviour = pair.behaviour is None or pair.behaviour >= options.behaviour
        if pair.similarity == 1 or same_behaviour:
            words = texts[pair.query_id][pair.first]
            like = "" if pair.behaviour is None else f", and {pair.behaviour:.0%} of the passages that pass"
            yield Finding(
                pair.query_id,
                pair.second,
                "duplicate",
                f"shares {pair.similarity:.0%} of the words with {words!r}{like}",
            )


def _signs(entry: EntryHealth, min_grade: int, options: ClinicOptions) -> Iterator[tuple[str, str]]:
    for sign in SIGNS if entry.asked else ():
        if sign.reason is not None and (reason := sign.reason(entry, min_grade, options)):
            yield sign.name, reason


def proposed_edits(found: Examination, bank: Path, signs: Sequence[str] = SIGN_NAMES) -> Edits:
    """Removals of the entries that have one of the signs, each with its reasons, for a person to check.

    Never all entries of a query: a query that would lose its last one keeps all that are only covered by
    nobody.
    """
    reasons: dict[tuple[str, str], list[str]] = {}
    weak: set[tuple[str, str]] = set()
    for finding in found.findings:
        if finding.sign in signs:
            key = (finding.query_id, finding.entry_id)
            weak = weak - {key} if finding.sign != "nobody" else weak | ({key} - reasons.keys())
            reasons.setdefault(key, []).append(f"{finding.sign}: {finding.reason}")
    for query in found.bank:
        keys = {(query.query_id, entry_id) for entry_id in query.entries}
        if keys and keys <= reasons.keys():
            kept = (keys & weak) or keys
            log.warning(
                "All entries of the query %s look bad: %d of them are not proposed for removal",
                query.query_id, len(kept),
            )  # fmt: skip
            for key in kept:
                del reasons[key]
    removals = [
        BankEdit.model_validate(
            {"op": "remove", "query_id": query_id, "id": entry_id, "reason": "; ".join(words)}
        )
        for (query_id, entry_id), words in reasons.items()
    ]
    return Edits(format=FORMAT, bank_sha256=file_sha256(bank), reviewer=REVIEWER, ratings=[], bank=removals)
