"""CTranslate2 engine for sequence-to-sequence models, the fast alternative to transformers."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from exam_pp.errors import ModelError
from exam_pp.llm.base import Dtype, ModelOptions
from exam_pp.llm.batched import free_memory
from exam_pp.llm.encoding import choice
from exam_pp.llm.seq2seq import EngineBatch
from exam_pp.llm_requests import Completion
from exam_pp.plugins.ctranslate2.conversion import (
    Placement,
    as_tensor,
    check_distributions,
    convert_once,
    probe_compute_type,
    start_or_none,
)

if TYPE_CHECKING:
    from exam_pp.llm.huggingface import Checkpoint, TransformersEngine

log = logging.getLogger(__name__)

LONGEST_REPLY = 256
"""Maximal reply length here. Longer replies go to transformers, because the engines treat length limits
differently."""

NEGLIGIBLE = 2e-5
"""If all unknown replies together have less than this share of the known labels' probability, unknown labels
are not scored: they change the expected rating by less than 1e-4."""

NEGLIGIBLE_LOGPROB = -100.0

_CPU_BATCH_TOKENS, _GPU_BATCH_TOKENS = 2048, 32768
_PROBES = (
    "Question: which year was the bridge over the river opened? Context: The bridge was opened in 1932.",
    "Key Fact: glaciers store water. Context: 0 1 2 3 4 5",
    "a",
)


def engine_or_none(checkpoint: Checkpoint) -> CTranslate2Engine | None:
    """The engine, unless the options or the installation exclude it."""
    options = checkpoint.options
    if options.engine == "transformers" or options.device_map or options.samples:
        return None
    return start_or_none(options, lambda: CTranslate2Engine(options, checkpoint))


class CTranslate2Engine:
    """Runs several batches at a time on CTranslate2 workers."""

    labels_are_expensive = True  # most labels need a separate encoder pass

    def __init__(self, options: ModelOptions, checkpoint: Checkpoint) -> None:
        import ctranslate2

        if len(checkpoint.start_tokens) > 1:
            raise ModelError("it does not support a second start token (forced_bos_token_id)")
        self._checkpoint = checkpoint
        self._options = options
        self._tokenizer = checkpoint.tokenizer
        self._beams = options.beams
        self._placement = placement = Placement.of(options)
        folder = convert_once(
            checkpoint, placement.compute_type, lambda part: _check(checkpoint, part, placement.compute_type)
        )
        self._translator = ctranslate2.Translator(str(folder), **placement.arguments)
        # GPU libraries are loaded with the first batch, so this probe shows a missing library while another
        # engine can still be chosen.
        self._translator.translate_batch([[self._tokenizer.eos_token]], beam_size=1, max_decoding_length=1)
        self.parallel = 2 * placement.workers
        usual = _GPU_BATCH_TOKENS if placement.device == "cuda" else _CPU_BATCH_TOKENS
        self.batch_tokens = options.batch_tokens or usual
        self._reference: TransformersEngine | None = None

    def provenance(self) -> dict[str, Any]:
        """Engine, compute type as dtype, device kind and version."""
        return self._placement.provenance()

    def start(self, job: EngineBatch) -> Callable[[], list[Completion]]:
        """Queue a batch for the next free worker."""
        source = [self._tokenizer.convert_ids_to_tokens(prompt) for prompt in job.prompts]
        rows = self._label_rows(job.labels)
        if job.choose:
            futures = self._alternatives(source, rows)
            return lambda: self._choices(job, source, rows, [f.result() for f in futures])
        if rows and self._beams == 1:
            # Greedy search scores only its own reply. Therefore the likeliest first tokens are each continued
            # greedily to the length of a label, in the same encoder pass; nearly all of them are labels.
            futures = self._alternatives(source, rows, job.max_new_tokens)
            return lambda: self._collect_alternatives(job, source, rows, [f.result() for f in futures])
        futures = self._search(
            source,
            beam_size=self._beams,
            num_hypotheses=self._beams,
            length_penalty=1,
            max_decoding_length=min(job.max_new_tokens, LONGEST_REPLY),
        )
        return lambda: self._collect(job, source, rows, [f.result() for f in futures])

    def _alternatives(
        self, source: list[list[str]], rows: list[tuple[str, ...]], limit: int = LONGEST_REPLY
    ) -> Any:
        """The likeliest first tokens, each continued greedily to the length of a label."""
        return self._search(
            source,
            beam_size=1,
            return_alternatives=True,
            num_hypotheses=len(rows),
            length_penalty=0,  # makes the score the joint log-probability
            max_decoding_length=min(limit, max(map(len, rows))),
        )

    def _choices(
        self, job: EngineBatch, source: list[list[str]], rows: list[tuple[str, ...]], results: list[Any]
    ) -> list[Completion]:
        known = [self._complete(result, lambda tokens: 1) for result in results]
        overflow = Completion(error="the model's numbers overflow; use another -M compute_type")
        return [
            choice(job.labels, logprobs) or overflow for logprobs in self._label_logprobs(source, rows, known)
        ]

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
        self, job: EngineBatch, source: list[list[str]], rows: list[tuple[str, ...]], results: list[Any]
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
        self, job: EngineBatch, source: list[list[str]], rows: list[tuple[str, ...]], results: list[Any]
    ) -> list[Completion]:
        """Take the first alternative as the greedy reply if it is complete; else send the prompt again.

        Alternatives do not include the empty reply, so the first one must also be likelier than all unknown
        replies together.
        """
        known = [self._complete(result, lambda tokens: 1) for result in results]
        likelihoods = self._label_logprobs(source, rows, known)
        texts: dict[int, str] = {}
        for index, (result, replies) in enumerate(zip(results, known, strict=True)):
            logprob = replies.get(tuple(result.hypotheses[0]))
            if logprob is not None and math.exp(logprob) > _unknown(replies):
                texts[index] = self._text(result.hypotheses[0])
        again = [index for index in range(len(results)) if index not in texts]
        rest = EngineBatch([job.prompts[index] for index in again], (), job.max_new_tokens)
        if again:
            texts |= {i: done.text for i, done in zip(again, self.start(rest)(), strict=True)}
        return [Completion(texts[index], label_logprobs=row) for index, row in enumerate(likelihoods)]

    def _complete(self, result: Any, length: Callable[[Sequence[str]], int]) -> dict[tuple[str, ...], float]:
        """Joint log-probabilities of complete hypotheses; their scores are means over ``length``."""
        return {
            tuple(tokens): score * length(tokens)
            for tokens, score in zip(result.hypotheses, result.scores, strict=True)
            if tokens and tokens[-1] == self._tokenizer.eos_token
        }

    def _label_rows(self, labels: Sequence[str]) -> list[tuple[str, ...]]:
        rows = self._checkpoint.label_rows(labels)
        return [tuple(self._tokenizer.convert_ids_to_tokens(row)) for row in rows]

    def _text(self, tokens: list[str]) -> str:
        ids = self._tokenizer.convert_tokens_to_ids(tokens)
        text: str = self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text.strip()

    def _ask_reference(self, job: EngineBatch, rows: list[int]) -> list[str]:
        """Repeat the searches that reached the length limit with transformers."""
        if not rows:
            return []
        self._reference = self._reference or self._load_reference()
        again = EngineBatch([job.prompts[row] for row in rows], (), job.max_new_tokens)
        return [completion.text for completion in self._reference.start(again)()]

    def _load_reference(self) -> TransformersEngine:
        """Load transformers in the same precision, on the CPU if the GPU has no memory for a second copy."""
        from exam_pp.llm.huggingface import TransformersEngine

        options = replace(self._options, compute_type=None, dtype=_dtype(self._placement.compute_type))
        try:
            return TransformersEngine(options, self._checkpoint)
        except ModelError as error:
            if self._placement.device == "cpu":
                raise
            log.warning("Replies of more than %d tokens are generated on the CPU: %s", LONGEST_REPLY, error)
        free_memory()  # the failed attempt may have left weights on the GPU
        return TransformersEngine(replace(options, device="cpu"), self._checkpoint)

    def _label_logprobs(
        self,
        source: list[list[str]],
        rows: Sequence[tuple[str, ...]],
        known: list[dict[tuple[str, ...], float]],
    ) -> list[tuple[float, ...]]:
        """Joint log-probabilities of the labels: from the search if it scored them, else computed here.

        Every label that the search did not score needs a separate encoder pass.
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
            [list(rows[label][:-1]) for _, label in pairs],  # score_batch adds and scores the end token
            max_batch_size=self.batch_tokens,
            batch_type="tokens",
            max_input_length=0,
        )
        return [math.fsum(result.log_probs) for result in scored]


def _dtype(compute_type: str) -> Dtype:
    """The same dtype for transformers; ``auto`` for types that transformers does not have, such as int8."""
    same = (dtype for dtype in get_args(Dtype) if dtype == compute_type)
    return next(same, "auto")


def _unknown(replies: dict[tuple[str, ...], float]) -> float:
    """The total probability of all replies that are not in ``replies``."""
    return 1 - math.fsum(map(math.exp, replies.values()))


def _check(checkpoint: Checkpoint, folder: Path, compute_type: str) -> None:
    """Raise ModelError if distributions over the next token differ from those of transformers."""
    import ctranslate2
    import torch

    tokenizer = checkpoint.tokenizer
    model = checkpoint.model(torch.float32)
    translator = ctranslate2.Translator(
        str(folder), device="cpu", compute_type=probe_compute_type(compute_type)
    )
    pairs = []
    for probe in _PROBES:
        prompt = tokenizer(probe)["input_ids"]
        for target in checkpoint.label_rows(("0", "3", "the answer")):
            start = torch.tensor([[checkpoint.start_tokens[0], *target[:-1]]])
            with torch.inference_mode():
                logits = model(input_ids=torch.tensor([prompt]), decoder_input_ids=start).logits[0]
            source = tokenizer.convert_ids_to_tokens(prompt)
            tokens = tokenizer.convert_ids_to_tokens(target[:-1])
            (result,) = translator.translate_batch(
                [source],
                [tokens],
                beam_size=1,
                max_input_length=0,
                max_decoding_length=len(target),
                min_decoding_length=0,  # 1 would exclude the end token
                return_logits_vocab=True,
            )
            pairs.append((as_tensor(result.logits[0][-1]).log_softmax(-1), logits[-1].log_softmax(-1)))
    check_distributions(pairs, compute_type)
