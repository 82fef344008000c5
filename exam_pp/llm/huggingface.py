"""Transformers engine for sequence-to-sequence models, the reference for CTranslate2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exam_pp.errors import ModelError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.checkpoint import ModelCheckpoint, PlacedModel, import_transformers
from exam_pp.llm.decoding import Sampler
from exam_pp.llm.encoding import choice
from exam_pp.llm.seq2seq import EngineBatch
from exam_pp.llm_requests import DEFAULT_MAX_NEW_TOKENS, Completion

if TYPE_CHECKING:
    import torch

FIRST_TOKENS = 48
"""Replies longer than this many tokens are generated again separately, so that they do not slow a batch."""

_CPU_BATCH_TOKENS, _GPU_BATCH_TOKENS = 2048, 65536
_PUBLISHED_INPUT_TOKENS = 512


class Checkpoint(ModelCheckpoint):
    """A sequence-to-sequence checkpoint."""

    def __init__(self, options: ModelOptions) -> None:
        super().__init__(options)
        positions = self._first_of(
            "n_positions", "max_position_embeddings", "max_encoder_position_embeddings"
        )
        self.max_input_tokens = options.max_input_tokens or min(
            getattr(self.tokenizer, "model_max_length", None) or _PUBLISHED_INPUT_TOKENS,
            positions or _PUBLISHED_INPUT_TOKENS,
        )
        self._check_numbers()
        unsupported = [key for key in ("bad_words_ids", "suppress_tokens") if self._option(key)]
        if unsupported:
            raise ModelError(
                f"The model {options.model!r} cannot be used: its generation option {unsupported[0]!r} is "
                "not supported; it is usual in models for translation."
            )

    def _check_numbers(self) -> None:
        """Raise ModelError for limits below 1 and a first token that is not in the vocabulary."""
        limits = {"input": self.max_input_tokens, "reply": self.max_new_tokens}
        for name, limit in limits.items():
            if limit < 1:
                raise ModelError(
                    f"The model {self.options.model!r} cannot be loaded: its files limit the {name} to "
                    f"{limit} tokens."
                )
        for token in self.start_tokens:
            if not 0 <= token < self.config.vocab_size:
                raise ModelError(
                    f"The model {self.options.model!r} cannot be loaded: its files name the first token "
                    f"{token} of a reply, but its vocabulary has {self.config.vocab_size} tokens."
                )

    def _first_of(self, *keys: str) -> int | None:
        """The first of these settings of the config that is not None."""
        values = (getattr(self.config, key, None) for key in keys)
        return next((int(value) for value in values if value is not None), None)

    @property
    def max_new_tokens(self) -> int:
        """Maximal number of tokens in a reply: the published limit, or a lower limit of the checkpoint."""
        limit = getattr(self.generation, "max_new_tokens", None) or DEFAULT_MAX_NEW_TOKENS
        # The start tokens also need positions. T5 has relative positions without a limit.
        positions = self._first_of("max_decoder_position_embeddings", "max_position_embeddings")
        room = positions - len(self.start_tokens) if positions else DEFAULT_MAX_NEW_TOKENS
        return min(limit, DEFAULT_MAX_NEW_TOKENS, room)

    def _option(self, key: str) -> Any:
        """A generation option, which older checkpoints have in their config."""
        value = getattr(self.generation, key, None)
        return getattr(self.config, key, None) if value is None else value

    @property
    def start_tokens(self) -> list[int]:
        """The token ids at which the decoder starts: one, or two in BART-like models."""
        start = self._first_of("decoder_start_token_id")
        for key in ("decoder_start_token_id", "bos_token_id"):
            start = getattr(self.generation, key, None) if start is None else start
        first = int(self.tokenizer.pad_token_id if start is None else start)
        forced = self._option("forced_bos_token_id")
        return [first] if forced is None else [first, int(forced)]

    def label_rows(self, labels: Sequence[str]) -> list[list[int]]:
        """The token ids of each label as a reply: without :attr:`start_tokens`, with the end of sequence.

        T5 has no piece for a leading "0", so that label has two pieces and the others one.
        """
        rows = [self.tokenizer(text_target=label)["input_ids"] for label in labels]
        start, end = self.start_tokens[-1:], [self.tokenizer.eos_token_id]
        rows = [row[1:] if row[:1] == start else row for row in rows]  # some tokenizers add the start token
        return [row if row[-1:] == end else row + end for row in rows]


class TransformersEngine:
    """Runs batches with ``generate``; label likelihoods use the same encoder pass."""

    parallel = 0
    labels_are_expensive = False

    def __init__(self, options: ModelOptions, checkpoint: Checkpoint) -> None:
        import torch

        self._torch = torch
        self._placed = PlacedModel(checkpoint, options)
        self._model, self._device = self._placed.model, self._placed.device
        self._options = options
        self._beams = options.beams
        self._tokenizer = checkpoint.tokenizer
        self._start_tokens = checkpoint.start_tokens
        self._label_rows = checkpoint.label_rows
        self._eos = _first(self._model.generation_config.eos_token_id, self._tokenizer.eos_token_id)
        self._pad = _first(self._tokenizer.pad_token_id, self._eos)
        # An empty config replaces the checkpoint's, because all decoding options are set and recorded here.
        self._model.generation_config = import_transformers().GenerationConfig()
        self.batch_tokens = _GPU_BATCH_TOKENS if self._placed.on_gpu else _CPU_BATCH_TOKENS

    def provenance(self) -> dict[str, Any]:
        """Engine, dtype, device kind and versions."""
        return self._placed.provenance()

    def start(self, job: EngineBatch) -> Callable[[], list[Completion]]:
        """Return a function that runs the batch when it is called, so that one batch runs at a time."""
        return lambda: self._run(job)

    def _run(self, job: EngineBatch) -> list[Completion]:
        labels = self._label_rows(job.labels)
        with self._torch.inference_mode():
            ids, mask = self._placed.padded(job.prompts, self._pad)
            states = self._model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
            batch = _Batch(states, mask, self._prompt_cache(states, mask))
            watcher = _LabelWatcher(labels, len(job.prompts), self._beams, len(self._start_tokens))
            texts = [] if job.choose else self._replies(batch, job, watcher)
            logprobs = self._label_logprobs(batch, labels, watcher)
            finite = states.isfinite().all(-1).all(-1).tolist()
        if job.choose:
            return [
                choice(job.labels, probs) or Completion(error=self._placed.overflow) for probs in logprobs
            ]
        return [
            Completion(text, label_logprobs=probs) if valid else Completion(error=self._placed.overflow)
            for text, probs, valid in zip(texts, logprobs, finite, strict=True)
        ]

    def _prompt_cache(self, states: torch.Tensor, mask: torch.Tensor) -> Any:
        """The decoder's keys and values of the prompts, computed once: they cost nearly an encoder pass."""
        start = self._starts(mask.shape[0])
        output = self._model(
            encoder_outputs=_as_output(states), attention_mask=mask, decoder_input_ids=start, use_cache=True
        )
        return output.past_key_values.cross_attention_cache

    def _starts(self, rows: int) -> torch.Tensor:
        return self._torch.tensor([self._start_tokens] * rows, device=self._device)

    def _replies(self, batch: _Batch, job: EngineBatch, watcher: _LabelWatcher) -> list[str]:
        """Generate the replies of a batch, long replies separately."""
        all_rows, limit = list(range(batch.mask.shape[0])), job.max_new_tokens
        rows, finished = self._generate(batch, all_rows, min(FIRST_TOKENS, limit), job.keys, watcher)
        unfinished = [row for row, done in enumerate(finished) if not done]
        if unfinished and limit > FIRST_TOKENS:
            again, _ = self._generate(batch, unfinished, limit, job.keys)
            for row, tokens in zip(unfinished, again, strict=True):
                rows[row] = tokens
        replies: list[str] = self._tokenizer.batch_decode(
            rows, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return [reply.strip() for reply in replies]

    def _generate(
        self,
        batch: _Batch,
        rows: list[int],
        max_new_tokens: int,
        keys: Sequence[str],
        watcher: _LabelWatcher | None = None,
    ) -> tuple[list[list[int]], list[bool]]:
        """The best sequence of each row, and whether its search ended before the length limit.

        With early stopping, a search ends when the number of complete hypotheses equals the number of beams.
        Then all returned hypotheses end with the end-of-sequence token, and a higher limit changes nothing.
        """
        config = import_transformers().GenerationConfig(
            max_length=max_new_tokens + len(self._start_tokens),
            num_beams=self._beams,
            num_return_sequences=self._beams,
            early_stopping=self._beams > 1,
            length_penalty=1.0,
            do_sample=False,
            pad_token_id=self._pad,
            eos_token_id=self._eos,
            decoder_start_token_id=self._start_tokens[0],
        )
        processors: list[Any] = [watcher] if watcher else []
        if self._options.samples:
            processors.append(Sampler(self._options, [keys[row] for row in rows]))
        # Without this cache, `generate` would compute the keys and values of the prompt for each beam. It
        # expands states and mask to the beams itself.
        output = self._model.generate(
            encoder_outputs=_as_output(batch.states[rows]),
            attention_mask=batch.mask[rows],
            decoder_input_ids=self._starts(len(rows)),
            past_key_values=batch.cache(rows, self._beams),
            generation_config=config,
            logits_processor=processors,
        )
        sequences = output.view(-1, self._beams, output.shape[-1])[:, :, len(self._start_tokens) :]
        finished = (sequences == self._eos).any(-1).all(-1).tolist()
        return sequences[:, 0].tolist(), finished

    def _label_logprobs(
        self, batch: _Batch, labels: Sequence[Sequence[int]], watcher: _LabelWatcher
    ) -> list[tuple[float, ...]]:
        """Joint log-probability of every label: from the search if it scored it, else by teacher forcing."""
        table = watcher.logprobs.sum(-1)
        missing = table.isnan()
        rows = missing.any(-1).nonzero()[:, 0].tolist()
        if rows:
            every, masks = self._placed.padded(list(labels) * len(rows), self._pad)
            logits = self._model(
                encoder_outputs=_as_output(batch.states[rows].repeat_interleave(len(labels), 0)),
                attention_mask=batch.mask[rows].repeat_interleave(len(labels), 0),
                decoder_input_ids=self._torch.cat([self._starts(len(every)), every[:, :-1]], 1),
                past_key_values=batch.cache(rows, len(labels)),
            ).logits[:, len(self._start_tokens) - 1 :]
            scores = logits.float().log_softmax(-1).gather(-1, every[:, :, None].to(logits.device))[:, :, 0]
            sums = scores.masked_fill(masks.to(scores.device) == 0, 0).sum(-1).cpu()
            table[missing] = sums.view(len(rows), -1)[missing[rows]]
        return [tuple(row) for row in table.tolist()]


@dataclass(frozen=True)
class _Batch:
    """An encoded batch: encoder states, mask, and the decoder's keys and values of the prompts."""

    states: torch.Tensor
    mask: torch.Tensor
    prompts: Any

    def cache(self, rows: list[int], times: int) -> Any:
        """A cache of the decoder for ``times`` replies to each of these rows' prompts."""
        from exam_pp.llm.prompt_cache import shared_cache

        return shared_cache(self.prompts.layers, rows, times)


class _LabelWatcher:
    """A logits processor that records the log-probabilities of labels and returns the scores unchanged.

    ``logprobs`` has the shape rows × labels × pieces: NaN for pieces that the search did not score, 0 after
    the end of a label.
    """

    def __init__(self, labels: Sequence[Sequence[int]], rows: int, beams: int, start: int = 1) -> None:
        import torch

        self._labels, self._beams, self._start = labels, beams, start
        self._longest = max(map(len, labels), default=0)
        self.logprobs = torch.zeros(rows, len(labels), self._longest)
        for column, label in enumerate(labels):
            self.logprobs[:, column, : len(label)] = torch.nan

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Record one step of the search: sequences including start tokens, and scores of the next token."""
        step = input_ids.shape[1] - self._start
        if step >= self._longest:
            return scores
        normaliser = scores.float().logsumexp(-1)
        for column, label in enumerate(self._labels):
            if step < len(label):
                is_prefix = input_ids[:, self._start :] == input_ids.new_tensor(label[:step])
                matches = is_prefix.all(-1).nonzero()[:, 0]
                logprobs = scores[matches, label[step]].float() - normaliser[matches]
                self.logprobs[matches.cpu() // self._beams, column, step] = logprobs.cpu()
        return scores


def _as_output(states: torch.Tensor) -> Any:
    """Wrap encoder states in the output class that all models accept, including mixtures of experts."""
    from transformers.modeling_outputs import MoEModelOutput

    return MoEModelOutput(last_hidden_state=states)


def _first(*values: Any) -> int:
    value = next(value for value in values if value is not None)
    return int(value[0] if isinstance(value, list) else value)
