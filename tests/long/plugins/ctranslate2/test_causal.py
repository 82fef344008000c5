"""Causal models on CTranslate2: many architectures against transformers, and wrong conversions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from exam_pp.errors import ModelError
from exam_pp.llm import load_llm
from exam_pp.plugins.ctranslate2 import conversion
from tests.llm.asking import LABELS, answers
from tests.llm.small_models import CONTEXT, byte_tokenizer
from tests.llm.test_causal import options
from tests.plugins.ctranslate2.test_causal import fast, instructed

pytest.importorskip("ctranslate2")

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


@pytest.mark.parametrize("name", _ARCHITECTURES)
def test_random_weights_of_many_architectures(name: str, tmp_path: Path, prompts: list[str]) -> None:
    """Every supported architecture gives the replies of the reference."""
    torch.manual_seed(len(name))
    tokenizer = byte_tokenizer(prompts, chat=False, vocabulary=600)
    family, _, _ = name.partition(" ")
    config = getattr(transformers, f"{family}Config")(
        **_SHAPE | {"vocab_size": len(tokenizer)} | _ARCHITECTURES[name]
    )
    getattr(transformers, _CLASSES.get(family, f"{family}ForCausalLM"))(config).eval().save_pretrained(
        tmp_path
    )
    tokenizer.save_pretrained(tmp_path)
    reference = load_llm(options(tmp_path))
    if name in _REFUSED:
        with pytest.raises(ModelError, match=f"CTranslate2 .*{_REFUSED[name]}"):
            load_llm(fast(tmp_path))
        return
    llm = load_llm(fast(tmp_path))
    requests = [instructed(text, labels) for text in prompts[:6] for labels in ((), LABELS, ("4.5", "no"))]
    for reply, expected in zip(answers(llm, requests), answers(reference, requests), strict=True):
        assert (reply.text, reply.error, reply.tokens_cut) == (
            expected.text,
            expected.error,
            expected.tokens_cut,
        )
        of_reply, of_expected = (list(map(math.exp, each.label_logprobs)) for each in (reply, expected))
        assert of_reply == pytest.approx(of_expected, abs=1e-4)


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
        load_llm(fast(causal_checkpoints["chat"], compute_type=compute_type))
    assert not list((tmp_path / "ctranslate2").iterdir())
