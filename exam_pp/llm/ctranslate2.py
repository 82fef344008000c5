"""The fast engine: CTranslate2, with checkpoints converted once and checked against transformers."""

from __future__ import annotations

import logging
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exam_pp.errors import MissingExtraError, ModelError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.labels import label_rows
from exam_pp.llm.seq2seq import Job
from exam_pp.messages import Completion

if TYPE_CHECKING:
    from exam_pp.llm.huggingface import Checkpoint, TransformersEngine

log = logging.getLogger(__name__)

LONGEST_REPLY = 256
"""Longer replies go to the reference engine: the two differ where a search runs into a length limit."""

NEGLIGIBLE = 2e-5
"""Where all replies that are not known have less than this part of the known labels' probability, a label
that is not known cannot move the expected rating by more than 1e-4, and is not scored."""

NEGLIGIBLE_LOGPROB = -100.0

_CPU_BATCH_TOKENS, _GPU_BATCH_TOKENS = 2048, 32768
_PROBES = (
    "Question: which year was the bridge over the river opened? Context: The bridge was opened in 1932.",
    "Key Fact: glaciers store water. Context: 0 1 2 3 4 5",
    "a",
)
# Likelihoods of a converted checkpoint may differ from transformers' by this much (natural log); a
# wrong scale of the output layer, the usual failure, moves them by more than 1.
_TOLERANCE = {"float32": 2e-3, "bfloat16": 0.5, "float16": 0.3}
_LOOSE_TOLERANCE = 1.0


def start_ctranslate2(options: ModelOptions, checkpoint: Checkpoint) -> CTranslate2Engine | None:
    """The engine, or None where it is not installed or cannot run this checkpoint.

    Where the options ask for it (``--engine ctranslate2``, ``--compute-type``), the reason is raised.
    """
    wanted = options.engine == "ctranslate2" or options.compute_type is not None
    try:
        return CTranslate2Engine(options, checkpoint)
    except ImportError as error:
        if wanted:
            raise MissingExtraError("The engine ctranslate2", "fast") from error
    except (OSError, ValueError, RuntimeError, NotImplementedError, ModelError) as error:
        if wanted:
            raise ModelError(f"CTranslate2 cannot run {options.model!r}: {error}") from error
        log.warning("CTranslate2 cannot run %s (%s): using transformers", options.model, error)
    return None


class CTranslate2Engine:
    """Batches on CTranslate2 workers, several at a time."""

    def __init__(self, options: ModelOptions, checkpoint: Checkpoint) -> None:
        import ctranslate2

        self._version = ctranslate2.__version__
        self._checkpoint = checkpoint
        self._options = options
        self._tokenizer = checkpoint.tokenizer
        self._beams = options.beams
        self._device = _device(options)
        self._compute_type = _compute_type(options, self._device)
        workers, threads = _workers(options, self._device)
        self._translator = ctranslate2.Translator(
            str(_converted(checkpoint, self._compute_type)),
            device=self._device,
            device_index=_device_index(options),
            compute_type=self._compute_type,
            inter_threads=workers,
            intra_threads=threads,
        )
        self.parallel = 2 * workers
        self.batch_tokens = _GPU_BATCH_TOKENS if self._device == "cuda" else _CPU_BATCH_TOKENS
        self._reference: TransformersEngine | None = None

    def provenance(self) -> dict[str, Any]:
        """Engine, compute type as dtype, device kind and version."""
        return {
            "engine": "ctranslate2",
            "dtype": self._compute_type,
            "device": self._device,
            "ctranslate2": self._version,
            "transformers": version("transformers"),  # its tokenizers make the prompts
        }

    def start(self, job: Job) -> Callable[[], list[Completion]]:
        """Queue a batch; workers take it up as they are free."""
        source = [self._tokenizer.convert_ids_to_tokens(prompt) for prompt in job.prompts]
        rows = self._label_rows(job.labels)
        if rows and self._beams == 1:
            # Greedy search meets no label but its reply. The likeliest first tokens, each continued
            # greedily to the length of a label, are nearly all labels, in the same encoder pass.
            futures = self._search(
                source,
                beam_size=1,
                return_alternatives=True,
                num_hypotheses=len(rows),
                length_penalty=0,  # the score is then the joint log-probability
                max_decoding_length=min(job.max_new_tokens, max(map(len, rows))),
            )
            return lambda: self._collect_alternatives(job, source, rows, [f.result() for f in futures])
        futures = self._search(
            source,
            beam_size=self._beams,
            num_hypotheses=self._beams,
            length_penalty=1,
            max_decoding_length=min(job.max_new_tokens, LONGEST_REPLY),
        )
        return lambda: self._collect(job, source, rows, [f.result() for f in futures])

    def _search(self, source: list[list[str]], **options: Any) -> Any:
        return self._translator.translate_batch(
            source,
            asynchronous=True,
            max_input_length=0,
            min_decoding_length=0,
            return_scores=True,
            return_end_token=True,
            **options,
        )

    def _collect(
        self, job: Job, source: list[list[str]], rows: list[tuple[str, ...]], results: list[Any]
    ) -> list[Completion]:
        ends = self._tokenizer.eos_token
        finished = [all(tokens and tokens[-1] == ends for tokens in result.hypotheses) for result in results]
        known = [self._complete(result, len) for result in results] if rows else []
        likelihoods = self._label_logprobs(source, rows, known) or [()] * len(results)
        repeated = iter(self._ask_reference(job, [index for index, done in enumerate(finished) if not done]))
        return [
            Completion(self._text(result.hypotheses[0]) if done else next(repeated), label_logprobs=logprobs)
            for result, logprobs, done in zip(results, likelihoods, finished, strict=True)
        ]

    def _collect_alternatives(
        self, job: Job, source: list[list[str]], rows: list[tuple[str, ...]], results: list[Any]
    ) -> list[Completion]:
        """The first alternative is greedy search's reply if it is complete; else the prompt is asked again.

        Alternatives do not include the empty reply: it must be unlikelier.
        """
        known = [self._complete(result, lambda tokens: 1) for result in results]
        likelihoods = self._label_logprobs(source, rows, known)
        texts: dict[int, str] = {}
        for index, (result, replies) in enumerate(zip(results, known, strict=True)):
            logprob = replies.get(tuple(result.hypotheses[0]))
            if logprob is not None and math.exp(logprob) > _unknown(replies):
                texts[index] = self._text(result.hypotheses[0])
        again = [index for index in range(len(results)) if index not in texts]
        rest = Job([job.prompts[index] for index in again], (), job.max_new_tokens)
        if again:
            texts |= {i: done.text for i, done in zip(again, self.start(rest)(), strict=True)}
        return [Completion(texts[index], label_logprobs=row) for index, row in enumerate(likelihoods)]

    def _complete(self, result: Any, length: Callable[[Sequence[str]], int]) -> dict[tuple[str, ...], float]:
        """Joint log-probabilities of the hypotheses that end; scores are means over ``length``."""
        return {
            tuple(tokens): score * length(tokens)
            for tokens, score in zip(result.hypotheses, result.scores, strict=True)
            if tokens and tokens[-1] == self._tokenizer.eos_token
        }

    def _label_rows(self, labels: Sequence[str]) -> list[tuple[str, ...]]:
        rows = label_rows(self._tokenizer, labels)
        return [tuple(self._tokenizer.convert_ids_to_tokens(row)) for row in rows]

    def _text(self, tokens: list[str]) -> str:
        ids = self._tokenizer.convert_tokens_to_ids(tokens)
        text: str = self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text.strip()

    def _ask_reference(self, job: Job, rows: list[int]) -> list[str]:
        """Searches that had not ended at the length limit are repeated by transformers."""
        from exam_pp.llm.huggingface import TransformersEngine

        if not rows:
            return []
        if self._reference is None:
            self._reference = TransformersEngine(self._options, self._checkpoint)
        again = Job([job.prompts[row] for row in rows], (), job.max_new_tokens)
        return [completion.text for completion in self._reference.start(again)()]

    def _label_logprobs(
        self,
        source: list[list[str]],
        rows: Sequence[tuple[str, ...]],
        known: list[dict[tuple[str, ...], float]],
    ) -> list[tuple[float, ...]]:
        """Joint log-probabilities of the labels: from the search where it met them, else scored.

        A search shares its encoder pass only with the labels that it met; each other label costs a
        pass of its own.
        """
        table: list[list[float]] = []
        missing: list[tuple[int, int]] = []
        for index, replies in enumerate(known):
            table.append([replies.get(row, NEGLIGIBLE_LOGPROB) for row in rows])
            if _unknown(replies) > NEGLIGIBLE * math.fsum(map(math.exp, table[-1])):
                missing += [(index, label) for label, row in enumerate(rows) if row not in replies]
        for (index, label), logprob in zip(missing, self._scores(source, rows, missing), strict=True):
            table[index][label] = logprob
        return [tuple(row) for row in table]

    def _scores(
        self, source: list[list[str]], rows: Sequence[Sequence[str]], pairs: list[tuple[int, int]]
    ) -> list[float]:
        if not pairs:
            return []
        scored = self._translator.score_batch(
            [source[index] for index, _ in pairs],
            [list(rows[label][:-1]) for _, label in pairs],  # the end of sequence is added and scored
            max_batch_size=self.batch_tokens,
            batch_type="tokens",
            max_input_length=0,
        )
        return [math.fsum(result.log_probs) for result in scored]


def _unknown(replies: dict[tuple[str, ...], float]) -> float:
    """The probability of all replies but these."""
    return 1 - math.fsum(map(math.exp, replies.values()))


def _device(options: ModelOptions) -> str:
    import ctranslate2

    wanted = (options.device or "auto").split(":")[0]
    if wanted == "auto":
        return "cuda" if ctranslate2.get_cuda_device_count() else "cpu"
    return wanted


def _device_index(options: ModelOptions) -> int:
    """The 1 of ``cuda:1``."""
    number = (options.device or "").partition(":")[2]
    return int(number) if number.isdecimal() else 0


def _compute_type(options: ModelOptions, device: str) -> str:
    """The asked type, else float32 on a CPU and bfloat16 on a GPU (FLAN-T5 overflows in float16)."""
    if options.compute_type:
        return options.compute_type
    if options.dtype != "auto":
        return options.dtype
    return "bfloat16" if device == "cuda" else "float32"


def _workers(options: ModelOptions, device: str) -> tuple[int, int]:
    """Workers and threads each: on a CPU many workers of one thread beat one worker of many."""
    if device == "cuda":
        return 1, 0
    cores = options.threads or len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else [0])
    # Each worker holds activations of its own: eight are enough to keep any machine's memory bus busy.
    workers = min(cores, 8)
    return workers, max(1, cores // workers)


def cache_folder() -> Path:
    """Where converted checkpoints are kept: ``EXAM_PP_CACHE``, else the user's cache folder."""
    if chosen := os.environ.get("EXAM_PP_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "exam_pp"


def _converted(checkpoint: Checkpoint, compute_type: str) -> Path:
    """The folder of the converted checkpoint; converts and checks it on the first use.

    The folder appears under its name only when it is complete and checked.
    """
    import ctranslate2

    identity = "-".join(checkpoint.identity.values())
    target = cache_folder() / "ctranslate2" / f"{identity}-{compute_type}-{ctranslate2.__version__}"
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    log.info("Converting %s for CTranslate2 (once, into %s)", checkpoint.options.model, target)
    part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        _convert(checkpoint, part, compute_type)
        _check(checkpoint, part, compute_type)
        try:
            part.rename(target)
        except OSError:
            if not target.is_dir():  # else another process was faster, with the same content
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target


def _convert(checkpoint: Checkpoint, folder: Path, compute_type: str) -> None:
    from ctranslate2.converters import TransformersConverter

    from exam_pp.llm.checkpoint import quiet_loading

    class Converter(TransformersConverter):  # type: ignore[misc]
        def load_model(self, *args: Any, **kwargs: Any) -> Any:
            model = super().load_model(*args, **kwargs)
            # Recent transformers always set `tie_word_embeddings` and keep what it meant for T5's
            # output scale elsewhere; the converter reads the old flag.
            if hasattr(model.config, "scale_decoder_outputs"):
                model.config.tie_word_embeddings = model.config.scale_decoder_outputs
            return model

    import transformers

    converter = Converter(checkpoint.path, revision=checkpoint.options.revision)
    with quiet_loading(transformers):
        converter.convert(str(folder), quantization=compute_type, force=True)


def _check(checkpoint: Checkpoint, folder: Path, compute_type: str) -> None:
    """Compare log-likelihoods of a few continuations with transformers'; raises :class:`ModelError`."""
    import ctranslate2
    import torch

    tokenizer = checkpoint.tokenizer
    model = checkpoint.model(torch.float32)
    translator = ctranslate2.Translator(str(folder), device="cpu", compute_type=_on_cpu(compute_type))
    tolerance = _TOLERANCE.get(compute_type, _LOOSE_TOLERANCE)
    for probe in _PROBES:
        prompt = tokenizer(probe)["input_ids"]
        for target in label_rows(tokenizer, ("0", "3", "the answer")):
            start = torch.tensor([[checkpoint.start_token, *target[:-1]]])
            with torch.inference_mode():
                logits = model(input_ids=torch.tensor([prompt]), decoder_input_ids=start).logits[0]
            expected = logits.log_softmax(-1)[range(len(target)), target].sum().item()
            source = tokenizer.convert_ids_to_tokens(prompt)
            words = tokenizer.convert_ids_to_tokens(target[:-1])
            found = math.fsum(translator.score_batch([source], [words])[0].log_probs)
            if not abs(found - expected) <= tolerance * max(1.0, abs(expected) / 10):
                raise ModelError(
                    f"the converted checkpoint disagrees with transformers (log-likelihood {found:.4f} "
                    f"instead of {expected:.4f} for a probe)"
                )


def _on_cpu(compute_type: str) -> str:
    """The check runs on the CPU, which does not know every type of a GPU."""
    import ctranslate2

    return compute_type if compute_type in ctranslate2.get_supported_compute_types("cpu") else "float32"
