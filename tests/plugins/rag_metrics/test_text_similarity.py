"""ROUGE and BERTScore as by rouge-score 0.1.2 and bert-score 0.3.13, and the spread over repeats."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import variation

from exam_pp.plugins.rag_metrics.consistency import (
    BASELINES,
    baseline_of,
    bert_score,
    default_layer,
    rouge,
    spread,
)

A, B = "Tides rise twice a day because of the Moon.", "The Moon causes two tides a day."
POLICE = "police killed the gunman"


@pytest.mark.parametrize(
    ("candidate", "reference", "stem", "expected"),
    [  # ROUGE-1, -2 and -L by rouge-score 0.1.2; the last texts are those of Lin (2004), section 3.1
        (B, A, False, [(5 / 7, 5 / 9, 0.625), (1 / 3, 0.25, 2 / 7), (3 / 7, 1 / 3, 0.375)]),
        ("one three two four", "one two three four", False, [(1,) * 3, (0,) * 3, (0.75,) * 3]),
        ("police kill the gunman", POLICE, False, [(0.75,) * 3, (1 / 3,) * 3, (0.75,) * 3]),
        ("the gunman kill police", POLICE, False, [(0.75,) * 3, (1 / 3,) * 3, (0.5,) * 3]),
        ("police kill the gunman", POLICE, True, [(1,) * 3] * 3),
    ],
)
def test_rouge(
    candidate: str, reference: str, stem: bool, expected: list[tuple[float, float, float]]
) -> None:
    pytest.importorskip("rouge_score")
    scores = rouge(candidate, reference, stem=stem)
    assert scores is not None
    assert list(scores) == ["ROUGE-1", "ROUGE-2", "ROUGE-L"]
    for overlap, numbers in zip(scores.values(), expected, strict=True):
        assert overlap == pytest.approx(numbers)


@pytest.mark.parametrize(("text", "exists"), [("誰も知らない", False), ("...", False), ("2", True)])
def test_texts_without_tokens_have_no_rouge(text: str, exists: bool) -> None:
    pytest.importorskip("rouge_score")
    assert (rouge("2", text) is not None) == exists


FIRST = np.array([[1.0, 0.0, 0.5], [0.2, 1.0, -0.3], [0.1, 0.4, 2.0], [-1.0, 0.5, 0.0]])
SECOND = np.array([[0.9, 0.1, 0.2], [0.0, -1.0, 1.0], [1.5, 0.5, 0.5]])
INNER, LAST = np.array([0.0, 1, 1, 0]), np.array([0.0, 1, 1])


def test_bert_score() -> None:
    # bert-score 0.3.13, greedy_cos_idf of these arrays, SECOND as the candidate.
    expected = (0.7489571571, 0.4613820314, 0.5710058212)
    assert bert_score(SECOND, LAST, FIRST, INNER) == pytest.approx(expected, abs=1e-6)
    precision, recall, f1 = expected
    assert bert_score(FIRST, INNER, SECOND, LAST) == pytest.approx((recall, precision, f1), abs=1e-6)
    assert bert_score(FIRST, INNER, FIRST, INNER) == pytest.approx((1, 1, 1))
    assert bert_score(FIRST, INNER * 0, SECOND, LAST) is None


def test_a_baseline_rescales_each_number() -> None:
    baseline = BASELINES["xlm-roberta-large", 17]
    raw, scaled = bert_score(SECOND, LAST, FIRST, INNER), bert_score(SECOND, LAST, FIRST, INNER, baseline)
    assert raw is not None
    assert scaled == pytest.approx([(x - b) / (1 - b) for x, b in zip(raw, baseline, strict=True)])
    assert bert_score(FIRST, INNER, FIRST, INNER, baseline) == pytest.approx((1, 1, 1))


def test_layers_and_baselines_belong_to_models() -> None:
    assert default_layer("xlm-roberta-large") == default_layer("FacebookAI/xlm-roberta-large") == 17
    assert default_layer("some/encoder") is None
    assert baseline_of("xlm-roberta-large", 17) == BASELINES["xlm-roberta-large", 17]
    assert baseline_of("xlm-roberta-large", 24) is None


VALUES = st.lists(st.floats(0, 1), min_size=2, max_size=8)


@given(VALUES, st.booleans())
def test_the_spread_is_that_of_numpy(values: list[float], sample: bool) -> None:
    result, ddof = spread(values, sample=sample), int(sample)
    assert result.mean == pytest.approx(np.mean(values))
    assert result.variance == pytest.approx(np.var(values, ddof=ddof))
    assert result.adjusted == pytest.approx(result.mean / (1 + np.std(values, ddof=ddof)))
    if np.mean(values) > 1e-6:
        assert result.variation == pytest.approx(variation(values, ddof=ddof), abs=1e-9)


@pytest.mark.parametrize(
    ("values", "figures"),
    [([0.1] * 7, (0.0, 0.0, 0.1)), ([0, 0, 0], (0.0, None, 0.0)), ([-1, 1], (1.0, None, 0.0))],
    ids=["equal", "zeros", "mean 0"],
)
def test_spreads_by_hand(values: list[float], figures: tuple[float | None, ...]) -> None:
    result = spread(values)
    assert (result.variance, result.variation, result.adjusted) == figures


@pytest.mark.parametrize("values", [[], [0.5], [0.5, math.nan], [math.inf, 0]])
def test_values_without_a_spread(values: list[float]) -> None:
    with pytest.raises(ValueError, match="two finite values"):
        spread(values)
