"""Conversion of checkpoints for CTranslate2, with a check against transformers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from pickle import UnpicklingError
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeVar

from exam_pp.errors import MissingExtraError, ModelError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.checkpoint import OWN_ATTENTION, ModelCheckpoint, load_error, quiet_loading
from exam_pp.llm.conversion_cache import cache_folder, make_once
from exam_pp.llm.cores import available_cores

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

T = TypeVar("T")

# Maximal mean total variation distance between the distributions over the next token of a converted
# checkpoint and of transformers. Unlike likelihoods of labels, it does not depend on improbable tokens: in 8
# bits their log-likelihoods change by more than 1 without any effect on replies.
_TOLERANCE = {"float32": 1e-3, "bfloat16": 0.1, "float16": 0.05}
_LOOSE_TOLERANCE = 0.25

_SCALE_TOLERANCE = 1.5
"""Maximal factor between the spreads of log-probabilities; wrong scales of the output layer exceed 10."""

_NO_LOGPROB = -1e30
"""Log-probabilities below this stand for tokens that an engine excludes."""


def start_or_none(options: ModelOptions, make: Callable[[], T]) -> T | None:
    """Start an engine with ``make``; None after an error, if the options do not request CTranslate2.

    If they do, raises :class:`MissingExtraError` if CTranslate2 is not installed, and :class:`ModelError` if
    it cannot run the checkpoint.
    """
    try:
        return make()
    except ImportError as error:
        if options.requests_ctranslate2:
            raise MissingExtraError("The engine ctranslate2", "fast") from error
    except (OSError, ValueError, RuntimeError, NotImplementedError, ModelError) as error:
        problem = ModelError(f"CTranslate2 cannot run {options.model!r}: {error}")
        if options.requests_ctranslate2:
            raise problem from error
        log.warning("%s. Using transformers instead.", str(problem).rstrip("."))
    return None


def engine_device(options: ModelOptions) -> str:
    """``"cuda"`` or ``"cpu"``: the requested device, else the GPU if available."""
    import ctranslate2

    device = (options.device or "auto").split(":")[0]
    if device == "auto":
        return "cuda" if ctranslate2.get_cuda_device_count() else "cpu"
    return device


def device_index(options: ModelOptions) -> int:
    """The index of the device, such as 1 for ``cuda:1``; 0 by default."""
    number = (options.device or "").partition(":")[2]
    return int(number) if number.isdecimal() else 0


def engine_compute_type(options: ModelOptions, device: str) -> str:
    """The requested type, else bfloat16 if the GPU supports it, else float32.

    float16 is never the default, because FLAN-T5 overflows in it.
    """
    import ctranslate2

    if options.compute_type:
        return options.compute_type
    if options.dtype != "auto":
        return options.dtype
    if device != "cuda":
        return "float32"
    supported = ctranslate2.get_supported_compute_types(device, device_index(options))
    return "bfloat16" if "bfloat16" in supported else "float32"


def worker_threads(options: ModelOptions, device: str) -> tuple[int, int]:
    """The number of workers, and of threads for each; on a CPU, many workers of one thread are fastest."""
    if device == "cuda":
        return 1, 0
    cores = options.threads or available_cores()
    # Each worker needs memory for its activations, and eight workers saturate the memory bus.
    workers = min(cores, 8)
    return workers, max(1, cores // workers)


@dataclass(frozen=True)
class Placement:
    """Device, compute type and number of workers of the engine."""

    device: str
    index: int
    compute_type: str
    workers: int
    threads: int

    @classmethod
    def of(cls, options: ModelOptions) -> Placement:
        """Choose the placement from the options and the hardware."""
        device = engine_device(options)
        return cls(
            device,
            device_index(options),
            engine_compute_type(options, device),
            *worker_threads(options, device),
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments for a Translator or a Generator of CTranslate2."""
        return {
            "device": self.device,
            "device_index": self.index,
            "compute_type": self.compute_type,
            "inter_threads": self.workers,
            "intra_threads": self.threads,
        }

    def provenance(self) -> dict[str, str]:
        """Engine, compute type as dtype, device kind and versions."""
        return {
            "engine": "ctranslate2",
            "dtype": self.compute_type,
            "device": self.device,
            "ctranslate2": version("ctranslate2"),
            "transformers": version("transformers"),  # its tokenizers encode the prompts
        }


def convert_once(checkpoint: ModelCheckpoint, compute_type: str, check: Callable[[Path], None]) -> Path:
    """Convert and check the checkpoint on first use, and return the folder of the converted checkpoint.

    ``check`` gets the folder and raises :class:`ModelError` if the conversion is wrong. The folder gets its
    final name only after the check.
    """
    import ctranslate2

    identity = "-".join(checkpoint.identity.values())
    target = cache_folder() / "ctranslate2" / f"{identity}-{compute_type}-{ctranslate2.__version__}"

    def make(folder: Path) -> None:
        _convert(checkpoint, folder, compute_type)
        check(folder)

    return make_once(target, make, f"Converting {checkpoint.options.model} for CTranslate2")


def _convert(checkpoint: ModelCheckpoint, folder: Path, compute_type: str) -> None:
    import transformers
    from ctranslate2.converters import TransformersConverter
    from ctranslate2.converters.transformers import _MODEL_LOADERS

    class Converter(TransformersConverter):  # type: ignore[misc]
        def load_model(self, *args: Any, **kwargs: Any) -> Any:
            model = super().load_model(*args, **kwargs | {"config": checkpoint.config} | OWN_ATTENTION)
            # Recent versions of transformers always set `tie_word_embeddings`; the flag for T5's output scale
            # is now `scale_decoder_outputs`, but the converter still reads the old one.
            if hasattr(model.config, "scale_decoder_outputs"):
                model.config.tie_word_embeddings = model.config.scale_decoder_outputs
            return model

        def load_tokenizer(self, *args: Any, **kwargs: Any) -> Any:
            tokenizer = super().load_tokenizer(*args, **kwargs)
            # The converter needs both tokens to write a model; prompts are token ids and never use them.
            tokenizer.bos_token = tokenizer.bos_token or tokenizer.eos_token
            tokenizer.unk_token = tokenizer.unk_token or tokenizer.eos_token
            return tokenizer

    config_class = type(checkpoint.config).__name__
    if config_class not in _MODEL_LOADERS:
        raise ModelError(f"it cannot convert models with a {config_class}")
    converter = Converter(checkpoint.path, revision=checkpoint.revision)
    try:
        with quiet_loading(transformers):
            converter.convert(str(folder), quantization=compute_type, force=True)
    except UnpicklingError as error:
        raise load_error(checkpoint.options, error) from error
    except (AttributeError, KeyError, TypeError, IndexError) as error:
        # The converter may not know newer config formats.
        raise ModelError(f"the conversion fails ({type(error).__name__}: {error})") from error


def probe_compute_type(compute_type: str) -> str:
    """Return the compute type for the check on the CPU; float32 if the CPU does not support the type."""
    import ctranslate2

    return compute_type if compute_type in ctranslate2.get_supported_compute_types("cpu") else "float32"


def check_distributions(pairs: Iterable[tuple[torch.Tensor, torch.Tensor]], compute_type: str) -> None:
    """Raise ModelError if distributions over the next token differ too much from those of transformers.

    ``pairs`` are log-probabilities of the vocabulary after a few beginnings of text, of the converted
    checkpoint and of transformers. If a model is sure of its next tokens, a wrong scale of its output layer
    hardly changes the distributions, so the scale is compared as well.
    """
    distances, scales = zip(*(_comparison(actual, expected) for actual, expected in pairs), strict=True)
    distance, scale = fmean(distances), fmean(scales)
    limit = _TOLERANCE.get(compute_type, _LOOSE_TOLERANCE)
    if not (distance <= limit and 1 / _SCALE_TOLERANCE <= scale <= _SCALE_TOLERANCE):  # NaN, too
        raise ModelError(
            f"the converted checkpoint disagrees with transformers (mean total variation {distance:.4f} "
            f"between their distributions over the next token, limit {limit:g}; scale of the output "
            f"{scale:.2f} instead of 1)"
        )


def _comparison(actual: torch.Tensor, expected: torch.Tensor) -> tuple[float, float]:
    """The total variation of two distributions, and the slope between their log-probabilities."""
    size = min(len(actual), len(expected))  # either may have unused tokens at its end
    actual, expected = actual[:size].double(), expected[:size].double()
    distance = 0.5 * (actual.exp() - expected.exp()).abs().sum().item()
    scored = (actual > _NO_LOGPROB) & (expected > _NO_LOGPROB)
    x, y = expected[scored] - expected[scored].mean(), actual[scored] - actual[scored].mean()
    return distance, ((x * y).sum() / (x * x).sum()).item()


def as_tensor(view: Any) -> torch.Tensor:
    """Convert logits of the engine to a float32 tensor on the CPU."""
    import ctranslate2
    import numpy as np
    import torch

    on_cpu = view.to_device(ctranslate2.Device.cpu) if view.device != "cpu" else view
    return torch.from_numpy(np.array(on_cpu.to(ctranslate2.DataType.float32)))
