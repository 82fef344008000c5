"""Both engines of sequence-to-sequence models against transformers' `generate` and teacher forcing."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

from exam_pp.llm import ModelOptions
from tests.llm.asking import ENGINES, LABELS, ask, texts
from tests.llm.test_seq2seq import as_request, expected_reply, label_probability, reference


@pytest.mark.parametrize("num_beams", [5, 1])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["keyed", "flat"])
def test_replies_equal_generate_whatever_the_batch(
    checkpoints: dict[str, Path], prompts: list[str], engine: Any, kind: str, num_beams: int
) -> None:
    model, tokenizer = reference(checkpoints[kind])
    expected = [expected_reply(model, tokenizer, prompt, num_beams) for prompt in prompts]
    chance = random.Random(num_beams)
    for batch_tokens in (1, 700, 100_000):
        options = ModelOptions(
            str(checkpoints[kind]), engine=engine, num_beams=num_beams, batch_tokens=batch_tokens
        )
        order = chance.sample(range(len(prompts)), len(prompts))
        replies = ask(options, [as_request(prompts[i]) for i in order])
        assert texts(replies) == [expected[i] for i in order]


@pytest.mark.parametrize("num_beams", [5, 1])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["keyed", "flat"])
def test_label_likelihoods_equal_teacher_forcing(
    checkpoints: dict[str, Path], prompts: list[str], engine: Any, kind: str, num_beams: int
) -> None:
    model, tokenizer = reference(checkpoints[kind])
    assert len(tokenizer("0", add_special_tokens=False)["input_ids"]) == 2
    options = ModelOptions(str(checkpoints[kind]), engine=engine, num_beams=num_beams)
    replies = ask(options, [as_request(prompt, LABELS) for prompt in prompts])
    for prompt, reply in zip(prompts, replies, strict=True):
        for label, logprob in zip(LABELS, reply.label_logprobs, strict=True):
            expected = label_probability(model, tokenizer, prompt, label)
            assert math.exp(logprob) == pytest.approx(expected, abs=1e-4)
