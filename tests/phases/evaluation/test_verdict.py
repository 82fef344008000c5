"""The words of the verdict on a leaderboard."""

from __future__ import annotations

import re
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
            "a (85 %) is ahead of b (15 %), but 2 queries are too few to show any difference.",
        ),
        (
            evaluation_of(b=FAIR[:1], a=GOOD[:1], c=BAD[:1]),
            "a (90 %) is ahead, but 1 query is too few to show any difference.",
        ),
        (evaluation_of(a=[0.0] * 2, b=[0.0] * 2), "Both systems score 0 % with 2 queries."),
        (evaluation_of(a=[0.0], b=[0.0], c=[0.0]), "All three systems score 0 % with 1 query."),
        (
            evaluation_of("RR", hybrid=[1.0], rerank=[1.0], bm25=[0.5]),
            "hybrid and rerank share the top score (1.00), but 1 query is too few to show any difference.",
        ),
        (evaluation_of(a=GOOD, b=GOOD, c=GOOD), "All three systems score 85 % with 20 queries."),
        (
            # Sums of the same numbers in another order.
            evaluation_of(a=[0.1, 0.2, 0.3] * 4, b=[0.3, 0.2, 0.1] * 4),
            "Both systems score 20 % with 12 queries.",
        ),
        (
            evaluation_of(a=GOOD, b=NEAR),
            "a (85 %) is ahead of b (84 %), but 20 queries are too few to tell them apart.",
        ),
        (
            evaluation_of(a=GOOD, b=[*GOOD[:-1], 0.74]),
            "a (85.0 %) is ahead of b (84.7 %), but 20 queries are too few to tell them apart.",
        ),
        (
            evaluation_of(a=GOOD, b=NEAR, c=NEAR),
            "a (85 %) is ahead, but 20 queries are too few to tell any of the three systems apart.",
        ),
        (
            evaluation_of("RR", a=GOOD, b=GOOD, c=NEAR),
            "a and b share the top score (0.850), but 20 queries are too few to tell any of the three "
            "systems apart.",
        ),
        (
            evaluation_of(b=BAD, a=GOOD),
            "a (85 %) is better than b (15 %); 20 queries are enough to show it.",
        ),
        (
            evaluation_of(b=BAD, c=FAIR, a=GOOD),
            "a (85 %) is better than each of the other two; 20 queries are enough to show it.",
        ),
        (
            evaluation_of(b=NEAR, c=BAD, a=GOOD, d=FAIR),
            "Two systems share the lead: a (85 %) and b cannot be told apart with 20 queries. a is better "
            "than each of the other two.",
        ),
        (
            evaluation_of(b=GOOD, c=BAD, a=GOOD, d=FAIR),
            "a and b share the top score (85 %). a and b are better than each of the other two.",
        ),
        (
            evaluation_of(b=GOOD, c=BAD, a=GOOD, d=NEAR),
            "a and b share the top score (85 %); d cannot be told apart from them with 20 queries. a and b "
            "are better than c.",
        ),
        (
            evaluation_of(**dict.fromkeys("abcdefg", GOOD), z=BAD),
            "a, b, c and 4 others share the top score (85 %). a, b, c and 4 others are better than z.",
        ),
        (
            evaluation_of(a=GOOD, **dict.fromkeys("bcdefgh", NEAR), z=BAD),
            "Eight systems share the lead: a (85 %), b, c and 5 others cannot be told apart with 20 queries. "
            "a is better than z.",
        ),
        (
            evaluation_of("nDCG@10", a=GOOD),
            "a scores 0.850 with 20 queries; a comparison needs a second system.",
        ),
        (
            evaluation_of("MeanRating", a=[4.25] * 20, b=[1.5] * 20),
            "a (4.25) is better than b (1.50); 20 queries are enough to show it.",
        ),
        (
            Evaluation(
                [
                    Score(system, f"q{n}", "RR", value)
                    for system, value, queries in (("a", 0.9, 9), ("b", 0.5, 9), ("c", 0.1, 8))
                    for n in range(queries)
                ]
            ),
            "a (0.900) is better than each of the other two; 8 common queries are enough to show it.",
        ),
        (
            Evaluation([Score("a", "1", "RR", 1.0), Score("b", "2", "RR", 0.5)]),
            "The systems cannot be compared, because they were scored on different queries.",
        ),
    ],
    ids=["one system", "two queries", "one query", "equal and few", "equal and one query", "few and tied",
         "equal", "equal but for rounding", "all tied", "nearly equal", "all three tied",
         "all tied, two on top", "winner of two", "winner", "overlap", "two winners", "two on top",
         "many on top", "many leaders", "no share", "no percent", "common queries",
         "other queries"],
)  # fmt: skip
def test_words(evaluation: Evaluation, words: str) -> None:
    plan = r" A true difference of [\d.]+ between two .* takes about \d+ queries to show .*\)\."
    assert re.fullmatch(re.escape(words) + f"({plan})?", said(evaluation))


@pytest.mark.parametrize(
    ("evaluation", "plan"),
    [
        (evaluation_of(a=GOOD), None),
        (evaluation_of(b=NEAR, c=BAD, a=GOOD, d=FAIR), None),
        (evaluation_of("DCG@10", a=GOOD, b=NEAR), None),
        (Evaluation([Score("a", "1", "RR", 1.0), Score("b", "2", "RR", 0.5)]), None),
        (
            evaluation_of(a=GOOD[:2], b=BAD[:2]),
            " A true difference of 0.05 between two systems takes about 128 queries to show with a "
            "probability of 80 % (if paired differences have a standard deviation of 0.2).",
        ),
        (
            evaluation_of(a=GOOD, b=NEAR, c=NEAR),
            " A true difference of 0.05 between two of 3 systems takes about 47 queries to show with a "
            "probability of 80 % (34 to 75, by how scores vary here).",
        ),
    ],
)  # fmt: skip
def test_a_verdict_without_a_better_system_says_how_many_queries_would_show_one(
    evaluation: Evaluation, plan: str | None
) -> None:
    sentence = said(evaluation)
    assert sentence.endswith(plan) if plan else "A true difference" not in sentence


def test_the_upper_bound_is_no_system() -> None:
    both = evaluation_of(a=GOOD, **{OVERALL_SYSTEM: [1.0] * 20})
    assert said(both).startswith("a scores 85 % with 20 queries")
    assert verdict(leaderboard(evaluation_of(**{OVERALL_SYSTEM: [1.0] * 20}))) is None
    assert verdict(leaderboard(Evaluation())) is None


def test_missing_grades() -> None:
    best = [Score(system, str(number), "Cover", 0.9) for system in "ab" for number in range(20)]
    open_order = replace(evaluation_of(a=GOOD, b=FAIR), best_case=best)
    assert said(open_order).endswith(" Pairs without a grade could change the order.")


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (
            ("lexical", "other"),
            "lexical only compares words: do not decide by it. Name a model, or correct its grades.",
        ),
        (
            ("e5", "reviewed:e5", "other"),
            "e5 orders retrieval systems well; do not trust its single grades, nor short answers.",
        ),
        (("random",), "random only throws dice: do not decide by it."),
    ],
)
def test_the_limits_of_a_judge_are_said_once(models: tuple[str, ...], words: str) -> None:
    judged = replace(evaluation_of(a=GOOD, b=BAD), provenance=Provenance(models=models))
    assert said(judged).startswith(f"{said(evaluation_of(a=GOOD, b=BAD))} {words}")
    assert said(judged).count(words) == 1


def test_a_judge_of_the_family_of_a_system_or_of_the_writer_of_the_bank() -> None:
    scores = evaluation_of("Cover", **{"gen-gpt4": GOOD, "bm25": BAD})
    origin = Provenance(models=("gpt-4o", "human:gpt"), writers=("gpt-3.5",))
    assert said(replace(scores, provenance=origin)) == said(scores) + (
        " gpt-4o is of one model family with the system gen-gpt4, the writer of the test bank gpt-3.5; it "
        "may favour them."
    )


def test_the_verdict_agrees_with_the_places() -> None:
    """Leaders are those with a first place, whatever the means are."""
    mixed = evaluation_of(a=GOOD, b=NEAR, c=FAIR, d=BAD)
    board = leaderboard(mixed, Statistics(places=True))
    found = verdict(board)
    assert found is not None
    places = {system: board.uncertainty.systems[system, "Cover"] for system in board.systems}
    assert list(found.leaders) == [system for system in board.systems if places[system].first == 1]
