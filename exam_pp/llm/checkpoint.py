"""Finding a checkpoint and telling which one it is."""

from __future__ import annotations

import contextlib
import hashlib
import logging
from collections.abc import Collection, Iterator
from importlib.resources import files
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from exam_pp.errors import MissingExtraError, ModelError
from exam_pp.llm.base import BUNDLED, ModelOptions
from exam_pp.wording import counted

log = logging.getLogger(__name__)

_WEIGHTS = (".safetensors", ".bin", ".json", ".model", ".txt", ".jinja")


def checkpoint_path(options: ModelOptions) -> str:
    """The folder of ``bundled``, a local folder, or a Hub name as it is."""
    if options.model == BUNDLED:
        folder = Path(str(files("exam_pp") / "bundled"))
        if not (folder / "config.json").is_file():
            raise ModelError("The bundled grader's checkpoint is missing from this installation.")
        return str(folder)
    return options.model


def identity(path: str, revision: str | None) -> dict[str, str]:
    """What tells this checkpoint from another: the Hub's commit, or a hash of the local files."""
    if Path(path).is_dir():
        return {"checkpoint_hash": folder_hash(Path(path))}
    # Files of the Hub lie in folders that are named for their commit.
    file = import_transformers().utils.cached_file(path, "config.json", revision=revision)
    return {"revision": Path(file).parent.name}


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
    # Its retries without a network are many lines; what came of them is one sentence of ours.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    return transformers


_GATED, _UNKNOWN = {"GatedRepoError"}, {"RepositoryNotFoundError", "HFValidationError"}
_OUT_OF_REACH = {"LocalEntryNotFoundError", "OfflineModeIsEnabled"}


def load_failed(options: ModelOptions, error: BaseException) -> ModelError:
    """A load error of transformers as one sentence that says what to do."""
    name = options.model
    causes = {type(cause).__name__ for cause in _chain(error)}
    if causes & _GATED or "gated repo" in str(error):
        return ModelError(
            f"The model {name!r} is gated: accept its terms on its page of the Hugging Face Hub and log in "
            "(`hf auth login`, or the environment variable HF_TOKEN)."
        )
    if "RevisionNotFoundError" in causes:
        return ModelError(f"The model {name!r} has no revision {options.revision!r}.")
    if causes & _UNKNOWN:
        return ModelError(
            f"The model {name!r} is neither a folder nor a model on the Hugging Face Hub (if it is private, "
            "log in with `hf auth login` or HF_TOKEN): it cannot be loaded."
        )
    if causes & _OUT_OF_REACH:
        return ModelError(
            f"The model {name!r} cannot be loaded: it is not in the local cache, and the Hugging Face Hub is "
            "out of reach (or switched off by HF_HUB_OFFLINE)."
        )
    if isinstance(error, UnpicklingError):
        return ModelError(
            f"The model {name!r} cannot be loaded: its weights are no plain numbers, and reading them could "
            "run a program; use a version of it with safetensors."
        )
    if "trust_remote_code" in str(error):
        return ModelError(
            f"The model {name!r} needs a program of its own, which is not run here: serve it behind an "
            "endpoint (--model-pipeline openai)."
        )
    if "ignore_mismatched_sizes" in str(error):
        return ModelError(
            f"The model {name!r} cannot be loaded: its weights have other sizes than its config.json says."
        )
    reason = " ".join(str(error).split()).rstrip(".")
    short = reason if len(reason) < 300 else reason[:300] + " ..."
    return ModelError(f"The model {name!r} cannot be loaded: {short}.")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


# Which of transformers' classes loads the models of a pipeline, and the table of architectures it knows.
_LOADERS = {
    "text2text": ("AutoModelForSeq2SeqLM", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES"),
    "text-generation": ("AutoModelForCausalLM", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"),
    "question-answering": ("AutoModelForQuestionAnswering", "MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES"),
}


class ModelCheckpoint:
    """A checkpoint of the pipeline's kind: config and tokenizer at once, weights when they are asked for.

    ``revision`` is the Hub's commit, whatever moves there while files are read; None for a folder. Raises
    :class:`ModelError` for missing checkpoints, checkpoints without a tokenizer and other kinds of
    models.
    """

    pipeline: str

    def __init__(self, options: ModelOptions) -> None:
        transformers = import_transformers()
        if self.pipeline == "question-answering" and (
            options.engine == "ctranslate2" or options.compute_type
        ):
            raise ModelError(
                "CTranslate2 (--engine, --compute-type) has no models for question-answering: they run on "
                "transformers."
            )
        if options.device_map and (options.engine == "ctranslate2" or options.compute_type):
            raise ModelError(
                "--device-map is for transformers: leave out --engine ctranslate2 and --compute-type."
            )
        self.options = options
        self.path = checkpoint_path(options)
        if options.revision and Path(self.path).is_dir():
            raise ModelError(
                f"--revision is for models of the Hugging Face Hub, and {options.model!r} is a folder: its "
                "files are its only revision."
            )
        try:
            self.identity = identity(self.path, options.revision)
            self.revision = self.identity.get("revision")
            self.config: Any = transformers.AutoConfig.from_pretrained(self.path, **self._source)
        except _LOAD_ERRORS as error:
            raise load_failed(options, error) from error
        self._check_kind()
        self.tokenizer: Any = self._load_tokenizer()

    def placed_model(self, dtype: Any, device: str) -> Any:
        """The weights in ``dtype`` on the device, or spread over all of them (``device_map``)."""
        model = self.model(dtype, self.options.device_map)
        if self.options.device_map:
            return model
        try:
            return model.to(device)
        except (RuntimeError, AssertionError) as error:  # torch asserts that it was built for the device
            raise load_failed(self.options, error) from error

    def model(self, dtype: Any, device_map: str | None = None) -> Any:
        """The weights in ``dtype``, ready for inference on the CPU, or where the device map puts them."""
        transformers = import_transformers()
        from safetensors import SafetensorError

        where = {"device_map": device_map} if device_map else {}
        loader = getattr(transformers, _LOADERS[self.pipeline][0])
        try:
            with quiet_loading(transformers):
                model, found = loader.from_pretrained(
                    self.path, **self._source, dtype=dtype, output_loading_info=True, **where
                )
        except (*_LOAD_ERRORS, SafetensorError) as error:
            raise load_failed(self.options, error) from error
        self._check_weights(found["missing_keys"], found["unexpected_keys"])
        return model.eval()

    @property
    def _source(self) -> dict[str, Any]:
        # Programs of a checkpoint are not run: unless told so, transformers asks at the terminal.
        return {"revision": self.revision, "trust_remote_code": False}

    def _check_weights(self, missing: Collection[str], unexpected: Collection[str]) -> None:
        """Refuse a checkpoint that lacks weights: random numbers would stand for them."""
        if missing:
            weights = counted(len(missing), "weight")
            raise ModelError(
                f"The model {self.options.model!r} lacks {weights} that its config.json asks for, such as "
                f"{min(missing)}: get its files again."
            )
        if unexpected:
            log.warning(
                "The model %r has %s that its config.json has no use for, such as %s: see whether they "
                "belong together",
                self.options.model, counted(len(unexpected), "weight"), min(unexpected),
            )  # fmt: skip

    def _check_kind(self) -> None:
        """Refuse other kinds of models: a missing head would be filled with random numbers."""
        architectures = getattr(self.config, "architectures", None) or []
        fitting = [pipeline for pipeline in _LOADERS if set(architectures) & _architectures(pipeline)]
        if self.pipeline in fitting or (
            not architectures and self.config.is_encoder_decoder == (self.pipeline == "text2text")
        ):
            return
        kind = architectures[0] if architectures else f"{self.config.model_type} model"
        hint = f": use --model-pipeline {fitting[0]}" if fitting else ""
        raise ModelError(
            f"The model {self.options.model!r} ({kind}) is not one for the pipeline {self.pipeline}{hint}."
        )

    def _load_tokenizer(self) -> Any:
        transformers = import_transformers()
        missing = ModelError(
            f"The model {self.options.model!r} has no tokenizer that can be used: put its tokenizer files "
            "next to its weights."
        )
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(self.path, **self._source, use_fast=True)
        except _LOAD_ERRORS as error:
            if "backend tokenizer" in str(error) or "load tokenizer" in str(error):
                raise missing from error
            raise load_failed(self.options, error) from error
        if len(tokenizer) < len(tokenizer.added_tokens_decoder) + _FEWEST_PIECES:
            raise missing
        return tokenizer


_FEWEST_PIECES = 10
"""Where there are no files, transformers makes up a tokenizer of special tokens and at most a few others."""

_LOAD_ERRORS = (OSError, ValueError, KeyError, ImportError, RuntimeError, UnpicklingError)


def _architectures(pipeline: str) -> set[str]:
    from transformers.models.auto import modeling_auto

    return set(getattr(modeling_auto, _LOADERS[pipeline][1]).values())


@contextlib.contextmanager
def quiet_loading(transformers: Any) -> Iterator[None]:
    """No bar for reading weights, which would tear our own, and no advice for makers of checkpoints."""
    logging = transformers.utils.logging
    bar, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bar:
            logging.enable_progress_bar()


def pick_device(options: ModelOptions) -> str:
    """The asked device, else the first GPU, else the CPU.

    A GPU becomes that of the process: else every process would take some memory of the first. Raises
    :class:`ModelError` where there is no such GPU.
    """
    import torch

    if options.device_map and options.device:
        raise ModelError("--device-map chooses the devices itself: leave out --device.")
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device.startswith("cuda"):
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        number = device.partition(":")[2] or "0"
        if not (number.isdecimal() and int(number) < count):
            raise ModelError(f"There is no device {device!r} here: torch finds {count or 'no'} GPUs.")
        torch.cuda.set_device(int(number))
    return device


def pick_dtype(options: ModelOptions, device: str) -> str:
    """The asked dtype, else bfloat16 where a GPU has it: many models overflow in float16."""
    import torch

    if options.dtype != "auto":
        return options.dtype
    if not device.startswith("cuda"):
        return "float32"
    # Emulated, on older GPUs, it is slower than float32.
    return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"


class PlacedModel:
    """A checkpoint's weights on the device and in the dtype that its options ask for, ready to answer.

    Raises :class:`ModelError`.
    """

    def __init__(self, checkpoint: ModelCheckpoint) -> None:
        import torch

        options = checkpoint.options
        self.device = pick_device(options)
        self._dtype = pick_dtype(options, self.device)
        if options.threads:
            torch.set_num_threads(options.threads)
        self.model: Any = checkpoint.placed_model(getattr(torch, self._dtype), self.device)

    @property
    def on_gpu(self) -> bool:
        """Whether batches may be large."""
        return self.device.startswith("cuda")

    @property
    def overflow(self) -> str:
        """Why there is no reply: it would be empty or noise, and be read as a grade."""
        return f"the model's numbers overflow in {self._dtype}: choose another --dtype"

    def provenance(self) -> dict[str, str]:
        """Engine, dtype, device kind and versions."""
        import torch

        return {
            "engine": "transformers",
            "dtype": self._dtype,
            "device": self.device.split(":")[0],
            "transformers": import_transformers().__version__,
            "torch": torch.__version__,
        }
