"""Damaged folders of models end with one sentence, before a model of an impossible size is built."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import ModelError
from exam_pp.llm.backends import load_llm
from exam_pp.llm.base import ModelOptions, failures_as_model_error
from exam_pp.llm.checkpoint import ModelCheckpoint
from exam_pp.llm.checkpoint_files import check_folder
from exam_pp.llm.huggingface import Checkpoint
from exam_pp.llm_requests import Part, Request


@pytest.fixture
def folder(t5_folder: Path, tmp_path: Path) -> Path:
    """A copy of an intact checkpoint."""
    return Path(shutil.copytree(t5_folder, tmp_path / "model"))


def change(folder: Path, name: str, **changes: Any) -> None:
    path = folder / name
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), encoding="utf-8")


def options(folder: Path) -> ModelOptions:
    return ModelOptions(str(folder), engine="transformers", device="cpu")


def test_intact_folders_pass(folder: Path) -> None:
    check_folder(folder)
    change(folder, "config.json", num_layers=1000, rope_theta=10**9, n_positions=10**6)
    check_folder(folder)


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
def test_sizes_that_the_weights_cannot_have(changes: dict[str, Any], message: str, folder: Path) -> None:
    change(folder, "config.json", **changes)
    with pytest.raises(ValueError, match=message):
        check_folder(folder)


@pytest.mark.parametrize("text", ["[]", "{", "", "null", "[" * 100_000, '{"x": ' + "9" * 5000 + "}"])
@pytest.mark.parametrize("name", ["config.json", "generation_config.json", "tokenizer_config.json"])
def test_files_that_are_no_json_object(name: str, text: str, folder: Path) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"^{name} is not (valid JSON|a JSON object)"):
        check_folder(folder)


@pytest.mark.parametrize(
    "table", ["////fwAAAAAAAAAAAAAAAAAAAAA=", "AQ==", "%%%"], ids=["end outside", "one byte", "no base64"]
)
def test_a_table_that_would_end_the_process(table: str, folder: Path) -> None:
    change(folder, "tokenizer.json", normalizer={"type": "Precompiled", "precompiled_charsmap": table})
    with pytest.raises(ValueError, match=r"precompiled_charsmap in tokenizer\.json is"):
        check_folder(folder)


def test_the_table_of_a_real_tokenizer(folder: Path) -> None:
    """The normalizer of T5: a trie of one unit, and no replacements."""
    table = {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAA="}
    change(folder, "tokenizer.json", normalizer={"type": "Sequence", "normalizers": [table]})
    check_folder(folder)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("config.json", {"d_model": "x"}, "files are damaged or do not belong together"),
        ("config.json", {"decoder_start_token_id": 10**9}, "the first token 1000000000 of a reply"),
        ("generation_config.json", {"max_new_tokens": -1}, "max_new_tokens` must be greater than 0"),
        ("tokenizer_config.json", {"model_max_length": -1}, "limit the input to -1 tokens"),
    ],
)
def test_settings_of_a_damaged_file(name: str, changes: dict[str, Any], message: str, folder: Path) -> None:
    change(folder, name, **changes)
    with pytest.raises(ModelError, match=message) as refused:
        load_llm(options(folder))
    assert "\n" not in str(refused.value)


def test_a_setting_that_fails_with_the_first_prompt(folder: Path) -> None:
    change(folder, "config.json", relative_attention_max_distance=0)
    llm = load_llm(options(folder))
    with pytest.raises(ModelError, match=r"has failed \(ValueError: math domain error\)\. Check its files"):
        list(llm.generate([Request((Part("Is it long enough for buckets? " * 9),), max_new_tokens=2)]))


@pytest.mark.parametrize(
    "key", ["attn_implementation", "_attn_implementation", "_attn_implementation_internal"]
)
def test_the_attention_is_never_that_of_a_repository(key: str, folder: Path) -> None:
    change(folder, "config.json", **{key: "org/kernel"})
    checkpoint: ModelCheckpoint = Checkpoint(options(folder))
    import torch

    assert checkpoint.model(torch.float32).config._attn_implementation in ("sdpa", "eager")


class PanicException(BaseException):
    pass


def _raises(error: BaseException) -> Callable[[], None]:
    def function() -> None:
        raise error

    return function


@pytest.mark.parametrize("error", [PanicException("x"), TypeError("x"), RecursionError("x")])
def test_failures_of_libraries(error: BaseException) -> None:
    with (
        pytest.raises(ModelError, match="made of x"),
        failures_as_model_error(lambda e: ModelError(f"made of {e}")),
    ):
        _raises(error)()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), ModelError("own")])
def test_errors_that_pass(error: BaseException) -> None:
    with pytest.raises(type(error)), failures_as_model_error(lambda e: ModelError("made")):
        _raises(error)()
