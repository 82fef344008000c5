"""The clinic of test banks: entry statistics from grades, signs of bad entries, and proposed removals."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from exam_pp.banks import TestBank
from exam_pp.data_model import NO_PASSAGE, QueryView
from exam_pp.errors import DataError, SelectionError
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.metrics.clinic import (
    BankSize,
    EntryHealth,
    EntryPair,
    bank_size_curve,
    entry_health,
    similar_pairs,
)
from exam_pp.metrics.grade_masks import GradedFile, gather
from exam_pp.phases.banks.signs import SIGN_NAMES, SIGNS, ClinicOptions
from exam_pp.phases.evaluation.inputs import views
from exam_pp.phases.evaluation.result import counted_names
from exam_pp.phases.evaluation.selected_grades import depth_notes, threshold
from exam_pp.provenance import Provenance, file_names, graded_by
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.edits import FORMAT, BankEdit, Edits, file_sha256
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)

REVIEWER = "exam-pp bank clinic"


@dataclass(frozen=True)
class BadSign:
    """A sign of a bad entry, with the reason as text."""

    query_id: str
    entry_id: str
    sign: str
    reason: str


@dataclass(frozen=True)
class Examination:
    """The result of :func:`examine`.

    ``curve`` has the points of the curve of bank sizes. ``with_judgments``, ``with_systems`` and
    ``with_closed_book`` are False if the data for the corresponding statistics are missing.
    """

    model: str
    prompt_class: str
    min_grade: int
    cutoff: int
    bank: TestBank
    entries: list[EntryHealth]
    pairs: list[EntryPair]
    curve: list[BankSize]
    findings: list[BadSign]
    with_judgments: bool
    with_systems: bool
    with_closed_book: bool
    notes: list[str] = field(default_factory=list)
    provenance: Provenance = field(default_factory=Provenance)

    def text(self, query_id: str, entry_id: str) -> str:
        """The text of an entry in the bank."""
        return self.bank.entries(query_id)[entry_id].text


def examine(
    graded: Path,
    bank: Path,
    *,
    grade_filter: GradeFilter | None = None,
    closed_book: Path | None = None,
    options: ClinicOptions | None = None,
) -> Examination:
    """Examine a bank with the grades of a file; ``closed_book`` is a file of grades without a passage.

    If the bank has only questions or only nuggets, only grades of this kind are selected. Raises
    :class:`ExamError` if a file cannot be read, or has no grades for the entries of the bank.
    """
    options = options or ClinicOptions()
    test_bank = read_bank(bank)
    bank_filter = _for_kind(grade_filter or GradeFilter(), test_bank)
    selector = GradeSelector(bank_filter)
    judged: dict[str, dict[str, bool]] = {}
    recorded = _record_judgments(views(graded), judged, options.min_relevant)
    file = gather(recorded, selector, test_bank)
    selector.check(str(graded))
    _check(file, graded, bank)
    min_grade = threshold(selector, options.min_grade)
    closed_book_grades = None if closed_book is None else _closed_book(closed_book, bank_filter, test_bank)
    cutoff = options.cutoff or file.cutoff
    texts = {q.query_id: {key: entry.text for key, entry in q.entries.items()} for q in test_bank}
    entries = list(entry_health(file, min_grade, cutoff, judged, closed_book_grades))
    pairs = list(similar_pairs(file, min_grade, texts))
    systems = len(file.first_ranks)
    curve: list[BankSize] = []
    if systems > 1:
        curve = list(bank_size_curve(file, min_grade, cutoff, options.samples, options.seed))
    return Examination(
        selector.key.model,
        selector.key.prompt_class,
        min_grade,
        cutoff,
        test_bank,
        entries,
        pairs,
        curve,
        list(_findings(entries, pairs, min_grade, options, texts)),
        with_judgments=bool(judged),
        with_systems=systems > 1,
        with_closed_book=closed_book_grades is not None,
        notes=[
            *_notes(file, test_bank, judged, entries, systems),
            *depth_notes(file, cutoff, graded),
        ],
        provenance=replace(
            graded_by([selector.key]),
            banks=file_names(bank),
            cutoff=cutoff if systems else None,
            min_grades=(min_grade,),
            queries=len(file.graded),
        ),
    )


def _for_kind(grade_filter: GradeFilter, bank: TestBank) -> GradeFilter:
    if grade_filter.kind is not None or grade_filter.prompt_class is not None or len(bank.kinds) != 1:
        return grade_filter
    return replace(grade_filter, kind=next(iter(bank.kinds)))


def _record_judgments(
    queries: Iterable[QueryView], judged: dict[str, dict[str, bool]], min_relevant: int
) -> Iterator[QueryView]:
    """Yield the queries, and record in ``judged`` whether a passage's highest judgment is relevant."""
    for query in queries:
        for passage in query.passages:
            if passage.judgments:
                relevant = max(judgment.relevance for judgment in passage.judgments) >= min_relevant
                judged.setdefault(query.query_id, {})[passage.passage_id] = relevant
        yield query


def _check(file: GradedFile, graded: Path, bank_file: Path) -> None:
    if not any(query.entries for query in file.queries.values()):
        raise SelectionError(f"{bank_file} has no entries for the queries in {graded}.")
    if not any(query.asked for query in file.queries.values()):
        raise SelectionError(f"{graded} has no grades for the entries in {bank_file}.")


def _closed_book(path: Path, grade_filter: GradeFilter, bank: TestBank) -> dict[str, dict[str, int]]:
    selector = GradeSelector(grade_filter)
    grades: dict[str, dict[str, int]] = {}
    for query in read_passages(path):
        for passage in query.passages:
            if passage.passage_id != NO_PASSAGE:
                raise DataError(
                    f"has the passage {passage.passage_id!r}, but --closed-book needs grades without a "
                    "passage, made by `exam-pp grade --closed-book`.",
                    file=str(path),
                )
            grades.setdefault(query.query_id, {}).update(selector.ratings(passage))
    selector.check(str(path))
    known = sum(key in bank.entries(query_id) for query_id, of in grades.items() for key in of)
    if not known:
        raise DataError("has no grades for the entries of the bank.", file=str(path))
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
        notes.append(f"Skipped, because they have no graded passages: {queries}.")
    if never := sum(not entry.asked for entry in entries):
        notes.append(f"{counted(never, 'entry has', 'entries have')} no grades.")
    if foreign := sum(len(query.foreign) for query in file.queries.values()):
        notes.append(f"{counted(foreign, 'graded entry is', 'graded entries are')} not in the bank.")
    if not judged:
        notes.append("The graded file has no judgments, so the sign non-relevant is not checked.")
    if systems < 2:
        notes.append(
            f"The graded file has rankings of {counted(systems, 'system')}. Leaderboards without an entry "
            "and the curve of bank sizes need at least two systems."
        )
    return notes


def _findings(
    entries: Sequence[EntryHealth],
    pairs: Sequence[EntryPair],
    min_grade: int,
    options: ClinicOptions,
    texts: Mapping[str, Mapping[str, str]],
) -> Iterator[BadSign]:
    for entry in entries:
        for sign, reason in _signs(entry, min_grade, options):
            yield BadSign(entry.query_id, entry.entry_id, sign, reason)
    for pair in pairs:
        if pair.similarity is None:
            continue
        same_behaviour = pair.behaviour is None or pair.behaviour >= options.behaviour
        if pair.similarity == 1 or same_behaviour:
            text = texts[pair.query_id][pair.first]
            shared = f"{pair.similarity:.0%} of the words"
            if pair.behaviour is not None:
                shared += f" and {pair.behaviour:.0%} of the covering passages"
            yield BadSign(pair.query_id, pair.second, "duplicate", f"shares {shared} with {text!r}")


def _signs(entry: EntryHealth, min_grade: int, options: ClinicOptions) -> Iterator[tuple[str, str]]:
    for sign in SIGNS if entry.asked else ():
        if sign.reason is not None and (reason := sign.reason(entry, min_grade, options)):
            yield sign.name, reason


def proposed_edits(examination: Examination, bank: Path, signs: Sequence[str] = SIGN_NAMES) -> Edits:
    """Removals of the entries that have one of the signs, with reasons, for a reviewer to check.

    A query never loses all of its entries. If all of them have a sign, those whose only sign is ``too-hard``
    are kept; if no entry is of this kind, all are kept.
    """
    reasons: dict[tuple[str, str], list[str]] = {}
    weak: set[tuple[str, str]] = set()
    for finding in examination.findings:
        if finding.sign in signs:
            key = (finding.query_id, finding.entry_id)
            weak = weak - {key} if finding.sign != "too-hard" else weak | ({key} - reasons.keys())
            reasons.setdefault(key, []).append(f"{finding.sign}: {finding.reason}")
    spared: dict[str, int] = {}
    for query in examination.bank:
        keys = {(query.query_id, entry_id) for entry_id in query.entries}
        if keys and keys <= reasons.keys():
            kept = (keys & weak) or keys
            spared[query.query_id] = len(kept)
            for key in kept:
                del reasons[key]
    if spared:
        log.warning(
            "All entries of %s have a sign. %s not proposed for removal, so that no query loses all entries.",
            counted_names(list(spared), "query", "queries"),
            counted(sum(spared.values()), "of these entries is", "of these entries are"),
        )
    removals = [
        BankEdit.model_validate(
            {"op": "remove", "query_id": query_id, "id": entry_id, "reason": "; ".join(entry_reasons)}
        )
        for (query_id, entry_id), entry_reasons in reasons.items()
    ]
    return Edits(format=FORMAT, bank_sha256=file_sha256(bank), reviewer=REVIEWER, ratings=[], bank=removals)
