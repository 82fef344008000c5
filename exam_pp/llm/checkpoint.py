"""Finding a checkpoint and telling which one it is."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

from exam_pp.errors import MissingExtraError, ModelError
from exam_pp.llm.base import BUNDLED, ModelOptions

_WEIGHTS = (".safetensors", ".bin", ".json", ".model", ".txt", ".jinja")


def checkpoint_path(options: ModelOptions) -> str:
    """The folder of ``bundled``, a local folder, or a Hub name as it is."""
    if options.model == BUNDLED:
        folder = Path(str(files("exam_pp") / "bundled"))
        if not (folder / "config.json").is_file():
            raise ModelError("The bundled grader's checkpoint is missing from this installation.")
        return str(folder)
    return options.model


def identity(path: str, config: Any) -> dict[str, str]:
    """What tells this checkpoint from another: the Hub's commit, or a hash of the local files."""
    commit = getattr(config, "_commit_hash", None)
    if commit and not Path(path).is_dir():
        return {"revision": str(commit)}
    return {"checkpoint_hash": folder_hash(Path(path))}


def folder_hash(folder: Path) -> str:
    """First 16 hex digits of the SHA-256 over the checkpoint's files, names and contents."""
    digest = hashlib.sha256()
    for file in sorted(p for p in folder.iterdir() if p.suffix in _WEIGHTS and p.is_file()):
        digest.update(file.name.encode() + b"\0")
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:16]


def import_transformers() -> Any:
    """The transformers package; raises :class:`MissingExtraError` where it is not installed."""
    try:
        import torch  # noqa: F401 - transformers imports without it, and then has no models
        import transformers
    except ImportError as error:
        raise MissingExtraError("A local model", "hf") from error
    return transformers


def load_failed(options: ModelOptions, error: Exception) -> ModelError:
    """A load error of transformers as one sentence."""
    reason = " ".join(str(error).split()).rstrip(".")
    short = reason if len(reason) < 300 else reason[:300] + " ..."
    return ModelError(f"The model {options.model!r} cannot be loaded: {short}.")
