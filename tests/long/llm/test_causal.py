"""Causal models: many checkpoints and options against transformers' `generate` and teacher forcing."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, load_llm
from exam_pp.llm.backends import can_read_lists
from exam_pp.llm_requests import Part, Request
from exam_pp.prompts.markup import without_thinking
from tests.llm.asking import ENGINES, LABELS, answers, ask, rate, texts
from tests.llm.small_models import byte_tokenizer, rendered, save_llama
from tests.llm.test_causal import (
    INSTRUCTION,
    as_request,
    beginning,
    generated,
    load,
    options,
    reference,
    with_template,
)
from tests.llm.test_decoding import SAMPLED
from tests.llm.test_gguf_files import gguf_file

__all__ = ["gguf_file", "with_template"]


@pytest.mark.parametrize("instruction", ["", INSTRUCTION], ids=["", "instruction"])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["chat", "plain", "flat"])
def test_label_likelihoods_equal_teacher_forcing(
    causal_checkpoints: dict[str, Path], prompts: list[str], kind: str, engine: str, instruction: str
) -> None:
    model, tokenizer = reference(causal_checkpoints[kind])
    llm = load_llm(options(causal_checkpoints[kind], engine))
    prompts = [instruction + prompt for prompt in prompts[:14]]
    labels = (*LABELS, "not at all")
    replies = answers(llm, [as_request(prompt, labels) for prompt in prompts])
    for prompt, reply in zip(prompts, replies, strict=True):
        for label, logprob in zip(labels, reply.label_logprobs, strict=True):
            probability = beginning(model, tokenizer, rendered(tokenizer, prompt), label)
            assert math.exp(logprob) == pytest.approx(probability, abs=1e-4)


@pytest.mark.parametrize("labels", [(), LABELS], ids=["hard", "soft"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_plain_prompt_is_answered_in_one_line(
    causal_checkpoints: dict[str, Path],
    prompts: list[str],
    tmp_path: Path,
    engine: str,
    labels: tuple[str, ...],
) -> None:
    """A model without chat template would continue the text; a chat model may need several lines."""
    for kind, stops in (("plain", True), ("chat", False)):
        _, tokenizer = reference(causal_checkpoints[kind])
        folder = tmp_path / kind
        save_llama(folder, tokenizer, prompts[:2], ["\n4. Yes\nQuestion: 3", "2\n5"], 1.0)
        llm = load_llm(options(folder, engine))
        asked = [as_request(p, labels, one_line=cut) for cut in (True, False) for p in prompts[:2]]
        whole = ["4. Yes\nQuestion: 3", "2\n5"]
        assert texts(answers(llm, asked)) == ((["4. Yes", "2"] if stops else whole) + whole)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("tokens", "mode"), [(0, "reply "), (5, "think ")])
def test_thinking_can_be_switched_on(
    with_template: Callable[[str, str], Path], engine: str, tokens: int, mode: str
) -> None:
    """The template gets ``enable_thinking``, as Qwen's does, and the reply may be longer."""
    folder = with_template("", "{{ 'think ' if enable_thinking else 'reply ' }}")
    llm: Any = load_llm(options(folder, engine, thinking_tokens=tokens))
    request = as_request("a b c", max_new_tokens=1)
    (encoded,) = llm.encode([request])
    model, tokenizer = load(folder)
    assert tokenizer.decode(encoded.ids).endswith(mode)
    assert texts(answers(llm, [request])) == [generated(model, tokenizer, encoded.ids, 1 + tokens)]
    assert llm.provenance().get("thinking_tokens", 0) == tokens


THINKING = {
    "tag in the reply": ("", ("<think>3 or 4?</think>\n\n2", "<think>3 or 4 or 3 or 4 or 3")),
    "tag in the prompt": ("<think>\n", ("3 or 4?</think>\n\n2", "3 or 4 or 3 or 4 or 3 or 4")),
}
"""The end of the prompt, and replies with and without the closing tag."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("kind", THINKING)
def test_thinking_text_is_separated_from_the_reply(
    tmp_path: Path, prompts: list[str], engine: str, special: bool, kind: str
) -> None:
    """Whether the opening tag is in the prompt or in the reply, and whether tags are special tokens."""
    opening, written = THINKING[kind]
    tokenizer = byte_tokenizer(prompts, chat=True)
    tokenizer.add_tokens(["<think>", "</think>"], special_tokens=special)
    tokenizer.chat_template = tokenizer.chat_template.replace("assistant\n", f"assistant\n{opening}")
    save_llama(tmp_path, tokenizer, prompts[:2], written)
    llm = load_llm(options(tmp_path, engine, thinking_tokens=12))
    replies = texts(answers(llm, [as_request(prompt, max_new_tokens=1) for prompt in prompts[:2]]))
    assert [without_thinking(reply) for reply in replies] == ["\n\n2", None]
    assert all(reply.startswith("<think>") for reply in replies)
    if opening:
        with pytest.raises(ModelError, match="add -M thinking_tokens"):
            load_llm(options(tmp_path, engine))


@pytest.mark.parametrize(("fixture", "key", "pipeline"), SAMPLED)
def test_samples_depend_on_seed_and_request_only(
    request: pytest.FixtureRequest, prompts: list[str], fixture: str, key: str, pipeline: str
) -> None:
    folder = str(request.getfixturevalue(fixture)[key])
    asked = [Request((Part(text, "context", may_be_cut=True),), (), 52) for text in prompts[:5]]

    def replies(seed: int | None, batches: Any = None, **options: Any) -> list[str]:
        model = ModelOptions(folder, pipeline=pipeline, temperature=0.8, sampling_seed=seed, **options)
        return texts(answers(load_llm(model), asked, batches))

    first = replies(7)
    assert replies(7, [[4, 0, 2], [3, 1]]) == first
    assert replies(8) != first
    assert replies(None) == replies(0)
    likeliest = texts(ask(ModelOptions(folder, pipeline=pipeline, num_beams=1), asked))
    assert first != likeliest
    assert replies(7, top_p=1e-6) == likeliest


@pytest.mark.parametrize("engine", ENGINES)
def test_the_replies_are_those_of_the_checkpoint(
    gguf_file: Path, causal_checkpoints: dict[str, Path], prompts: list[str], engine: Any
) -> None:
    folder = ModelOptions(str(causal_checkpoints["chat"]), "text-generation", engine=engine)
    file = ModelOptions(str(gguf_file), engine=engine)
    assert file.pipeline == "text-generation"
    assert can_read_lists(file)
    asked = [rate(prompt, ("0", "5"), 24) for prompt in prompts[:4]]
    for reply, expected in zip(ask(file, asked), ask(folder, asked), strict=True):
        assert reply.text == expected.text
        assert reply.label_logprobs == pytest.approx(expected.label_logprobs, abs=1e-3)
