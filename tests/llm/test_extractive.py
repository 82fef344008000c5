"""Extractive question answering against a simple implementation of the SQuAD2 rule, on a small checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForQuestionAnswering, AutoTokenizer

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, extractive, load_llm
from exam_pp.llm_requests import Request
from exam_pp.prompts import PROMPTS
from tests.llm.small_models import save_t5_qa

PROMPT = PROMPTS.get("QuestionCompleteConciseUnanswerablePromptWithChoices")
QUESTION = "What pulls the water of the oceans?"


def request(question: str, passage: str) -> Request:
    return Request(PROMPT.render({"question": question, "context": passage}))


def load(folder: Path, **more: Any) -> Any:
    return load_llm(ModelOptions(str(folder), pipeline="question-answering", **more))


@pytest.fixture(scope="module")
def passages(texts: list[str]) -> list[str]:
    return [" ".join(texts[i * 9 : i * 9 + 1 + i % 3])[:300] for i in range(30)]


def by_hand(model: Any, tokenizer: Any, question: str, passage: str) -> tuple[float, str]:
    """The score of "no answer" minus that of the best span, and the span (Devlin et al., 2019, section 4.3).

    All pairs of tokens are tried, window by window.
    """
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
    return null - best, passage[slice(*span)].strip()


def middle_threshold(margins: Sequence[float]) -> float:
    """The middle of the widest gap in the middle half of the margins, so that about half are answered."""
    ordered = sorted(margins)
    middle = ordered[len(ordered) // 4 : 3 * len(ordered) // 4]
    return max((high - low, (high + low) / 2) for low, high in pairwise(middle))[1]


@pytest.mark.parametrize("default", [True, False])
def test_spans_are_those_of_the_rule_whatever_the_batch(
    qa_checkpoint: Path, passages: list[str], default: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = AutoModelForQuestionAnswering.from_pretrained(qa_checkpoint).eval()
    tokenizer = AutoTokenizer.from_pretrained(qa_checkpoint)
    texts = [*passages, " ".join(passages)]
    found = [by_hand(model, tokenizer, QUESTION, text) for text in texts]
    threshold = 0.0 if default else middle_threshold([margin for margin, _ in found])
    monkeypatch.setattr(extractive, "NULL_THRESHOLD", threshold)
    expected = [span if margin <= threshold else "unanswerable" for margin, span in found]
    assert default or "unanswerable" in expected
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


def published(model: Any, tokenizer: Any, question: str, passage: str) -> tuple[float, str]:
    """The score of "no answer" minus that of the best span, and the span.

    This is the rule of transformers' script for SQuAD2 (``postprocess_qa_predictions`` in utils_qa.py): the
    best of the 20 highest starts and ends, at most 30 tokens long. The question begins with the token at
    which "no answer" is scored, as the model cards of ``sjrhuschlee/flan-t5-*-squad2`` ask.
    """
    question = f"{tokenizer.cls_token}{question}"
    room = 128 - len(tokenizer(question, "")["input_ids"])
    features = tokenizer(
        question, passage, truncation="only_second", max_length=128, stride=min(128, room // 2),
        return_overflowing_tokens=True, return_offsets_mapping=True,
    )  # fmt: skip
    candidates: list[tuple[float, tuple[int, int]]] = []
    null = float("inf")
    for row, ids in enumerate(features["input_ids"]):
        assert ids[0] == tokenizer.cls_token_id
        with torch.inference_mode():
            output = model(torch.tensor([ids]))
        starts, ends = output.start_logits[0], output.end_logits[0]
        null = min(null, (starts[0] + ends[0]).item())
        offsets = [
            offset if part == 1 else None
            for offset, part in zip(features["offset_mapping"][row], features.sequence_ids(row), strict=True)
        ]
        for start in starts.argsort(descending=True)[:20].tolist():
            for end in ends.argsort(descending=True)[:20].tolist():
                first, last = offsets[start], offsets[end]
                if first is not None and last is not None and start <= end < start + 30:
                    candidates.append(((starts[start] + ends[end]).item(), (first[0], last[1])))
    best, span = max(candidates)
    return null - best, passage[slice(*span)].strip()


def test_t5_models_get_their_classification_token(
    t5_qa_checkpoint: Path, passages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = AutoModelForQuestionAnswering.from_pretrained(t5_qa_checkpoint).eval()
    tokenizer = AutoTokenizer.from_pretrained(t5_qa_checkpoint)
    texts = [*passages, " ".join(passages)]
    scored = [published(model, tokenizer, QUESTION, text) for text in texts]
    assert len({span for _, span in scored}) > 20
    middle = middle_threshold([difference for difference, _ in scored])
    for threshold, batch_tokens in ((0.0, 1), (middle, 1), (middle, 100_000)):
        monkeypatch.setattr(extractive, "NULL_THRESHOLD", threshold)
        expected = ["unanswerable" if score > threshold else span for score, span in scored]
        llm = load(t5_qa_checkpoint, batch_tokens=batch_tokens)
        replies = dict(llm.generate([request(QUESTION, text) for text in texts]))
        assert [replies[index].text for index in range(len(texts))] == expected
    assert "unanswerable" in expected
    assert llm.provenance()["no_answer_at"] == "cls"


def test_the_place_of_no_answer_can_be_chosen(t5_qa_checkpoint: Path, qa_checkpoint: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(t5_qa_checkpoint)
    plain = tokenizer(QUESTION, "Text.")["input_ids"]
    for place, ids in (("auto", [tokenizer.cls_token_id, *plain]), ("first", plain)):
        llm = load(t5_qa_checkpoint, no_answer_at=place)
        (encoded,) = llm.encode([request(QUESTION, "Text.")])
        assert (encoded.ids, encoded.null) == (ids, 0)
    assert llm.provenance()["no_answer_at"] == "first"
    bert = AutoTokenizer.from_pretrained(qa_checkpoint)
    for place in ("auto", "cls"):  # the tokenizer inserts the token itself
        llm = load(qa_checkpoint, no_answer_at=place)
        (encoded,) = llm.encode([request(QUESTION, "Text.")])
        assert encoded.ids == bert(QUESTION, "Text.")["input_ids"]
        assert "no_answer_at" not in llm.provenance()


def test_a_tokenizer_without_classification_token(tmp_path: Path, texts: list[str]) -> None:
    save_t5_qa(tmp_path, texts, cls=None)
    llm = load(tmp_path)
    (encoded,) = llm.encode([request(QUESTION, "Text.")])
    assert encoded.ids == AutoTokenizer.from_pretrained(tmp_path)(QUESTION, "Text.")["input_ids"]
    assert "no_answer_at" not in llm.provenance()
    with pytest.raises(ModelError, match=r"-M no_answer_at=cls .*no classification token"):
        load(tmp_path, no_answer_at="cls")


def test_the_place_of_no_answer_needs_an_extractive_model() -> None:
    with pytest.raises(ModelError, match=r"-M no_answer_at needs --model-pipeline question-answering"):
        load_llm(ModelOptions("google/flan-t5-base", no_answer_at="first"))
