"""Ratings of answers by criteria, and paired tests between systems by criterion."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import combinations

from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import AnswerFilter, GradeKey, check_one
from exam_pp.metrics.significance import PairedTests, holm, paired_tests
from exam_pp.metrics.uncertainty import GAFFKE
from exam_pp.phases.evaluation.result import PathLike, counted_names
from exam_pp.provenance import graded_by
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.reports.analysis.correlation import formatted_interval
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.text.wording import counted


class CriteriaRatings(dict[tuple[str, ...], int]):
    """Query, system (with its repeat) and criterion to rating.

    ``highest``: Criterion to its highest level; the highest rating, if the file does not record its levels.
    """

    def __init__(self) -> None:
        super().__init__()
        self.highest: dict[str, int] = {}


def criteria_ratings(
    graded: PathLike, selection: AnswerFilter | None = None
) -> dict[GradeKey, CriteriaRatings]:
    """Read the ratings of answers by criteria."""
    selection = selection or AnswerFilter()
    ratings: dict[GradeKey, CriteriaRatings] = {}
    hashes: dict[GradeKey, set[str]] = {}
    graders: dict[GradeKey, None] = {}
    systems: dict[str, None] = {}
    for query in read_passages(graded):
        for passage in query.passages:
            for grades in passage.criteria_grades or ():
                key = GradeKey(grades.model or "(no model)", grades.prompt_class or "(no prompt class)")
                graders[key] = None
                systems[grades.system] = None
                if not selection.accepts(grades) or not selection.selects(grades.system):
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


def _check(
    graded: PathLike,
    selection: AnswerFilter,
    graders: list[GradeKey],
    systems: Collection[str],
    any_selected: bool,
) -> None:
    if not graders:
        raise SelectionError(
            f"{graded} has no ratings of answers by criteria; make them with `exam-pp grade "
            "--prompt criteria`, or add "
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


def paired_criteria(
    graded: PathLike,
    *,
    selection: AnswerFilter | None = None,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Report:
    """Test by each criterion whether two systems differ in their mean rating over the same queries.

    Source: Rackauckas et al., "Evaluating RAG-Fusion with RAGElo", 2024, section 7.2.2 (two-tailed paired t
    tests by category); p-values are adjusted in addition, because several criteria are tested.

    Returns a row for each pair of systems and criterion, in the order of the selected systems, or of the
    file. Significant differences are bold and have a star.
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
    by_criterion: dict[str, dict[str, dict[str, int]]] = {}
    for (query_id, system, criterion), rating in ratings.items():
        by_criterion.setdefault(criterion, {}).setdefault(system, {})[query_id] = rating
    tested: list[tuple[str, str, str, PairedTests]] = []
    warnings = []
    for first, second in combinations(systems, 2):
        for criterion, of_system in by_criterion.items():
            left: Mapping[str, int] = of_system.get(first, {})
            right: Mapping[str, int] = of_system.get(second, {})
            common = [query_id for query_id in left if query_id in right]
            if not common:
                warnings.append(f"{first} and {second} have no ratings of {criterion} for the same query.")
                continue
            tests = paired_tests(
                [left[query_id] for query_id in common], [right[query_id] for query_id in common],
                (0.0, float(ratings.highest[criterion] or 1)), confidence=confidence, seed=seed,
            )  # fmt: skip
            tested.append((criterion, first, second, tests))
            if unpaired := len(left.keys() ^ right.keys()):
                have = counted(unpaired, "query has", "queries have")
                one = f"{have} a rating of only one of {first} and {second}"
                warnings.append(f"{criterion}: {one}: left out.")
    if not tested:
        raise SelectionError(
            f"No two of the systems have ratings by {key.model} for the same query and criterion in {graded}."
        )
    adjusted = holm([tests.p_value for *_, tests in tested])
    # Undefined p-values do not count as tests.
    of_t = iter(holm([tests.t_p_value for *_, tests in tested if tests.t_p_value is not None]))
    rows: list[list[Cell]] = []
    bold = set()
    less_well_known = []
    for (criterion, first, second, tests), p_value in zip(tested, adjusted, strict=True):
        is_significant = p_value <= 1 - confidence + 1e-12
        interval = tests.interval
        if is_significant:
            bold.add((len(rows), 6))
        if is_significant and interval is not None and interval.low <= 0 <= interval.high:
            less_well_known.append(
                f"{criterion}: {first} and {second} differ (p = {p_value:.2g}). Their mean difference is "
                f"known less well: up to about {min(1.0, 3 / tests.queries):.0%} of all queries may behave "
                "unlike these, unseen."
            )
        if tests.t is None:
            few = "they have only one query in common."
            warnings.append(
                f"{criterion}: the t test of {first} and {second} is undefined, because "
                f"{few if tests.queries == 1 else 'all differences are equal.'}"
            )
        rows.append([
            criterion, first, second, tests.queries, tests.first, tests.second, tests.difference,
            formatted_interval(interval, 3) or None, formatted_interval(tests.test_interval, 3), tests.t,
            tests.t_p_value, None if tests.t_p_value is None else next(of_t), tests.p_value, p_value,
            "*" if is_significant else "",
        ])  # fmt: skip
    warnings += less_well_known
    columns = [
        "criterion", "system", "other system", "queries", "mean", "other mean", "difference", "interval",
        "interval of the test", "t", "p (t test)", "p (t test, Holm)", "p", "p (Holm)", "significant",
    ]  # fmt: skip
    title = "Every two systems by criterion"
    table = Table(columns, rows, title=title, bold=bold, significant=[10, 11, 12, 13])
    explanation = (
        f"Ratings by {key.model}. Difference: system − other system, with its "
        f"{100 * confidence:.4g} % interval ({GAFFKE}), and that of the test, which holds if all "
        "queries behave like these. p: two-sided paired randomisation test; Holm: "
        f"adjusted over all rows. A star marks differences with an adjusted p of at most "
        f"{1 - confidence:.2g}. The t test is two-sided and paired; it assumes normal differences."
    )
    provenance = replace(graded_by([key]), queries=len({unit[0] for unit in ratings}))
    blocks: list[Block] = [table, *map(Paragraph, [explanation, *warnings])]
    return Report("Paired tests by criterion", blocks, provenance, warnings)
