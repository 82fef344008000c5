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
from tests.llm.asking import answers, texts
from tests.llm.small_models import save_t5_qa

PROMPT = PROMPTS.get("QuestionCompleteConciseUnanswerablePromptWithChoices")
QUESTION = "What pulls the water of the oceans?"


def question(text: str, passage: str) -> Request:
    return Request(PROMPT.render({"question": text, "context": passage}))


def load(folder: Path, **more: Any) -> Any:
    return load_llm(ModelOptions(str(folder), pipeline="question-answering", **more))


@pytest.fixture(scope="module")
def passages(texts: list[str]) -> list[str]:
    return [" ".join(texts[i * 9 : i * 9 + 1 + i % 3])[:300] for i in range(14)]


def middle_threshold(margins: Sequence[float]) -> float:
    """The middle of the widest gap in the middle half of the margins, so that about half are answered."""
    ordered = sorted(margins)
    middle = ordered[len(ordered) // 4 : 3 * len(ordered) // 4]
    return max((high - low, (high + low) / 2) for low, high in pairwise(middle))[1]


def published(model: Any, tokenizer: Any, question: str, passage: str) -> tuple[float, str]:
    """The score of "no answer" minus that of the best span, and the span.

    This is the rule of transformers' script for SQuAD2 (``postprocess_qa_predictions`` in utils_qa.py): the
    best of the 20 highest starts and ends, at most 30 tokens long. The question begins with the token at
    which "no answer" is scored, as the model cards of ``sjrhuschlee/flan-t5-*-squad2`` ask.
    """
    if tokenizer("a")["input_ids"][0] != tokenizer.cls_token_id:
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
        inputs = {name: torch.tensor([features[name][row]]) for name in tokenizer.model_input_names}
        with torch.inference_mode():
            output = model(**inputs)
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


@pytest.mark.parametrize("kind", ["qa_checkpoint", "t5_qa_checkpoint"])
def test_spans_are_those_of_the_rule_whatever_the_batch(
    request: pytest.FixtureRequest, passages: list[str], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of T5 models, which need their classification token."""
    folder = request.getfixturevalue(kind)
    model = AutoModelForQuestionAnswering.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    read = [*passages, " ".join(passages)]
    scored = [published(model, tokenizer, QUESTION, text) for text in read]
    assert len({span for _, span in scored}) > 10
    middle = middle_threshold([difference for difference, _ in scored])
    for threshold, batch_tokens in ((0.0, 1), (middle, 100_000)):
        monkeypatch.setattr(extractive, "NULL_THRESHOLD", threshold)
        expected = ["unanswerable" if score > threshold else span for score, span in scored]
        llm = load(folder, batch_tokens=batch_tokens)
        assert texts(answers(llm, [question(QUESTION, text) for text in read])) == expected
    assert "unanswerable" in expected
    assert llm.provenance().get("no_answer_at") == ("cls" if "t5" in kind else None)


def test_empty_passages_are_unanswerable(qa_checkpoint: Path) -> None:
    replies = answers(load(qa_checkpoint), [question(QUESTION, text) for text in ("", " ", "\0")])
    assert {*texts(replies)} == {"unanswerable"}


@pytest.mark.parametrize("name", ["QuestionSelfRatedUnanswerablePromptWithChoices", "NuggetExtractionPrompt"])
def test_other_prompts_are_refused(qa_checkpoint: Path, name: str) -> None:
    prompt = PROMPTS.get(name)
    unsupported = Request(prompt.render({prompt.kind: "the tides", "context": "text"}), prompt.labels)
    with pytest.raises(ModelError, match="extracts"):
        load(qa_checkpoint).batches([unsupported])


@pytest.mark.parametrize(
    ("kind", "place", "has_token", "recorded"),
    [
        ("t5_qa_checkpoint", "auto", True, "cls"),
        ("t5_qa_checkpoint", "first", False, "first"),
        ("qa_checkpoint", "auto", False, None),
        ("qa_checkpoint", "cls", False, None),  # the tokenizer inserts the token itself
    ],
)
def test_the_place_of_no_answer_can_be_chosen(
    request: pytest.FixtureRequest, kind: str, place: str, has_token: bool, recorded: str | None
) -> None:
    folder = request.getfixturevalue(kind)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    llm = load(folder, no_answer_at=place)
    (encoded,) = llm.encode([question(QUESTION, "Text.")])
    assert encoded.ids == [tokenizer.cls_token_id] * has_token + tokenizer(QUESTION, "Text.")["input_ids"]
    assert encoded.null == 0
    assert llm.provenance().get("no_answer_at") == recorded


def test_a_tokenizer_without_classification_token(tmp_path: Path, texts: list[str]) -> None:
    save_t5_qa(tmp_path, texts, cls=None)
    llm = load(tmp_path)
    (encoded,) = llm.encode([question(QUESTION, "Text.")])
    assert encoded.ids == AutoTokenizer.from_pretrained(tmp_path)(QUESTION, "Text.")["input_ids"]
    assert "no_answer_at" not in llm.provenance()
    with pytest.raises(ModelError, match=r"-M no_answer_at=cls .*no classification token"):
        load(tmp_path, no_answer_at="cls")
