"""Reports for people who check how the model graded (workbench paper, section 4.4).

*Verify grading* lists, entry by entry, the graded passages with the answer that explains the rating.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import shorten
from typing import NamedTuple

from exam_pp.data_model import DIRECT_ID, LEGACY_PROMPT_CLASS, DirectGrade, Passage, RubricGrades
from exam_pp.grade_filter import GradeSelector
from exam_pp.reports.document import Block, Cell, Heading, Paragraph, Report, Table
from exam_pp.test_bank import Entry

UNGRADED = "ungraded"
NOT_ASKED = "not asked"

_START = 200
"""Characters of a passage that are kept: enough to know it by."""
_CELL = 56
"""Characters of a text in a table for the terminal."""


class GradedPair(NamedTuple):
    """What is known of one passage and one bank entry.

    ``rating`` is None for an ungraded pair, whose ``reason`` says why. ``source`` is how the rating
    was read, where the file says so. ``reply`` is the model's reply where it was not just the number.
    ``judgment`` is a number, several in one string, or None.
    """

    passage_id: str
    text: str
    judgment: int | str | None
    rating: int | None = None
    source: str | None = UNGRADED
    answer: str | None = None
    reply: str | None = None
    reason: str | None = NOT_ASKED

    @property
    def by_default(self) -> bool:
        """Whether the reply was no number and the default rule gave the rating."""
        return (self.source or "").startswith("default")


@dataclass(frozen=True)
class GradedEntry:
    """A bank entry with its passages, best rating first; ``omitted`` counts those not shown."""

    query_id: str
    entry_id: str
    text: str
    pairs: Sequence[GradedPair]
    omitted: int = 0

    def only(self, min_grade: int | None, limit: int | None) -> GradedEntry:
        """The first ``limit`` pairs that have at least the rating ``min_grade``."""
        pairs = [
            pair
            for pair in self.pairs
            if min_grade is None or (pair.rating is not None and pair.rating >= min_grade)
        ][:limit]
        return replace(self, pairs=pairs, omitted=self.omitted + len(self.pairs) - len(pairs))


def graded_entries(
    query_id: str,
    passages: Sequence[Passage],
    entries: Mapping[str, Entry] | None,
    selector: GradeSelector,
    answers_class: str | None = None,
) -> list[GradedEntry]:
    """Every entry of a query with all its passages: rated ones by rating, then the ungraded.

    Without a bank (``entries`` is None) the entries are those that the passages were graded on, and
    their ids stand for their texts. The answer that explains a rating is the same model's reply to the
    prompt class ``answers_class``, by default to any prompt without a scale.
    """
    graded = [_pairs_of(passage, selector, answers_class) for passage in passages]
    ids = list(dict.fromkeys(entry_id for pairs in graded for entry_id in pairs))
    if DIRECT_ID in ids:
        ids = [DIRECT_ID]
    elif entries is not None:
        ids = list(entries)
    found: list[GradedEntry] = []
    for entry_id in ids:
        pairs = [
            pairs_of.get(entry_id) or _pair(passage)
            for passage, pairs_of in zip(passages, graded, strict=True)
        ]
        pairs.sort(key=lambda pair: -1 if pair.rating is None else pair.rating, reverse=True)
        text = entries[entry_id].text if entries and entry_id in entries else entry_id
        found.append(GradedEntry(query_id, entry_id, text, pairs))
    return found


def _pairs_of(passage: Passage, selector: GradeSelector, answers_class: str | None) -> dict[str, GradedPair]:
    """Entry id to pair; of several grades of an entry the later counts, and any grade before none."""
    pairs: dict[str, GradedPair] = {}
    for grades in selector.select(passage):
        assert isinstance(grades, RubricGrades | DirectGrade)
        answers = extracted_answers(passage, grades.model, answers_class)
        for entry_id, pair in _pairs(passage, grades):
            if pair.rating is not None or entry_id not in pairs:
                pairs[entry_id] = pair._replace(answer=answers.get(entry_id))
    return pairs


def _pairs(passage: Passage, grades: RubricGrades | DirectGrade) -> Iterator[tuple[str, GradedPair]]:
    blank = _pair(passage)
    errors: Mapping[str, object]
    sources: dict[str, str | None] = {}
    if isinstance(grades, DirectGrade):
        replies = {DIRECT_ID: grades.answer}
        errors = {DIRECT_ID: grades.error} if grades.error else {}
    else:
        replies = dict(grades.answers)
        errors = grades.errors if isinstance(grades.errors, dict) else {}
        sources = {rating.entry_id: rating.source for rating in grades.self_ratings or ()}
    ratings = grades.entry_ratings()
    for entry_id, rating in ratings.items():
        reply = replies.get(entry_id) if grades.is_rated else None
        if reply is not None and reply.strip() == str(rating):
            reply = None
        yield (
            entry_id,
            blank._replace(rating=rating, source=sources.get(entry_id), reply=reply, reason=None),
        )
    for entry_id, error in errors.items():
        if entry_id not in ratings:
            details = error if isinstance(error, dict) else {}
            reason = str(details.get("failure_reason") or "no reason recorded")
            yield entry_id, blank._replace(reply=details.get("response") or None, reason=reason)


def _pair(passage: Passage) -> GradedPair:
    relevances = sorted({judgment.relevance for judgment in passage.judgments})
    judgment: int | str | None = None
    if relevances:
        judgment = relevances[0] if len(relevances) == 1 else ", ".join(map(str, relevances))
    return GradedPair(passage.passage_id, _shortened(passage.text, _START), judgment)


def extracted_answers(passage: Passage, model: str | None, answers_class: str | None) -> dict[str, str]:
    """Entry id to the same model's answer; of several prompt classes the first in the file."""
    found: dict[str, tuple[str, str]] = {}
    for grades in passage.rubric_grades or ():
        prompt_class = grades.prompt_class or LEGACY_PROMPT_CLASS
        if grades.model != model or (
            grades.is_rated if answers_class is None else prompt_class != answers_class
        ):
            continue
        for entry_id, answer in grades.answers:
            if found.get(entry_id, (prompt_class,))[0] == prompt_class:
                found[entry_id] = (prompt_class, answer)
    return {entry_id: answer for entry_id, (_, answer) in found.items()}


_COLUMNS = (
    "query_id", "entry_id", "entry", "rating", "source", "answer", "judgment", "passage_id", "reply",
    "reason", "text",
)  # fmt: skip


def grading_table(entries: Iterable[GradedEntry], title: str) -> Report:
    """All pairs in one table, for scripts and spreadsheets."""
    rows: list[list[Cell]] = [
        [entry.query_id, entry.entry_id, entry.text, pair.rating, pair.source, pair.answer, pair.judgment,
         pair.passage_id, pair.reply, pair.reason, pair.text]
        for entry in entries
        for pair in entry.pairs
    ]  # fmt: skip
    return Report(title, [Table(_COLUMNS, rows)])


def grading_pages(
    entries: Iterable[GradedEntry], title: str, query_texts: Mapping[str, str], notes: Sequence[str] = ()
) -> Report:
    """A table per bank entry under the entry's text, for people."""
    blocks: list[Block] = [Paragraph(note) for note in notes]
    query_id = None
    for entry in entries:
        if entry.query_id != query_id:
            query_id = entry.query_id
            text = query_texts.get(query_id)
            blocks.append(Heading(f"{query_id}: {text}" if text else query_id))
        blocks.append(Heading(entry.text, level=2))
        if entry.pairs:
            blocks.append(_entry_table(entry.pairs))
        if entry.omitted:
            more = "more " if entry.pairs else ""
            blocks.append(Paragraph(f"{entry.omitted} {more}passages are not shown."))
    return Report(title, blocks)


def _entry_table(pairs: Sequence[GradedPair]) -> Table:
    """Columns in which no pair has anything are left out."""
    columns = ("rating", "answer", "judgment", "passage", "note", "text")
    rows: list[tuple[Cell, ...]] = [
        (
            pair.rating,
            pair.answer and _shortened(pair.answer, _CELL),
            pair.judgment,
            pair.passage_id,
            _note(pair),
            _shortened(pair.text, _CELL),
        )
        for pair in pairs
    ]
    kept = [i for i, _ in enumerate(columns) if any(row[i] not in (None, "") for row in rows)]
    return Table([columns[i] for i in kept], [[row[i] for i in kept] for row in rows])


def _note(pair: GradedPair) -> str:
    reply = f'"{_shortened(pair.reply, _CELL)}"' if pair.reply is not None else ""
    if pair.rating is None:
        mark = pair.reason if pair.reason == NOT_ASKED else f"{UNGRADED}: {pair.reason}"
    else:
        mark = pair.source if pair.source not in (None, "number") else ""
    return " ".join(part for part in (mark, f"reply {reply}" if reply else "") if part)


def _shortened(text: str, width: int) -> str:
    """The start of a text on one line; a single word that is too long is cut."""
    line = " ".join(text[: 2 * width].split()) if len(text) > 2 * width else " ".join(text.split())
    short = shorten(line, width, placeholder=" …")
    return short if len(short) > 2 or len(line) <= width else line[: width - 1] + "…"
