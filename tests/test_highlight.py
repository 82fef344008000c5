"""Positions of an extracted answer in its passage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.text.highlight import answer_spans, split_at_spans


def matches(text: str, answer: str) -> list[str]:
    return [text[start:end] for start, end in answer_spans(text, answer)]


@pytest.mark.parametrize(
    ("text", "answer", "places"),
    [
        ("Elvis Presley—the King—sang.", "Elvis Presley, the king", ["Elvis Presley—the King"]),
        ("two\n  lines, two lines", "two lines.", ["two\n  lines", "two lines"]),
        ("nobody knows; no answer", "no", ["no"]),
        ("a 3.5 km walk", "3.5 km", ["3.5 km"]),
        ("Der Mond ZIEHT das Wasser", "mond zieht", ["Mond ZIEHT"]),
        ("潮汐は月の引力で起こる", "月の引力", ["月の引力"]),
        ("リンクは、24時間 有効です", "リンクは24時間有効です", ["リンクは、24時間 有効です"]),
        ("เขากินข้าว", "กนข", []),
        ("リンクは、24時間 有効です", "24時間有効です", ["24時間 有効です"]),
        ("その値は12。上限は30日。以上", "値は12。遠い。上限は30日。", ["値は12", "上限は30日"]),
        ("قال مُحَمَّدٌ نعم", "محمد نعم", ["مُحَمَّدٌ نعم"]),
        ("قال محمد نعم", "مُحَمَّدٌ", ["محمد"]),
        ("اللون 漢字 مُحَمَّدٌ", "字 محمد", ["字 مُحَمَّدٌ"]),
        ("çok: İSTANBUL, ışık", "istanbul ışık", ["İSTANBUL, ışık"]),
        ("Ο ΔΡΟΜΟΣ εδώ, ο δρομος", "δρομος", ["ΔΡΟΜΟΣ", "δρομος"]),
        ("यह हिन्दी भाषा है", "हिन्दी भाषा", ["हिन्दी भाषा"]),
        ("यह हिन्दी भाषा है", "हिन्द", []),
        ("One thing. Another thing. A third.", "One thing. A third.", ["One thing", "A third"]),
        ("The Moon pulls.", "gravitation of the Moon", []),
        ("The Moon pulls.", "…!?", []),
        ("The Moon pulls.", "", []),
        ("a (b) [c] .* d", "(b) [c] .*", ["b) [c"]),
    ],
)
def test_places(text: str, answer: str, places: list[str]) -> None:
    assert matches(text, answer) == places


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(texts, texts, texts)
def test_spans_are_inside_and_in_order(before: str, answer: str, after: str) -> None:
    text = before + answer + after
    spans = answer_spans(text, answer)
    assert spans == sorted(spans)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert "".join(piece for piece, _ in split_at_spans(text, spans)) == text


@given(texts, st.lists(st.from_regex("[a-z0-9]{1,8}", fullmatch=True), min_size=1), texts)
def test_a_contained_answer_is_matched(before: str, tokens: list[str], after: str) -> None:
    text = f"{before} {', '.join(tokens).upper()} {after}"
    assert any(
        text[start:end].lower().split(", ") == tokens for start, end in answer_spans(text, " ".join(tokens))
    )


def test_touching_spans_are_merged() -> None:
    assert split_at_spans("abcdef", [(2, 4), (1, 2), (5, 6)]) == [
        ("a", False), ("bcd", True), ("e", False), ("f", True),
    ]  # fmt: skip
