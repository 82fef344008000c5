"""Citation precision and recall: the example of Open RAG Eval, TREC's rule, and properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.plugins.rag_metrics.citations import CitationRule, citation_scores

VALUES = st.sampled_from([0.0, 0.5, 1.0])
PARTS = st.lists(st.dictionaries(st.sampled_from("ABCDE"), VALUES, max_size=4), max_size=6)
RULES = st.sampled_from(["all", "first"])


@pytest.mark.parametrize(
    ("parts", "rule", "scores"),
    [
        ([{"A": 1.0, "B": 0.5}, {"A": 0.0}, {}], "all", (0.5, 0.25, 1 / 3)),
        # Precision weighs passages and not citations: A is cited three times and B once.
        ([{"A": 0.0}, {"A": 0.0}, {"A": 0.0}, {"B": 1.0}], "all", (0.5, 0.25, 1 / 3)),
        # Weighted precision over the sentences with a citation, weighted recall over all sentences.
        ([{"B": 0.5, "A": 1.0}, {"A": 0.0, "B": 1.0}, {"A": 1.0}, {}], "first", (0.5, 0.375, 3 / 7)),
    ],
    ids=["example of Open RAG Eval", "passages count equally", "TREC RAG track"],
)
def test_scores_by_hand(
    parts: list[dict[str, float]], rule: CitationRule, scores: tuple[float, float, float]
) -> None:
    """Of Open RAG Eval: A is cited twice (full, none), B once (half), and the third part cites nothing."""
    assert citation_scores(parts, rule) == pytest.approx(scores)


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
