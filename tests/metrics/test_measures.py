"""Measures: the example of the nugget paper, edge cases, exact ratios, other credits and weights."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.banks import LABEL_RATINGS
from exam_pp.banks import Nugget as BankNugget
from exam_pp.errors import SelectionError
from exam_pp.metrics.measures import (
    CONTRADICTS,
    MEASURES,
    NUGGET_MEASURES,
    NUGGET_METRICS,
    Measure,
    answer_length,
)

Nugget = tuple[str | None, str | None]
"""Importance and label; None is ungraded."""
_RATINGS = {"support": 2, "partial_support": 1, "not_support": 0}

# Pradeep et al. (2024), Table 5: v(ital) or o(kay), then S(upport), P(artial) or N(ot).
AUTOMATIC = "vS vN vP vS vP vP vS vS vN oS oS oP oP oP oP"
MANUAL = "vS oN oN oN vN oN oN vN vN vN vN oS oS oS oN oN oS oN"

# What nuggetizer calls the metrics in its files.
NAMES = {
    "V_strict": "strict_vital_score",
    "V": "vital_score",
    "W_strict": "strict_weighted_score",
    "W": "weighted_score",
    "A_strict": "strict_all_score",
    "A": "all_score",
}


def nuggets(short: str) -> list[Nugget]:
    importance = {"v": "vital", "o": "okay", "?": "failed"}
    labels = {"S": "support", "P": "partial_support", "N": "not_support", "-": None}
    return [(importance[pair[0]], labels[pair[1]]) for pair in short.split()]


def shares(pairs: Sequence[Nugget]) -> dict[str, float]:
    """The defined scores of an answer."""
    entries = [BankNugget(query_id="q", nugget_id="n", nugget_text="n", importance=word) for word, _ in pairs]
    ratings = [_RATINGS.get(str(label), 0) for _, label in pairs]
    reached = {
        grade: sum(1 << place for place, rating in enumerate(ratings) if rating >= grade) for grade in (1, 2)
    }
    every = (1 << len(pairs)) - 1
    scores = {}
    for measure in NUGGET_MEASURES:
        weights = measure.weights(entries)
        scores[measure.name] = measure.share(reached, weights, weights.whole(every))
    return {name: score for name, score in scores.items() if score is not None}


@pytest.mark.parametrize(
    ("short", "scores"),
    [
        (AUTOMATIC, {"V_strict": 0.4444, "V": 0.6111, "W_strict": 0.4167, "W": 0.6250, "A_strict": 0.4000,
                     "A": 0.6333}),
        (MANUAL, {"V_strict": 0.1667, "V": 0.1667, "W_strict": 0.2500, "W": 0.2500, "A_strict": 0.2778,
                  "A": 0.2778}),
    ],
    ids=["automatic", "manual"],
)  # fmt: skip
def test_table_5_to_four_decimals(short: str, scores: dict[str, float]) -> None:
    """The answer of the paper's Table 1, by both blocks of its Table 5."""
    assert {metric: round(value, 4) for metric, value in shares(nuggets(short)).items()} == scores


@pytest.mark.parametrize(
    ("short", "metrics"),
    [
        ("oS oN", ["W_strict", "W", "A_strict", "A"]),
        ("?S", ["A_strict", "A"]),
        ("vN ?S", list(NUGGET_METRICS)),
        ("", []),
    ],
)
def test_scores_without_a_denominator_are_undefined(short: str, metrics: list[str]) -> None:
    assert list(shares(nuggets(short))) == metrics


@pytest.mark.parametrize(
    ("short", "scores"),
    [
        # No okay nuggets: W is V.
        ("vS vP vN", {"V_strict": 1 / 3, "V": 0.5, "W_strict": 1 / 3, "W": 0.5,
                              "A_strict": 1 / 3, "A": 0.5}),
        # Unknown importance counts only in the denominator of A.
        ("vS ?N", {"V_strict": 1, "V": 1, "W_strict": 1, "W": 1, "A_strict": 0.5, "A": 0.5}),
        # Ungraded: in the denominator, counts 0.
        ("vS v- o-", {"V_strict": 0.5, "V": 0.5, "W_strict": 0.4, "W": 0.4,
                              "A_strict": 1 / 3, "A": 1 / 3}),
        # Its metrics document, "Scoring Formulas"; the code of Open RAG Eval divides by at least one okay
        # nugget (3 / 3.5 = .857) and by at least one vital nugget (1.5 / 2.5 = .6).
        ("vS vS vS", {"A": 1, "V": 1, "W": 1, "A_strict": 1, "V_strict": 1, "W_strict": 1}),
        ("oS oS oS", {"A": 1, "W": 1, "A_strict": 1, "W_strict": 1}),
        # (1 + .5 + .5 × .5) / (2 + .5 × 2), and only full support is 1 in strict scores.
        ("vS vP oP oN", {"A": 0.5, "V": 0.75, "W": 1.75 / 3, "A_strict": 0.25, "V_strict": 0.5,
                                 "W_strict": 1 / 3}),
    ],
)  # fmt: skip
def test_scores_by_hand(short: str, scores: dict[str, float]) -> None:
    assert shares(nuggets(short)) == pytest.approx(scores)


ANY_NUGGETS = st.lists(
    st.tuples(
        st.sampled_from(["vital", "okay", "failed", None]),
        st.sampled_from(["support", "partial_support", "not_support", "historical", None]),
    ),
    max_size=40,
)


@given(ANY_NUGGETS)
def test_scores_are_the_exact_ratios_of_the_definitions(result: list[Nugget]) -> None:
    """Section 3.5, in fractions."""
    value = {"support": Fraction(1), "partial_support": Fraction(1, 2)}
    weight = {"vital": Fraction(1), "okay": Fraction(1, 2)}

    def mean(weights: list[Fraction], *, strict: bool) -> float | None:
        gains = [value.get(str(n[1]), Fraction(0)) for n in result]
        gains = [Fraction(int(gain)) if strict else gain for gain in gains]
        whole = sum(weights)
        return float(sum(w * c for w, c in zip(weights, gains, strict=True)) / whole) if whole else None

    expected: dict[str, float | None] = {}
    for name, weights in {
        "V": [Fraction(n[0] == "vital") for n in result],
        "W": [weight.get(str(n[0]), Fraction(0)) for n in result],
        "A": [Fraction(1) for _ in result],
    }.items():
        expected |= {f"{name}_strict": mean(weights, strict=True), name: mean(weights, strict=False)}
    defined = {metric: v for metric, v in expected.items() if v is not None}
    assert shares(result) == defined


@pytest.mark.parametrize(("answer", "words"), [(" A  state-of-the-art\tanswer,\nin words. ", 5), ("", 0)])
def test_length_counts_words_between_white_space(answer: str, words: int) -> None:
    assert answer_length(answer) == words


MET = {"met": 2, "partly": 1, "not": 0}


def rubric_score(name: str, criteria: Sequence[tuple[float, str]]) -> float | None:
    """A score of criteria, given as weight and verdict."""
    entries = [BankNugget(query_id="q", nugget_id="n", nugget_text="n", weight=w) for w, _ in criteria]
    reached = {
        grade: sum(1 << place for place, (_, verdict) in enumerate(criteria) if MET[verdict] >= grade)
        for grade in (1, 2)
    }
    measure = MEASURES[name]
    weights = measure.weights(entries)
    share = measure.share(reached, weights, weights.whole((1 << len(criteria)) - 1))
    return measure.empty if share is None else share


@pytest.mark.parametrize(
    ("criteria", "expected"),
    [
        # HealthBench's own test (openai/simple-evals ee3b0318).
        ([(7, "met"), (5, "not"), (10, "met"), (-6, "met")], (0.5, 0.5, 0.5, 0.5)),
        # calculate_weighted_score of ResearchRubrics (5403ff32), calculate_score of HealthBench, and
        # PerCriterionGrader of the package rubric (2.2.0) on the same verdicts.
        ([(1, "not"), (-3, "met")], (-3.0, -3.0, 0.0, -3.0)),
        ([(-2, "met"), (-1, "not")], (0.0, 0.0, 1 / 3, None)),
        ([(-2, "not"), (-1, "not")], (0.0, 0.0, 1.0, None)),
        ([(0, "met"), (4, "met"), (-1, "met")], (0.75, 0.75, 0.75, 0.75)),
        ([(4, "met"), (-2, "partly")], (0.75, 1.0, 1.0, 1.0)),
        # README of rubric.
        ([(10, "met"), (8, "met"), (-15, "met")], (1 / 6, 1 / 6, 1 / 6, 1 / 6)),
    ],
)
def test_criteria_with_weights_of_any_sign(
    criteria: list[tuple[float, str]], expected: tuple[float | None, ...]
) -> None:
    names = ("Rubric", "Rubric_strict", "Rubric_clipped", "HealthBench")
    scores = tuple(rubric_score(name, criteria) for name in names)
    assert scores == pytest.approx(expected, abs=1e-15)


def in_groups(combine: str) -> list[BankNugget]:
    """Two answers to a question with weight 4, and one answer to another with weight 1."""
    return [
        BankNugget(
            query_id="q", nugget_id=f"n{n}", nugget_text="n", weight=weight, group=group, combine=combine
        )
        for n, (group, weight) in enumerate([("a", 4), ("a", 4), ("b", 1)])
    ]


@pytest.mark.parametrize(
    ("combine", "one_of_two", "both_and_the_other"),
    [("any", 0.8, 1.0), ("all", 0.0, 1.0), ("mean", 0.4, 1.0)],
)
def test_entries_of_a_group_count_together(
    combine: str, one_of_two: float, both_and_the_other: float
) -> None:
    weights = MEASURES["Rubric_strict"].weights(in_groups(combine))
    assert weights.whole(0b111) == 5
    scores = [
        MEASURES["Rubric_strict"].share({2: mask}, weights, weights.whole(0b111)) for mask in (0b001, 0b111)
    ]
    assert scores == [one_of_two, both_and_the_other]


def test_what_is_contradicted_has_a_score_of_its_own() -> None:
    weights = MEASURES["Contradicted"].weights(in_groups("mean"))
    assert MEASURES["Contradicted"].share({CONTRADICTS: 0b010}, weights, weights.whole(0b111)) == 0.4


CRITERIA = st.lists(
    st.tuples(st.integers(-5, 5).map(float), st.sampled_from([*MET, "open"])), min_size=1, max_size=6
)


@given(CRITERIA, st.sampled_from(["Rubric", "Rubric_strict", "Rubric_clipped"]))
def test_bounds_are_the_extremes_over_all_verdicts_of_open_criteria(
    criteria: list[tuple[float, str]], name: str
) -> None:
    weights = MEASURES[name].weights(
        BankNugget(query_id="q", nugget_id="n", nugget_text="n", weight=w) for w, _ in criteria
    )
    open_ = sum(1 << place for place, (_, verdict) in enumerate(criteria) if verdict == "open")
    reached = {
        grade: sum(1 << place for place, (_, verdict) in enumerate(criteria) if MET.get(verdict, 0) >= grade)
        for grade in (1, 2)
    }
    ends = [
        MEASURES[name].share(
            {g: weights.extremes(mask, open_)[end] for g, mask in reached.items()},
            weights,
            weights.whole((1 << len(criteria)) - 1),
        )
        or 0.0
        for end in (0, 1)
    ]
    possible = [
        rubric_score(name, list(zip([w for w, _ in criteria], verdicts, strict=True))) or 0.0
        for verdicts in product(*([*MET] if verdict == "open" else [verdict] for _, verdict in criteria))
    ]
    assert ends == [min(possible), max(possible)]
    assert name == "Rubric_clipped" or not possible or weights.lowest <= ends[0] <= ends[1] <= 1


def test_credits_by_label_become_steps() -> None:
    of_labels = {"met": 1.0, "partly_met": 0.25, "not_met": 0.0, "contradict": -0.5}
    mine = Measure("Mine", of_labels)
    assert [mine.earned(LABEL_RATINGS[label]) for label in of_labels] == list(of_labels.values())
    with pytest.raises(SelectionError, match="such as not_met, has a credit"):
        Measure("Mine", {"met": 1.0, "not_met": 0.1})
