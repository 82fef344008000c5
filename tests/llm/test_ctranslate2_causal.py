"""Causal models on CTranslate2: batching, several architectures, and refused models."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

pytest.importorskip("ctranslate2")

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, conversion, load_llm
from exam_pp.llm import ctranslate2_causal as engine
from exam_pp.llm_requests import Completion, Part, Request
from tests.llm.small_models import CONTEXT, byte_tokenizer

LABELS = tuple("012345")
INSTRUCTION = (
    "Rate from 0 to 5 how well the passage answers the question; reply with the number alone. Passage: "
)


def options(folder: Path, **more: Any) -> ModelOptions:
    return ModelOptions(str(folder), **{"pipeline": "text-generation", "engine": "ctranslate2", **more})


def request(text: str, labels: tuple[str, ...] = LABELS, instruction: str = INSTRUCTION) -> Request:
    parts = (Part(instruction), Part(text, "context", may_be_cut=True))
    return Request(parts if instruction else parts[1:], labels, 16, one_line=True)


def answers(llm: Any, requests: list[Request]) -> list[Completion]:
    replies = dict(llm.generate(requests))
    return [replies[index] for index in range(len(requests))]


def assert_same(reply: Completion, expected: Completion) -> None:
    assert (reply.text, reply.error, reply.tokens_cut) == (expected.text, expected.error, expected.tokens_cut)
    for logprob, expected_logprob in zip(reply.label_logprobs, expected.label_logprobs, strict=True):
        assert math.exp(logprob) == pytest.approx(math.exp(expected_logprob), abs=1e-4)


@pytest.fixture(scope="module")
def both(
    causal_checkpoints: dict[str, Path], prompts: list[str], conversion_cache: Path
) -> dict[str, tuple[Any, dict[tuple[str, bool, bool], Completion]]]:
    """For each checkpoint: the engine, and the reference's replies to single requests."""
    engines = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXAM_PP_CACHE", str(conversion_cache))
        for kind in ("chat", "plain", "flat"):
            reference = load_llm(options(causal_checkpoints[kind], engine="transformers"))
            expected = {
                (text, soft, instructed): dict(reference.generate([one]))[0]
                for text in prompts[:10]
                for soft in (False, True)
                for instructed in (False, True)
                for one in [request(text, LABELS if soft else (), INSTRUCTION if instructed else "")]
            }
            engines[kind] = load_llm(options(causal_checkpoints[kind])), expected
    return engines


@given(
    data=st.data(), kind=st.sampled_from(["chat", "plain", "flat"]), budget=st.sampled_from([1, 900, 9000])
)
@settings(max_examples=25)
def test_replies_do_not_depend_on_the_batch(both: Any, data: st.DataObject, kind: str, budget: int) -> None:
    llm, expected = both[kind]
    keys = data.draw(st.lists(st.sampled_from(sorted(expected)), min_size=1, max_size=12))
    llm._batch_tokens = budget
    requests = [request(text, LABELS if soft else (), INSTRUCTION * shared) for text, soft, shared in keys]
    for key, reply in zip(keys, answers(llm, requests), strict=True):
        assert_same(reply, expected[key])


_SHAPE = {
    "vocab_size": 600, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
    "num_attention_heads": 4, "initializer_range": 0.3, "max_position_embeddings": CONTEXT,
    "eos_token_id": 0, "bos_token_id": None, "pad_token_id": None,
}  # fmt: skip
_LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 500_000.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
}  # fmt: skip
_ARCHITECTURES: dict[str, dict[str, Any]] = {
    "Llama": {"num_key_value_heads": 4},
    "Llama tied": {"num_key_value_heads": 1, "tie_word_embeddings": True},
    "Llama 3": {"num_key_value_heads": 2, "rope_parameters": _LLAMA3},
    "Qwen2": {"num_key_value_heads": 2, "use_sliding_window": False},
    "Mistral": {"num_key_value_heads": 2, "head_dim": 16, "sliding_window": None},
    "GPT2": {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": CONTEXT},
    "Gemma": {"num_key_value_heads": 2, "head_dim": 16},
}
_CLASSES = {"GPT2": "GPT2LMHeadModel"}
_REFUSED = {"Llama 3": r"\(llama3\)"}


@pytest.mark.slow
@pytest.mark.parametrize("name", _ARCHITECTURES)
def test_random_weights_of_many_architectures(name: str, tmp_path: Path, prompts: list[str]) -> None:
    """Every supported architecture gives the replies of the reference."""
    torch.manual_seed(len(name))
    tokenizer = byte_tokenizer(prompts, chat=False, vocabulary=600)
    family = name.split(" ", maxsplit=1)[0]
    config = getattr(transformers, f"{family}Config")(
        **_SHAPE | {"vocab_size": len(tokenizer)} | _ARCHITECTURES[name]
    )
    getattr(transformers, _CLASSES.get(family, f"{family}ForCausalLM"))(config).eval().save_pretrained(
        tmp_path
    )
    tokenizer.save_pretrained(tmp_path)
    reference = load_llm(options(tmp_path, engine="transformers"))
    if name in _REFUSED:
        with pytest.raises(ModelError, match=f"CTranslate2 .*{_REFUSED[name]}"):
            load_llm(options(tmp_path))
        return
    llm = load_llm(options(tmp_path))
    requests = [request(text, labels) for text in prompts[:6] for labels in ((), LABELS, ("4.5", "no"))]
    for reply, expected in zip(answers(llm, requests), answers(reference, requests), strict=True):
        assert_same(reply, expected)


@pytest.mark.slow
@pytest.mark.parametrize("compute_type", ["float32", "int8"])
def test_a_wrong_conversion_is_noticed(
    compute_type: str,
    causal_checkpoints: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EXAM_PP_CACHE", str(tmp_path))
    convert = conversion._convert

    def convert_another(checkpoint: Any, folder: Path, compute_type: str) -> None:
        monkeypatch.setattr(checkpoint, "path", str(causal_checkpoints["flat"]))
        convert(checkpoint, folder, compute_type)
        monkeypatch.undo()

    monkeypatch.setattr(conversion, "_convert", convert_another)
    with pytest.raises(ModelError, match=r"CTranslate2 .*disagrees"):
        load_llm(options(causal_checkpoints["chat"], compute_type=compute_type))
    assert not list((tmp_path / "ctranslate2").iterdir())


def _with_config(folder: Path, target: Path, **changes: Any) -> Path:
    """A copy of the checkpoint with a changed config."""
    transformers.AutoModelForCausalLM.from_pretrained(folder).save_pretrained(target)
    AutoTokenizer.from_pretrained(folder).save_pretrained(target)
    config = transformers.AutoConfig.from_pretrained(folder).to_dict() | changes
    config.pop("transformers_version")
    kind = {"mistral": "MistralConfig"}.get(config["model_type"], "LlamaConfig")
    getattr(transformers, kind)(**config).save_pretrained(target)
    return target


def test_an_architecture_without_conversion(
    causal_checkpoints: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ctranslate2.converters import transformers as converters

    monkeypatch.setenv("EXAM_PP_CACHE", str(tmp_path))
    monkeypatch.delitem(converters._MODEL_LOADERS, "LlamaConfig")
    with pytest.raises(ModelError, match="LlamaConfig"):
        load_llm(options(causal_checkpoints["chat"]))


_WINDOW = {"model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 64}
_DYNAMIC = {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}}


@pytest.mark.parametrize(("changes", "message"), [(_WINDOW, r"\b64\b"), (_DYNAMIC, r"\(dynamic\)")])
def test_models_are_refused_whose_errors_short_prompts_do_not_show(
    causal_checkpoints: dict[str, Path], tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    folder = _with_config(causal_checkpoints["plain"], tmp_path, **changes)
    with pytest.raises(ModelError, match=f"CTranslate2 .*{message}"):
        load_llm(options(folder))
    assert load_llm(options(folder, engine="auto")).provenance()["engine"] == "transformers"


def test_the_engine_is_used_only_on_request(causal_checkpoints: dict[str, Path]) -> None:
    folder = causal_checkpoints["chat"]
    assert load_llm(options(folder, engine="auto")).provenance()["engine"] == "transformers"
    provenance = load_llm(options(folder, engine="auto", compute_type="float32")).provenance()
    assert (provenance["engine"], provenance["dtype"]) == ("ctranslate2", "float32")
    with pytest.raises(ModelError, match="greedy"):
        load_llm(options(folder, num_beams=3))
    with pytest.raises(ModelError, match=r"-M device_map .*-M engine=ctranslate2"):
        load_llm(options(folder, device_map="auto"))


def test_the_number_of_cached_instructions_is_limited(
    causal_checkpoints: dict[str, Path], prompts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine never frees cached prefixes, so their number must not grow with the prompts."""
    monkeypatch.setattr(engine, "_MAX_PREFIXES", 1)
    llm: Any = load_llm(options(causal_checkpoints["plain"]))
    second = "Say how much of the question the following text answers, as a number from 0 to 5. Text: "
    instructions = (INSTRUCTION, second, "")
    requests = [request(text, (), instruction) for instruction in instructions for text in prompts[:4]]
    replies = answers(llm, requests)
    assert len(llm._kept) == 1
    reference = load_llm(options(causal_checkpoints["plain"], engine="transformers"))
    assert [reply.text for reply in replies] == [reply.text for reply in answers(reference, requests)]
