"""The clinic of test banks: item statistics from grades, signs of bad entries, and proposed removals.

Every entry is an item of an exam and every passage a candidate; a passage passes an item if its grade
reaches the threshold. Source of the item statistics: classical test theory (Crocker and Algina,
Introduction to Classical and Modern Test Theory, 1986, chapter 14).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from exam_pp.banks import TestBank
from exam_pp.defaults import MIN_JUDGMENT
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.correlation import kendall
from exam_pp.metrics.cover import Cover
from exam_pp.metrics.grade_masks import GradedQuery
from exam_pp.phases.evaluation.inputs import loaded, views
from exam_pp.phases.evaluation.result import counted_names
from exam_pp.phases.evaluation.selected_grades import SelectedGrades, depth_notes, read_selected
from exam_pp.provenance import Provenance
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.edits import FORMAT, BankEdit, Edits, file_sha256
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)

REVIEWER = "exam-pp bank clinic"
TOO_EASY = 0.95
"""Share of the graded passages that pass, from which an entry is too easy."""
OFTEN = 3
"""Number of passing passages from which an entry may have the sign non-relevant or discrimination."""
MOSTLY = 0.5
"""Share of non-relevant passages among the judged ones that pass, for the sign non-relevant."""
DISCRIMINATION = 0.1
"""Highest correlation with the rest of the exam, for the sign discrimination."""
SIGNS = {
    "too-easy": "Covered by nearly all passages",
    "too-hard": "Covered by no passage",
    "non-relevant": "Covered mostly by non-relevant passages",
    "discrimination": "Not related to the rest of the exam",
    "always-made": "Mistakes that nearly all passages make",
}
"""The signs of a bad entry, in the order of reports, with their titles."""


@dataclass(frozen=True)
class EntryHealth:
    """Item statistics of a bank entry.

    ``asked`` and ``passing`` count passages with a grade, and with a grade of at least the threshold.
    Of the ``passing``, ``judged`` counts those with a judgment and ``non_relevant`` those judged
    non-relevant. ``discrimination`` is the point-biserial correlation of passing this entry with the number
    of other entries passed, which no mistakes are among (None if either is constant). ``systems`` counts the
    systems that cover the entry within the cutoff. ``tau`` is Kendall's τ-b between the leaderboards without
    and with the entry. A passage that passes an entry ``to_avoid`` makes a mistake. ``closed_book`` is the
    grade without a passage. ``signs`` maps the name of a sign to the reason.
    """

    query_id: str
    entry_id: str
    text: str
    asked: int
    passing: int
    judged: int
    non_relevant: int
    discrimination: float | None
    systems: int
    tau: float | None
    to_avoid: bool = False
    signs: Mapping[str, str] = field(default_factory=dict)

    @property
    def pass_rate(self) -> float | None:
        """Share of the graded passages that pass; None without graded passages."""
        return self.passing / self.asked if self.asked else None


@dataclass(frozen=True)
class Examination:
    """The result of :func:`examine`: the entries of the queries with graded passages, and notes."""

    model: str
    prompt_class: str
    min_grade: int
    bank: TestBank
    entries: list[EntryHealth]
    notes: list[str]
    provenance: Provenance


def examine(
    graded: Path,
    bank: Path,
    *,
    grade_filter: GradeFilter | None = None,
    min_grade: int | None = None,
    cutoff: int | None = None,
    min_relevant: int = MIN_JUDGMENT,
) -> Examination:
    """Examine a bank with the grades of a file.

    If the bank has only questions or only nuggets, only grades of this kind are selected. Judgments below
    ``min_relevant`` are non-relevant. Raises :class:`ExamError` if a file cannot be read, or has no grades
    for the entries of the bank.
    """
    test_bank = read_bank(bank)
    criteria = grade_filter or GradeFilter()
    if criteria.kind is None and criteria.prompt_class is None and len(test_bank.kinds) == 1:
        criteria = replace(criteria, kind=next(iter(test_bank.kinds)))
    passages = loaded(graded)
    data = read_selected(passages, bank, criteria, min_grade, None, reviewed=False)
    relevant = {
        (query.query_id, passage.passage_id): max(each.relevance for each in passage.judgments)
        >= min_relevant
        for query in views(passages)
        for passage in query.passages
        if passage.judgments
    }
    cutoff = cutoff or data.file.cutoff
    notes = [*data.notes, *depth_notes(data.file, cutoff, graded)]
    if not relevant:
        notes.append("The graded file has no judgments, so the sign non-relevant is not checked.")
    if (systems := len(data.file.first_ranks)) < 2:
        of_systems = counted(systems, "system")
        notes.append(f"The graded file has rankings of {of_systems}, so leaderboards are not compared.")
    return Examination(
        data.selector.key.model,
        data.selector.key.prompt_class,
        data.min_grade,
        test_bank,
        list(_examined(data, test_bank, cutoff, relevant)),
        notes,
        replace(data.provenance, cutoff=cutoff if systems else None, min_grades=(data.min_grade,)),
    )


def _examined(
    data: SelectedGrades,
    bank: TestBank,
    cutoff: int,
    relevant: Mapping[tuple[str, str], bool],
) -> Iterator[EntryHealth]:
    """The entries with their statistics and signs.

    All queries have the same weight in the leaderboards. A query without its only entry scores 0.
    """
    first_ranks, cover = data.file.first_ranks, Cover(data.min_grade, cutoff)
    covered = {query.query_id: [*cover.covered(query, first_ranks).values()] for query in data.queries}
    shares = {q.query_id: _shares(q, covered[q.query_id], q.all_entries) for q in data.queries}
    totals = [sum(column, Fraction(0)) for column in zip(*shares.values(), strict=True)]
    for query in data.queries:
        masks, reached = covered[query.query_id], query.reached(data.min_grade)
        judged = [relevant.get((query.query_id, passage.passage_id)) for passage in query.passages]
        for entry_id, bit in query.entries.items():
            kept = query.all_entries & ~(1 << bit)
            parts = zip(totals, shares[query.query_id], _shares(query, masks, kept), strict=True)
            # Equal fractions become equal floats, so ties stay ties.
            without = [float(total - old + new) for total, old, new in parts]
            passing = [index for index, mask in enumerate(reached) if mask >> bit & 1]
            entry = bank.entries(query.query_id)[entry_id]
            health = EntryHealth(
                query.query_id,
                entry_id,
                entry.listed,
                asked=sum(passage.graded >> bit & 1 for passage in query.passages),
                passing=len(passing),
                judged=sum(judged[index] is not None for index in passing),
                non_relevant=sum(judged[index] is False for index in passing),
                discrimination=_discrimination(query, reached, bit),
                systems=sum(mask >> bit & 1 for mask in masks),
                tau=kendall(without, list(map(float, totals))) if len(totals) > 1 else None,
                to_avoid=entry.to_avoid,
            )
            yield replace(health, signs=dict(_signs(health, data.min_grade)) if health.asked else {})


def _shares(query: GradedQuery, masks: Iterable[int], of: int) -> list[Fraction]:
    """The weights of the entries that each system covers, as shares of those in ``of``."""
    whole = Fraction(query.weights.whole(of))
    return [Fraction(query.size(mask & of)) / whole if whole else Fraction(0) for mask in masks]


def _discrimination(query: GradedQuery, reached: Sequence[int], bit: int) -> float | None:
    asked = [mask for mask, each in zip(reached, query.passages, strict=True) if each.graded >> bit & 1]
    item = np.array([float(mask >> bit & 1) for mask in asked])
    others = ~(query.weights.negative | 1 << bit)
    rest = np.array([(mask & others).bit_count() for mask in asked])
    if len(item) < 3 or item.std() == 0 or rest.std() == 0:
        return None
    return float(np.corrcoef(item, rest)[0, 1])


def _signs(entry: EntryHealth, min_grade: int) -> Iterator[tuple[str, str]]:
    """The signs of a graded entry, with reasons; of a mistake, only that nearly all passages make it."""
    if entry.to_avoid:
        if entry.passing / entry.asked >= TOO_EASY:
            yield (
                "always-made",
                f"{entry.passing} of {entry.asked} passages make it, by grade {min_grade} or more",
            )
        return
    of_asked = f"{entry.passing} of {entry.asked} passages cover it with grade {min_grade} or more"
    if entry.passing / entry.asked >= TOO_EASY:
        yield "too-easy", of_asked
    if not entry.passing:
        yield "too-hard", of_asked
    bad, r = entry.non_relevant, entry.discrimination
    if bad >= OFTEN and bad >= MOSTLY * entry.judged:
        yield "non-relevant", f"{bad} of {entry.judged} judged passages that cover it are non-relevant"
    if entry.passing >= OFTEN and r is not None and r <= DISCRIMINATION:
        reason = "passages that cover it do not cover more of the rest of the exam"
        yield "discrimination", f"{reason} (r = {r:.2f})"


def proposed_edits(examination: Examination, bank: Path, signs: Sequence[str] = tuple(SIGNS)) -> Edits:
    """Removals of the entries that have one of the signs, with reasons, for a reviewer to check.

    A query never loses all of its entries. If all of them have a sign, those whose only sign is ``too-hard``
    are kept; if no entry is of this kind, all are kept.
    """
    proposed: dict[str, dict[str, dict[str, str]]] = {}
    for entry in examination.entries:
        if reasons := {sign: reason for sign, reason in entry.signs.items() if sign in signs}:
            proposed.setdefault(entry.query_id, {})[entry.entry_id] = reasons
    spared: dict[str, int] = {}
    for query_id, of_query in proposed.items():
        if of_query.keys() >= examination.bank.entries(query_id).keys():
            kept = [key for key, reasons in of_query.items() if reasons.keys() == {"too-hard"}] or [*of_query]
            proposed[query_id] = {key: of_query[key] for key in of_query if key not in kept}
            spared[query_id] = len(kept)
    if spared:
        log.warning(
            "All entries of %s have a sign. %s not proposed for removal, so that no query loses all entries.",
            counted_names(list(spared), "query", "queries"),
            counted(sum(spared.values()), "of these entries is", "of these entries are"),
        )
    removals = [
        BankEdit.model_validate({
            "op": "remove", "query_id": query_id, "id": entry_id,
            "reason": "; ".join(f"{sign}: {reason}" for sign, reason in reasons.items()),
        })
        for query_id, of_query in proposed.items()
        for entry_id, reasons in of_query.items()
    ]  # fmt: skip
    return Edits(format=FORMAT, bank_sha256=file_sha256(bank), reviewer=REVIEWER, ratings=[], bank=removals)
