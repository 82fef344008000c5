"""Extractive question answering against a simple implementation of the SQuAD2 rule, on a small checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, extractive, load_llm
from exam_pp.prompts import PROMPTS
from exam_pp.requests import Request

PROMPT = PROMPTS.get("QuestionCompleteConciseUnanswerablePromptWithChoices")
QUESTION = "What pulls the water of the oceans?"


def request(question: str, passage: str) -> Request:
    return Request(PROMPT.render({"question": question, "context": passage}))


def load(folder: Path, **more: Any) -> Any:
    return load_llm(ModelOptions(str(folder), pipeline="question-answering", **more))


@pytest.fixture(scope="module")
def passages(texts: list[str]) -> list[str]:
    return [" ".join(texts[i * 9 : i * 9 + 1 + i % 3])[:300] for i in range(30)]


def by_hand(model: Any, tokenizer: Any, question: str, passage: str, threshold: float) -> str:
    """The best span over all pairs of tokens, window by window (Devlin et al., 2019, section 4.3)."""
    limit = model.config.max_position_embeddings
    room = limit - len(tokenizer(question, "")["input_ids"])
    windows = tokenizer(
        question, passage, truncation="only_second", max_length=limit, stride=room // 2,
        return_overflowing_tokens=True, return_offsets_mapping=True,
    )  # fmt: skip
    best, span, null = -float("inf"), (0, 0), float("inf")
    for row in range(len(windows["input_ids"])):
        inputs = {name: torch.tensor([windows[name][row]]) for name in tokenizer.model_input_names}
        with torch.inference_mode():
            output = model(**inputs)
        starts, ends = output.start_logits[0].tolist(), output.end_logits[0].tolist()
        null = min(null, starts[0] + ends[0])
        tokens = [i for i, part in enumerate(windows.sequence_ids(row)) if part == 1]
        for first in tokens:
            for last in tokens:
                if first <= last < first + 30 and starts[first] + ends[last] > best:
                    best = starts[first] + ends[last]
                    offsets = windows["offset_mapping"][row]
                    span = (offsets[first][0], offsets[last][1])
    return passage[slice(*span)].strip() if null - best <= threshold else "unanswerable"


@pytest.mark.parametrize("threshold", [0.0, -6.0])
def test_spans_are_those_of_the_rule_whatever_the_batch(
    qa_checkpoint: Path, passages: list[str], threshold: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extractive, "NULL_THRESHOLD", threshold)
    model = AutoModelForQuestionAnswering.from_pretrained(qa_checkpoint).eval()
    tokenizer = AutoTokenizer.from_pretrained(qa_checkpoint)
    texts = [*passages, " ".join(passages)]
    expected = [by_hand(model, tokenizer, QUESTION, text, threshold) for text in texts]
    assert "unanswerable" in expected or threshold == 0
    assert len(set(expected)) > 5
    for batch_tokens in (1, 100_000):
        llm = load(qa_checkpoint, batch_tokens=batch_tokens)
        replies = dict(llm.generate([request(QUESTION, text) for text in texts]))
        assert [replies[index].text for index in range(len(texts))] == expected


def test_long_passages_are_read_to_the_end(qa_checkpoint: Path, passages: list[str]) -> None:
    (encoded,) = load(qa_checkpoint).encode([request(QUESTION, " ".join(passages))])
    assert len(encoded.inputs) > 5
    last = max(span[1] for window in encoded.spans for span in window if span)
    assert last == len(" ".join(passages).rstrip())


def test_empty_passages_are_unanswerable(qa_checkpoint: Path) -> None:
    replies = dict(load(qa_checkpoint).generate([request(QUESTION, text) for text in ("", " ", "\0")]))
    assert {reply.text for reply in replies.values()} == {"unanswerable"}


def test_a_question_longer_than_the_window_fails_alone(qa_checkpoint: Path) -> None:
    replies = dict(load(qa_checkpoint).generate([request("why " * 200, "text"), request("why", "text")]))
    assert "no room" in (replies[0].error or "")
    assert replies[1].error is None


@pytest.mark.parametrize("name", ["QuestionSelfRatedUnanswerablePromptWithChoices", "NuggetExtractionPrompt"])
def test_other_prompts_are_refused(qa_checkpoint: Path, name: str) -> None:
    prompt = PROMPTS.get(name)
    unsupported = Request(prompt.render({prompt.kind: "the tides", "context": "text"}), prompt.labels)
    with pytest.raises(ModelError, match="extracts"):
        load(qa_checkpoint).batches([unsupported])
