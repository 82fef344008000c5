"""Short forms of long names: which words are names, where they are cut, and that they stay distinct."""

from __future__ import annotations

import pytest

from exam_pp.rendering.short_names import long_names, short_forms

SELF_RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"
EXPLAINED = "QuestionSelfRatedExplanationPromptWithExam"
MD5 = "d04/a3a83f32ef282a720611f6ea78d9790a"


def cut(*texts: str) -> dict[str, str]:
    return {name: name[:end] for name, end in short_forms(texts).items()}


def test_short_forms_are_distinct() -> None:
    assert cut(SELF_RATED, EXPLAINED) == {
        SELF_RATED: "QuestionSelfRatedUnanswerable",
        EXPLAINED: "QuestionSelfRatedExplanation",
    }
    assert cut(MD5, f"{MD5[:20]}ffffffffffffffff") == {
        MD5: MD5[:21],
        f"{MD5[:20]}ffffffffffffffff": f"{MD5[:20]}f",
    }


@pytest.mark.parametrize(
    "text",
    ["d04-p16", "Cover(min_grade=4)@20", "Donaudampfschifffahrtsgesellschaft", "state-of-the-art-compound",
     "潮汐は月の引力によって引き起こされる現象であり毎日二回起こる", "a text of several short words"],
)  # fmt: skip
def test_words_and_short_names_stay_whole(text: str) -> None:
    assert list(long_names(text)) == []
