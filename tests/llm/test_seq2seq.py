"""Both engines against transformers' `generate` and teacher forcing, on small checkpoints."""

from __future__ import annotations

import importlib.util
import math
import random
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

from exam_pp.errors import ModelError, UnknownNameError
from exam_pp.llm import ModelOptions, conversion, load_llm
from exam_pp.llm.huggingface import Checkpoint
from exam_pp.llm_requests import Part, Request

LABELS = tuple("012345")
ENGINES = [
    "transformers",
    pytest.param(
        "ctranslate2",
        marks=pytest.mark.skipif(not importlib.util.find_spec("ctranslate2"), reason="the fast extra"),
    ),
]


def as_request(prompt: str, labels: tuple[str, ...] = (), max_new_tokens: int = 24) -> Request:
    words = prompt.split(" ")
    start, rest = " ".join(words[:2]), " ".join(words[2:])
    return Request((Part(f"{start} "), Part(rest, "context", may_be_cut=True)), labels, max_new_tokens)


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


@pytest.mark.slow
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
        llm = load_llm(
            ModelOptions(
                str(checkpoints[kind]), engine=engine, num_beams=num_beams, batch_tokens=batch_tokens
            )
        )
        order = chance.sample(range(len(prompts)), len(prompts))
        replies = dict(llm.generate([as_request(prompts[i]) for i in order]))
        assert [replies[position].text for position in range(len(order))] == [expected[i] for i in order]


@pytest.mark.slow
@pytest.mark.parametrize("num_beams", [5, 1])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["keyed", "flat"])
def test_label_likelihoods_equal_teacher_forcing(
    checkpoints: dict[str, Path], prompts: list[str], engine: Any, kind: str, num_beams: int
) -> None:
    model, tokenizer = reference(checkpoints[kind])
    assert len(tokenizer("0", add_special_tokens=False)["input_ids"]) == 2
    llm = load_llm(ModelOptions(str(checkpoints[kind]), engine=engine, num_beams=num_beams))
    replies = dict(llm.generate([as_request(prompt, LABELS) for prompt in prompts]))
    for index, prompt in enumerate(prompts):
        for label, logprob in zip(LABELS, replies[index].label_logprobs, strict=True):
            expected = label_probability(model, tokenizer, prompt, label)
            assert math.exp(logprob) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_replies_that_run_into_the_limit_equal_generate(
    checkpoints: dict[str, Path], prompts: list[str], engine: Any
) -> None:
    model, tokenizer = reference(checkpoints["flat"])
    llm = load_llm(ModelOptions(str(checkpoints["flat"]), engine=engine))
    requests = [as_request(prompt, max_new_tokens=5) for prompt in prompts[:8]]
    replies = dict(llm.generate(requests))
    expected = [expected_reply(model, tokenizer, prompt, 5, 5) for prompt in prompts[:8]]
    assert [replies[i].text for i in range(8)] == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_long_replies_do_not_change_with_the_first_limit(
    checkpoints: dict[str, Path], prompts: list[str], engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exam_pp.llm.huggingface.FIRST_TOKENS", 4)
    monkeypatch.setattr("exam_pp.llm.ctranslate2.LONGEST_REPLY", 6)
    model, tokenizer = reference(checkpoints["flat"])
    llm = load_llm(ModelOptions(str(checkpoints["flat"]), engine=engine))
    replies = dict(llm.generate([as_request(prompt) for prompt in prompts[:10]]))
    assert [replies[i].text for i in range(10)] == [
        expected_reply(model, tokenizer, prompt, 5) for prompt in prompts[:10]
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_unusual_texts_are_answered(checkpoints: dict[str, Path], engine: Any) -> None:
    texts = [
        "",
        "\0",
        "\ud800 lone",
        "مرحبا بالعالم",
        "x " * 100_000,
        "Question: Context: Question: 5",
        "🜚" * 40,
    ]
    llm = load_llm(ModelOptions(str(checkpoints["keyed"]), engine=engine))
    requests = [
        Request((Part("Question: what? Context: "), Part(text, "context", may_be_cut=True)), LABELS, 8)
        for text in texts
    ]
    replies = dict(llm.generate(requests))
    assert sorted(replies) == list(range(len(texts)))
    assert all(reply.error is None for reply in replies.values())
    assert replies[4].tokens_cut > 80_000


def test_a_question_longer_than_the_context_fails_alone(checkpoints: dict[str, Path]) -> None:
    llm = load_llm(ModelOptions(str(checkpoints["keyed"]), engine="transformers"))
    long = Request((Part("why " * 600), Part("a passage", "context", may_be_cut=True)))
    replies = dict(llm.generate([long, as_request("a b c")]))
    assert "longer than 512 tokens" in (replies[0].error or "")
    assert replies[1].error is None


def test_out_of_memory_halves_the_batch(
    checkpoints: dict[str, Path], prompts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from exam_pp.llm.huggingface import TransformersEngine

    run = TransformersEngine._run

    def scarce(self: Any, job: Any) -> Any:
        if len(job.prompts) > 3:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return run(self, job)

    options = ModelOptions(str(checkpoints["keyed"]), engine="transformers", batch_tokens=100_000)
    requests = [as_request(prompt) for prompt in prompts]
    plenty = dict(load_llm(options).generate(requests))
    monkeypatch.setattr(TransformersEngine, "_run", scarce)
    assert dict(load_llm(options).generate(requests)) == plenty


def test_a_numeric_overflow_is_an_error(checkpoints: dict[str, Path]) -> None:
    """As in float16 with models that were trained in bfloat16; it does not affect other prompts."""
    llm: Any = load_llm(ModelOptions(str(checkpoints["keyed"]), engine="transformers"))
    embeddings = llm._engine._model.get_input_embeddings().weight
    *_, token = llm._encoder._tokenizer("5", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        embeddings[token] = float("inf")
    good, bad = (reply for _, reply in sorted(llm.generate([as_request("a b"), as_request("a b 5")])))
    assert (good.error, bad.text) == (None, "")
    assert "overflow in float32" in (bad.error or "")


def test_out_of_memory_with_one_prompt_is_an_error(
    checkpoints: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from exam_pp.llm.huggingface import TransformersEngine

    def never(self: Any, job: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(TransformersEngine, "_run", never)
    llm = load_llm(ModelOptions(str(checkpoints["keyed"]), engine="transformers"))
    assert "out of memory" in (dict(llm.generate([as_request("a b c")]))[0].error or "")


@pytest.mark.parametrize("compute_type", ["float32", "int8"])
def test_a_wrong_conversion_is_noticed(
    compute_type: str, checkpoints: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the correction of the tied-embeddings flag the output layer has a wrong scale."""
    pytest.importorskip("ctranslate2")
    from ctranslate2.converters import TransformersConverter

    monkeypatch.setenv("EXAM_PP_CACHE", str(tmp_path))

    def convert_plainly(checkpoint: Any, folder: Path, compute_type: str) -> None:
        TransformersConverter(checkpoint.path).convert(str(folder), quantization=compute_type, force=True)

    monkeypatch.setattr(conversion, "_convert", convert_plainly)
    with pytest.raises(ModelError, match="disagrees"):
        load_llm(ModelOptions(str(checkpoints["keyed"]), engine="ctranslate2", compute_type=compute_type))
    assert not list((tmp_path / "ctranslate2").iterdir())
    assert load_llm(ModelOptions(str(checkpoints["keyed"]))).provenance()["engine"] == "transformers"


def test_provenance_records_the_decoding_options(checkpoints: dict[str, Path]) -> None:
    options = ModelOptions(str(checkpoints["keyed"]), engine="transformers")
    provenance = load_llm(options).provenance()
    assert provenance["dtype"] == "float32"
    assert (provenance["num_beams"], provenance["early_stopping"]) == (5, True)
    assert len(provenance["checkpoint_hash"]) == 16
    flat = load_llm(ModelOptions(str(checkpoints["flat"]), engine="transformers")).provenance()
    assert flat["checkpoint_hash"] != provenance["checkpoint_hash"]


def test_models_that_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"{tmp_path}.* loaded"):
        load_llm(ModelOptions(str(tmp_path)))
    with pytest.raises(UnknownNameError, match="'lexical'"):
        load_llm(ModelOptions("lexicla"))
    with pytest.raises(UnknownNameError, match="'text2text'"):
        load_llm(ModelOptions("google/flan-t5-large", pipeline="text2txt"))


def test_a_checkpoint_may_limit_replies(
    checkpoints: dict[str, Path], prompts: list[str], tmp_path: Path
) -> None:
    model, tokenizer = load(checkpoints["flat"])
    model.generation_config.max_new_tokens = 3
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    llm = load_llm(ModelOptions(str(tmp_path), engine="transformers"))
    assert llm.provenance()["max_new_tokens"] == 3
    replies = dict(llm.generate([as_request(prompt) for prompt in prompts[:4]]))
    assert [replies[i].text for i in range(4)] == [
        expected_reply(model, tokenizer, prompt, 5, 3) for prompt in prompts[:4]
    ]


@pytest.fixture(scope="module")
def short_bart(checkpoints: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with 100 token positions, whose tokenizer has no limit."""
    folder = tmp_path_factory.mktemp("bart")
    tokenizer = AutoTokenizer.from_pretrained(checkpoints["keyed"])
    end, size = tokenizer.eos_token_id, {"encoder_layers": 1, "decoder_layers": 1, "d_model": 16}
    config = BartConfig(
        vocab_size=len(tokenizer), max_position_embeddings=100, encoder_ffn_dim=16, decoder_ffn_dim=16,
        encoder_attention_heads=2, decoder_attention_heads=2, pad_token_id=tokenizer.pad_token_id,
        bos_token_id=end, eos_token_id=end, decoder_start_token_id=end, **size,
    )  # fmt: skip
    torch.manual_seed(1)
    BartForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.model_max_length = 10**30
    tokenizer.save_pretrained(folder)
    return folder


def save_bart(folder: Path, source: Path, **decoding: Any) -> tuple[Any, Any]:
    """Save a BART whose tokenizer writes ``<s> ... </s>``, with generation options ``decoding``."""
    tokenizer = AutoTokenizer.from_pretrained(source)
    tokenizer.add_special_tokens({"bos_token": "<s>"})
    first, end = tokenizer.bos_token_id, tokenizer.eos_token_id
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", first), ("</s>", end)]
    )
    tokenizer.save_pretrained(folder)
    config = BartConfig(
        vocab_size=len(tokenizer), max_position_embeddings=100, encoder_ffn_dim=16, decoder_ffn_dim=16,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_layers=1, decoder_layers=1, d_model=16,
        pad_token_id=tokenizer.pad_token_id, bos_token_id=first, eos_token_id=end,
        decoder_start_token_id=end, forced_eos_token_id=None, init_std=0.5,
    )  # fmt: skip
    torch.manual_seed(1)
    model = BartForConditionalGeneration(config).eval()
    model.generation_config = GenerationConfig(
        pad_token_id=tokenizer.pad_token_id, bos_token_id=first, eos_token_id=end,
        decoder_start_token_id=end, **dict.fromkeys(decoding, first),
    )  # fmt: skip
    model.save_pretrained(folder)
    return model, AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("decoding", [{}, {"forced_bos_token_id": True}])
@pytest.mark.parametrize("num_beams", [5, 1])
def test_models_with_two_start_tokens(
    checkpoints: dict[str, Path], prompts: list[str], tmp_path: Path, decoding: dict[str, Any], num_beams: int
) -> None:
    """Likelihoods are those of the tokenizer's own targets; a forced token has probability 1."""
    model, tokenizer = save_bart(tmp_path, checkpoints["keyed"], **decoding)
    llm = load_llm(ModelOptions(str(tmp_path), num_beams=num_beams))
    short = [" ".join(prompt.split()[:30]) for prompt in prompts[:6]]
    replies = dict(llm.generate([as_request(prompt, LABELS) for prompt in short]))
    extra = len(decoding)  # generate counts it as new
    for index, prompt in enumerate(short):
        assert replies[index].text == expected_reply(model, tokenizer, prompt, num_beams, 24 + extra)
        inputs = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
        for label, logprob in zip(LABELS, replies[index].label_logprobs, strict=True):
            target = tokenizer(text_target=label, return_tensors="pt")["input_ids"]
            with torch.inference_mode():
                scores = model(**inputs, labels=target).logits[0].log_softmax(-1)
            known = [scores[at, token].item() for at, token in enumerate(target[0].tolist())]
            assert logprob == pytest.approx(math.fsum(known[extra:]), abs=1e-3)


def test_models_for_translation_are_refused(checkpoints: dict[str, Path], tmp_path: Path) -> None:
    """Without its list of forbidden tokens, a Marian model would reply with padding only."""
    model, tokenizer = load(checkpoints["keyed"])
    model.generation_config.bad_words_ids = [[0]]
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="'bad_words_ids'"):
        load_llm(ModelOptions(str(tmp_path)))


def test_a_mixture_of_experts(checkpoints: dict[str, Path], prompts: list[str], tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(checkpoints["keyed"])
    torch.manual_seed(1)
    model = SwitchTransformersForConditionalGeneration(
        SwitchTransformersConfig(
            vocab_size=len(tokenizer), d_model=16, d_kv=8, d_ff=16, num_layers=2, num_heads=2, num_experts=2,
            num_decoder_layers=2, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1,
            pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
        )
    ).eval()  # fmt: skip
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    llm = load_llm(ModelOptions(str(tmp_path), engine="transformers", batch_tokens=1))
    replies = dict(llm.generate([as_request(prompt) for prompt in prompts[:3]]))
    expected = [expected_reply(model, tokenizer, prompt, 5) for prompt in prompts[:3]]
    assert [replies[i].text for i in range(3)] == expected


def test_prompts_and_replies_fit_the_positions_of_a_model(short_bart: Path, prompts: list[str]) -> None:
    llm = load_llm(ModelOptions(str(short_bart), engine="transformers", num_beams=1))
    assert [llm.provenance()[key] for key in ("max_input_tokens", "max_new_tokens")] == [100, 99]
    (reply,) = dict(llm.generate([as_request(" ".join(prompts), LABELS, 400)])).values()
    assert reply.error is None
    assert reply.tokens_cut > 0


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


def test_a_model_that_does_not_accept_a_tuple_of_states(
    checkpoints: dict[str, Path], prompts: list[str], tmp_path: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(checkpoints["keyed"])
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1, "vocab_size": len(tokenizer)}
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    side = T5GemmaModuleConfig(**ids, **sizes, num_key_value_heads=1, head_dim=8)
    torch.manual_seed(1)
    model = T5GemmaForConditionalGeneration(T5GemmaConfig(encoder=side, decoder=side, **ids)).eval()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    llm = load_llm(ModelOptions(str(tmp_path), engine="transformers"))
    replies = dict(llm.generate([as_request(prompt, LABELS) for prompt in prompts[:4]]))
    model.generation_config = GenerationConfig(**{k: v for k, v in ids.items() if k != "vocab_size"})
    assert [replies[i].text for i in range(4)] == [
        expected_reply(model, tokenizer, prompt, 5) for prompt in prompts[:4]
    ]
