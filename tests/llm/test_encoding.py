"""Encoding of prompts: joined pieces equal the whole prompt, and only the passage is shortened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, ByT5Tokenizer

from exam_pp.llm.encoding import PromptEncoder
from exam_pp.llm_requests import Part, Request

TEXT = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(" \n\tabc 019.,")), max_size=60)


@pytest.fixture(scope="module")
def tokenizer(checkpoints: dict[str, Path]) -> Any:
    return AutoTokenizer.from_pretrained(checkpoints["keyed"])


def request(question: str, passage: str) -> Request:
    return Request(
        (
            Part("Rate it:\n- 5: all\n- 0: nothing\nQuestion: "),
            Part(question, "question"),
            Part("\nContext: "),
            Part(passage, "context", may_be_cut=True),
        )
    )


@given(question=TEXT, passage=TEXT)
def test_ids_equal_the_tokenizer_on_the_whole_prompt(tokenizer: Any, question: str, passage: str) -> None:
    whole = request(question, passage)
    (encoded,) = PromptEncoder(tokenizer, 512).encode([whole])
    assert encoded.ids == tokenizer(whole.text)["input_ids"]
    assert encoded.tokens_cut == 0


@given(question=st.text("why not? 05", max_size=20), passage=st.text("aou é世 .", min_size=80, max_size=300))
def test_only_the_passage_is_shortened(tokenizer: Any, question: str, passage: str) -> None:
    limit = 60
    (encoded,) = PromptEncoder(tokenizer, limit).encode([request(question, passage)])
    whole = tokenizer(request(question, passage).text)["input_ids"]
    assert len(encoded.ids) <= limit
    if len(whole) <= limit:
        assert encoded.ids == whole
        return
    assert encoded.tokens_cut > 0
    start = tokenizer(request(question, "").text.rstrip())["input_ids"][:-1]
    assert (encoded.ids[: len(start)], encoded.ids[-1]) == (start, tokenizer.eos_token_id)


def test_a_tokenizer_without_offsets_shortens_too() -> None:
    tokenizer = ByT5Tokenizer()
    passage = "Ebbe und Flut: zwölf Stunden é世 " * 20
    (encoded,) = PromptEncoder(tokenizer, 140).encode([request("why?", passage)])
    assert encoded.error is None
    assert len(encoded.ids) <= 140
    start, _, kept = tokenizer.decode(encoded.ids, skip_special_tokens=True).partition("Context: ")
    assert start == request("why?", "").text.partition("Context: ")[0]
    assert passage.startswith(kept)
    assert len(passage.encode()) - len(kept.encode()) - 2 <= encoded.tokens_cut < len(passage.encode())
