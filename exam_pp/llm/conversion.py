"""Checkpoints for CTranslate2: converted once, checked against transformers, kept in a cache."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from pickle import UnpicklingError
from typing import IO, Any, TypeVar

from exam_pp.errors import MissingExtraError, ModelError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.checkpoint import ModelCheckpoint, folder_hash, load_failed, quiet_loading

log = logging.getLogger(__name__)

T = TypeVar("T")

# Likelihoods of a converted checkpoint may differ from transformers' by this much (natural log); a
# wrong scale of the output layer, the usual failure, moves them by more than 1.
_TOLERANCE = {"float32": 2e-3, "bfloat16": 0.5, "float16": 0.3}
_LOOSE_TOLERANCE = 1.0

_SEAL = "checked"
"""The file with the hash of a converted checkpoint's others."""

_ABANDONED = 24 * 60 * 60
"""Seconds after which a half-done conversion is taken for one that was killed."""


def is_wanted(options: ModelOptions) -> bool:
    """Whether the options ask for CTranslate2: ``--engine ctranslate2``, ``--compute-type``."""
    return options.engine == "ctranslate2" or options.compute_type is not None


def start(options: ModelOptions, make: Callable[[], T]) -> T:
    """What ``make`` gives.

    Raises :class:`MissingExtraError` where CTranslate2 is not installed, and :class:`ModelError` where it
    cannot run this checkpoint.
    """
    try:
        return make()
    except ImportError as error:
        raise MissingExtraError("The engine ctranslate2", "fast") from error
    except (OSError, ValueError, RuntimeError, NotImplementedError, ModelError) as error:
        raise ModelError(f"CTranslate2 cannot run {options.model!r}: {error}") from error


def start_or_none(options: ModelOptions, make: Callable[[], T]) -> T | None:
    """As :func:`start`, but None instead of an error where the options do not ask for CTranslate2."""
    try:
        return start(options, make)
    except (MissingExtraError, ModelError) as error:
        if is_wanted(options):
            raise
        if isinstance(error, ModelError):
            log.warning("%s: using transformers", error)
    return None


def engine_device(options: ModelOptions) -> str:
    """``"cuda"`` or ``"cpu"``: the asked device, else the GPU if there is one."""
    import ctranslate2

    wanted = (options.device or "auto").split(":")[0]
    if wanted == "auto":
        return "cuda" if ctranslate2.get_cuda_device_count() else "cpu"
    return wanted


def device_index(options: ModelOptions) -> int:
    """The 1 of ``cuda:1``."""
    number = (options.device or "").partition(":")[2]
    return int(number) if number.isdecimal() else 0


def engine_compute_type(options: ModelOptions, device: str) -> str:
    """The asked type, else bfloat16 on a GPU that has it, else float32 (FLAN-T5 overflows in float16)."""
    import ctranslate2

    if options.compute_type:
        return options.compute_type
    if options.dtype != "auto":
        return options.dtype
    if device != "cuda":
        return "float32"
    known = ctranslate2.get_supported_compute_types(device, device_index(options))
    return "bfloat16" if "bfloat16" in known else "float32"


def worker_threads(options: ModelOptions, device: str) -> tuple[int, int]:
    """Workers and threads each: on a CPU many workers of one thread beat one worker of many."""
    if device == "cuda":
        return 1, 0
    cores = options.threads or available_cores()
    # Each worker holds activations of its own: eight are enough to keep any machine's memory bus busy.
    workers = min(cores, 8)
    return workers, max(1, cores // workers)


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Placement:
    """Where and in which type the engine computes, and how many batches it works on at a time."""

    device: str
    index: int
    compute_type: str
    workers: int
    threads: int

    @classmethod
    def of(cls, options: ModelOptions) -> Placement:
        """What the options ask for, and what suits the machine."""
        device = engine_device(options)
        return cls(
            device,
            device_index(options),
            engine_compute_type(options, device),
            *worker_threads(options, device),
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """For a Translator or a Generator."""
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
            "transformers": version("transformers"),  # its tokenizers make the prompts
        }


def cache_folder() -> Path:
    """Where converted checkpoints are kept: ``EXAM_PP_CACHE``, else the user's cache folder."""
    if chosen := os.environ.get("EXAM_PP_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "exam_pp"


def converted(checkpoint: ModelCheckpoint, compute_type: str, check: Callable[[Path], None]) -> Path:
    """The folder of the converted checkpoint; converts and checks it on the first use.

    ``check`` gets the folder and raises :class:`ModelError` where the conversion is wrong. The folder
    appears under its name only when it is complete and checked.
    """
    import ctranslate2

    identity = "-".join(checkpoint.identity.values())
    target = cache_folder() / "ctranslate2" / f"{identity}-{compute_type}-{ctranslate2.__version__}"
    if _is_whole(target):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(target.parent):
        if _is_whole(target):  # another process has been faster
            return target
        if target.is_dir():
            log.warning("The converted checkpoint in %s is damaged: it is made again.", target)
            shutil.rmtree(target)
        log.info("Converting %s for CTranslate2 (once, into %s)", checkpoint.options.model, target)
        part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            _convert(checkpoint, part, compute_type)
            check(part)
            (part / _SEAL).write_text(folder_hash(part), "ascii")
            for file in part.iterdir():
                with file.open("rb") as stream:
                    os.fsync(stream.fileno())
            try:
                part.rename(target)
            except OSError:
                if not target.is_dir():  # as above, where nothing can be locked
                    raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return target


def _is_whole(folder: Path) -> bool:
    """Whether it holds what was checked; half-copied or zeroed weights would answer something, too."""
    seal = folder / _SEAL
    return seal.is_file() and seal.read_bytes() == folder_hash(folder).encode()


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Other processes wait: a conversion takes the memory of the model twice, and eight GPUs start eight.

    What conversions that were killed left in the folder goes after a day, when nobody can be at work on it.
    """
    lock = _locked(folder.with_name(f"{folder.name}.lock"))
    try:
        for leftover in folder.glob(".*") if lock else ():
            if time.time() - leftover.stat().st_mtime > _ABANDONED:
                shutil.rmtree(leftover, ignore_errors=True)
        yield
    finally:
        if lock:
            lock.close()


def _locked(path: Path) -> IO[str] | None:
    """The file, locked until it is closed; None where the file system cannot lock."""
    try:
        with ExitStack() as opened:
            lock = opened.enter_context(path.open("a"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            opened.pop_all()
    except OSError:
        return None
    return lock


def _convert(checkpoint: ModelCheckpoint, folder: Path, compute_type: str) -> None:
    import transformers
    from ctranslate2.converters import TransformersConverter
    from ctranslate2.converters.transformers import _MODEL_LOADERS

    class Converter(TransformersConverter):  # type: ignore[misc]
        def load_model(self, *args: Any, **kwargs: Any) -> Any:
            model = super().load_model(*args, **kwargs)
            # Recent transformers always set `tie_word_embeddings` and keep what it meant for T5's
            # output scale elsewhere; the converter reads the old flag.
            if hasattr(model.config, "scale_decoder_outputs"):
                model.config.tie_word_embeddings = model.config.scale_decoder_outputs
            return model

        def load_tokenizer(self, *args: Any, **kwargs: Any) -> Any:
            tokenizer = super().load_tokenizer(*args, **kwargs)
            # A model without these cannot be written. They are never asked for: prompts are tokens.
            tokenizer.bos_token = tokenizer.bos_token or tokenizer.eos_token
            tokenizer.unk_token = tokenizer.unk_token or tokenizer.eos_token
            return tokenizer

    kind = type(checkpoint.config).__name__
    if kind not in _MODEL_LOADERS:
        raise ModelError(f"it has no conversion for models with a {kind}")
    converter = Converter(checkpoint.path, revision=checkpoint.revision)
    try:
        with quiet_loading(transformers):
            converter.convert(str(folder), quantization=compute_type, force=True)
    except UnpicklingError as error:
        raise load_failed(checkpoint.options, error) from error
    except (AttributeError, KeyError, TypeError, IndexError) as error:
        # It reads configs of many models, not all of which are what they were when it was written.
        raise ModelError(f"its conversion fails ({type(error).__name__}: {error})") from error


def opened(open_: Callable[[], T], try_: Callable[[T], object]) -> T:
    """The engine that ``open_`` makes, after ``try_`` has had a reply of it.

    Libraries of a GPU are loaded for the first batch: that one is missing must show while another engine can
    take over.
    """
    engine = open_()
    try_(engine)
    return engine


def check_type(compute_type: str) -> str:
    """The type of a check, which runs on the CPU: that does not know every type of a GPU."""
    import ctranslate2

    return compute_type if compute_type in ctranslate2.get_supported_compute_types("cpu") else "float32"


def check_probe(found: float, expected: float, compute_type: str) -> None:
    """Compare the log-likelihood of a probe with transformers'; raises :class:`ModelError`."""
    tolerance = _TOLERANCE.get(compute_type, _LOOSE_TOLERANCE)
    if not abs(found - expected) <= tolerance * max(1.0, abs(expected) / 10):
        raise ModelError(
            f"the converted checkpoint disagrees with transformers (log-likelihood {found:.4f} "
            f"instead of {expected:.4f} for a probe)"
        )
