"""Broken and unsafe checkpoints: damaged files, missing weights, programs, and identity on the Hub."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, load_llm
from exam_pp.llm.base import failures_as_model_error
from exam_pp.llm.checkpoint import ModelCheckpoint
from exam_pp.llm.checkpoint_files import check_folder
from exam_pp.llm.huggingface import Checkpoint
from exam_pp.llm_requests import Part, Request
from tests.llm.asking import ENGINES, ask


@pytest.fixture
def folder(causal_checkpoints: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(causal_checkpoints["chat"], tmp_path / "model"))


def options(folder: Path, **more: Any) -> ModelOptions:
    return ModelOptions(str(folder), pipeline="text-generation", **more)


def configure(folder: Path, name: str = "config.json", **values: Any) -> None:
    file = folder / name
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("rename", "lacking"),
    [
        (lambda key: None if key == "model.norm.weight" else key, r"\b1 weight .* 'model\.norm\.weight'"),
        (lambda key: key.replace("model.", "gpt."), r"\d+ weights"),
    ],
)
def test_missing_weights_are_an_error(
    folder: Path, engine: Any, rename: Callable[[str], str | None], lacking: str
) -> None:
    file = folder / "model.safetensors"
    kept = {new: tensor for key, tensor in load_file(file).items() if (new := rename(key))}
    save_file(kept, file, metadata={"format": "pt"})
    with pytest.raises(ModelError, match=lacking):
        load_llm(options(folder, engine=engine))


def test_unexpected_weights_are_a_warning(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    configure(folder, num_hidden_layers=1)
    load_llm(options(folder))
    assert re.search(r"\b9 weights .*config\.json.* 'model\.layers\.1", caplog.text)


def test_weights_of_another_size(folder: Path) -> None:
    configure(folder, intermediate_size=128)
    with pytest.raises(ModelError, match=r"sizes .*config\.json"):
        load_llm(options(folder))


def test_shards_are_the_checkpoint(folder: Path) -> None:
    whole = load_llm(options(folder)).provenance()
    model = AutoModelForCausalLM.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="1MB")
    assert load_llm(options(folder)).provenance()["checkpoint_hash"] != whole["checkpoint_hash"]
    max(folder.glob("model-*.safetensors")).unlink()
    with pytest.raises(ModelError, match="No such file"):
        load_llm(options(folder))


class Program:
    """An object that makes a folder when it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, ("ran",)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("plain", [False, True])
def test_pickled_programs_do_not_run(
    folder: Path, engine: Any, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "model.safetensors").unlink()
    file = folder / "pytorch_model.bin"
    if plain:
        file.write_bytes(pickle.dumps({"weight": Program()}, protocol=2))
    else:
        torch.save({"weight": Program()}, file)
    with pytest.raises(ModelError, match=r"code.* safetensors"):
        load_llm(options(folder, engine=engine))
    assert not Path("ran").exists()


def test_custom_code_of_a_checkpoint_does_not_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a terminal, transformers would ask whether to run it."""
    monkeypatch.setattr("builtins.input", lambda _prompt: "y")
    configure(folder, model_type="new", auto_map={"AutoConfig": "own.Config"})
    (folder / "own.py").write_text("from transformers import LlamaConfig as Config\n")
    with pytest.raises(ModelError, match="custom code"):
        load_llm(options(folder))


@pytest.fixture
def hub(causal_checkpoints: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the Hub with two commits of a model, ``main`` and ``v2``."""
    folder = tmp_path / "models--some--grader"
    (folder / "refs").mkdir(parents=True)
    for ref, digit in (("main", "a"), ("v2", "b")):
        (folder / "refs" / ref).write_text(digit * 40)
        snapshot = folder / "snapshots" / (digit * 40)
        snapshot.mkdir(parents=True)
        for file in causal_checkpoints["chat"].iterdir():
            (snapshot / file.name).symlink_to(file)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    return folder


@pytest.mark.parametrize(("revision", "commit"), [(None, "a"), ("v2", "b"), ("b" * 40, "b")])
def test_models_of_the_hub_are_identified_by_their_commit(
    hub: Path, revision: str | None, commit: str
) -> None:
    llm = load_llm(ModelOptions("some/grader", "text-generation", revision))
    assert llm.provenance()["revision"] == commit * 40
    assert "checkpoint_hash" not in llm.provenance()


def test_files_missing_in_the_cache_of_the_hub(hub: Path) -> None:
    with pytest.raises(ModelError, match="local cache"):
        load_llm(ModelOptions("some/grader", "text-generation", "v3"))
    (hub / "snapshots" / ("b" * 40) / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"'some/grader' .*loaded"):
        load_llm(ModelOptions("some/grader", "text-generation", "v2"))


# Damaged files: one sentence, before a model of an impossible size is built


@pytest.fixture
def t5(t5_folder: Path, tmp_path: Path) -> Path:
    return shutil.copytree(t5_folder, tmp_path / "t5")


def t5_options(folder: Path) -> ModelOptions:
    return ModelOptions(str(folder), engine="transformers", device="cpu")


# The normalizer of T5: a trie of one unit, and no replacements.
TABLE = {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAA="}


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("config.json", {}),
        ("config.json", {"num_layers": 1000, "rope_theta": 10**9, "n_positions": 10**6}),
        ("tokenizer.json", {"normalizer": {"type": "Sequence", "normalizers": [TABLE]}}),
    ],
    ids=["nothing", "long", "table"],
)
def test_sound_folders_pass(name: str, changes: dict[str, Any], t5: Path) -> None:
    configure(t5, name, **changes)
    check_folder(t5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_layers": 10**6}, r"num_layers in config\.json is 1000000, but the weights have \d+ tensors"),
        ({"text_config": {"n_layer": 1001}}, r"n_layer in config\.json is 1001"),
        ({"vocab_size": 10**8}, r"vocab_size in config\.json is 100000000, but the weights have \d+ bytes"),
        ({"num_labels": 10**10}, "num_labels"),
        ({"max_position_embeddings": 10**12}, "max_position_embeddings"),
    ],
)
def test_sizes_that_the_weights_cannot_have(changes: dict[str, Any], message: str, t5: Path) -> None:
    configure(t5, "config.json", **changes)
    with pytest.raises(ValueError, match=message):
        check_folder(t5)


@pytest.mark.parametrize("text", ["[]", "{", "", "null", "[" * 100_000, '{"x": ' + "9" * 5000 + "}"])
@pytest.mark.parametrize("name", ["config.json", "generation_config.json", "tokenizer_config.json"])
def test_files_that_are_no_json_object(name: str, text: str, t5: Path) -> None:
    (t5 / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"^{name} is not (valid JSON|a JSON object)"):
        check_folder(t5)


@pytest.mark.parametrize(
    "table", ["////fwAAAAAAAAAAAAAAAAAAAAA=", "AQ==", "%%%"], ids=["end outside", "one byte", "no base64"]
)
def test_a_table_that_would_end_the_process(table: str, t5: Path) -> None:
    configure(t5, "tokenizer.json", normalizer={"type": "Precompiled", "precompiled_charsmap": table})
    with pytest.raises(ValueError, match=r"precompiled_charsmap in tokenizer\.json is"):
        check_folder(t5)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("config.json", {"d_model": "x"}, "files are damaged or do not belong together"),
        ("config.json", {"decoder_start_token_id": 10**9}, "the first token 1000000000 of a reply"),
        ("generation_config.json", {"max_new_tokens": -1}, "max_new_tokens` must be greater than 0"),
        ("tokenizer_config.json", {"model_max_length": -1}, "limit the input to -1 tokens"),
    ],
)
def test_settings_of_a_damaged_file(name: str, changes: dict[str, Any], message: str, t5: Path) -> None:
    configure(t5, name, **changes)
    with pytest.raises(ModelError, match=message) as refused:
        load_llm(t5_options(t5))
    assert "\n" not in str(refused.value)


def test_a_setting_that_fails_with_the_first_prompt(t5: Path) -> None:
    configure(t5, "config.json", relative_attention_max_distance=0)
    asked = Request((Part("Is it long enough for buckets? " * 9),), max_new_tokens=2)
    with pytest.raises(ModelError, match=r"has failed \(ValueError: math domain error\)\. Check its files"):
        ask(t5_options(t5), [asked])


@pytest.mark.parametrize(
    "key", ["attn_implementation", "_attn_implementation", "_attn_implementation_internal"]
)
def test_the_attention_is_never_that_of_a_repository(key: str, t5: Path) -> None:
    configure(t5, "config.json", **{key: "org/kernel"})
    checkpoint: ModelCheckpoint = Checkpoint(t5_options(t5))
    assert checkpoint.model(torch.float32).config._attn_implementation in ("sdpa", "eager")


class PanicException(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "is_made"),
    [
        (PanicException("x"), True), (TypeError("x"), True), (RecursionError("x"), True),
        (KeyboardInterrupt(), False), (SystemExit(3), False), (ModelError("own"), False),
    ],
)  # fmt: skip
def test_failures_of_libraries(error: BaseException, is_made: bool) -> None:
    with (
        pytest.raises(ModelError if is_made else type(error)) as caught,
        failures_as_model_error(lambda e: ModelError(f"made of {e}")),
    ):
        raise error
    assert (str(caught.value) == "made of x") == is_made
