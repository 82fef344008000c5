"""Paired tests between systems by criterion, from the ratings of their answers by a model or a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import check_one
from exam_pp.metrics.significance import PairedTests, holm, paired_tests
from exam_pp.phases.analysis.graders import CriteriaRatings, criteria_ratings
from exam_pp.phases.evaluation.citations import AnswerFilter
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.provenance import Provenance, graded_by
from exam_pp.text.wording import counted


@dataclass(frozen=True)
class CriterionTest:
    """Two systems compared by a criterion.

    ``adjusted``: p-value of the randomisation test, adjusted over all rows. ``t_adjusted``: That of the t
    test; None if it is undefined.
    """

    criterion: str
    first: str
    second: str
    tests: PairedTests
    adjusted: float
    t_adjusted: float | None


@dataclass(frozen=True)
class PairedCriteria:
    """Paired tests of every two systems by every criterion."""

    grader: str
    rows: Sequence[CriterionTest]
    confidence: float = CONFIDENCE
    notes: Sequence[str] = ()
    provenance: Provenance = field(default_factory=Provenance)

    def is_significant(self, row: CriterionTest) -> bool:
        """Whether the systems differ significantly by the adjusted randomisation test."""
        return row.adjusted <= 1 - self.confidence + 1e-12


def paired_criteria(
    graded: PathLike,
    *,
    selection: AnswerFilter | None = None,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> PairedCriteria:
    """Test by each criterion whether two systems differ in their mean rating over the same queries.

    Source: Rackauckas et al., "Evaluating RAG-Fusion with RAGElo", 2024, section 7.2.2 (two-tailed paired t
    tests by category); p-values are adjusted in addition, because several criteria are tested.

    Returns the tests, in the order of the selected systems, or of the file.
    """
    selection = selection or AnswerFilter()
    by_grader = criteria_ratings(graded, selection)
    check_one(by_grader, f"{graded} has ratings by criteria of {len(by_grader)} graders")
    ((key, ratings),) = by_grader.items()
    systems = list(dict.fromkeys(selection.systems)) or list(dict.fromkeys(unit[1] for unit in ratings))
    if len(systems) < 2:
        raise SelectionError(
            f"A comparison needs two systems, but {key.model} rated the answers of "
            f"{counted(len(systems), 'system')} in {graded} ({systems[0]})."
        )
    rows, notes = _rows(ratings, systems, confidence, seed)
    if not rows:
        raise SelectionError(
            f"No two of the systems have ratings by {key.model} for the same query and criterion in {graded}."
        )
    provenance = replace(graded_by([key]), queries=len({unit[0] for unit in ratings}))
    result = PairedCriteria(key.model, _adjusted(rows), confidence, provenance=provenance)
    return replace(result, notes=[*notes, *_undefined(rows), *_less_well_known(result)])


def _rows(
    ratings: CriteriaRatings, systems: Sequence[str], confidence: float, seed: int
) -> tuple[list[CriterionTest], list[str]]:
    by_criterion: dict[str, dict[str, dict[str, int]]] = {}
    for (query_id, system, criterion), rating in ratings.items():
        by_criterion.setdefault(criterion, {}).setdefault(system, {})[query_id] = rating
    rows, notes = [], []
    for first, second in combinations(systems, 2):
        for criterion, of_system in by_criterion.items():
            left: Mapping[str, int] = of_system.get(first, {})
            right: Mapping[str, int] = of_system.get(second, {})
            common = [query_id for query_id in left if query_id in right]
            if not common:
                notes.append(f"{first} and {second} have no ratings of {criterion} for the same query.")
                continue
            tests = paired_tests(
                [left[query_id] for query_id in common], [right[query_id] for query_id in common],
                (0.0, float(ratings.highest[criterion] or 1)), confidence=confidence, seed=seed,
            )  # fmt: skip
            unpaired = len(left.keys() ^ right.keys())
            row = CriterionTest(criterion, first, second, tests, tests.p_value, tests.t_p_value)
            rows.append(row)
            if unpaired:
                have = counted(unpaired, "query has", "queries have")
                notes.append(f"{criterion}: {have} a rating of only one of {first} and {second}: left out.")
    return rows, notes


def _adjusted(rows: Sequence[CriterionTest]) -> list[CriterionTest]:
    """The rows with p-values adjusted over all rows; undefined p-values do not count as tests."""
    adjusted = holm([row.tests.p_value for row in rows])
    of_t = iter(holm([row.tests.t_p_value for row in rows if row.tests.t_p_value is not None]))
    return [
        replace(row, adjusted=p_value, t_adjusted=None if row.tests.t_p_value is None else next(of_t))
        for row, p_value in zip(rows, adjusted, strict=True)
    ]


def _undefined(rows: Sequence[CriterionTest]) -> list[str]:
    """Sentences on rows without a t test."""
    return [
        f"{row.criterion}: the t test of {row.first} and {row.second} is undefined, "
        + (
            "because they have only one query in common."
            if row.tests.queries == 1
            else "because all differences are equal."
        )
        for row in rows
        if row.tests.t is None
    ]


def _less_well_known(result: PairedCriteria) -> list[str]:
    """Sentences on significant differences whose interval includes 0."""
    return [
        f"{row.criterion}: {row.first} and {row.second} differ (p = {row.adjusted:.2g}). Their mean "
        f"difference is known less well: up to about {min(1.0, 3 / row.tests.queries):.0%} of all queries "
        "may behave unlike these, unseen."
        for row in result.rows
        if result.is_significant(row)
        and (interval := row.tests.interval) is not None
        and interval.low <= 0 <= interval.high
    ]
