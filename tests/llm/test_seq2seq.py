"""The engines against transformers' `generate` and teacher forcing, on small checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import processors
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BartConfig,
    BartForConditionalGeneration,
    GenerationConfig,
    SwitchTransformersConfig,
    SwitchTransformersForConditionalGeneration,
    T5GemmaConfig,
    T5GemmaForConditionalGeneration,
    T5GemmaModuleConfig,
)

from exam_pp.errors import ExamError, ModelError
from exam_pp.llm import ModelOptions, load_llm
from exam_pp.llm.huggingface import Checkpoint
from exam_pp.llm_requests import Part, Request
from tests.llm.asking import ENGINES, LABELS, answers, ask, texts


def as_request(prompt: str, labels: tuple[str, ...] = (), max_new_tokens: int = 24) -> Request:
    start, space, rest = prompt.partition(" ")
    return Request((Part(start + space), Part(rest, "context", may_be_cut=True)), labels, max_new_tokens)


@cache
def expected_reply(model: Any, tokenizer: Any, text: str, num_beams: int, max_new_tokens: int = 24) -> str:
    """The reply of `generate` to a single prompt, as in the published code."""
    inputs = tokenizer(text, return_tensors="pt", return_token_type_ids=False, truncation=True)
    with torch.inference_mode():
        output = model.generate(
            **inputs,
            num_beams=num_beams,
            early_stopping=num_beams > 1,
            do_sample=False,
            max_new_tokens=max_new_tokens,
        )
    return str(tokenizer.decode(output[0], skip_special_tokens=True)).strip()


def load(path: Path) -> tuple[Any, Any]:
    return AutoModelForSeq2SeqLM.from_pretrained(path).eval(), AutoTokenizer.from_pretrained(path)


reference = cache(load)
"""Model and tokenizer, shared by tests that do not change them."""


@cache
def label_probability(model: Any, tokenizer: Any, prompt: str, label: str) -> float:
    """The probability of a reply to a single prompt, by teacher forcing."""
    inputs = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
    target = tokenizer(label, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        return math.exp(-model(**inputs, labels=target).loss.item() * target.shape[1])


@pytest.mark.parametrize("limit", [5, 24], ids=["cut", "after the first limit"])
@pytest.mark.parametrize("engine", ENGINES)
def test_replies_that_run_into_a_limit_equal_generate(
    checkpoints: dict[str, Path], prompts: list[str], engine: Any, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exam_pp.llm.huggingface.FIRST_TOKENS", 4)
    if engine == "ctranslate2":
        monkeypatch.setattr("exam_pp.plugins.ctranslate2.seq2seq.LONGEST_REPLY", 6)
    model, tokenizer = reference(checkpoints["flat"])
    asked = [as_request(prompt, max_new_tokens=limit) for prompt in prompts[:6]]
    replies = ask(ModelOptions(str(checkpoints["flat"]), engine=engine), asked)
    assert texts(replies) == [expected_reply(model, tokenizer, prompt, 5, limit) for prompt in prompts[:6]]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["keyed", "flat"])
def test_greedy_replies_are_the_same_with_and_without_likelihoods(
    checkpoints: dict[str, Path], prompts: list[str], engine: Any, kind: str
) -> None:
    llm = load_llm(ModelOptions(str(checkpoints[kind]), engine=engine, num_beams=1))
    hard, soft = (answers(llm, [as_request(p, labels) for p in prompts[:12]]) for labels in ((), LABELS))
    assert texts(soft) == texts(hard)


@pytest.mark.parametrize("engine", ENGINES)
def test_likelihoods_of_labels_that_are_nearly_impossible(
    checkpoints: dict[str, Path], prompts: list[str], engine: Any
) -> None:
    """The reply is a text; its labels are scored all the same."""
    model, tokenizer = reference(checkpoints["keyed"])
    text = next(prompt for prompt in prompts if expected_reply(model, tokenizer, prompt, 5) not in LABELS)
    (reply,) = ask(ModelOptions(str(checkpoints["keyed"]), engine=engine), [as_request(text, LABELS)])
    known = [math.log(label_probability(model, tokenizer, text, label)) for label in LABELS]
    assert reply.label_logprobs == pytest.approx(known, abs=1e-3)
    assert max(known) < math.log(0.01)


def test_a_numeric_overflow_is_an_error(checkpoints: dict[str, Path]) -> None:
    """As in float16 with models that were trained in bfloat16; it does not affect other prompts."""
    llm: Any = load_llm(ModelOptions(str(checkpoints["keyed"]), engine="transformers"))
    embeddings = llm._engine._model.get_input_embeddings().weight
    *_, token = llm._encoder._tokenizer("5", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        embeddings[token] = float("inf")
    good, bad = answers(llm, [as_request("a b"), as_request("a b 5")])
    assert (good.error, bad.text) == (None, "")
    assert "overflow in float32" in (bad.error or "")


@pytest.mark.parametrize("pipeline", ["text2text", "text-generation"])
def test_transformers_runs_models_if_no_plug_in_has_an_engine(
    checkpoints: dict[str, Path],
    causal_checkpoints: dict[str, Path],
    pipeline: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("exam_pp.llm.backends.offered", lambda _place: [])
    folder = checkpoints["keyed"] if pipeline == "text2text" else causal_checkpoints["plain"]
    assert load_llm(ModelOptions(str(folder), pipeline)).provenance()["engine"] == "transformers"
    with pytest.raises(ModelError, match="the plug-in ctranslate2"):
        load_llm(ModelOptions(str(folder), pipeline, compute_type="int8"))


@pytest.mark.parametrize(
    ("model", "pipeline", "message"),
    [
        (".", "text2text", r"'\.'.* loaded"),
        ("lexicla", "text2text", "'lexical'"),
        ("smollm", "text2text", "'smollm2'"),
        ("google/flan-t5-large", "text2txt", "'text2text'"),
    ],
)
def test_models_that_cannot_be_loaded(model: str, pipeline: Any, message: str) -> None:
    with pytest.raises(ExamError, match=message):
        load_llm(ModelOptions(model, pipeline))


def save(folder: Path, model: Any, tokenizer: Any) -> Path:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_a_checkpoint_may_limit_replies(
    checkpoints: dict[str, Path], prompts: list[str], tmp_path: Path
) -> None:
    model, tokenizer = load(checkpoints["flat"])
    model.generation_config.max_new_tokens = 3
    llm = load_llm(ModelOptions(str(save(tmp_path, model, tokenizer)), engine="transformers"))
    assert llm.provenance()["max_new_tokens"] == 3
    replies = answers(llm, [as_request(prompt) for prompt in prompts[:3]])
    assert texts(replies) == [expected_reply(model, tokenizer, prompt, 5, 3) for prompt in prompts[:3]]


def bart(tokenizer: Any, **ids: int) -> BartForConditionalGeneration:
    """A BART with 100 positions."""
    config = BartConfig(
        vocab_size=len(tokenizer), max_position_embeddings=100, encoder_ffn_dim=16, decoder_ffn_dim=16,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_layers=1, decoder_layers=1, d_model=16,
        init_std=0.5, forced_eos_token_id=None, **ids,
    )  # fmt: skip
    torch.manual_seed(1)
    return BartForConditionalGeneration(config).eval()


def test_prompts_and_replies_fit_the_positions_of_a_model(
    checkpoints: dict[str, Path], prompts: list[str], tmp_path: Path
) -> None:
    """Also if its tokenizer has no limit."""
    tokenizer = AutoTokenizer.from_pretrained(checkpoints["keyed"])
    tokenizer.model_max_length = 10**30
    model = bart(tokenizer, pad_token_id=0, bos_token_id=1, eos_token_id=1, decoder_start_token_id=1)
    llm = load_llm(ModelOptions(str(save(tmp_path, model, tokenizer)), engine="transformers", num_beams=1))
    assert [llm.provenance()[key] for key in ("max_input_tokens", "max_new_tokens")] == [100, 99]
    (reply,) = answers(llm, [as_request(" ".join(prompts), LABELS, 400)])
    assert reply.error is None
    assert reply.tokens_cut > 0


def save_bart(folder: Path, source: Path, **decoding: Any) -> tuple[Any, Any]:
    """Save a BART whose tokenizer writes ``<s> ... </s>``, with generation options ``decoding``."""
    tokenizer = AutoTokenizer.from_pretrained(source)
    tokenizer.add_special_tokens({"bos_token": "<s>"})
    first, end = tokenizer.bos_token_id, tokenizer.eos_token_id
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", first), ("</s>", end)]
    )
    ids = {"pad_token_id": 0, "bos_token_id": first, "eos_token_id": end, "decoder_start_token_id": end}
    model = bart(tokenizer, **ids)
    model.generation_config = GenerationConfig(**ids, **dict.fromkeys(decoding, first))
    save(folder, model, tokenizer)
    return model, AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize(("num_beams", "decoding"), [(5, {"forced_bos_token_id": True}), (1, {})])
def test_models_with_two_start_tokens(
    checkpoints: dict[str, Path], prompts: list[str], tmp_path: Path, decoding: dict[str, Any], num_beams: int
) -> None:
    """Likelihoods are those of the tokenizer's own targets; a forced token has probability 1."""
    model, tokenizer = save_bart(tmp_path, checkpoints["keyed"], **decoding)
    short = [" ".join(prompt.split()[:30]) for prompt in prompts[:4]]
    asked = [as_request(prompt, LABELS) for prompt in short]
    extra = len(decoding)  # generate counts it as new
    for prompt, reply in zip(
        short, ask(ModelOptions(str(tmp_path), num_beams=num_beams), asked), strict=True
    ):
        assert reply.text == expected_reply(model, tokenizer, prompt, num_beams, 24 + extra)
        inputs = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
        for label, logprob in zip(LABELS, reply.label_logprobs, strict=True):
            target = tokenizer(text_target=label, return_tensors="pt")["input_ids"]
            with torch.inference_mode():
                scores = model(**inputs, labels=target).logits[0].log_softmax(-1)
            known = [scores[at, token].item() for at, token in enumerate(target[0].tolist())]
            assert logprob == pytest.approx(math.fsum(known[extra:]), abs=1e-3)


def test_models_for_translation_are_refused(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    """Without its list of forbidden tokens, a Marian model would reply with padding only."""
    model, tokenizer = load(checkpoints["keyed"])
    model.generation_config.bad_words_ids = [[0]]
    with pytest.raises(ModelError, match="'bad_words_ids'"):
        load_llm(ModelOptions(str(save(tmp_path, model, tokenizer))))


def test_the_start_token_may_come_from_the_generation_config(
    checkpoints: dict[str, Path], tmp_path: Path
) -> None:
    model, tokenizer = load(checkpoints["keyed"])
    model.config.decoder_start_token_id = None
    tokenizer.save_pretrained(tmp_path)
    for options, first in (({"decoder_start_token_id": 7}, 7), ({"bos_token_id": 8}, 8), ({}, 0)):
        model.generation_config = GenerationConfig(**options)
        model.save_pretrained(tmp_path)
        assert Checkpoint(ModelOptions(str(tmp_path))).start_tokens == [first]


def mixture_of_experts(vocabulary: int) -> Any:
    return SwitchTransformersForConditionalGeneration(
        SwitchTransformersConfig(
            vocab_size=vocabulary, d_model=16, d_kv=8, d_ff=16, num_layers=2, num_heads=2, num_experts=2,
            num_decoder_layers=2, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1,
            pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
        )
    )  # fmt: skip


def without_tuples(vocabulary: int) -> Any:
    """A model that does not accept a tuple of states."""
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1}
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    side = T5GemmaModuleConfig(**ids, **sizes, vocab_size=vocabulary, num_key_value_heads=1, head_dim=8)
    model = T5GemmaForConditionalGeneration(
        T5GemmaConfig(encoder=side, decoder=side, **ids, vocab_size=vocabulary)
    )
    model.generation_config = GenerationConfig(**ids)
    return model


@pytest.mark.parametrize(
    ("make", "labels", "batch_tokens"), [(mixture_of_experts, (), 1), (without_tuples, LABELS, None)]
)
def test_models_of_other_designs(
    checkpoints: dict[str, Path],
    prompts: list[str],
    tmp_path: Path,
    make: Callable[[int], Any],
    labels: tuple[str, ...],
    batch_tokens: int | None,
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(checkpoints["keyed"])
    torch.manual_seed(1)
    model = make(len(tokenizer)).eval()
    folder = str(save(tmp_path, model, tokenizer))
    options = ModelOptions(folder, engine="transformers", batch_tokens=batch_tokens)
    replies = ask(options, [as_request(prompt, labels) for prompt in prompts[:3]])
    assert texts(replies) == [expected_reply(model, tokenizer, prompt, 5) for prompt in prompts[:3]]
