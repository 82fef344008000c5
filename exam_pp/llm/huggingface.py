"""The reference engine: seq2seq models through transformers' own ``generate``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from exam_pp.llm.base import LLM, ModelOptions
from exam_pp.llm.checkpoint import (
    ModelCheckpoint,
    import_transformers,
    pick_device,
    pick_dtype,
)
from exam_pp.llm.encoding import PromptEncoder
from exam_pp.llm.labels import label_rows
from exam_pp.llm.seq2seq import Job, Seq2SeqEngine, Seq2SeqLLM
from exam_pp.messages import DEFAULT_MAX_NEW_TOKENS, Completion

if TYPE_CHECKING:
    import torch

FIRST_TOKENS = 48
"""Replies longer than this are generated again on their own, so that they do not hold a whole batch."""

_CPU_BATCH_TOKENS, _GPU_BATCH_TOKENS = 2048, 16384
_PUBLISHED_INPUT_TOKENS = 512


def load_seq2seq(options: ModelOptions) -> LLM:
    """A T5-like checkpoint with the engine that the options and the installation allow.

    Raises :class:`exam_pp.errors.ModelError` for missing checkpoints and other kinds of models.
    """
    from exam_pp.llm.ctranslate2 import start_ctranslate2

    checkpoint = Checkpoint(options)
    encoder = PromptEncoder(checkpoint.tokenizer, checkpoint.max_input_tokens)
    engine: Seq2SeqEngine | None = None
    if options.engine != "transformers" and not options.device_map:
        engine = start_ctranslate2(options, checkpoint)
    engine = engine or TransformersEngine(options, checkpoint)
    return Seq2SeqLLM(options, encoder, engine, checkpoint.identity, checkpoint.max_new_tokens)


class Checkpoint(ModelCheckpoint):
    """A seq2seq checkpoint."""

    pipeline = "text2text"

    def __init__(self, options: ModelOptions) -> None:
        super().__init__(options)
        self.max_input_tokens = options.max_input_tokens or min(
            getattr(self.tokenizer, "model_max_length", None) or _PUBLISHED_INPUT_TOKENS,
            getattr(self.config, "n_positions", None) or _PUBLISHED_INPUT_TOKENS,
        )

    @property
    def max_new_tokens(self) -> int:
        """The longest reply: the published limit, or a lower one that the checkpoint asks for."""
        try:
            config = import_transformers().GenerationConfig.from_pretrained(
                self.path, revision=self.options.revision
            )
        except OSError:  # the file is optional
            return DEFAULT_MAX_NEW_TOKENS
        return min(config.max_new_tokens or DEFAULT_MAX_NEW_TOKENS, DEFAULT_MAX_NEW_TOKENS)

    @property
    def start_token(self) -> int:
        """The decoder's first token."""
        token = self.config.decoder_start_token_id
        return int(self.tokenizer.pad_token_id if token is None else token)


class TransformersEngine:
    """Batches through ``generate``, with the likelihoods of the scale from the same encoder pass."""

    parallel = 0

    def __init__(self, options: ModelOptions, checkpoint: Checkpoint) -> None:
        import torch

        self._torch = torch
        self._device = pick_device(options)
        self._dtype = pick_dtype(options, self._device)
        self._beams = options.beams
        self._tokenizer = checkpoint.tokenizer
        self._start_token = checkpoint.start_token
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
        torch = self._torch
        with torch.inference_mode():
            input_ids, mask = self._pad_left_to_right(job.prompts)
            states = self._model.get_encoder()(input_ids=input_ids, attention_mask=mask)
            logprobs = self._label_logprobs(job.labels, states, mask)
            texts = self._replies(states, mask, job.max_new_tokens)
        return [Completion(text, label_logprobs=probs) for text, probs in zip(texts, logprobs, strict=True)]

    def _pad_left_to_right(self, prompts: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        torch = self._torch
        longest = max(len(prompt) for prompt in prompts)
        ids = torch.full((len(prompts), longest), self._pad, dtype=torch.long)
        mask = torch.zeros((len(prompts), longest), dtype=torch.long)
        for row, prompt in enumerate(prompts):
            ids[row, : len(prompt)] = torch.tensor(prompt)
            mask[row, : len(prompt)] = 1
        return ids.to(self._device), mask.to(self._device)

    def _replies(self, states: Any, mask: torch.Tensor, max_new_tokens: int) -> list[str]:
        """Replies of a batch; the few long ones are generated apart from the many short ones."""
        rows, finished = self._generate(states, mask, min(FIRST_TOKENS, max_new_tokens))
        unfinished = [row for row, done in enumerate(finished) if not done]
        if unfinished and max_new_tokens > FIRST_TOKENS:
            again, _ = self._generate(_rows(states, unfinished), mask[unfinished], max_new_tokens)
            for row, tokens in zip(unfinished, again, strict=True):
                rows[row] = tokens
        replies: list[str] = self._tokenizer.batch_decode(
            rows, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return [reply.strip() for reply in replies]

    def _generate(
        self, states: Any, mask: torch.Tensor, max_new_tokens: int
    ) -> tuple[list[list[int]], list[bool]]:
        """Best sequence of each row, and whether its search had ended before the length limit.

        With early stopping a search ends when as many hypotheses as beams are complete: then all that
        are returned end with the end-of-sequence token, and a higher limit changes nothing.
        """
        transformers = import_transformers()
        config = transformers.GenerationConfig(
            max_length=max_new_tokens + 1,  # with the decoder's start token
            num_beams=self._beams,
            num_return_sequences=self._beams,
            early_stopping=self._beams > 1,
            length_penalty=1.0,
            do_sample=False,
            pad_token_id=self._pad,
            eos_token_id=self._eos,
            decoder_start_token_id=self._start_token,
        )
        # `generate` takes the encoder's states as they are and expands them to the beams itself.
        output = self._model.generate(
            encoder_outputs=_rows(states, slice(None)), attention_mask=mask, generation_config=config
        )
        sequences = output.view(-1, self._beams, output.shape[-1])
        finished = (sequences[:, :, 1:] == self._eos).any(-1).all(-1).tolist()
        return sequences[:, 0].tolist(), finished

    def _label_logprobs(
        self, labels: tuple[str, ...], states: Any, mask: torch.Tensor
    ) -> list[tuple[float, ...]]:
        """Joint log-probability of every label and the end of sequence, by teacher forcing."""
        if not labels:
            return [()] * mask.shape[0]
        torch = self._torch
        first, cache = self._step([self._start_token], states, mask, None)
        columns = []
        for row in label_rows(self._tokenizer, labels):
            rest, cache = self._step(row[:-1], states, mask, cache)
            cache.crop(1 - len(row))  # back to behind the start token, for the next label
            columns.append(first[:, 0, row[0]] + rest[:, range(len(row) - 1), row[1:]].sum(-1))
        return [tuple(row) for row in torch.stack(columns, dim=1).tolist()]

    def _step(
        self, tokens: list[int], states: Any, mask: torch.Tensor, cache: Any
    ) -> tuple[torch.Tensor, Any]:
        """Log-probabilities after each of the same tokens for every row, and the grown cache.

        The cache holds the prompts' keys and values, the larger part of the work.
        """
        output = self._model(
            encoder_outputs=states,
            attention_mask=mask,
            decoder_input_ids=self._torch.tensor([tokens], device=self._device).expand(mask.shape[0], -1),
            past_key_values=cache,
            use_cache=True,
        )
        return output.logits.float().log_softmax(-1), output.past_key_values


def _rows(states: Any, rows: Any) -> Any:
    """Encoder states of some rows; `generate` changes the object that it is given."""
    from transformers.modeling_outputs import BaseModelOutput

    return BaseModelOutput(last_hidden_state=states.last_hidden_state[rows])


def _first(*values: Any) -> int:
    value = next(value for value in values if value is not None)
    return int(value[0] if isinstance(value, list) else value)
