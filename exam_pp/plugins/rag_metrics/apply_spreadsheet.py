"""Spreadsheets of human ratings of answers by criteria, added as grades by ``human:NAME``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from exam_pp.data_model import CriteriaGrades, CriterionRating, Passage, is_human
from exam_pp.decided_grades import merged, put
from exam_pp.errors import DataError, SelectionError
from exam_pp.grade_filter import check_one
from exam_pp.phases.review.apply_ratings import add_decisions
from exam_pp.roles import DistinctNames, answers_in
from exam_pp.store.edits import human_model, warn_of_similar_names
from exam_pp.store.files import check_output
from exam_pp.store.inputs import reading
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.tables import QUERY_ID, SYSTEM, Layout, Row, read_rows
from exam_pp.text.spreadsheet_cells import unescaped
from exam_pp.text.wording import counted, listed, noted

PROMPT_CLASS = "CriteriaRatings"
"""Prompt class of ratings in a file without ratings by criteria."""
MAX_RATING = 2
"""Highest rating of the criteria in Rackauckas et al., 2024, section 5.1."""
ANSWER = "answer"
"""Key of the comment on a whole answer, in the comments of its grades."""

_PLACES = Layout(("query_id", "system"), names={"query_id": QUERY_ID, "system": SYSTEM}, as_it_is=True)
_TEXTS = ("query_text", "answer", "comment")
"""Columns that are never criteria."""
_RATING = re.compile(r"([0-9]+)([.,]0*)?")
"""Spreadsheets in many languages write 2,0 for 2."""


@dataclass
class _Answer:
    """The query and first part of an answer, and the ratings by criterion and the comment of a person."""

    query_id: str
    system: str
    passage_id: str
    ratings: dict[str, int] = field(default_factory=dict)
    comment: str = ""


@dataclass
class _Scales:
    """The criteria of a prompt class with their highest ratings; empty if every column is a criterion.

    ``highest`` replaces the highest rating of each.
    """

    prompt_class: str
    known: Mapping[str, int]
    highest: int | None

    def top(self, criterion: str) -> int:
        """The highest rating."""
        return self.known.get(criterion, MAX_RATING) if self.highest is None else self.highest


@reading()
def apply_criteria_ratings(
    graded: Path,
    spreadsheets: Sequence[Path],
    output: Path,
    *,
    reviewer: str,
    prompt_class: str | None = None,
    max_rating: int | None = None,
) -> list[str]:
    """Copy a graded file and add a person's ratings of answers by criteria from spreadsheets (CSV).

    A spreadsheet has the columns ``query_id`` and ``system`` (with the repeat, as ``rag-run-2``), and a
    column for each criterion. A column ``comment`` is optional. An empty cell is no rating. A later rating by
    the same person replaces the earlier one. If a spreadsheet is refused, no output is written.

    ``graded``: The graded file with the answers. ``prompt_class``: Prompt class of the ratings. Default: the
    only prompt class of ratings by criteria in the file, ``CriteriaRatings`` without one.

    Returns the summary.
    """
    inputs = [graded, *spreadsheets]
    check_output(output, inputs)
    grader = human_model(reviewer)
    if grader is None:
        raise SelectionError("The name of --reviewer is empty.")
    answers, of_classes, models = _survey(graded)
    warn_of_similar_names([grader], models)
    if prompt_class is None:
        check_one(sorted(of_classes), f"{graded} has ratings by criteria of several prompts", "--prompt")
        prompt_class = next(iter(of_classes), PROMPT_CLASS)
    scales = _Scales(prompt_class, of_classes.get(prompt_class, {}), max_rating)
    for file in spreadsheets:
        for row in read_rows(file, _PLACES):
            _read(row, file, answers, scales, graded)
    rated = [answer for answer in answers.values() if answer.ratings]
    if not rated:
        raise SelectionError(f"No cell of {', '.join(map(str, spreadsheets))} has a rating.")
    decided = [answer for answer in answers.values() if answer.ratings or answer.comment]
    add = [(each.query_id, each.passage_id, partial(_add, grader, each, scales)) for each in decided]
    add_decisions(graded, output, inputs, add)
    ratings = counted(sum(len(answer.ratings) for answer in rated), "rating")
    of = f"{counted(len(rated), 'answer')} added as {grader} with the prompt {prompt_class}."
    comments = sum(bool(answer.comment) for answer in decided)
    return [f"{ratings} of {of}", *noted(comments, "{} added.", "comment")]


def _survey(
    graded: Path,
) -> tuple[dict[tuple[str, str], _Answer], dict[str, dict[str, int]], list[str | None]]:
    """The answers by query and system, prompt class to criterion to highest rating, and who rated."""
    answers: dict[tuple[str, str], _Answer] = {}
    scales: dict[str, dict[str, int]] = {}
    models: list[str | None] = []
    distinct = DistinctNames()
    for query in read_passages(graded):
        for system, (first, *_) in answers_in(query).items():
            answer = _Answer(query.query_id, distinct(system), query.passages[first].passage_id)
            answers.setdefault((query.query_id, answer.system), answer)
        for grades in (each for passage in query.passages for each in passage.criteria_grades or ()):
            models.append(grades.model)
            if not is_human(grades.model):
                scale = scales.setdefault(grades.prompt_class or PROMPT_CLASS, {})
                for name, rating in ((item.criterion, item.rating) for item in grades.ratings):
                    highest = grades.highest_levels.get(name, max(MAX_RATING, rating or 0))
                    scale[name] = max(highest, scale.get(name, 0))
    return answers, scales, models


def _read(
    row: Row, file: Path, answers: Mapping[tuple[str, str], _Answer], scales: _Scales, graded: Path
) -> None:
    """Add the ratings and the comment of a row to its answer."""
    used = _PLACES.used(row.columns)
    if missing := [name for name in _PLACES.required if name not in used]:
        problem = (
            f"has no column {missing[0]!r}; rename one of its columns ({listed(row.columns) or 'none'}). A "
            "spreadsheet has ratings of answers by criteria; corrections of passages come as edits.json."
        )
        raise DataError(problem, file=str(file), line=1)
    if any(row.extra):
        raise DataError("has a cell without a column name.", file=str(file), line=row.line)
    cells = {name: unescaped(cell).strip() for name, cell in row.cells.items()}
    query_id, system = (cells.get(used[name], "") for name in _PLACES.required)
    answer = answers.get((query_id, system))
    if answer is None:
        systems = listed([name for query, name in answers if query == query_id])
        of = f" (answers of: {systems})" if systems else ""
        problem = f"{system!r} has no answer to the query {query_id!r} in {graded}{of}."
        raise DataError(problem, file=str(file), line=row.line)
    answer.comment = cells.get("comment") or answer.comment
    for column, criterion in _criteria([name for name in row.columns if name not in used.values()], scales):
        if scales.known and criterion not in scales.known:
            problem = (
                f"is not a criterion of {scales.prompt_class} ({listed(list(scales.known))}); remove it."
            )
            raise DataError(problem, file=str(file), line=1, field=column)
        if cell := cells.get(column):
            match, top = _RATING.fullmatch(cell), scales.top(criterion)
            if match is None or int(match[1]) > top:
                problem = f"{cell!r} is not a rating from 0 to {top}; --max-rating sets another scale."
                raise DataError(problem, file=str(file), line=row.line, field=column)
            answer.ratings[criterion] = int(match[1])


def _criteria(columns: Sequence[str], scales: _Scales) -> Iterator[tuple[str, str]]:
    """The columns of criteria, with the names of these in the prompt, whatever their case."""
    names = {name.lower(): name for name in scales.known}
    for column in columns:
        if column not in _TEXTS:
            yield column, names.get(column.strip().lower(), column.strip())


def _add(grader: str, answer: _Answer, scales: _Scales, passage: Passage) -> None:
    """Add ratings of an answer, merged with earlier ones by the same person."""

    def earlier(grades: CriteriaGrades) -> bool:
        key = (grades.model, grades.prompt_class, grades.system)
        return key == (grader, scales.prompt_class, answer.system)

    known = passage.criteria_grades or ()
    before = [grades for grades in known if earlier(grades)]
    ratings, comments = merged(
        (({item.criterion: item.rating for item in grades.ratings}, grades.comments) for grades in before),
        answer.ratings,
        {ANSWER: answer.comment} if answer.comment else {},
    )
    levels = {criterion: level for grades in before for criterion, level in grades.highest_levels.items()}
    levels |= {criterion: scales.top(criterion) for criterion in answer.ratings}
    grades = CriteriaGrades(
        model=grader,
        model_options={},
        prompt_info={"prompt_class": scales.prompt_class, "criteria": levels},
        prompt_type="criteria",
        system=answer.system,
        ratings=[CriterionRating(criterion=key, rating=rating) for key, rating in ratings.items()],
        **comments,
    )
    passage.take(criteria_grades=put(grades, known, earlier))
