"""Rubric-Cover, its bounds and Rubric-Qrels: equal to plain implementations; edge cases of ranks and ties."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.banks import BankLine, TestBank
from exam_pp.data_model import QueryPassages, parse_object
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.metrics.cover import Cover, SoftCover
from exam_pp.metrics.grade_masks import GradedFile, GradedQuery, gather
from exam_pp.metrics.leaderboard import standings
from exam_pp.metrics.qrels import judgment_qrels, rubric_qrels
from exam_pp.results import OVERALL_SYSTEM, Qrel
from tests.conftest import passage, rubric

Ranks = dict[str, list[int]]


def graded_passage(
    passage_id: str, ratings: dict[str, int] | None, ranks: Ranks, **keys: Any
) -> dict[str, Any]:
    rankings = [
        {"method": system, "paragraphId": passage_id, "queryId": "q", "rank": rank, "score": 1 / (rank + 1)}
        for system, places in ranks.items()
        for rank in places
    ]
    grades = {} if ratings is None else {"exam_grades": [rubric(ratings, **keys)]}
    return passage(passage_id, paragraph_data={"judgments": [], "rankings": rankings}, **grades)


def query(query_id: str, *passages: dict[str, Any]) -> QueryPassages:
    return parse_object([query_id, list(passages)])


def bank(query_id: str, *ids: str, weights: dict[str, float] | None = None) -> TestBank:
    items = [
        {
            "query_id": query_id,
            "nugget_id": entry,
            "nugget_text": entry,
            "weight": (weights or {}).get(entry, 1),
        }
        for entry in ids
    ]
    return TestBank.from_lines([BankLine.model_validate({"query_id": query_id, "items": items})])


def collect(*queries: QueryPassages, bank: TestBank | None = None, soft: bool = False) -> GradedFile:
    return gather(queries, GradeSelector(GradeFilter()), bank, soft=soft)


def cover(file: GradedFile, metric: Cover | SoftCover) -> dict[str, float]:
    """System to mean."""
    rows = [score for each in file.queries.values() for score in metric(each, file.first_ranks)]
    return {row.system: row.mean for row in standings(rows)}


def test_cover_is_the_share_of_entries_reached_within_the_cutoff() -> None:
    file = collect(
        query(
            "q",
            graded_passage("p1", {"a": 5, "b": 0, "c": 1, "d": 0}, {"s": [1]}),
            graded_passage("p2", {"a": 4, "b": 4, "c": 0, "d": 0}, {"s": [2], "t": [1]}),
            graded_passage("p3", {"a": 0, "b": 0, "c": 4, "d": 0}, {"s": [3]}),
        )
    )

    assert cover(file, Cover(4, cutoff=1)) == {"s": 0.25, "t": 0.5, OVERALL_SYSTEM: 0.75}
    assert cover(file, Cover(4, cutoff=2)) == {"s": 0.5, "t": 0.5, OVERALL_SYSTEM: 0.75}
    assert cover(file, Cover(4, cutoff=3, normalised=True)) == {"s": 1.0, "t": 2 / 3, OVERALL_SYSTEM: 1.0}


@pytest.mark.parametrize(
    ("queries", "entries", "metric", "scores"),
    [
        pytest.param(
            # A cutoff of 2 includes ranks 0 and 1 of "zero", and 1 and 2 of "one", in every query.
            [
                query("q1", graded_passage("p1", {"a": 5}, {"zero": [0], "one": [1]})),
                query("q2", graded_passage("p2", {"a": 5}, {"zero": [2], "one": [2]})),
            ],
            None, Cover(4, 2), {"zero": 0.5, "one": 1.0, OVERALL_SYSTEM: 1.0},
            id="a system with a rank 0 anywhere counts ranks from 0",
        ),
        pytest.param(
            [query("q", graded_passage("p", {"a": 5}, {"s": [3]}))], None, Cover(4, 2),
            {"s": 0.0, OVERALL_SYSTEM: 1.0}, id="missing ranks stay empty",
        ),
        pytest.param(
            [query("q", graded_passage("p1", {"a": 5, "b": 0}, {"s": [1, 1]}),
                   graded_passage("p2", {"a": 0, "b": 5}, {"s": [2]}))],
            None, Cover(4, 2), {"s": 1.0, OVERALL_SYSTEM: 1.0}, id="a passage listed twice counts once",
        ),
        pytest.param(
            [query("q1", graded_passage("p1", {"a": 5}, {"s": [1], "t": [1]})),
             query("q2", graded_passage("p2", {"a": 5}, {"t": [1]}))],
            None, Cover(4), {"s": 0.5, "t": 1.0, OVERALL_SYSTEM: 1.0}, id="a query without results scores 0",
        ),
        pytest.param(
            [query("q", graded_passage("p", {"a": 5, "old": 5}, {"s": [1]}))], {"a": 1, "new": 1}, Cover(4),
            {"s": 0.5, OVERALL_SYSTEM: 0.5}, id="the bank is the denominator",
        ),
        pytest.param(
            [query("q", graded_passage("p", {"a": 5, "b": 0}, {"s": [1]}))], {"a": 6, "b": 2}, Cover(4, 20),
            {"s": 0.75, OVERALL_SYSTEM: 0.75}, id="weights of the bank are used",
        ),
        pytest.param(
            [query("q", graded_passage("p", {"a": 1}, {"s": [1]}))], None, Cover(4, normalised=True),
            {"s": 0.0, OVERALL_SYSTEM: 0.0}, id="normalised cover without covered entries is 0",
        ),
    ],
)  # fmt: skip
def test_cover_of_small_files(
    queries: list[QueryPassages], entries: dict[str, float] | None, metric: Cover, scores: dict[str, float]
) -> None:
    file = collect(*queries, bank=None if entries is None else bank("q", *entries, weights=entries))
    assert cover(file, metric) == scores


def test_tied_ranks_are_ordered_by_score() -> None:
    """The order in the file does not matter, except for equal scores."""

    def at_rank_1(passage_id: str, score: float, grade: int) -> dict[str, Any]:
        ranking = {"method": "s", "paragraphId": passage_id, "queryId": "q", "rank": 1, "score": score}
        data = {"judgments": [], "rankings": [ranking]}
        return passage(passage_id, paragraph_data=data, exam_grades=[rubric({"a": grade})])

    lower_first = collect(query("q", at_rank_1("p1", 0.5, 0), at_rank_1("p2", 0.75, 5)))
    equal = collect(query("q", at_rank_1("p1", 0.5, 0), at_rank_1("p2", 0.5, 5)))

    assert cover(lower_first, Cover(4, cutoff=1))["s"] == 1.0
    assert cover(equal, Cover(4, cutoff=1))["s"] == 0.0


def test_equal_numbers_of_covered_entries_tie_exactly() -> None:
    """1/10 + 2/10 and 3/10 + 0 are not equal as sums of floats."""

    def covering(count: int, system: str) -> dict[str, Any]:
        ratings = {str(n): 5 if n < count else 0 for n in range(10)}
        return graded_passage(f"p-{system}", ratings, {system: [1]})

    first, second = (covering(1, "s"), covering(3, "t")), (covering(2, "s"), covering(0, "t"))
    values = cover(collect(query("q1", *first), query("q2", *second)), Cover(4))
    assert values["s"] == values["t"] == 0.15


def test_one_query_on_two_lines_is_one_query() -> None:
    """Grades of the same passage are merged; the later grade of an entry wins."""
    file = collect(
        query("q", graded_passage("p", {"a": 5, "b": 5}, {"s": [1]})),
        query("q", graded_passage("p", {"b": 1, "c": 4}, {})),
    )

    assert list(rubric_qrels(file.queries["q"], "count", 4)) == [Qrel("q", "p", 2)]
    assert cover(file, Cover(4))["s"] == 2 / 3


def test_the_highest_of_several_judgments_counts() -> None:
    judgments = [
        {"paragraphId": "p", "query": "q", "relevance": grade, "titleQuery": "q"} for grade in (-2, 1, 0)
    ]
    line = query("q", passage("p", paragraph_data={"judgments": judgments, "rankings": []}), passage("p2"))

    assert judgment_qrels([line]) == [Qrel("q", "p", 1)]


def test_a_later_grade_without_probabilities_replaces_those_of_an_earlier_one() -> None:
    """The later grade is 5 without probabilities: it counts as 1, not as the earlier 0.1."""
    earlier = [{"question_id": "a", "self_rating": 0, "probabilities": [0.9, 0, 0, 0, 0, 0.1]}]
    twice = graded_passage("p", {"a": 0}, {"s": [1]}, self_ratings=earlier)
    twice["exam_grades"].append(rubric({"a": 5}))

    assert cover(collect(query("q", twice), soft=True), SoftCover(5))["s"] == 1.0


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (Cover(4, 2), [0.75, 1.0]),
        (Cover(4, 2, normalised=True), [0.75, 1.0]),
        (SoftCover(4, 2), [(0.75 + 2 * 0.625) / 4, (0.75 + 2 * 0.625 + 1) / 4]),
    ],
)
def test_scores_are_the_means_of_the_weighted_entries(
    metric: Cover | SoftCover, expected: list[float]
) -> None:
    """The best passage of an entry need not be the last; the upper bound has all passages."""

    def soft(passage_id: str, rank: int, **probability: float) -> dict[str, Any]:
        ratings = [
            {"question_id": e, "self_rating": 5, "probabilities": [1 - p, 0, 0, 0, 0, p]}
            for e, p in probability.items()
        ]
        return graded_passage(passage_id, dict.fromkeys(probability, 5), {"s": [rank]}, self_ratings=ratings)

    weights = {"a": 1.0, "b": 2.0, "c": 1.0}
    file = collect(
        query("q", soft("p1", 1, a=0.75, b=0.5), soft("p2", 2, a=0.25, b=0.625), soft("p3", 3, c=1.0)),
        bank=bank("q", "a", "b", "c", weights=weights),
        soft=True,
    )
    result = file.queries["q"]
    scores = [score.value for score in metric(result, file.first_ranks)]

    assert scores == pytest.approx(expected)


@pytest.mark.parametrize("min_grade", [1, -3])
def test_soft_cover_is_never_above_one(min_grade: int) -> None:
    """Rounded to four digits, these probabilities sum to 1.0001; a threshold below the scale includes all."""
    rating = [{"question_id": "a", "self_rating": 3, "probabilities": [0, 0.3334, 0.3334, 0.3333, 0, 0]}]
    file = collect(query("q", graded_passage("p", {"a": 3}, {"s": [1]}, self_ratings=rating)), soft=True)

    assert cover(file, SoftCover(min_grade)) == {"s": 1.0, OVERALL_SYSTEM: 1.0}


ENTRIES = ["a", "b", "c"]
RATINGS = st.dictionaries(st.sampled_from(ENTRIES), st.integers(0, 5))
PASSAGES = st.lists(
    st.tuples(RATINGS, st.dictionaries(st.sampled_from(["s", "t"]), st.lists(st.integers(0, 6), max_size=2))),
    min_size=1,
    max_size=8,
)


def plain_cover(
    passages: list[tuple[dict[str, int], Ranks]], system: str, min_grade: int, cutoff: int
) -> float:
    """The definition, with sets."""
    ranks = [rank for _, ranking in passages for rank in ranking.get(system, [])]
    first = 0 if 0 in ranks else 1
    listed = sorted(
        (min(ranking[system]), number)
        for number, (_, ranking) in enumerate(passages)
        if ranking.get(system) and min(ranking[system]) < first + cutoff
    )
    covered = {
        entry
        for _, number in listed[:cutoff]
        for entry, grade in passages[number][0].items()
        if grade >= min_grade
    }
    return len(covered) / len(ENTRIES)


@given(PASSAGES, st.integers(0, 6), st.integers(1, 8))
def test_equals_the_definition_with_sets(
    passages: list[tuple[dict[str, int], Ranks]], min_grade: int, cutoff: int
) -> None:
    line = query(
        "q", *(graded_passage(f"p{n}", ratings, ranks) for n, (ratings, ranks) in enumerate(passages))
    )
    values = cover(collect(line, bank=bank("q", *ENTRIES)), Cover(min_grade, cutoff))

    for system in values.keys() - {OVERALL_SYSTEM}:
        assert values[system] == plain_cover(passages, system, min_grade, cutoff)
        assert values[system] <= values[OVERALL_SYSTEM]


SOME = st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from([0, 5]))
NAMES = st.sampled_from(["p1", "p2", "p3"])


@given(
    st.fixed_dictionaries(dict.fromkeys(("p1", "p2", "p3"), SOME)),
    st.fixed_dictionaries({system: st.sets(NAMES) for system in ("s", "t")}),
    st.booleans(),
)
def test_bounds_are_the_extremes_of_all_completions(
    grades: dict[str, dict[str, int]], ranked: dict[str, set[str]], normalised: bool
) -> None:
    """Every possible completion of the grades is tried."""
    metric, first_ranks = Cover(4, 20, normalised=normalised), {"s": 1, "t": 1}

    def completed(given: dict[str, dict[str, int]]) -> GradedQuery:
        passages = [
            graded_passage(
                name, ratings or None, {system: [1] for system, names in ranked.items() if name in names}
            )
            for name, ratings in given.items()
        ]
        return collect(query("q", *passages), bank=bank("q", "a", "b")).queries["q"]

    open_pairs = [(name, e) for name, given in grades.items() for e in ("a", "b") if e not in given]
    seen: dict[str, list[float]] = {}
    for values in product([0, 5], repeat=len(open_pairs)):
        full = {name: dict(given) for name, given in grades.items()}
        for (name, entry), value in zip(open_pairs, values, strict=True):
            full[name][entry] = value
        for score in metric(completed(full), first_ranks):
            seen.setdefault(score.system, []).append(score.value)
    bounds = list(metric.bounds(completed(grades), first_ranks))
    assert {least.system for least, _ in bounds} == seen.keys()
    for least, most in bounds:
        assert least.value == pytest.approx(min(seen[least.system]))
        assert most.value == pytest.approx(max(seen[most.system]))
