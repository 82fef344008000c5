"""Nugget scores: the example of the paper, published scores of a real run, edge cases."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.metrics.nuggets import NUGGET_METRICS, LabelledNugget, MissingVital, answer_length, nugget_scores

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


def nuggets(short: str) -> list[LabelledNugget]:
    importance = {"v": "vital", "o": "okay", "?": "failed"}
    labels = {"S": "support", "P": "partial_support", "N": "not_support", "-": None}
    return [LabelledNugget(importance[pair[0]], labels[pair[1]]) for pair in short.split()]


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
    assert {metric: round(value, 4) for metric, value in nugget_scores(nuggets(short)).items()} == scores


@pytest.mark.parametrize(
    ("short", "metrics"),
    [
        ("oS oN", ["W_strict", "W", "A_strict", "A"]),
        ("?S", ["A_strict", "A"]),
        ("vN ?S", list(NUGGET_METRICS)),
        ("", []),
    ],
)
def test_undefined_scores_can_be_skipped(short: str, metrics: list[str]) -> None:
    skipped = nugget_scores(nuggets(short), missing_vital="skip")
    assert list(skipped) == metrics
    assert {m: v for m, v in nugget_scores(nuggets(short)).items() if m in metrics} == skipped


@pytest.mark.parametrize(
    ("short", "missing_vital", "scores"),
    [
        # No okay nuggets: W is V.
        ("vS vP vN", "zero", {"V_strict": 1 / 3, "V": 0.5, "W_strict": 1 / 3, "W": 0.5,
                              "A_strict": 1 / 3, "A": 0.5}),
        # No vital nuggets: V is 0 (calculate_nugget_scores in metrics.py of castorini/nuggetizer).
        ("oS oN", "zero", {"V_strict": 0, "V": 0, "W_strict": 0.5, "W": 0.5, "A_strict": 0.5, "A": 0.5}),
        # Unknown importance counts only in the denominator of A.
        ("vS ?N", "zero", {"V_strict": 1, "V": 1, "W_strict": 1, "W": 1, "A_strict": 0.5, "A": 0.5}),
        ("?S", "zero", {"V_strict": 0, "V": 0, "W_strict": 0, "W": 0, "A_strict": 1, "A": 1}),
        # Ungraded: in the denominator, counts 0.
        ("vS v- o-", "zero", {"V_strict": 0.5, "V": 0.5, "W_strict": 0.4, "W": 0.4,
                              "A_strict": 1 / 3, "A": 1 / 3}),
        ("", "zero", dict.fromkeys(NUGGET_METRICS, 0)),
        # Its metrics document, "Scoring Formulas"; the code of Open RAG Eval divides by at least one okay
        # nugget (3 / 3.5 = .857) and by at least one vital nugget (1.5 / 2.5 = .6).
        ("vS vS vS", "skip", {"A": 1, "V": 1, "W": 1, "A_strict": 1, "V_strict": 1, "W_strict": 1}),
        ("oS oS oS", "skip", {"A": 1, "W": 1, "A_strict": 1, "W_strict": 1}),
        # (1 + .5 + .5 × .5) / (2 + .5 × 2), and only full support is 1 in strict scores.
        ("vS vP oP oN", "skip", {"A": 0.5, "V": 0.75, "W": 1.75 / 3, "A_strict": 0.25, "V_strict": 0.5,
                                 "W_strict": 1 / 3}),
    ],
)  # fmt: skip
def test_scores_by_hand(short: str, missing_vital: MissingVital, scores: dict[str, float]) -> None:
    assert nugget_scores(nuggets(short), missing_vital=missing_vital) == pytest.approx(scores)


def test_ungraded_nuggets_count_as_supported_in_the_bound() -> None:
    assert nugget_scores(nuggets("vS v- oN o-"), ungraded="support") == nugget_scores(nuggets("vS vS oN oS"))


ANY_NUGGETS = st.lists(
    st.builds(
        LabelledNugget,
        st.sampled_from(["vital", "okay", "failed", None]),
        st.sampled_from(["support", "partial_support", "not_support", "historical", None]),
    ),
    max_size=40,
)


@given(ANY_NUGGETS)
def test_scores_are_the_exact_ratios_of_the_definitions(result: list[LabelledNugget]) -> None:
    """Section 3.5, in fractions."""
    value = {"support": Fraction(1), "partial_support": Fraction(1, 2)}
    weight = {"vital": Fraction(1), "okay": Fraction(1, 2)}

    def mean(weights: list[Fraction], *, strict: bool) -> float | None:
        gains = [value.get(str(n.assignment), Fraction(0)) for n in result]
        gains = [Fraction(int(gain)) if strict else gain for gain in gains]
        whole = sum(weights)
        return float(sum(w * c for w, c in zip(weights, gains, strict=True)) / whole) if whole else None

    expected: dict[str, float | None] = {}
    for name, weights in {
        "V": [Fraction(n.importance == "vital") for n in result],
        "W": [weight.get(str(n.importance), Fraction(0)) for n in result],
        "A": [Fraction(1) for _ in result],
    }.items():
        expected |= {f"{name}_strict": mean(weights, strict=True), name: mean(weights, strict=False)}
    defined = {metric: v for metric, v in expected.items() if v is not None}
    assert nugget_scores(result, missing_vital="skip") == defined
    assert nugget_scores(result) == {metric: v or 0 for metric, v in expected.items()}


@given(ANY_NUGGETS)
def test_strict_is_below_lenient_is_below_the_bound(result: list[LabelledNugget]) -> None:
    scores, best = nugget_scores(result), nugget_scores(result, ungraded="support")
    assert scores.keys() == best.keys()
    for metric in ("V", "W", "A"):
        if metric in scores:
            assert 0 <= scores[f"{metric}_strict"] <= scores[metric] <= best[metric] <= 1


@pytest.mark.parametrize(("answer", "words"), [(" A  state-of-the-art\tanswer,\nin words. ", 5), ("", 0)])
def test_length_counts_words_between_white_space(answer: str, words: int) -> None:
    assert answer_length(answer) == words
