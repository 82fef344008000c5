"""Labels from ratings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.errors import SelectionError
from exam_pp.metrics.qrels import KthBest, LabelRule

RATINGS = st.lists(st.integers(0, 5), min_size=1, max_size=9).map(lambda r: sorted(r, reverse=True))


def test_the_kth_best_rating_or_the_lowest() -> None:
    assert [KthBest(k)([5, 4, 0]) for k in (1, 2, 3, 5)] == [5, 4, 0, 0]
    assert [str(KthBest(k)) for k in (1, 2, 5)] == ["best rating", "2nd best rating", "5th best rating"]


@given(RATINGS, st.integers(1, 9))
def test_more_answers_never_raise_the_label(ratings: list[int], k: int) -> None:
    assert KthBest(k + 1)(ratings) <= KthBest(k)(ratings)


def test_rule() -> None:
    rule = LabelRule.parse("2nd>=5:3, 2nd >= 4: 1, else 0")

    assert [rule(r) for r in ([5, 5], [5, 4], [4, 4, 1], [5, 3], [5])] == [3, 1, 1, 0, 0]
    assert LabelRule.parse(str(rule)) == rule
    assert LabelRule.parse("1>=4:1").otherwise == 0


@pytest.mark.parametrize("text", ["", "2nd>5:3", "best>=5:3", "0th>=5:3", "else 0, 2nd>=5:3"])
def test_invalid_rules(text: str) -> None:
    with pytest.raises(SelectionError, match=r"'2nd>=5:3, 2nd>=4:1, else 0'"):
        LabelRule.parse(text)


@given(RATINGS, st.lists(st.integers(0, 5), max_size=4))
def test_the_best_label_bounds_the_labels_of_further_ratings(ratings: list[int], more: list[int]) -> None:
    """Also for a rule whose labels do not grow with the ratings."""
    for text in ("2nd>=5:3, 2nd>=4:1, else 0", "1st>=5:1, 1st>=3:2, else 0", "3rd>=1:1, else 2"):
        rule = LabelRule.parse(text)
        highest = sorted([*ratings, *(5 for _ in more)], reverse=True)
        assert rule(sorted([*ratings, *more], reverse=True)) <= rule.best(highest)
