"""Encoding of prompts with criteria: only documents are shortened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from exam_pp.data_model import Passage
from exam_pp.llm import ModelOptions
from exam_pp.llm.encoding import PromptEncoder
from exam_pp.llm.fake import FakeLLM
from exam_pp.plugins.rag_metrics.grading import AnswerOptions, AnswerUnit, make_grader
from tests.llm.conftest import checkpoints, prompts, texts

__all__ = ["checkpoints", "prompts", "texts"]


@pytest.fixture(scope="module")
def tokenizer(checkpoints: dict[str, Path]) -> Any:
    return AutoTokenizer.from_pretrained(checkpoints["keyed"])


def test_documents_of_criteria_are_cut_from_the_end_and_never_the_answer(tokenizer: Any) -> None:
    documents = [("A", "tides rise"), ("B", "tides fall " * 100)]
    sources = [Passage(passage_id=key, text=text) for key, text in documents]
    unit = AnswerUnit("rag", "answer", "The moon pulls the sea.", sources, (), "why do tides rise?")
    (whole,) = make_grader("criteria", FakeLLM(), ModelOptions("m"), AnswerOptions()).requests(unit)
    prompt = tokenizer(whole.text)["input_ids"]
    (encoded,) = PromptEncoder(tokenizer, len(prompt) - 50).encode([whole])
    assert encoded.error is None
    assert len(prompt) - 60 < len(encoded.ids) <= len(prompt) - 50
    assert encoded.tokens_cut >= 50
    after = tokenizer(whole.text.partition("tides fall")[0].rstrip())["input_ids"][:-1]
    assert encoded.ids[: len(after)] == after, "the best document is whole"
    end = tokenizer("[User Query]" + whole.text.rpartition("[User Query]")[2])["input_ids"]
    assert encoded.ids[-len(end) + 1 :] == end[1:], "so are query and answer"
