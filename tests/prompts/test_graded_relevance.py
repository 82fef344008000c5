"""The prompt GradedRelevance: scale and steps, its old name, and the final score of replies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.errors import UnknownNameError
from exam_pp.grade_filter import GradeFilter
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import with_aliases
from exam_pp.prompts.reading import NOT_A_NUMBER, read_final_score


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        # Taking the first or any digit would be wrong for these.
        ("On the scale of 0 to 3 this passage is weak. ##final score: 1", 1),
        ("the passage relates to 2 topics. final score: 0", 0),
        ("I cannot judge this passage from 2013.", None),
        ("##final score: 2", 2),
        ("##Final Score: **3**", 3),
        ("## final score = 2.", 2),
        ("The final score is 1 because it is vague.", 1),
        ("final score (O): 3", 3),
        ("final score: 2/3", 2),
        ("##final score: 1\n##final score: 2", 2),
        ("M: 2\nT: 3\n##final score: 2", 2),
        ('{"M": 3, "T": 1, "final_score": 2}', 2),
        ('{"M": 2, "T": 1, "O": 1}', 1),
        ("```json\n{'M': 3,\n 'O': '2'\n}\n```", 2),
        ('{"O_score": 0}', 0),
        ('{"overall score": 3}', 3),
        ('{"O": 2.5}', None),
        ('{"O": 4}', None),
        ('{"M": 2, "T": 1}', None),
        ('{"topic": 2}', None),
        ("2", 2),
        (" 0.", 0),
        ("**3**", 3),
        ("4", None),
        ("##final score: 7", None),
        ("2013. ##final score: 12", None),
        ("##final score: 2.5", None),
        ("##final score: 2-3", None),
        ("##final score: 0, 1, 2 or 3", None),
        ("##final score: \\boxed{2}", 2),
        ("**Final Score**\n2", 2),
        ("##final score: 1<|im_end|>", 1),
        ("final score: 2 out of 10", None),
        ("final score: 2 on a scale of 0 to 10", None),
        ("I would choose 3.", None),
        ("score: 2 of M", None),
        ("1 or 2", None),
        ("", None),
        ("The passage is relevant.", None),
    ],
)
def test_final_score(reply: str, rating: int | None) -> None:
    verdict = PROMPTS.get("GradedRelevance").parse(reply, None, "default")

    assert verdict.rating == rating
    assert verdict.correct == bool(rating)
    assert verdict.reason == (NOT_A_NUMBER if rating is None else None)


@given(st.text(), st.integers(0, 3))
def test_the_marker_at_the_end_decides(text: str, score: int) -> None:
    assert read_final_score(f"{text}\n##final score: {score}", 3).rating == score


@given(st.text())
def test_any_reply_is_read(text: str) -> None:
    rating = read_final_score(text, 3).rating
    assert rating is None or 0 <= rating <= 3


def test_the_old_name_is_read_in_files_and_warned_of_otherwise(caplog: pytest.LogCaptureFixture) -> None:
    """The words are not UMBRELA's, so that the prompt must not have its name."""
    prompt = PROMPTS.get("GradedRelevance")
    assert PROMPTS.find("Umbrela") is prompt
    assert not caplog.messages
    assert PROMPTS.get("Umbrela") is prompt
    warning = "'Umbrela' is an old name; the prompt is now called 'relevance'."
    assert caplog.messages == [warning]
    criteria = with_aliases(GradeFilter(prompt_class="Umbrela"))
    assert (criteria.prompt_class, criteria.also_called) == ("GradedRelevance", ("Umbrela",))
    assert caplog.messages == [warning, warning]
    with pytest.raises(UnknownNameError, match="'relevance'"):
        PROMPTS.get("UMBRELA")
