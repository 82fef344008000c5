"""The words of the verdict on a leaderboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from exam_pp.phases.evaluation.leaderboards import Statistics, leaderboard
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.evaluation.verdict import verdict
from exam_pp.provenance import Provenance
from exam_pp.results import OVERALL_SYSTEM, Score

GOOD, FAIR, BAD = [0.9, 0.8] * 10, [0.5, 0.6] * 10, [0.1, 0.2] * 10


def evaluation_of(metric: str = "Cover", /, **values: Sequence[float]) -> Evaluation:
    return Evaluation(
        [Score(s, str(n), metric, value) for s, row in values.items() for n, value in enumerate(row)]
    )


def said(evaluation: Evaluation) -> str:
    found = verdict(leaderboard(evaluation, Statistics(places=True)))
    assert found is not None
    assert found.sentence.startswith(found.headline)
    return found.sentence


NEAR = [value + 0.1 * (-1) ** (number // 2) - 0.01 for number, value in enumerate(GOOD)]
"""A little worse on average, better on half of the queries."""


@pytest.mark.parametrize(
    ("evaluation", "words"),
    [
        (evaluation_of(a=GOOD), "a scores 85 % with 20 queries; a comparison needs a second system."),
        (
            evaluation_of(a=GOOD[:2], b=BAD[:2]),
            "With 2 queries nothing can be said about which of two systems is better: a (85 %) is ahead on "
            "these alone.",
        ),
        (
            evaluation_of(a=GOOD, b=GOOD, c=GOOD),
            "All three systems have the same score, 85 % with 20 queries.",
        ),
        (
            evaluation_of(a=GOOD, b=NEAR),
            "No system is shown to be better: a (85 %) is ahead, but with 20 queries any of two could be "
            "first.",
        ),
        (evaluation_of(b=BAD, a=GOOD), "a is the best (85 %): better than the other, with 20 queries."),
        (
            evaluation_of(b=BAD, c=FAIR, a=GOOD),
            "a is the best (85 %): better than each of the other two, with 20 queries.",
        ),
        (
            evaluation_of(b=NEAR, c=BAD, a=GOOD, d=FAIR),
            "Two systems share the lead: a (85 %) and b cannot be told apart with 20 queries. a is better "
            "than each of the other two.",
        ),
        (
            evaluation_of(**dict.fromkeys("abcdefgh", GOOD), z=BAD),
            "Eight systems share the lead: a (85 %), b, c, d, e and 3 more cannot be told apart with 20 "
            "queries. a is better than z.",
        ),
        (
            evaluation_of("nDCG@10", a=GOOD),
            "a scores 0.85 with 20 queries; a comparison needs a second system.",
        ),
        (
            evaluation_of("MeanRating", a=[4.25] * 20, b=[1.5] * 20),
            "a is the best (4.25): better than the other, with 20 queries.",
        ),
        (
            Evaluation([Score("a", "1", "RR", 1.0), Score("b", "2", "RR", 0.5)]),
            "The systems cannot be compared, because they were scored on different queries.",
        ),
    ],
    ids=["one system", "two queries", "equal", "all tied", "winner of two", "winner", "overlap",
         "many leaders", "no share", "no percent", "other queries"],
)  # fmt: skip
def test_words(evaluation: Evaluation, words: str) -> None:
    assert said(evaluation) == words


def test_the_upper_bound_is_no_system() -> None:
    both = evaluation_of(a=GOOD, **{OVERALL_SYSTEM: [1.0] * 20})
    assert said(both).startswith("a scores 85 % with 20 queries")
    assert verdict(leaderboard(evaluation_of(**{OVERALL_SYSTEM: [1.0] * 20}))) is None
    assert verdict(leaderboard(Evaluation())) is None


def test_missing_grades() -> None:
    best = [Score(system, str(number), "Cover", 0.9) for system in "ab" for number in range(20)]
    open_order = replace(evaluation_of(a=GOOD, b=FAIR), best_case=best)
    assert said(open_order).endswith(" Pairs without a grade could change the order.")


def test_a_baseline_as_judge() -> None:
    judged = replace(evaluation_of(a=GOOD, b=BAD), provenance=Provenance(models=("lexical", "other")))
    assert said(judged).endswith(" The judge lexical is a baseline, which other judges must beat.")


def test_the_limits_of_a_judge_are_said_once() -> None:
    models = ("e5", "reviewed:e5", "other")
    judged = replace(evaluation_of(a=GOOD, b=BAD), provenance=Provenance(models=models))
    clause = " The judge e5 orders systems well, but is no judge of single answers."
    assert said(judged) == said(evaluation_of(a=GOOD, b=BAD)) + clause


def test_a_judge_of_the_family_of_a_system_or_of_the_writer_of_the_bank() -> None:
    scores = evaluation_of("Cover", **{"gen-gpt4": GOOD, "bm25": BAD})
    origin = Provenance(models=("gpt-4o", "human:gpt"), writers=("gpt-3.5",))
    assert said(replace(scores, provenance=origin)) == said(scores) + (
        " The judge gpt-4o is of one model family with the system gen-gpt4, the writer of the bank gpt-3.5, "
        "and may prefer its own."
    )


def test_the_verdict_agrees_with_the_places() -> None:
    """Leaders are those with a first place, whatever the means are."""
    mixed = evaluation_of(a=GOOD, b=NEAR, c=FAIR, d=BAD)
    board = leaderboard(mixed, Statistics(places=True))
    found = verdict(board)
    assert found is not None
    places = {system: board.uncertainty.systems[system, "Cover"] for system in board.systems}
    assert list(found.leaders) == [system for system in board.systems if places[system].first == 1]
