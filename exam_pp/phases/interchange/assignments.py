"""Answers with nugget assignments in the format of AutoNuggetizer, from passages and to passages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.banks import ASSIGNMENT_LABELS, Entry
from exam_pp.data_model import Passage, QueryPassages, RubricGrades
from exam_pp.errors import SelectionError
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.nugget_assignments import (
    DEFAULT_GRADER,
    AssignedNugget,
    AssignmentLine,
    AssignmentSummary,
    NuggetIds,
    add_assignments,
)
from exam_pp.grade_filter import GradeFilter, GradeKey, check_one
from exam_pp.metrics.grade_masks import copy_ratings, ids_of_copies
from exam_pp.phases.evaluation.nugget_scores import assigns_nuggets
from exam_pp.roles import DistinctNames, System
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.files import check_output
from exam_pp.store.passages.graded_file import read_passages, write_passages
from exam_pp.store.trec.queries import write_queries

_LABELS = dict(enumerate(ASSIGNMENT_LABELS))


@dataclass
class _Answer:
    """The parts of a system's answer (rank, text), with the grader's rating of each nugget.

    ``unparsed`` is nugget id to the label that could not be read, for ungraded nuggets.
    """

    parts: list[tuple[int, str]] = field(default_factory=list)
    ratings: dict[str, int] = field(default_factory=dict)
    unparsed: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The parts in the order of their ranks."""
        return " ".join(text for _, text in sorted(self.parts, key=lambda part: part[0]))


def assignments_of(
    queries: Iterable[QueryPassages],
    dropped: DroppedFields,
    bank: Path,
    grade_filter: GradeFilter,
    graded: Path,
) -> list[AssignmentLine]:
    """A line for every answer with assignments of the grader; ``graded`` has the queries, for messages.

    An ungraded nugget is written with its unparsed label. Raises :class:`~exam_pp.errors.SelectionError`
    unless the filter selects the assignments of one grader.
    """
    test_bank = read_bank(bank)
    items = test_bank.copies
    graders: dict[GradeKey, None] = {}
    answers: dict[tuple[System, str], _Answer] = {}
    for query in queries:
        for passage in query.passages:
            if query.query_id in items and passage.rankings:
                copies = ids_of_copies(items[query.query_id])
                _add_passage(passage, query.query_id, copies, grade_filter, answers, graders, dropped)
    if not graders:
        raise SelectionError(f"{graded} has no nugget assignments that match the filter and the bank.")
    check_one(graders, f"The filter selects assignments of {len(graders)} graders in {graded}")
    if not any(
        entry_id in answer.ratings or entry_id in answer.unparsed
        for (_, query_id), answer in answers.items()
        for entry_id in items[query_id]
    ):
        raise SelectionError(
            f"{bank} has none of the nuggets that are assigned in {graded}: name the bank with which the "
            "answers were graded."
        )
    dropped.add("graders", len(graders))
    texts = {query.query_id: query.query_text for query in test_bank}
    return list(_lines(answers, items, texts))


def _add_passage(
    passage: Passage,
    query_id: str,
    copies: Mapping[str, Sequence[str]],
    criteria: GradeFilter,
    answers: dict[tuple[System, str], _Answer],
    graders: dict[GradeKey, None],
    dropped: DroppedFields,
) -> None:
    """Add the passage and its selected assignments to the answers of the systems that rank it."""
    dropped.add("judgments", len(passage.judgments))
    selected = [
        grades for grades in passage.grade_sets() if criteria.accepts(grades) and assigns_nuggets(grades)
    ]
    dropped.add("other sets of grades", len(list(passage.grade_sets())) - len(selected))
    if not selected:
        return
    graders |= dict.fromkeys(GradeKey.of(grades, criteria) for grades in selected)
    ratings: dict[str, int] = {}
    unparsed: dict[str, str] = {}
    for grades in selected:
        ratings |= copy_ratings(grades, copies)
        unparsed |= _unparsed_labels(grades) if isinstance(grades, RubricGrades) else {}
    for ranking in passage.rankings:
        answer = answers.setdefault((System.of(ranking), query_id), _Answer())
        answer.parts.append((ranking.rank, passage.text))
        answer.ratings |= {
            key: max(rating, answer.ratings.get(key, rating)) for key, rating in ratings.items()
        }
        answer.unparsed |= unparsed
        dropped.add("citations", len(ranking.citations or ()))


def _unparsed_labels(grades: RubricGrades) -> dict[str, str]:
    """Nugget id to unparsed label."""
    errors = grades.errors if isinstance(grades.errors, dict) else {}
    return {key: str(error.get("response", "")) for key, error in errors.items() if isinstance(error, dict)}


def _lines(
    answers: Mapping[tuple[System, str], _Answer],
    items: Mapping[str, Mapping[str, Entry]],
    texts: Mapping[str, str],
) -> Iterator[AssignmentLine]:
    distinct = DistinctNames()
    for (system, query_id), answer in answers.items():
        yield AssignmentLine(
            query=texts.get(query_id, ""),
            qid=query_id,
            answer_text=answer.text,
            response_length=len(answer.text.split()),
            run_id=distinct(system),
            nuggets=[
                _nugget(
                    entry, _LABELS.get(answer.ratings.get(key, -1)) or answer.unparsed.get(entry.entry_id, "")
                )
                for key, entry in items[query_id].items()
            ],
        )


def _nugget(entry: Entry, label: str) -> AssignedNugget:
    importance = {} if entry.importance is None else {"importance": entry.importance}
    return AssignedNugget(text=entry.text, **importance, assignment=label)


def import_assignments(
    files: Sequence[Path],
    output: Path,
    *,
    grader: str = DEFAULT_GRADER,
    passages: Path | None = None,
    bank: Path | None = None,
    bank_output: Path | None = None,
    queries_output: Path | None = None,
) -> AssignmentSummary:
    """Write a graded file, and the nuggets and the texts of the queries if they have files.

    Answers in ``passages`` get the assignments as additional grades; all other answers become passages.
    Nuggets get the ids of ``bank``, joined by query and text; without a bank, ids are digests of both. Labels
    are read as in replies ("Not Support" is valid); a nugget with an unknown label is ungraded and keeps the
    label. Raises :class:`~exam_pp.errors.DataError` for an answer that occurs twice or differs from its text
    in ``passages``, and :class:`~exam_pp.errors.SelectionError` if no nugget is in ``bank``.
    """
    inputs = [*files, *filter(None, (passages, bank))]
    for path in filter(None, (output, bank_output, queries_output)):
        check_output(path, inputs)
    summary = AssignmentSummary()
    queries: dict[str, QueryPassages] = {}
    for query in read_passages(passages) if passages else ():
        known = queries.setdefault(query.query_id, QueryPassages(query.query_id, []))
        known.passages += query.passages
    ids = NuggetIds(read_bank(bank)) if bank is not None else NuggetIds()
    nuggets = add_assignments(queries, files, grader, summary, ids)
    if bank is not None and summary.foreign and not summary.matched:
        raise SelectionError(
            f"No nugget is in {bank} (compared by query and text); name the bank that was assigned."
        )
    if bank_output is not None:
        write_bank(nuggets.values(), bank_output, inputs=inputs)
    if queries_output is not None:
        texts = {query_id: line.query_text for query_id, line in nuggets.items() if line.query_text}
        write_queries(texts, queries_output, inputs=inputs)
    write_passages(queries.values(), output, inputs=inputs)
    return summary
