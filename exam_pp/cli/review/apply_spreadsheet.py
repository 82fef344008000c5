"""Spreadsheets of human ratings of answers by criteria, added as grades by ``human:NAME``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exam_pp.data_model import CriteriaGrades, CriterionRating, Passage, is_human
from exam_pp.decided_grades import put
from exam_pp.errors import DataError, SelectionError
from exam_pp.grade_filter import check_one
from exam_pp.phases.passages.transform import Rewritten, rewrite
from exam_pp.roles import DistinctNames, answers_in
from exam_pp.store.edits import human_model, warn_of_similar_names
from exam_pp.store.files import check_output
from exam_pp.store.guarded_inputs import reading
from exam_pp.store.numbers import parse_number
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.raw_passages import RawQuery
from exam_pp.store.tables import QUERY_ID, SYSTEM, Layout, read_rows
from exam_pp.text.spreadsheet_cells import unescaped
from exam_pp.text.wording import counted, listed, noted

PROMPT_CLASS = "CriteriaRatings"
"""Prompt class of ratings in a file without ratings by criteria."""
MAX_RATING = 2
"""Highest rating of the criteria in Rackauckas et al., 2024, section 5.1."""
ANSWER = "answer"
"""Key of the comment on a whole answer, in the comments of its grades."""

_WHERE = ("query_id", "system")
_PLACES = Layout(_WHERE, names={"query_id": QUERY_ID, "system": SYSTEM}, as_it_is=True)
_LONG = ("criterion", "rating")
_TEXTS = ("query_text", "answer", "comment")
"""Columns that are never criteria."""


@dataclass
class AppliedCriteria:
    """Counts for the summary.

    ``blank``: Number of cells without a rating. ``unrated``: System to the number of its answers without a
    rating.
    """

    grader: str
    prompt_class: str
    ratings: int = 0
    answers: int = 0
    comments: int = 0
    blank: int = 0
    replaced: int = 0
    unrated: Counter[str] = field(default_factory=Counter)
    ignored: Counter[str] = field(default_factory=Counter)

    def lines(self) -> Iterator[str]:
        """The summary, a sentence per line."""
        of = counted(self.answers, "answer")
        yield (
            f"{counted(self.ratings, 'rating')} of {of} added as {self.grader} with the prompt "
            f"{self.prompt_class}."
        )
        yield from noted(self.comments, "{} added.", "comment")
        yield from noted(
            self.replaced, "{} given again with another value: the later rating counts.",
            "rating was", "ratings were",
        )  # fmt: skip
        yield from noted(self.blank, "{} no rating.", "cell has", "cells have")
        if self.unrated:
            systems = ", ".join(f"{system} ({count})" for system, count in self.unrated.items())
            yield f"Answers without a rating by {self.grader}: {systems}."
        if self.ignored:
            columns = ", ".join(f"{name or '(no name)'} ({count})" for name, count in self.ignored.items())
            yield f"Cells in columns that are not criteria of {self.prompt_class}, ignored: {columns}."


@reading()
def apply_criteria_ratings(
    graded: Path,
    spreadsheets: Sequence[Path],
    output: Path,
    *,
    reviewer: str,
    prompt_class: str | None = None,
    max_rating: int | None = None,
) -> AppliedCriteria:
    """Copy a graded file and add a person's ratings of answers by criteria from spreadsheets (CSV).

    A spreadsheet has the columns ``query_id`` and ``system`` (with the repeat, as ``rag-run-2``), and either
    a column for each criterion, or the columns ``criterion`` and ``rating``. A column ``comment`` is
    optional. An empty cell is no rating. A later rating by the same person replaces the earlier one. If a
    spreadsheet is refused, no output is written.

    ``graded``: The graded file with the answers. ``prompt_class``:
    Prompt class of the ratings. Default: the only prompt class of ratings by criteria in the file,
    ``CriteriaRatings`` without one.
    """
    inputs = [graded, *spreadsheets]
    check_output(output, inputs)
    grader = human_model(reviewer)
    if grader is None:
        raise SelectionError("The name of --reviewer is empty.")
    survey = _Survey.of(graded)
    warn_of_similar_names([grader], survey.models)
    chosen = survey.choose(prompt_class, graded)
    scale = survey.scales.get(chosen, {})
    summary = AppliedCriteria(grader, chosen)
    ratings: dict[tuple[str, str], dict[str, int]] = {}
    comments: dict[tuple[str, str], dict[str, str]] = {}

    def top(criterion: str) -> int:
        return scale.get(criterion, MAX_RATING) if max_rating is None else max_rating

    for file in spreadsheets:
        for key, criterion, rating in _read(file, scale, top, summary, comments, survey, graded):
            of_answer = ratings.setdefault(key, {})
            summary.replaced += of_answer.get(criterion, rating) != rating
            of_answer[criterion] = rating
    if not ratings:
        raise SelectionError(f"No cell of {', '.join(map(str, spreadsheets))} has a rating.")
    # Counted before answers with only a comment are added.
    summary.answers = len(ratings)
    summary.ratings = sum(map(len, ratings.values()))
    summary.comments = sum(map(len, comments.values()))
    for key in comments:  # comments on answers without ratings
        ratings.setdefault(key, {})
    summary.unrated.update(
        system for query_id, system in survey.answers if not ratings.get((query_id, system))
    )
    _write(graded, output, inputs, ratings, comments, top, summary)
    return summary


@dataclass
class _Survey:
    """The answers of a graded file, and the scales of its ratings by criteria.

    ``answers`` has the query ids and systems of answers, ``scales`` prompt class to criterion to highest
    rating, ``models`` who rated.
    """

    queries: set[str] = field(default_factory=set)
    answers: dict[tuple[str, str], None] = field(default_factory=dict)
    scales: dict[str, dict[str, int]] = field(default_factory=dict)
    models: dict[str | None, None] = field(default_factory=dict)

    @classmethod
    def of(cls, graded: Path) -> _Survey:
        survey, distinct = cls(), DistinctNames()
        for query in read_passages(graded):
            survey.queries.add(query.query_id)
            for system in answers_in(query):
                survey.answers[query.query_id, distinct(system)] = None
            for passage in query.passages:
                for grades in passage.criteria_grades or ():
                    survey.models[grades.model] = None
                    if not is_human(grades.model):
                        survey._add(grades)
        return survey

    def _add(self, grades: CriteriaGrades) -> None:
        scale = self.scales.setdefault(grades.prompt_class or PROMPT_CLASS, {})
        levels = grades.highest_levels
        for item in grades.ratings:
            highest = levels.get(item.criterion, max(MAX_RATING, item.rating or 0))
            scale[item.criterion] = max(highest, scale.get(item.criterion, 0))

    def choose(self, prompt_class: str | None, graded: Path) -> str:
        if prompt_class is not None:
            return prompt_class
        subject = f"{graded} has ratings by criteria of several prompts"
        check_one(sorted(self.scales), subject, "--prompt")
        return next(iter(self.scales), PROMPT_CLASS)

    def check(self, file: Path, line: int, query_id: str, system: str, graded: Path) -> None:
        """Raise DataError for a query or an answer that the graded file lacks."""
        if query_id not in self.queries:
            problem, column = f"{query_id!r} is not a query of {graded}.", "query_id"
        elif (query_id, system) not in self.answers:
            known = [name for query, name in self.answers if query == query_id]
            listing = f" (answers of: {listed(known)})" if known else ""
            problem = f"{system!r} has no answer to the query {query_id!r} in {graded}{listing}."
            column = "system"
        else:
            return
        raise DataError(problem, file=str(file), line=line, field=column)


def _read(
    file: Path,
    scale: Mapping[str, int],
    top: Callable[[str], int],
    summary: AppliedCriteria,
    comments: dict[tuple[str, str], dict[str, str]],
    survey: _Survey,
    graded: Path,
) -> Iterator[tuple[tuple[str, str], str, int]]:
    """Yield the answers, criteria and ratings of a spreadsheet; its comments go to ``comments``."""
    for row in read_rows(file, _PLACES):
        line, used = row.line or 0, _PLACES.used(row.columns)
        if missing := [name for name in _WHERE if name not in used]:
            shown = listed(row.columns) or "none"
            problem = (
                f"has no column {missing[0]!r}; rename one of its columns ({shown}). A spreadsheet has "
                "ratings of answers by criteria; corrections of passages come as edits.json."
            )
            raise DataError(problem, file=str(file), line=1)
        given = {name: role for role, name in used.items()}
        cells = dict.fromkeys((given.get(name, name) for name in row.columns), "")
        cells |= {given.get(name, name): unescaped(cell).strip() for name, cell in row.cells.items()}
        query_id, system = (cells[name] for name in _WHERE)
        for name in _WHERE:
            if not cells[name]:
                raise DataError("is empty.", file=str(file), line=line, field=name)
        survey.check(file, line, query_id, system, graded)
        if any(row.extra):
            raise DataError("has a cell without a column name.", file=str(file), line=line)
        is_long = all(name in cells for name in _LONG)
        comment = cells.get("comment", "")
        for column, criterion, cell in _cells(file, line, cells, scale, summary, is_long=is_long):
            if comment:
                of_answer = comments.setdefault((query_id, system), {})
                of_answer[criterion if is_long else ANSWER] = comment
            if not cell:
                summary.blank += 1
                continue
            rating = _whole(file, line, column, cell)
            if not 0 <= rating <= top(criterion):
                raise DataError(
                    f"is {rating}, but the scale of {criterion!r} is 0 to {top(criterion)}; --max-rating "
                    "sets another scale.",
                    file=str(file), line=line, field=column,
                )  # fmt: skip
            yield (query_id, system), criterion, rating


def _cells(
    file: Path,
    line: int,
    cells: Mapping[str, str],
    scale: Mapping[str, int],
    summary: AppliedCriteria,
    *,
    is_long: bool,
) -> Iterator[tuple[str, str, str]]:
    """Yield column, criterion and cell of the ratings in a row."""
    known = {name.lower(): name for name in scale}
    if is_long:
        name = cells["criterion"]
        if not name:
            raise DataError("is empty.", file=str(file), line=line, field="criterion")
        if known and name.lower() not in known:
            raise DataError(
                f"{name!r} is not a criterion of {summary.prompt_class} ({listed(list(scale))}).",
                file=str(file), line=line, field="criterion",
            )  # fmt: skip
        yield "rating", known.get(name.lower(), name), cells["rating"]
        return
    columns = [name for name in cells if name not in (*_WHERE, *_TEXTS)]
    criteria = [name for name in columns if not known or name.strip().lower() in known]
    if not criteria:
        raise DataError(
            "has neither a column for a criterion nor the columns 'criterion' and 'rating'"
            + (f" (criteria of {summary.prompt_class}: {listed(list(scale))})." if known else "."),
            file=str(file), line=1,
        )  # fmt: skip
    summary.ignored.update(name for name in columns if name not in criteria and cells[name])
    for name in criteria:
        yield name, known.get(name.strip().lower(), name.strip()), cells[name]


def _whole(file: Path, line: int, column: str, cell: str) -> int:
    try:
        # Spreadsheets in many languages write 2,0 for 2.0.
        value = parse_number(cell.replace(",", "."))
    except ValueError:
        # Any fraction, so that a text gets the same message as a fraction.
        value = 0.5
    if value != int(value):
        raise DataError(
            f"{cell!r} is not a rating, which is a whole number; remove a column that is not a criterion.",
            file=str(file), line=line, field=column,
        )  # fmt: skip
    return int(value)


def _write(
    graded: Path,
    output: Path,
    inputs: Sequence[Path],
    ratings: Mapping[tuple[str, str], dict[str, int]],
    comments: Mapping[tuple[str, str], Mapping[str, str]],
    top: Callable[[str], int],
    summary: AppliedCriteria,
) -> None:
    waiting = dict(ratings)

    def change(query: RawQuery) -> RawQuery:
        for system, positions in answers_in(query).items():
            name = str(system)
            # pop: if the file has a query twice, only the first gets the ratings.
            new = waiting.pop((query.query_id, name), None)
            if new is not None:
                raw = query.passages[positions[0]]
                passage = raw.full()
                texts = comments.get((query.query_id, name), {})
                _add(passage, name, new, texts, top, summary)
                raw.take_grades(passage)
        return query

    def check(_counts: Rewritten) -> None:
        if waiting:
            raise DataError("was changed while it was read. Run the command again.", file=str(graded))

    rewrite(graded, output, change, inputs=inputs, check=check)


def _add(
    passage: Passage,
    system: str,
    new: dict[str, int],
    texts: Mapping[str, str],
    top: Callable[[str], int],
    summary: AppliedCriteria,
) -> None:
    """Add ratings of an answer, merged with earlier ones by the same person."""

    def earlier(grades: CriteriaGrades) -> bool:
        return (grades.model, grades.prompt_class, grades.system) == (
            summary.grader, summary.prompt_class, system,
        )  # fmt: skip

    known = passage.criteria_grades or ()
    before = [grades for grades in known if earlier(grades)]
    ratings = {item.criterion: item.rating for grades in before for item in grades.ratings} | new
    comments = {key: text for grades in before for key, text in (grades.comments or {}).items()}
    comments |= texts
    levels = {criterion: level for grades in before for criterion, level in grades.highest_levels.items()}
    levels |= {criterion: top(criterion) for criterion in new}
    values: dict[str, Any] = {"comments": comments} if comments else {}
    grades = CriteriaGrades(
        model=summary.grader,
        model_options={},
        prompt_info={"prompt_class": summary.prompt_class, "criteria": levels},
        prompt_type="criteria",
        system=system,
        ratings=[CriterionRating(criterion=key, rating=rating) for key, rating in ratings.items()],
        **values,
    )
    passage.take(criteria_grades=put(grades, known, earlier))
