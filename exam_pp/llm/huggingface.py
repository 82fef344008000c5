"""The reference engine: seq2seq models through transformers' own ``generate``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from exam_pp.errors import ModelError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.checkpoint import (
    ModelCheckpoint,
    import_transformers,
    pick_device,
    pick_dtype,
)
from exam_pp.llm.seq2seq import Job
from exam_pp.messages import DEFAULT_MAX_NEW_TOKENS, Completion

if TYPE_CHECKING:
    import torch

FIRST_TOKENS = 48
"""Replies longer than this are generated again on their own, so that they do not hold a whole batch."""

_CPU_BATCH_TOKENS, _GPU_BATCH_TOKENS = 2048, 16384
_PUBLISHED_INPUT_TOKENS = 512


class Checkpoint(ModelCheckpoint):
    """A seq2seq checkpoint."""

    pipeline = "text2text"

    def __init__(self, options: ModelOptions) -> None:
        super().__init__(options)
        positions = self._first_of(
            "n_positions", "max_position_embeddings", "max_encoder_position_embeddings"
        )
        self.max_input_tokens = options.max_input_tokens or min(
            getattr(self.tokenizer, "model_max_length", None) or _PUBLISHED_INPUT_TOKENS,
            positions or _PUBLISHED_INPUT_TOKENS,
        )
        forbidden = [key for key in ("bad_words_ids", "suppress_tokens") if self._asked(key)]
        if forbidden:
            raise ModelError(
                f"The model {options.model!r} needs a search that leaves out tokens ({forbidden[0]}), as "
                "models for translation do: choose one that grades can be made with."
            )

    @cached_property
    def _generation(self) -> Any:
        """What the checkpoint says about decoding; None where it says nothing."""
        try:
            return import_transformers().GenerationConfig.from_pretrained(self.path, revision=self.revision)
        except OSError:  # the file is optional
            return None

    def _first_of(self, *keys: str) -> int | None:
        found = (getattr(self.config, key, None) for key in keys)
        return next((int(value) for value in found if value is not None), None)

    @property
    def max_new_tokens(self) -> int:
        """The longest reply: the published limit, or a lower one that the checkpoint asks for or can hold."""
        asked = getattr(self._generation, "max_new_tokens", None) or DEFAULT_MAX_NEW_TOKENS
        # The decoder's first tokens have positions, too. T5 has no positions that could run out.
        places = self._first_of("max_decoder_position_embeddings", "max_position_embeddings")
        room = places - len(self.start_tokens) if places else DEFAULT_MAX_NEW_TOKENS
        return min(asked, DEFAULT_MAX_NEW_TOKENS, room)

    def _asked(self, key: str) -> Any:
        """An option for decoding, which older checkpoints have in their config."""
        value = getattr(self._generation, key, None)
        return getattr(self.config, key, None) if value is None else value

    @property
    def start_tokens(self) -> list[int]:
        """What the decoder begins with; in BART-like models a second token is a part of it."""
        named = self._first_of("decoder_start_token_id")
        for key in ("decoder_start_token_id", "bos_token_id"):
            named = getattr(self._generation, key, None) if named is None else named
        first = int(self.tokenizer.pad_token_id if named is None else named)
        forced = self._asked("forced_bos_token_id")
        return [first] if forced is None else [first, int(forced)]

    def label_rows(self, labels: Sequence[str]) -> list[list[int]]:
        """The token ids of each label as a reply, behind :attr:`start_tokens` and with its end of sequence.

        T5 has no piece for a leading "0": that label is two pieces, the others one.
        """
        rows = [self.tokenizer(text_target=label)["input_ids"] for label in labels]
        begun, end = self.start_tokens[-1:], [self.tokenizer.eos_token_id]
        rows = [row[1:] if row[:1] == begun else row for row in rows]  # some tokenizers begin every text
        return [row if row[-1:] == end else row + end for row in rows]


class TransformersEngine:
    """Batches through ``generate``, with the likelihoods of the scale from the same encoder pass."""

    parallel = 0
    labels_are_expensive = False

    def __init__(self, options: ModelOptions, checkpoint: Checkpoint) -> None:
        import torch

        self._torch = torch
        self._device = pick_device(options)
        self._dtype = pick_dtype(options, self._device)
        self._beams = options.beams
        self._tokenizer = checkpoint.tokenizer
        self._start_tokens = checkpoint.start_tokens
        self._label_rows = checkpoint.label_rows
        if options.threads:
            torch.set_num_threads(options.threads)
        self._model = checkpoint.placed_model(getattr(torch, self._dtype), self._device)
        self._eos = _first(self._model.generation_config.eos_token_id, self._tokenizer.eos_token_id)
        self._pad = _first(self._tokenizer.pad_token_id, self._eos)
        # Decoding is ours to choose and to record: nothing is taken over from the checkpoint unseen.
        self._model.generation_config = import_transformers().GenerationConfig()
        self.batch_tokens = _GPU_BATCH_TOKENS if self._device.startswith("cuda") else _CPU_BATCH_TOKENS

    def provenance(self) -> dict[str, Any]:
        """Engine, dtype, device kind and versions."""
        return {
            "engine": "transformers",
            "dtype": self._dtype,
            "device": self._device.split(":")[0],
            "transformers": import_transformers().__version__,
            "torch": self._torch.__version__,
        }

    def start(self, job: Job) -> Callable[[], list[Completion]]:
        """The work happens when the result is asked for: one batch at a time."""
        return lambda: self._run(job)

    def _run(self, job: Job) -> list[Completion]:
        labels = self._label_rows(job.labels)
        with self._torch.inference_mode():
            ids, mask = self._pad_left_to_right(job.prompts)
            states = self._model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
            batch = _Batch(states, mask, self._prompt_cache(states, mask))
            watcher = _LabelWatcher(labels, len(job.prompts), self._beams, len(self._start_tokens))
            texts = self._replies(batch, job.max_new_tokens, watcher)
            logprobs = self._label_logprobs(batch, labels, watcher)
            sound = states.isfinite().all(-1).all(-1).tolist()
        return [
            Completion(text, label_logprobs=probs) if fine else Completion(error=self._overflow)
            for text, probs, fine in zip(texts, logprobs, sound, strict=True)
        ]

    @property
    def _overflow(self) -> str:
        """Such a reply is empty or noise, and would be read as a grade."""
        return f"the model's numbers overflow in {self._dtype}: choose another --dtype"

    def _pad_left_to_right(self, prompts: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        torch = self._torch
        longest = max(len(prompt) for prompt in prompts)
        ids = torch.full((len(prompts), longest), self._pad, dtype=torch.long)
        mask = torch.zeros((len(prompts), longest), dtype=torch.long)
        for row, prompt in enumerate(prompts):
            ids[row, : len(prompt)] = torch.tensor(prompt)
            mask[row, : len(prompt)] = 1
        return ids.to(self._device), mask.to(self._device)

    def _prompt_cache(self, states: torch.Tensor, mask: torch.Tensor) -> Any:
        """The decoder's keys and values of the prompts: nearly as much work as the encoder, done once."""
        start = self._starts(mask.shape[0])
        output = self._model(
            encoder_outputs=_as_output(states), attention_mask=mask, decoder_input_ids=start, use_cache=True
        )
        return output.past_key_values.cross_attention_cache

    def _starts(self, rows: int) -> torch.Tensor:
        return self._torch.tensor([self._start_tokens] * rows, device=self._device)

    def _replies(self, batch: _Batch, max_new_tokens: int, watcher: _LabelWatcher) -> list[str]:
        """Replies of a batch; the few long ones are generated apart from the many short ones."""
        every = list(range(batch.mask.shape[0]))
        rows, finished = self._generate(batch, every, min(FIRST_TOKENS, max_new_tokens), watcher)
        unfinished = [row for row, done in enumerate(finished) if not done]
        if unfinished and max_new_tokens > FIRST_TOKENS:
            again, _ = self._generate(batch, unfinished, max_new_tokens)
            for row, tokens in zip(unfinished, again, strict=True):
                rows[row] = tokens
        replies: list[str] = self._tokenizer.batch_decode(
            rows, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return [reply.strip() for reply in replies]

    def _generate(
        self, batch: _Batch, rows: list[int], max_new_tokens: int, watcher: _LabelWatcher | None = None
    ) -> tuple[list[list[int]], list[bool]]:
        """Best sequence of each of the rows, and whether its search had ended before the length limit.

        With early stopping a search ends when as many hypotheses as beams are complete: then all that
        are returned end with the end-of-sequence token, and a higher limit changes nothing.
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
        # `generate` expands states and mask to the beams itself, and would compute keys and values of
        # the prompt for each of them again.
        output = self._model.generate(
            encoder_outputs=_as_output(batch.states[rows]),
            attention_mask=batch.mask[rows],
            decoder_input_ids=self._starts(len(rows)),
            past_key_values=batch.cache(rows, self._beams),
            generation_config=config,
            logits_processor=[watcher] if watcher else [],
        )
        sequences = output.view(-1, self._beams, output.shape[-1])[:, :, len(self._start_tokens) :]
        finished = (sequences == self._eos).any(-1).all(-1).tolist()
        return sequences[:, 0].tolist(), finished

    def _label_logprobs(
        self, batch: _Batch, labels: Sequence[Sequence[int]], watcher: _LabelWatcher
    ) -> list[tuple[float, ...]]:
        """Joint log-probability of every label: from the search where it met it, else by teacher forcing."""
        torch = self._torch
        if not labels:
            return [()] * batch.mask.shape[0]
        table = watcher.logprobs.sum(-1)
        missing = table.isnan()
        for length in {len(label) for label in labels}:
            pairs = [(i, j) for i, j in missing.nonzero().tolist() if len(labels[j]) == length]
            if not pairs:
                continue
            rows, columns = map(list, zip(*pairs, strict=True))
            wanted = torch.tensor([labels[column] for column in columns], device=self._device)
            logits = self._model(
                encoder_outputs=_as_output(batch.states[rows]),
                attention_mask=batch.mask[rows],
                decoder_input_ids=torch.cat([self._starts(len(rows)), wanted[:, :-1]], 1),
                past_key_values=batch.cache(rows),
            ).logits[:, len(self._start_tokens) - 1 :]
            found = logits.float().log_softmax(-1).gather(-1, wanted[:, :, None].to(logits.device))
            table[rows, columns] = found.sum((1, 2)).cpu()
        return [tuple(row) for row in table.tolist()]


@dataclass(frozen=True)
class _Batch:
    """A batch behind the encoder: states, mask, and the decoder's keys and values of the prompts."""

    states: torch.Tensor
    mask: torch.Tensor
    prompts: Any

    def cache(self, rows: list[int], times: int = 1) -> Any:
        """Keys and values of these rows' prompts, each so many times, and no reply yet."""
        from transformers import DynamicCache, EncoderDecoderCache

        copy = DynamicCache()
        for number, layer in enumerate(self.prompts.layers):
            copy.update(
                *(kind[rows].repeat_interleave(times, 0) for kind in (layer.keys, layer.values)), number
            )
        return EncoderDecoderCache(DynamicCache(), copy)


class _LabelWatcher:
    """Reads the labels' log-probabilities off a search, as far as it meets them; changes nothing.

    ``logprobs``: rows × labels × pieces, NaN what was not met, 0 behind the end of a label.
    """

    def __init__(self, labels: Sequence[Sequence[int]], rows: int, beams: int, begun: int = 1) -> None:
        import torch

        self._labels, self._beams, self._begun = labels, beams, begun
        self._longest = max(map(len, labels), default=0)
        self.logprobs = torch.zeros(rows, len(labels), self._longest)
        for column, label in enumerate(labels):
            self.logprobs[:, column, : len(label)] = torch.nan

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """One step of the search: what stands so far, from the start tokens on, and the next scores."""
        step = input_ids.shape[1] - self._begun
        if step >= self._longest:
            return scores
        normaliser = scores.float().logsumexp(-1)
        for column, label in enumerate(self._labels):
            if step < len(label):
                begun = input_ids[:, self._begun :] == input_ids.new_tensor(label[:step])
                met = begun.all(-1).nonzero()[:, 0]
                found = scores[met, label[step]].float() - normaliser[met]
                self.logprobs[met.cpu() // self._beams, column, step] = found.cpu()
        return scores


def _as_output(states: torch.Tensor) -> Any:
    """Behind the encoder, as models take it; some take no plain tuple, and some look for experts."""
    from transformers.modeling_outputs import MoEModelOutput

    return MoEModelOutput(last_hidden_state=states)


def _first(*values: Any) -> int:
    value = next(value for value in values if value is not None)
    return int(value[0] if isinstance(value, list) else value)
