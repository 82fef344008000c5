"""Causal language models (Llama, Qwen, Mistral, GPT ...): the pipeline ``text-generation``."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from exam_pp import __version__
from exam_pp.llm.base import LLM, ModelOptions
from exam_pp.llm.batched import BatchedLLM
from exam_pp.llm.chat import CausalEncoder
from exam_pp.llm.checkpoint import ModelCheckpoint, import_transformers, pick_device, pick_dtype
from exam_pp.llm.encoding import Encoded
from exam_pp.llm.labels import label_pieces
from exam_pp.messages import Completion, Request

if TYPE_CHECKING:
    import torch

_CPU_BATCH_TOKENS, _GPU_BATCH_TOKENS = 2048, 16384
_UNKNOWN_CONTEXT = 2048
_CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length", "seq_length")


def load_causal(options: ModelOptions) -> LLM:
    """A decoder-only checkpoint; raises :class:`exam_pp.errors.ModelError` for other kinds of models."""
    return CausalLLM(options, CausalCheckpoint(options))


class CausalCheckpoint(ModelCheckpoint):
    """A decoder-only checkpoint. ``context`` is how many tokens prompt and reply may have together."""

    pipeline = "text-generation"

    def __init__(self, options: ModelOptions) -> None:
        super().__init__(options)
        config = self.config.get_text_config()
        lengths = [getattr(config, key, None) for key in _CONTEXT_KEYS]
        lengths.append(getattr(self.tokenizer, "model_max_length", None))
        self.context = min((int(n) for n in lengths if n and n < 10**9), default=_UNKNOWN_CONTEXT)

    def ends(self, model: Any) -> list[int]:
        """Every end-of-sequence token that the checkpoint names; some name several."""
        named = (model.generation_config.eos_token_id, self.config.get_text_config().eos_token_id)
        ids = [i for value in named for i in (value if isinstance(value, list) else [value])]
        return [i for i in dict.fromkeys([*ids, self.tokenizer.eos_token_id]) if i is not None]


class CausalLLM(BatchedLLM[Encoded]):
    """A causal model through transformers: chat template, left padding, replies that end where they should.

    The scale's likelihoods come from the keys and values that the reply is generated from, so they cost no
    second pass over the prompt.
    """

    def __init__(self, options: ModelOptions, checkpoint: CausalCheckpoint) -> None:
        import torch

        self._torch = torch
        self._options = options
        self._checkpoint = checkpoint
        self._tokenizer = checkpoint.tokenizer
        self._device = pick_device(options)
        self._dtype = pick_dtype(options, self._device)
        if options.threads:
            torch.set_num_threads(options.threads)
        self._model = checkpoint.placed_model(getattr(torch, self._dtype), self._device)
        ends = checkpoint.ends(self._model)
        self._encoder = CausalEncoder(
            options.model, self._tokenizer, checkpoint.context, options.max_input_tokens, ends
        )
        self._stops = sorted(self._encoder.stops)
        pad = self._tokenizer.pad_token_id
        self._pad = pad if pad is not None else (self._stops or [0])[0]
        # Decoding is ours to choose and to record: nothing is taken over from the checkpoint unseen.
        self._model.generation_config = import_transformers().GenerationConfig()
        on_gpu = self._device.startswith("cuda")
        super().__init__(
            options.model, options.batch_tokens or (_GPU_BATCH_TOKENS if on_gpu else _CPU_BATCH_TOKENS)
        )

    def provenance(self) -> dict[str, Any]:
        """What decides the replies, in a fixed order of keys."""
        return {
            **self._checkpoint.identity,
            "pipeline": self._options.pipeline,
            "engine": "transformers",
            "dtype": self._dtype,
            "device": self._device.split(":")[0],
            "transformers": import_transformers().__version__,
            "torch": self._torch.__version__,
            "prompt_format": "chat" if self._encoder.is_chat else "plain",
            "num_beams": self._options.beams,
            "do_sample": False,
            "max_input_tokens": self._encoder.max_tokens,
            "exam_pp": __version__,
        }

    def encode(self, requests: Sequence[Request]) -> list[Encoded]:
        """Token ids in the model's format; only passages are shortened."""
        return self._encoder.encode(requests)

    def group(self, request: Request) -> Hashable:
        """Rows of a batch share the scale and what ends them."""
        return (request.labels, request.max_new_tokens, request.one_line)

    def start(
        self, requests: Sequence[Request], encoded: Sequence[Encoded]
    ) -> Callable[[], list[Completion]]:
        """The work happens when the result is asked for: one batch at a time."""
        return lambda: self._run(requests[0], [prompt.ids for prompt in encoded])

    def _run(self, first: Request, prompts: list[list[int]]) -> list[Completion]:
        # Chat models end their turn; others go on with a document of their own.
        one_line = first.one_line and not self._encoder.is_chat
        with self._torch.inference_mode():
            ids, mask = self._pad_left(prompts)
            cache = self._prefill(ids, mask) if first.labels else None
            logprobs = self._label_logprobs(first.labels, ids, mask, cache, one_line)
            texts = self._replies(ids, mask, cache, self._encoder.new_tokens(first), one_line)
        return [Completion(text, label_logprobs=probs) for text, probs in zip(texts, logprobs, strict=True)]

    def _pad_left(self, prompts: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        longest = max(len(prompt) for prompt in prompts)
        ids = self._torch.full((len(prompts), longest), self._pad, dtype=self._torch.long)
        mask = self._torch.zeros_like(ids)
        for row, prompt in enumerate(prompts):
            ids[row, longest - len(prompt) :] = self._torch.tensor(prompt)
            mask[row, longest - len(prompt) :] = 1
        return ids.to(self._device), mask.to(self._device)

    def _prefill(self, ids: torch.Tensor, mask: torch.Tensor) -> Any:
        """Keys and values of all tokens but the last; None for models that keep something else."""
        if ids.shape[1] < 2 or self._options.beams > 1:
            return None
        inputs = self._inputs(ids, mask, 0)
        inputs = {name: value[:, :-1] for name, value in inputs.items()}
        output = self._model.base_model(**inputs, use_cache=True)
        return getattr(output, "past_key_values", None)

    def _inputs(self, ids: torch.Tensor, mask: torch.Tensor, known: int) -> dict[str, torch.Tensor]:
        """Arguments of a forward pass over what follows the first ``known`` columns."""
        inputs = {"input_ids": ids[:, known:], "attention_mask": mask}
        if "position_ids" in self._takes:
            inputs["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)[:, known:]
        return inputs

    @property
    def _takes(self) -> set[str]:
        import inspect

        return set(inspect.signature(self._model.forward).parameters)

    def _label_logprobs(
        self, labels: tuple[str, ...], ids: torch.Tensor, mask: torch.Tensor, cache: Any, one_line: bool
    ) -> list[tuple[float, ...]]:
        """Joint log-probability of every label and a stop, by teacher forcing."""
        if not labels:
            return [()] * len(ids)
        torch, rows = self._torch, len(ids)
        stops = torch.tensor(sorted({*self._stops, *(self._encoder.line_ends() if one_line else ())}))
        columns = []
        for label in label_pieces(self._tokenizer, labels):
            pieces = torch.tensor(label, device=self._device).expand(rows, -1)
            inputs = self._inputs(
                torch.cat([ids, pieces], 1),
                torch.cat([mask, torch.ones_like(pieces)], 1),
                0 if cache is None else ids.shape[1] - 1,
            )
            # The pass appends to what it is given; the reply is generated from the original.
            known = {} if cache is None else {"past_key_values": copy.deepcopy(cache), "use_cache": True}
            logits = self._model(**inputs, **known).logits[:, -len(label) - 1 :].float().log_softmax(-1)
            label_scores = logits[:, :-1].gather(-1, pieces.unsqueeze(-1)).squeeze(-1).sum(-1)
            columns.append(label_scores + logits[:, -1, stops.to(logits.device)].logsumexp(-1))
        return [tuple(row) for row in torch.stack(columns, dim=1).tolist()]

    def _replies(
        self, ids: torch.Tensor, mask: torch.Tensor, cache: Any, max_new_tokens: int, one_line: bool
    ) -> list[str]:
        transformers = import_transformers()
        config = transformers.GenerationConfig(
            max_length=ids.shape[1] + max_new_tokens,
            num_beams=self._options.beams,
            early_stopping=self._options.beams > 1,
            do_sample=False,
            pad_token_id=self._pad,
            eos_token_id=self._stops or None,
        )
        options = {} if cache is None else {"past_key_values": cache}
        if one_line:
            options["stopping_criteria"] = transformers.StoppingCriteriaList([self._line_end(ids.shape[1])])
        output = self._model.generate(ids, attention_mask=mask, generation_config=config, **options)
        replies = [text.strip() for text in self._decode(output[:, ids.shape[1] :])]
        return [reply.split("\n", 1)[0].rstrip() for reply in replies] if one_line else replies

    def _line_end(self, start: int) -> Callable[..., torch.Tensor]:
        """A stopping criterion: rows whose reply has a line break after its first word."""

        def has_line(sequences: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
            texts = self._decode(sequences[:, start:])
            done: torch.Tensor = self._torch.tensor(
                ["\n" in text.lstrip() for text in texts], device=sequences.device
            )
            return done

        return has_line

    def _decode(self, rows: torch.Tensor) -> list[str]:
        texts: list[str] = self._tokenizer.batch_decode(
            rows, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return texts
