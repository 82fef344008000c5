"""Leaderboards with intervals, letters and bounds: columns and notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import DataError
from exam_pp.metrics.leaderboard import standings
from exam_pp.metrics.uncertainty import mean_interval
from exam_pp.phases.evaluation.cover import cover
from exam_pp.phases.evaluation.leaderboards import Statistics, SystemUncertainty, leaderboard, uncertainty
from exam_pp.phases.evaluation.result import Evaluation, grader_columns
from exam_pp.rendering.document import Paragraph, Table
from exam_pp.reports.evaluation.leaderboards import leaderboard_report
from exam_pp.results import OVERALL_SYSTEM, Score
from tests.conftest import passage, rubric

COVER = "Cover(min_grade=4)@1"
ALL = Statistics("queries", significance=True, samples=200)


def evaluation_of(metric: str = "m", /, **values: Sequence[float]) -> Evaluation:
    return Evaluation(
        [Score(s, str(n), metric, value) for s, row in values.items() for n, value in enumerate(row)]
    )


def ranked(passage_id: str, ratings: dict[str, int] | None, *systems: str) -> dict[str, Any]:
    rankings = [
        {"method": system, "paragraphId": passage_id, "queryId": "q", "rank": 1, "score": 1.0}
        for system in systems
    ]
    data = {"judgments": [], "rankings": rankings}
    return passage(
        passage_id, paragraph_data=data, exam_grades=None if ratings is None else [rubric(ratings)]
    )


def test_letters_of_a_clear_difference_and_of_a_tie() -> None:
    good, bad = [0.8, 0.9, 0.7, 0.8] * 5, [0.1, 0.2, 0.1, 0.3] * 5
    actual = uncertainty(evaluation_of(good=good, also=good, bad=bad), ALL).systems

    assert (actual["good", "m"].letters, actual["also", "m"].letters, actual["bad", "m"].letters) == (
        "a",
        "a",
        "b",
    )
    assert actual["good", "m"][2:4] == (1, 2)
    shown = leaderboard_report(leaderboard(evaluation_of(good=good, bad=bad), ALL), "").blocks[0]
    assert isinstance(shown, Table)
    assert [row[3] for row in shown.rows] == ["1", "2"]
    assert actual["bad", "m"][2:4] == (3, 3)
    low, high = actual["good", "m"][:2]
    assert low is not None
    assert high is not None
    assert low <= 0.8 <= high


def test_too_few_queries_for_significance_are_noted() -> None:
    """Five queries: no p below 2/32, so nothing is significant at .05; six systems need 10 queries."""
    notes = uncertainty(evaluation_of(a=[1.0] * 5, b=[0.0] * 5), ALL).notes
    assert any("5 queries are too few for any difference of 2 systems" in n for n in notes)

    notes = uncertainty(evaluation_of(**{name: [0.1, 0.5] * 5 for name in "abcdef"}), ALL).notes
    assert not any("too few" in note or "true difference" in note for note in notes)

    # One pair of six queries could be significant (p = 2/64), the best of fifteen pairs could not.
    notes = uncertainty(evaluation_of(**{name: [0.1, 0.5, 0.3] * 2 for name in "abcdef"}), ALL).notes
    assert any("6 queries are too few for any difference of 6 systems" in note for note in notes)


def test_the_overall_system_has_an_interval_but_no_rank() -> None:
    values = {"a": [0.1, 0.2], "b": [0.2, 0.2], OVERALL_SYSTEM: [1.0, 1.0]}
    row = uncertainty(evaluation_of("RR", **values), ALL).systems

    overall = row[OVERALL_SYSTEM, "RR"]
    assert overall == SystemUncertainty(low=overall.low, high=1.0)
    assert overall.low == pytest.approx((0.05 / 2) ** (1 / 2))
    assert (row["b", "RR"].first, row["b", "RR"].last) == (1, 2)


@pytest.mark.parametrize("name", ["a", OVERALL_SYSTEM])
def test_one_system_has_no_letters(name: str) -> None:
    row = uncertainty(evaluation_of("RR", **{name: [0.5] * 8}), ALL).systems[name, "RR"]
    assert (row.first, row.letters) == (1 if name == "a" else None, None)


@pytest.mark.parametrize("queries", [1, 2, 5, 6])
def test_few_queries(queries: int) -> None:
    """Intervals by the range hold for any number of queries; two systems need six for a difference."""
    evaluation = evaluation_of("RR", a=[1.0] * queries, b=[0.0] * queries)
    actual = uncertainty(evaluation, ALL)
    table = leaderboard_report(leaderboard(evaluation, ALL), "").blocks[0]
    row, notes = actual.systems["a", "RR"], " ".join(actual.notes)

    assert row.low == pytest.approx(0.025 ** (1 / queries))
    assert row.high == 1.0
    assert (row.first, row.last, row.letters) == ((1, 1, "a") if queries == 6 else (1, 2, None))
    assert isinstance(table, Table)
    assert "letters" in table.columns
    assert ("too few for any difference of 2 systems" in notes) == (queries < 6)


@pytest.mark.parametrize("queries", [1, 5, 6])
def test_measures_without_a_range_assume_normal_scores(queries: int) -> None:
    values = [0.5, 0.7, 0.4, 0.9, 0.2, 0.3][:queries]
    actual = uncertainty(evaluation_of(a=values, b=[3.0] * queries), ALL)

    assert actual.systems["b", "m"].low is None  # equal scores say nothing about the spread
    assert (actual.systems["a", "m"].low is None) == (queries < 6)
    if queries == 6:  # R: t.test(c(.5, .7, .4, .9, .2, .3))
        assert actual.systems["a", "m"][:2] == pytest.approx((0.226341, 0.773659), abs=1e-6)
    assert "assumes normal scores" in actual.notes[0]


def test_a_score_outside_of_the_range_is_an_error() -> None:
    with pytest.raises(DataError, match=r"RR is from 0 to 1, but the score of a for the query '1' is 50;"):
        uncertainty(evaluation_of("RR", a=[0.5, 50.0]), ALL)
    rounded = uncertainty(evaluation_of("RR", a=[-1e-10, 1 + 1e-10]), ALL).systems["a", "RR"]
    exact = uncertainty(evaluation_of("RR", a=[0.0, 1.0]), ALL).systems["a", "RR"]
    assert rounded[:2] == pytest.approx(exact[:2])


def test_the_range_can_come_with_the_scores() -> None:
    evaluation = evaluation_of("MeanLabel@3", a=[0.0] * 4)
    evaluation.ranges["MeanLabel@3"] = (0.0, 3.0)
    both = grader_columns({"x": evaluation, "y": evaluation})

    assert uncertainty(evaluation, ALL).systems["a", "MeanLabel@3"].high == pytest.approx(
        3 * (1 - 0.025**0.25)
    )
    assert both.range_of("MeanLabel@3[y]") == (0.0, 3.0)


def test_totals_have_no_interval() -> None:
    evaluation = evaluation_of("NumRet", a=[2.0, 3.0], b=[1.0, 5.0])
    evaluation.scores = [
        *evaluation.scores,
        Score("a", "all", "NumRet", 5.0),
        Score("b", "all", "NumRet", 6.0),
    ]
    assert not uncertainty(evaluation, Statistics("queries")).has("low", "NumRet")


def test_the_tests_use_the_confidence() -> None:
    """Six queries, all in one direction: p is 2/64, significant at .05 and not at .01."""
    six = evaluation_of(a=[1.0] * 6, b=[0.0] * 6)
    shown = [
        {
            row.letters
            for row in uncertainty(six, Statistics(significance=True, confidence=c)).systems.values()
        }
        for c in (0.95, 1 - 2 / 64, 0.99)
    ]

    assert shown == [{"a", "b"}, {"a", "b"}, set()]


def test_systems_without_a_common_query_are_not_tested() -> None:
    scores = [Score("a", f"q{n}", "RR", 0.5) for n in range(6)] + [Score("b", "z", "RR", 0.1)]
    actual = uncertainty(Evaluation(scores), ALL)
    assert any("different queries" in note for note in actual.notes)
    row = actual.systems["b", "RR"]
    assert (row.first, row.last, row.letters) == (1, 2, None)
    assert row[:2] == mean_interval([0.1], (0, 1))


def test_a_missing_query_does_not_silence_the_others() -> None:
    """Systems are compared on their common queries, in the order of their own means."""
    evaluation = evaluation_of("RR", a=[0.9] * 9, b=[0.5] * 9, c=[0.1] * 8)
    actual = uncertainty(evaluation, ALL)
    assert [actual.systems[system, "RR"].letters for system in "abc"] == ["a", "b", "c"]
    assert actual.common == {"RR": 8}
    assert "compared on 8 queries of all systems, without 8." in actual.notes[-1]
    # c is better on the common query, and worse by its own mean, so nothing is claimed.
    other = [Score("a", f"q{n}", "RR", 0.4) for n in range(8)] + [
        Score("a", f"z{n}", "RR", 1) for n in range(8)
    ]
    other += [Score("c", f"q{n}", "RR", 0.5) for n in range(8)]
    found = uncertainty(Evaluation(other), ALL).systems
    assert found["a", "RR"].letters == found["c", "RR"].letters


@pytest.fixture
def incomplete(write_jsonl: Callable[[str, list[Any]], Path]) -> Path:
    """System one has an ungraded passage, system two a passage without a grade for one entry."""
    return write_jsonl(
        "incomplete.jsonl",
        [
            [
                "q1",
                [
                    ranked("p1", {"q1/a": 5, "q1/b": 0}, "two"),
                    ranked("p2", None, "one"),
                    ranked("p3", {"q1/a": 0}, "three"),
                ],
            ],
            ["q2", [ranked("p4", {"q2/a": 5, "q2/b": 5}, "one", "two", "three")]],
        ],
    )


def test_bounds_of_ungraded_pairs(incomplete: Path) -> None:
    evaluation = cover(incomplete)
    actual = uncertainty(evaluation, Statistics())
    means = {row.system: row.mean for row in standings(evaluation.scores) if row.metric == COVER}

    assert means == {"one": 0.5, "two": 0.75, "three": 0.5, OVERALL_SYSTEM: 0.75}
    # One: both entries of q1 could be covered; two: all its pairs are graded; three: q1/b only.
    assert {s: actual.systems[s, COVER].best for s in means} == {
        "one": 1.0, "two": 0.75, "three": 0.75, OVERALL_SYSTEM: 1.0
    }  # fmt: skip
    assert actual.systems["two", COVER].order_open
    assert actual.remarks == [
        "Bounds: lowest and highest score over all grades that ungraded pairs could have.",
        "The order of the systems marked with ? could change (two, one, three).",
    ]


def test_bounds_are_always_shown(incomplete: Path) -> None:
    report = leaderboard_report(leaderboard(cover(incomplete)), "t")
    table = report.blocks[0]
    assert isinstance(table, Table)

    assert table.columns[:3] == ["system", f"{COVER} %", "bounds"]
    assert table.rows[0][2] == "[75.0, 75.0] ?"
    assert "?" in " ".join(block.text for block in report.blocks if isinstance(block, Paragraph))
