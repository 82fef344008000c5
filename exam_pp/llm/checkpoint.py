"""Loading of checkpoints: files, identity, weights, tokenizer, device and dtype."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

from exam_pp.errors import MissingExtraError, ModelError
from exam_pp.llm.base import ModelOptions, is_gguf, reason_of
from exam_pp.llm.checkpoint_files import check_folder, convert_gguf, find_gguf
from exam_pp.llm.conversion_cache import cache_folder, file_hash, folder_hash, make_once
from exam_pp.text.wording import counted

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)


def identity(path: str, revision: str | None) -> dict[str, str]:
    """Return the ``revision`` (commit) of a checkpoint on the Hub, or the ``checkpoint_hash`` of a folder."""
    if Path(path).is_dir():
        return {"checkpoint_hash": folder_hash(Path(path))}
    # Cached files of the Hub are in a folder whose name is the commit.
    file = import_transformers().utils.cached_file(path, "config.json", revision=revision)
    return {"revision": Path(file).parent.name}


def unpacked_gguf(options: ModelOptions) -> tuple[str, dict[str, str]]:
    """The folder of the converted GGUF file, and the ``checkpoint_hash`` of the file.

    The first use converts the file into the cache, where it takes 4 bytes for each parameter. Raises
    :class:`ModelError` and :class:`MissingExtraError`.
    """
    transformers = import_transformers()
    file = find_gguf(options.model)
    digest = file_hash(file)

    def make(folder: Path) -> None:
        # The progress bar of this conversion ignores the settings of transformers.
        with quiet_loading(transformers), contextlib.redirect_stderr(io.StringIO()):
            convert_gguf(transformers, file, folder)

    target = cache_folder() / "gguf" / f"{digest}-{transformers.__version__}"
    try:
        make_once(target, make, f"Converting the GGUF file of {options.model}")
    except (*_LOAD_ERRORS, ModelError) as error:
        raise load_error(options, error) from error
    return str(target), {"checkpoint_hash": digest}


def import_transformers() -> Any:
    """Import transformers; raises :class:`MissingExtraError` if it or torch is not installed."""
    try:
        import torch  # noqa: F401 - without torch, transformers can be imported but has no models
        import transformers
    except ImportError as error:
        raise MissingExtraError("A local model", "hf") from error
    # Without a network, huggingface_hub logs every retry; the error message is enough.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    return transformers


# Names of exceptions of huggingface_hub, which may not be installed.
_GATED, _UNKNOWN = {"GatedRepoError"}, {"RepositoryNotFoundError", "HFValidationError"}
_UNREACHABLE = {"LocalEntryNotFoundError", "OfflineModeIsEnabled"}


def load_error(options: ModelOptions, error: BaseException) -> ModelError:
    """Make a ModelError with a short message from a load error of transformers."""
    name = options.model
    causes = {type(cause).__name__ for cause in _chain(error)}
    if causes & _GATED or "gated repo" in str(error):
        return ModelError(
            f"The model {name!r} is gated: accept its terms on the Hugging Face Hub and log in with "
            "`hf auth login` or the environment variable HF_TOKEN."
        )
    if "RevisionNotFoundError" in causes:
        return ModelError(f"The model {name!r} has no revision {options.revision!r}.")
    if causes & _UNKNOWN:
        return ModelError(
            f"The model {name!r} is neither a folder nor a model on the Hugging Face Hub. For a private "
            "model, log in with `hf auth login` or the environment variable HF_TOKEN."
        )
    if causes & _UNREACHABLE:
        return ModelError(
            f"The model {name!r} cannot be loaded: it is not in the local cache, and the Hugging Face Hub "
            "cannot be reached (or is disabled by HF_HUB_OFFLINE). Run `hf download` where there is a "
            "network, and set HF_HOME to its folder."
        )
    if isinstance(error, UnpicklingError):
        return ModelError(
            f"The model {name!r} cannot be loaded: its weight files contain pickled objects, which could run "
            "code. Use a version of the model with safetensors files."
        )
    if "trust_remote_code" in str(error):
        remedy = (
            "allow it with `exam-pp grade --trust-remote-code` and a commit as -M revision"
            if options.pipeline == "text-classification"
            else "serve it behind an endpoint (--model-pipeline openai)"
        )
        return ModelError(
            f"The model {name!r} needs custom code from its checkpoint, which exam-pp does not run: {remedy}."
        )
    if "ignore_mismatched_sizes" in str(error):
        return ModelError(
            f"The model {name!r} cannot be loaded: the sizes of its weights do not match its config.json."
        )
    reason = reason_of(error)
    if not isinstance(error, OSError | ValueError | RuntimeError | ImportError | ModelError):
        reason = f"its files are damaged or do not belong together ({type(error).__name__}: {reason})"
    return ModelError(f"The model {name!r} cannot be loaded: {reason}.")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its causes."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


# By pipeline: the class of transformers that loads the models, and its table of architectures.
_LOADERS = {
    "text2text": ("AutoModelForSeq2SeqLM", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES"),
    "text-generation": ("AutoModelForCausalLM", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"),
    "question-answering": ("AutoModelForQuestionAnswering", "MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES"),
    "text-classification": (
        "AutoModelForSequenceClassification",
        "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES",
    ),
}


_ONLY_TRANSFORMERS = ("question-answering", "text-classification", "sentence-similarity")
"""Pipelines that CTranslate2 does not run."""


class ModelCheckpoint:
    """A checkpoint for the pipeline of its options: config and tokenizer, and weights by :meth:`model`.

    ``revision`` is the commit on the Hub, so that all files come from the same commit; None for a folder.
    Raises :class:`ModelError` for a missing checkpoint, a missing tokenizer, and models of other pipelines.
    """

    def __init__(self, options: ModelOptions) -> None:
        transformers = import_transformers()
        if options.pipeline in _ONLY_TRANSFORMERS and options.requests_ctranslate2:
            raise ModelError(
                "-M engine=ctranslate2 and -M compute_type cannot be used with --model-pipeline "
                f"{options.pipeline}."
            )
        if options.device_map and options.requests_ctranslate2:
            raise ModelError("-M device_map cannot be used with -M engine=ctranslate2 or -M compute_type.")
        self.options = options
        self.path = options.model
        gguf = is_gguf(options.model)
        if options.revision and (gguf or Path(self.path).is_dir()):
            raise ModelError(
                "-M revision can only be used with a model of the Hugging Face Hub, but "
                f"{options.model!r} is a {'GGUF file' if gguf else 'folder'}."
            )
        try:
            if gguf:
                self.path, self.identity = unpacked_gguf(options)
            else:
                if Path(self.path).is_dir():
                    check_folder(Path(self.path))
                self.identity = identity(self.path, options.revision)
            self.revision = self.identity.get("revision")
            self.config: Any = transformers.AutoConfig.from_pretrained(self.path, **self._source)
        except _LOAD_ERRORS as error:
            raise load_error(options, error) from error
        self._check_pipeline()
        self.tokenizer: Any = self._load_tokenizer()

    @cached_property
    def generation(self) -> Any:
        """The generation config of the checkpoint; None if the file is missing."""
        try:
            return import_transformers().GenerationConfig.from_pretrained(self.path, revision=self.revision)
        except OSError:  # the file is optional
            return None

    def placed_model(self, dtype: Any, device: str) -> Any:
        """Load the weights in ``dtype`` to the device, or to all devices with ``device_map``."""
        model = self.model(dtype, self.options.device_map)
        if self.options.device_map:
            return model
        try:
            return model.to(device)
        except (RuntimeError, AssertionError) as error:  # AssertionError: no support for the device in torch
            raise load_error(self.options, error) from error

    def model(self, dtype: Any, device_map: str | None = None) -> Any:
        """Load the weights in ``dtype`` for inference, on the CPU or according to ``device_map``."""
        transformers = import_transformers()
        from safetensors import SafetensorError

        placement = {"device_map": device_map} if device_map else {}
        loader = getattr(transformers, self._loader)
        try:
            with quiet_loading(transformers):
                model, info = loader.from_pretrained(
                    self.path, config=self.config, **self._source, **OWN_ATTENTION, **placement,
                    dtype=dtype, output_loading_info=True,
                )  # fmt: skip
        except (*_LOAD_ERRORS, SafetensorError) as error:
            raise load_error(self.options, error) from error
        self._check_weights(info["missing_keys"], info["unexpected_keys"])
        return model.eval()

    @property
    def _loader(self) -> str:
        """The name of the class of transformers that loads the weights."""
        return _LOADERS[self.options.pipeline][0]

    @property
    def _source(self) -> dict[str, Any]:
        # Without this argument, transformers asks at the terminal whether to run custom code.
        return {"revision": self.revision, "trust_remote_code": self.runs_remote_code}

    @property
    def runs_remote_code(self) -> bool:
        """Whether custom code in the files of the checkpoint may run: never, unless a subclass allows it."""
        return False

    def _check_weights(self, missing: Collection[str], unexpected: Collection[str]) -> None:
        """Raise ModelError for missing weights, which would be random numbers; warn of unexpected ones."""
        if missing:
            weights = counted(len(missing), "weight")
            raise ModelError(
                f"The model {self.options.model!r} lacks {weights} of its config.json, such as "
                f"{min(missing)!r}: download its files again."
            )
        if unexpected:
            log.warning(
                "The model %r has %s not used by its config.json, such as %r: check that config.json belongs "
                "to these weights",
                self.options.model, counted(len(unexpected), "weight"), min(unexpected),
            )  # fmt: skip

    def _check_pipeline(self) -> None:
        """Raise ModelError for models of other pipelines, whose missing head would be random numbers."""
        wanted = self.options.pipeline
        architectures = getattr(self.config, "architectures", None) or []
        fitting = [pipeline for pipeline in _LOADERS if set(architectures) & _architectures(pipeline)]
        if wanted in fitting or (
            not architectures and self.config.is_encoder_decoder == (wanted == "text2text")
        ):
            return
        architecture = architectures[0] if architectures else f"{self.config.model_type} model"
        hint = f"; use --model-pipeline {fitting[0]}" if fitting else ""
        raise ModelError(
            f"The model {self.options.model!r} ({architecture}) cannot be used with --model-pipeline "
            f"{wanted}{hint}."
        )

    def _load_tokenizer(self) -> Any:
        transformers = import_transformers()
        missing = ModelError(
            f"The model {self.options.model!r} has no usable tokenizer: put its tokenizer files into the "
            "folder of its weights."
        )
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(self.path, **self._source, use_fast=True)
        except _LOAD_ERRORS as error:
            if "backend tokenizer" in str(error) or "load tokenizer" in str(error):
                raise missing from error
            raise load_error(self.options, error) from error
        if len(tokenizer) < len(tokenizer.added_tokens_decoder) + _MIN_PIECES:
            raise missing
        return tokenizer


OWN_ATTENTION = {"attn_implementation": None}
"""Argument for loading weights: the attention of transformers for the model (sdpa or eager), never the kernel
of some repository that config.json names, whose code would run."""

_MIN_PIECES = 10
"""Minimum vocabulary besides special tokens: without files, transformers makes a nearly empty tokenizer."""

_LOAD_ERRORS = (OSError, ValueError, KeyError, ImportError, RuntimeError, UnpicklingError)


def _architectures(pipeline: str) -> set[str]:
    from transformers.models.auto import modeling_auto

    return set(getattr(modeling_auto, _LOADERS[pipeline][1]).values())


@contextlib.contextmanager
def quiet_loading(transformers: Any) -> Iterator[None]:
    """Silence transformers, whose progress bar and warnings would break the progress bar of exam_pp."""
    logging = transformers.utils.logging
    bar, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bar:
            logging.enable_progress_bar()


def pick_device(options: ModelOptions) -> str:
    """The requested device, else the first GPU, else the CPU.

    A GPU becomes the current device of the process; otherwise every process would allocate memory on the
    first GPU. Raises :class:`ModelError` if the GPU does not exist.
    """
    import torch

    if options.device_map and options.device:
        raise ModelError("-M device_map cannot be used with --device.")
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device.startswith("cuda"):
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        number = device.partition(":")[2] or "0"
        if not (number.isdecimal() and int(number) < count):
            raise ModelError(f"The device {device!r} does not exist: torch finds {counted(count, 'GPU')}.")
        torch.cuda.set_device(int(number))
    return device


def pick_dtype(options: ModelOptions, device: str) -> str:
    """The requested dtype, else bfloat16 on a GPU that supports it (many models overflow in float16)."""
    import torch

    if options.dtype != "auto":
        return options.dtype
    if not device.startswith("cuda"):
        return "float32"
    # Older GPUs emulate bfloat16, which is slower than float32.
    return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"


_POSITIONS_AFTER_PADDING = {"roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "longformer", "mpnet"}
"""Model types whose first position is the one after the id of the padding token."""


def longest_input(checkpoint: ModelCheckpoint, unlimited: int) -> int:
    """The maximal number of tokens of an encoder: ``unlimited`` if its positions are relative."""
    if checkpoint.options.max_input_tokens:
        return checkpoint.options.max_input_tokens
    config = checkpoint.config
    positions = getattr(config, "max_position_embeddings", None) or 0
    if positions <= 0:
        return unlimited
    if config.model_type in _POSITIONS_AFTER_PADDING:
        positions -= (getattr(config, "pad_token_id", None) or 0) + 1
    return int(min(positions, checkpoint.tokenizer.model_max_length))


class PlacedModel:
    """The weights of a checkpoint on the device and in the dtype of its options, or of ``options``.

    Raises :class:`ModelError` if the device does not exist or the weights cannot be loaded.
    """

    def __init__(self, checkpoint: ModelCheckpoint, options: ModelOptions | None = None) -> None:
        import torch

        options = options or checkpoint.options
        self.device = pick_device(options)
        self._dtype = pick_dtype(options, self.device)
        if options.threads:
            torch.set_num_threads(options.threads)
        self.model: Any = checkpoint.placed_model(getattr(torch, self._dtype), self.device)

    @property
    def on_gpu(self) -> bool:
        """Whether the model is on a GPU, where batches may be larger."""
        return self.device.startswith("cuda")

    @property
    def encoder_batch_tokens(self) -> int:
        """The default number of padded tokens in a batch of an encoder."""
        return 65536 if self.on_gpu else 4096

    def padded(
        self, rows: Sequence[Sequence[int]], padding: int, at: int | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids as rows of one length, and their mask; the padding is at a position, else at the end."""
        import torch

        longest = max(map(len, rows))
        ids, masks = [], []
        for row in rows:
            before, gap = row[:at], longest - len(row)
            after = row[len(before) :]
            ids.append([*before, *[padding] * gap, *after])
            masks.append([1] * len(before) + [0] * gap + [1] * len(after))
        return torch.tensor(ids, device=self.device), torch.tensor(masks, device=self.device)

    @property
    def overflow(self) -> str:
        """The reason for a missing reply after an overflow; the reply itself would be noise."""
        return f"the model's numbers overflow in {self._dtype}; use another -M dtype"

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
