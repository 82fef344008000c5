"""Ratings of answers by criteria in a graded file, by grader."""

from __future__ import annotations

from collections.abc import Collection

from exam_pp.data_model import CriteriaGrades
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeKey, check_one
from exam_pp.phases.evaluation.graded_citations import SupportFilter
from exam_pp.phases.evaluation.result import PathLike, counted_names
from exam_pp.store.passages.graded_file import read_passages


class CriteriaRatings(dict[tuple[str, ...], int]):
    """Query, system (with its repeat) and criterion to rating.

    ``highest``: Criterion to its highest level; the highest rating, if the file does not record its levels.
    """

    def __init__(self) -> None:
        super().__init__()
        self.highest: dict[str, int] = {}


def criteria_ratings(
    graded: PathLike, selection: SupportFilter | None = None
) -> dict[GradeKey, CriteriaRatings]:
    """Read the ratings of answers by criteria."""
    selection = selection or SupportFilter()
    ratings: dict[GradeKey, CriteriaRatings] = {}
    hashes: dict[GradeKey, set[str]] = {}
    graders: dict[GradeKey, None] = {}
    systems: dict[str, None] = {}
    for query in read_passages(graded):
        for passage in query.passages:
            for grades in passage.criteria_grades or ():
                key = _key(grades)
                graders[key] = None
                systems[grades.system] = None
                if not selection.accepts(grades) or not _selects(selection.systems, grades.system):
                    continue
                if grades.prompt_hash is not None:
                    hashes.setdefault(key, set()).add(grades.prompt_hash)
                levels = grades.highest_levels
                for item in grades.ratings:
                    if item.rating is not None:
                        of_grader = ratings.setdefault(key, CriteriaRatings())
                        of_grader[query.query_id, grades.system, item.criterion] = item.rating
                        of_grader.highest[item.criterion] = max(
                            item.rating,
                            levels.get(item.criterion, 0),
                            of_grader.highest.get(item.criterion, 0),
                        )
    _check(graded, selection, list(graders), systems, bool(ratings))
    for key, versions in hashes.items():
        subject = f"The ratings of answers by {key.model} in {graded} were made with {len(versions)} versions"
        check_one(sorted(versions), f"{subject} of the prompt", "--grades hash")
    return {key: ratings[key] for key in sorted(ratings, key=lambda key: (key.is_reviewer, key))}


def _key(grades: CriteriaGrades) -> GradeKey:
    return GradeKey(grades.model or "(no model)", grades.prompt_class or "(no prompt class)")


def _selects(systems: Collection[str], system: str) -> bool:
    return not systems or system in systems


def _check(
    graded: PathLike,
    selection: SupportFilter,
    graders: list[GradeKey],
    systems: Collection[str],
    any_selected: bool,
) -> None:
    if not graders:
        raise SelectionError(
            f"{graded} has no ratings of answers by criteria; make them with `exam-pp grade "
            "--prompt-class RAGEloCriteria`, or add "
            "those of a person with `exam-pp apply`."
        )
    if absent := [system for system in selection.systems if system not in systems]:
        names = counted_names(absent, "system", "systems")
        known = counted_names(list(systems), "system", "systems")
        raise SelectionError(
            f"{graded} has no ratings by criteria of the answers of {names}; it has those of {known}."
        )
    if not any_selected:
        listing = "; ".join(map(str, sorted(graders)))
        raise SelectionError(
            f"No ratings by criteria in {graded} match the filter. The file has ratings of: {listing}."
        )
