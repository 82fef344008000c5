"""Answers with nugget assignments of AutoNuggetizer, a line an answer: read as graded passages.

The nuggets have no ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exam_pp.data_model import (
    Id,
    NuggetAssignment,
    Passage,
    PassageData,
    QueryPassages,
    RankingEntry,
    Record,
    RubricGrades,
    SelfRating,
    is_human,
)
from exam_pp.errors import DataError
from exam_pp.formats.base import Format, Source, register
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.nuggetizer import NuggetText, bank_line
from exam_pp.formats.sample import with_keys
from exam_pp.metrics.nuggets import answer_length, is_label
from exam_pp.prompts.entry_list import plain_label
from exam_pp.prompts.reading import NOT_A_LABEL
from exam_pp.store.json_lines import read_records
from exam_pp.test_bank import ASSIGNMENT_RATINGS, BankLine, TestBank, entry_id
from exam_pp.wording import counted, listed

PROMPT_CLASS = "NuggetAssignment"
DEFAULT_GRADER = "nuggetizer"
"""Who assigned, where the files do not say and nobody else does."""


class AssignedNugget(NuggetText):
    """A nugget with its label for the answer; labels outside the vocabulary occur, and stay."""

    assignment: str | None = None


class AssignmentLine(Record):
    """An answer with the labels of its query's nuggets."""

    query: str = ""
    qid: Id
    answer_text: str
    response_length: int | None = None
    run_id: Id
    nuggets: list[AssignedNugget]


def read_assignments(path: str | Path) -> Iterator[tuple[int, AssignmentLine]]:
    """Line number and line, in file order; raises :class:`~exam_pp.errors.DataError`."""
    return read_records(AssignmentLine, path, "assignments")


class NuggetIds:
    """The ids of nuggets that are named by query and text: a bank's, else those that the texts make."""

    def __init__(self, bank: TestBank | None = None) -> None:
        self.from_bank = bank is not None
        self._known: dict[tuple[str, str], list[str]] = {}
        for line in bank.lines if bank else ():
            for item in line.items:
                self._known.setdefault((line.query_id, item.text.strip()), []).append(item.entry_id)

    def of(self, query_id: str, texts: Iterable[str]) -> Iterator[tuple[str, bool]]:
        """The id of each nugget of an answer, and whether the bank has it.

        A text that repeats has the bank's ids of it in order, as nuggets of several facets have.
        """
        places: Counter[str] = Counter()
        for text in map(str.strip, texts):
            ids = self._known.get((query_id, text))
            yield (ids[min(places[text], len(ids) - 1)], True) if ids else (entry_id(query_id, text), False)
            places[text] += 1


@dataclass
class AssignmentSummary:
    """Counts for the closing lines."""

    answers: int = 0
    systems: set[str] = field(default_factory=set)
    graded: int = 0
    ungraded: Counter[str] = field(default_factory=Counter)
    unlike: list[str] = field(default_factory=list)
    matched: int = 0
    foreign: set[str] = field(default_factory=set)
    dropped: DroppedFields = field(default_factory=DroppedFields)

    def lines(self) -> Iterator[str]:
        """What was imported, for people."""
        answers, systems = counted(self.answers, "answer"), len(self.systems)
        yield f"Imported {answers} (systems: {systems}), {counted(self.graded, 'assignment')}."
        if self.ungraded:
            labels = listed([repr(label) for label, _ in self.ungraded.most_common()])
            are = counted(self.ungraded.total(), "label is", "labels are")
            yield f"{are} none of the three, and ungraded: {labels}"
        if self.foreign:
            are = counted(len(self.foreign), "nugget is", "nuggets are")
            yield f"{are} not in the bank, by query and text: the labels stay."
        if self.unlike:
            some = ", ".join(self.unlike[:5])
            yield (
                f"{counted(len(self.unlike), 'query has', 'queries have')} other nuggets for some answers; "
                f"--bank-output takes those of all: {some}"
            )
        yield from self.dropped.lines()


def add_assignments(
    queries: dict[str, QueryPassages],
    files: Iterable[Path],
    grader: str,
    summary: AssignmentSummary,
    ids: NuggetIds | None = None,
) -> dict[str, BankLine]:
    """Add the assignments of the files to the passages of the queries; returns the nuggets of each query."""
    bank: dict[str, BankLine] = {}
    seen: set[tuple[str, str]] = set()
    for file in files:
        for number, line in read_assignments(file):
            if (line.run_id, line.qid) in seen:
                raise DataError(
                    f"the run {line.run_id!r} answers the query {line.qid!r} twice.",
                    file=str(file), line=number,
                )  # fmt: skip
            seen.add((line.run_id, line.qid))
            passage = _passage_of(line, queries, file, number)
            passage.add_grades([_grades(line, grader, summary, ids or NuggetIds())])
            _add_to_bank(bank, line, summary)
            summary.answers += 1
            summary.systems.add(line.run_id)
            summary.dropped.keys(line.model_extra)
            words = answer_length(line.answer_text)
            summary.dropped.add(
                "response lengths other than the words", line.response_length not in (None, words)
            )
    return bank


def _passage_of(line: AssignmentLine, queries: dict[str, QueryPassages], file: Path, number: int) -> Passage:
    """The answer's passage: the one that is there, or a new one that its system ranks first."""
    query = queries.setdefault(line.qid, QueryPassages(line.qid, []))
    ranked = [p for p in query.passages if any(entry.method == line.run_id for entry in p.rankings)]
    if not ranked:
        passage = _new_passage(line)
        query.passages.append(passage)
        return passage
    same = next((p for p in ranked if p.text.split() == line.answer_text.split()), None)
    if same is None:
        held = "holds another text" if len(ranked) == 1 else f"is in {len(ranked)} passages"
        raise DataError(
            f"the answer of {line.run_id!r} to the query {line.qid!r} {held} in the passages: import the "
            "answers with --unit whole.",
            file=str(file), line=number, field="answer_text",
        )  # fmt: skip
    return same


def _new_passage(line: AssignmentLine) -> Passage:
    passage_id = f"{line.run_id}/{line.qid}"
    ranking = RankingEntry(method=line.run_id, passage_id=passage_id, query_id=line.qid, rank=1, score=1.0)
    data = PassageData(judgments=[], rankings=[ranking])
    return Passage(passage_id=passage_id, text=line.answer_text, data=data)


def _grades(line: AssignmentLine, grader: str, summary: AssignmentSummary, ids: NuggetIds) -> RubricGrades:
    """The labels as grades, in the order of the file; a repeated nugget has a label each time."""
    labels: list[tuple[str, str]] = []
    errors: dict[str, Any] = {}
    found = list(ids.of(line.qid, [nugget.text for nugget in line.nuggets]))
    times = Counter(nugget_id for nugget_id, _ in found)
    in_order: list[tuple[str, str]] = []
    for nugget, (nugget_id, known) in zip(line.nuggets, found, strict=True):
        if known:
            summary.matched += 1
        elif ids.from_bank:
            summary.foreign.add(nugget_id)
        label = nugget.assignment or ""
        if is_label(plain := plain_label(label)):
            labels.append((nugget_id, plain))
            in_order.append((nugget_id, plain))
        else:
            if times[nugget_id] > 1:  # else the label of another one of them would count for it
                in_order.append((nugget_id, label))
            errors[nugget_id] = {"response": label, "prompt": "", "failure_reason": NOT_A_LABEL}
            summary.ungraded[label] += 1
    summary.graded += len(labels)
    assignments = [NuggetAssignment(nugget_id=key, assignment=label) for key, label in in_order]
    return RubricGrades(**_grade_keys(labels, errors, grader), assignments=assignments)


def _grade_keys(labels: Sequence[tuple[str, str]], errors: Mapping[str, Any], grader: str) -> dict[str, Any]:
    ratings = {nugget_id: ASSIGNMENT_RATINGS[label] for nugget_id, label in labels}
    correct = [nugget_id for nugget_id, rating in ratings.items() if rating]
    source = {"source": "human"} if is_human(grader) else {}
    return {
        "model": grader,
        "model_options": {},
        "prompt_info": {"prompt_class": PROMPT_CLASS, "is_self_rated": True},
        "prompt_type": "nugget",
        "correct": correct,
        "wrong": [nugget_id for nugget_id, rating in ratings.items() if not rating],
        "answers": [] if source else labels,
        "errors": dict(errors),
        "exam_ratio": len(correct) / len(ratings) if ratings else 0.0,
        "self_ratings": [
            SelfRating(nugget_id=nugget_id, self_rating=ASSIGNMENT_RATINGS[label], **source)
            for nugget_id, label in labels
        ],
        "relevance_label": max(ratings.values(), default=0),
    }


def _add_to_bank(bank: dict[str, BankLine], line: AssignmentLine, summary: AssignmentSummary) -> None:
    """The nuggets of the query's first answer, then those that only others have."""
    given = bank_line(line.qid, line.query, line.nuggets)
    known = bank.setdefault(line.qid, given)
    if known is given:
        return
    ids = {item.entry_id for item in known.items}
    if new := [item for item in given.items if item.entry_id not in ids]:
        known.items += new
        if line.qid not in summary.unlike:
            summary.unlike.append(line.qid)


def _read(source: Source) -> list[QueryPassages]:
    """Answers with their grades; the nuggets themselves belong into a bank."""
    summary = AssignmentSummary(dropped=source.dropped)
    queries: dict[str, QueryPassages] = {}
    bank = add_assignments(queries, [source.path], DEFAULT_GRADER, summary)
    source.dropped.add("texts of queries", sum(bool(line.query_text) for line in bank.values()))
    source.dropped.add("nuggets, which belong into a bank", sum(len(line.items) for line in bank.values()))
    return list(queries.values())


register(
    Format(
        "nuggetizer-assignments", "passages", "answers with nugget assignments of AutoNuggetizer",
        with_keys("qid", "nuggets", "answer_text"), read_assignments, "answer", _read,
        written_by="exam-pp export assignments",
    ),
)  # fmt: skip
