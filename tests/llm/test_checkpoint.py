"""Broken and unsafe checkpoints: missing weights, pickled objects, custom code, and identity on the Hub."""

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


@pytest.fixture
def folder(causal_checkpoints: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(causal_checkpoints["chat"], tmp_path / "model"))


def options(folder: Path, **more: Any) -> ModelOptions:
    return ModelOptions(str(folder), pipeline="text-generation", **more)


def configure(folder: Path, **values: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


@pytest.mark.parametrize("engine", ["transformers", "ctranslate2"])
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
    if engine == "ctranslate2":
        pytest.importorskip("ctranslate2")
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


@pytest.mark.parametrize("engine", ["transformers", "ctranslate2"])
@pytest.mark.parametrize("plain", [False, True])
def test_pickled_programs_do_not_run(
    folder: Path, engine: Any, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "ctranslate2":
        pytest.importorskip("ctranslate2")
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


@pytest.mark.parametrize("engine", ["transformers", "ctranslate2"])
@pytest.mark.parametrize(("revision", "commit"), [(None, "a"), ("main", "a"), ("v2", "b"), ("b" * 40, "b")])
def test_models_of_the_hub_are_identified_by_their_commit(
    hub: Path, engine: Any, revision: str | None, commit: str
) -> None:
    if engine == "ctranslate2":
        pytest.importorskip("ctranslate2")
    llm = load_llm(ModelOptions("some/grader", "text-generation", revision, engine=engine))
    assert llm.provenance()["revision"] == commit * 40
    assert "checkpoint_hash" not in llm.provenance()


def test_files_missing_in_the_cache_of_the_hub(hub: Path) -> None:
    with pytest.raises(ModelError, match="local cache"):
        load_llm(ModelOptions("some/grader", "text-generation", "v3"))
    (hub / "snapshots" / ("b" * 40) / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"'some/grader' .*loaded"):
        load_llm(ModelOptions("some/grader", "text-generation", "v2"))
