"""``exam-pp bank clinic``: item statistics of bank entries, signs of bad ones, and proposed removals.

Every entry is an item of an exam and every passage a candidate; a passage passes an item if its grade
reaches the threshold. Source of the item statistics: classical test theory (Crocker and Algina,
Introduction to Classical and Modern Test Theory, 1986, chapter 14).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from exam_pp.banks import TestBank
from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    GRADED,
    MIN_GRADE,
    MIN_RELEVANT,
    OUTPUT_PATH,
    SCRIPT_FORMATS,
    bank_option,
    emit_rendered,
    filter_options,
    format_option,
    grade_filter,
    log_summary,
    output_option,
)
from exam_pp.defaults import MIN_JUDGMENT
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.grade_masks import GradedQuery
from exam_pp.phases.evaluation.inputs import loaded, views
from exam_pp.phases.evaluation.result import counted_names
from exam_pp.phases.evaluation.selected_grades import SelectedGrades, read_selected
from exam_pp.provenance import Provenance
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Report, Table
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.edits import FORMAT, BankEdit, Edits, file_sha256, write_edits
from exam_pp.store.files import check_output
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
    of other entries passed, which no mistakes are among (None if either is constant). A passage that passes
    an entry ``to_avoid`` makes a mistake. ``signs`` maps the name of a sign to the reason.
    """

    query_id: str
    entry_id: str
    text: str
    asked: int
    passing: int
    judged: int
    non_relevant: int
    discrimination: float | None
    to_avoid: bool = False
    signs: Mapping[str, str] = field(default_factory=dict)


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
    notes = list(data.notes)
    if not relevant:
        notes.append("The graded file has no judgments, so the sign non-relevant is not checked.")
    return Examination(
        data.selector.key.model,
        data.selector.key.prompt_class,
        data.min_grade,
        test_bank,
        list(_examined(data, test_bank, relevant)),
        notes,
        replace(data.provenance, min_grades=(data.min_grade,)),
    )


def _examined(
    data: SelectedGrades, bank: TestBank, relevant: Mapping[tuple[str, str], bool]
) -> Iterator[EntryHealth]:
    """The entries with their statistics and signs."""
    for query in data.queries:
        reached = query.reached(data.min_grade)
        judged = [relevant.get((query.query_id, passage.passage_id)) for passage in query.passages]
        for entry_id, bit in query.entries.items():
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
                to_avoid=entry.to_avoid,
            )
            yield replace(health, signs=dict(_signs(health, data.min_grade)) if health.asked else {})


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


@click.command("clinic", cls=Command)
@GRADED
@bank_option("Test bank to examine.", required=True)
@filter_options
@MIN_GRADE
@MIN_RELEVANT
@click.option(
    "--also edits",
    "edits",
    type=OUTPUT_PATH,
    help="Also write the proposed removals with their reasons to this edits file.",
)
@click.option(
    "--propose",
    "signs",
    multiple=True,
    type=click.Choice(list(SIGNS)),
    help="Propose removals only for this sign; may be repeated.  [default: all signs]",
)
@format_option()
@output_option()
def command(
    *,
    graded: Path,
    bank: Path,
    min_grade: int | None,
    min_relevant: int,
    edits: Path | None,
    signs: tuple[str, ...],
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Find bad entries of a test bank from the grades in GRADED.

    The command looks for these signs:

    \b
      too-easy        95 % of the passages or more cover the entry
      too-hard        no passage covers it
      non-relevant    3 non-relevant passages or more, half of the judged ones, cover it
      discrimination  it does not correlate with the rest of the exam (r is 0.1 or less)
      always-made     95 % of the passages or more make this mistake (its weight is below 0)

    If GRADED is a file of `exam-pp
    grade --closed-book`, too-easy are the entries that the model answers without a passage. `exam-pp bank
    show` lists entries with similar texts.

    Examples:

    \b
      exam-pp bank clinic graded.jsonl.gz --bank questions.jsonl
      exam-pp bank clinic graded.jsonl.gz --bank questions.jsonl --propose too-easy \\
        --also edits=removals.json
    """
    inputs = [graded, bank]
    for path in (output, *([edits] if edits else [])):
        check_output(path, inputs)
    examination = examine(
        graded, bank,
        grade_filter=grade_filter(**criteria), min_grade=min_grade, min_relevant=min_relevant,
    )  # fmt: skip
    emit_rendered(clinic_report(examination, flat=form in SCRIPT_FORMATS), form, output, inputs)
    if edits is not None:
        proposed = proposed_edits(examination, bank, signs or tuple(SIGNS))
        write_edits(proposed, edits, inputs=inputs)
        removals = counted(len(proposed.bank), "proposed removal")
        log_summary([f"{removals} written to {edits}. Check the file before `exam-pp bank apply`."])


def clinic_report(examination: Examination, *, flat: bool = False) -> Report:
    """The entries with each sign, and all entries; with ``flat``, only the table of all entries."""
    grader = f"{examination.prompt_class} by {examination.model}"
    title = f"Clinic: {grader}, covered from grade {examination.min_grade}"
    if flat:
        return Report(title, [_entries(examination)], examination.provenance)
    blocks: list[Block] = [Paragraph(note) for note in examination.notes]
    blocks.append(Paragraph(f"{counted(len(examination.entries), 'entry', 'entries')} examined."))
    for sign, heading in SIGNS.items():
        rows = [
            (e.query_id, e.text, e.signs[sign], e.entry_id) for e in examination.entries if sign in e.signs
        ]
        if rows:
            columns = ("query_id", "entry", "reason", "entry_id")
            blocks += [Heading(f"{heading}: {len(rows)}"), Table(columns, rows)]
    about = Paragraph(_COLUMNS_TEXT.format(m=examination.min_grade))
    blocks += [Heading("All entries"), about, _entries(examination)]
    return Report(title, blocks, examination.provenance)


_COLUMNS_TEXT = (
    "asked: number of graded passages. passing: number of passages that cover the entry (grade {m} or more). "
    "pass: passing / asked. r: correlation of covering the entry with the number of other entries covered. "
    "judged, non-relevant: numbers of the passing passages with a judgment, and with a non-relevant one."
)


def _entries(examination: Examination) -> Table:
    columns = (
        "query_id", "entry", "signs", "asked", "passing", "pass", "r", "judged", "non-relevant", "entry_id",
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = [
        (e.query_id, e.text, ", ".join(e.signs), e.asked, e.passing,
         e.passing / e.asked if e.asked else None, e.discrimination, e.judged, e.non_relevant, e.entry_id)
        for e in examination.entries
    ]  # fmt: skip
    return Table(columns, rows)
