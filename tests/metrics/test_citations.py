"""Citation precision and recall: the example of Open RAG Eval, TREC's rule, and properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.metrics.citation_scores import SUPPORT_VALUES, CitationRule, citation_scores

VALUES = st.sampled_from([0.0, 0.5, 1.0])
PARTS = st.lists(st.dictionaries(st.sampled_from("ABCDE"), VALUES, max_size=4), max_size=6)
RULES = st.sampled_from(["all", "first"])


def test_the_values_of_the_labels() -> None:
    assert SUPPORT_VALUES == {"no_support": 0.0, "partial_support": 0.5, "full_support": 1.0}


def test_the_example_of_open_rag_eval() -> None:
    """Two passages, A cited twice (full, none) and B once (half); the third part cites nothing."""
    scores = citation_scores([{"A": 1.0, "B": 0.5}, {"A": 0.0}, {}])
    assert scores == pytest.approx((0.5, 0.25, 1 / 3))


def test_precision_weighs_passages_and_not_citations() -> None:
    """A is cited three times and B once: both count equally, so that .5 is not .25."""
    assert citation_scores([{"A": 0.0}, {"A": 0.0}, {"A": 0.0}, {"B": 1.0}]).precision == 0.5


def test_first_citations_as_in_the_trec_rag_track() -> None:
    """Weighted precision over the sentences with a citation, weighted recall over all sentences."""
    parts = [{"B": 0.5, "A": 1.0}, {"A": 0.0, "B": 1.0}, {"A": 1.0}, {}]
    assert citation_scores(parts, "first") == pytest.approx((0.5, 0.375, 3 / 7))


@pytest.mark.parametrize("rule", ["all", "first"])
def test_empty_answers_and_parts_score_0(rule: CitationRule) -> None:
    assert citation_scores([], rule) == citation_scores([{}, {}], rule) == (0.0, 0.0, 0.0)
    assert citation_scores([{"A": 0.0}], rule) == (0.0, 0.0, 0.0)


@given(PARTS, RULES, st.randoms())
def test_scores_are_shares_that_do_not_depend_on_the_order_of_parts(
    parts: list[dict[str, float]], rule: CitationRule, random: object
) -> None:
    scores = citation_scores(parts, rule)
    assert all(0 <= value <= 1 for value in scores)
    assert min(scores[:2]) - 1e-12 <= scores.f1 <= max(scores[:2]) + 1e-12
    shuffled = list(parts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert citation_scores(shuffled, rule) == pytest.approx(scores)


@given(PARTS, RULES)
def test_better_support_never_lowers_a_score(parts: list[dict[str, float]], rule: CitationRule) -> None:
    better = [{key: min(1.0, value + 0.5) for key, value in part.items()} for part in parts]
    assert all(
        high >= low - 1e-12
        for high, low in zip(citation_scores(better, rule), citation_scores(parts, rule), strict=True)
    )


@given(PARTS)
def test_full_support_is_precision_1_and_recall_the_share_of_parts_with_citations(
    parts: list[dict[str, float]],
) -> None:
    full = [dict.fromkeys(part, 1.0) for part in parts]
    cited = sum(map(bool, parts))
    assert citation_scores(full)[:2] == pytest.approx((float(cited > 0), cited / len(parts) if parts else 0))
