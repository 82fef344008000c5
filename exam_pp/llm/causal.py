"""Causal language models (Llama, Qwen, Mistral, GPT ...): the pipeline ``text-generation``."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from exam_pp import __version__
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.batched import BatchedLLM
from exam_pp.llm.chat import PROMPT_DATE, CausalEncoder
from exam_pp.llm.checkpoint import ModelCheckpoint, PlacedModel, import_transformers
from exam_pp.llm.encoding import Encoded, label_pieces
from exam_pp.messages import Completion, Request

if TYPE_CHECKING:
    import torch

_CPU_BATCH_TOKENS, _GPU_BATCH_TOKENS = 2048, 16384
_UNKNOWN_CONTEXT = 2048
_CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length", "seq_length")

SHORTEST_PREFIX = 16
"""Tokens that prompts must share for their keys and values to be computed once."""


class CausalCheckpoint(ModelCheckpoint):
    """A decoder-only checkpoint. ``context`` is how many tokens prompt and reply may have together."""

    pipeline = "text-generation"

    def __init__(self, options: ModelOptions) -> None:
        super().__init__(options)
        config = self.config.get_text_config()
        lengths = [getattr(config, key, None) for key in _CONTEXT_KEYS]
        lengths.append(getattr(self.tokenizer, "model_max_length", None))
        self.context = min((int(n) for n in lengths if n and n < 10**9), default=_UNKNOWN_CONTEXT)

    def ends(self) -> list[int]:
        """Every end-of-sequence token that the checkpoint names; some name several."""
        named = (self._generation_end(), self.config.get_text_config().eos_token_id)
        ids = [i for value in named for i in (value if isinstance(value, list) else [value])]
        return [i for i in dict.fromkeys([*ids, self.tokenizer.eos_token_id]) if i is not None]

    def _generation_end(self) -> Any:
        try:
            config = import_transformers().GenerationConfig.from_pretrained(self.path, revision=self.revision)
        except OSError:  # the file is optional
            return None
        return config.eos_token_id


class DecoderLLM(BatchedLLM[Encoded]):
    """A causal model: prompts in its chat format, replies that end where they should; engines answer."""

    def __init__(self, checkpoint: CausalCheckpoint, batch_tokens: int, parallel: int = 0) -> None:
        options = checkpoint.options
        super().__init__(options.model, options.batch_tokens or batch_tokens, parallel)
        self._options = options
        self._checkpoint = checkpoint
        self._tokenizer = checkpoint.tokenizer
        self._encoder = CausalEncoder(
            options.model,
            self._tokenizer,
            checkpoint.context,
            options.max_input_tokens,
            checkpoint.ends(),
            options.thinking_tokens,
        )
        self._stops = sorted(self._encoder.stops)

    @abstractmethod
    def engine_provenance(self) -> dict[str, str]:
        """Engine, dtype, device kind and versions."""

    def provenance(self) -> dict[str, Any]:
        """What decides the replies, in a fixed order of keys."""
        return {
            **self._checkpoint.identity,
            "pipeline": self._options.pipeline,
            **self.engine_provenance(),
            "prompt_format": "chat" if self._encoder.is_chat else "plain",
            **({"prompt_date": PROMPT_DATE.isoformat()} if self._encoder.names_date else {}),
            "num_beams": self._options.beams,
            "do_sample": False,
            "max_new_tokens": self._encoder.most_new_tokens,
            **self._options.thinking,
            "max_input_tokens": self._encoder.max_tokens,
            "exam_pp": __version__,
        }

    def encode(self, requests: Sequence[Request]) -> list[Encoded]:
        """Token ids in the model's format; only passages are shortened."""
        return self._encoder.encode(requests)

    def group(self, request: Request, prompt: Encoded) -> Hashable:
        """Rows of a batch share the scale and what ends them."""
        return (request.labels, request.max_new_tokens, request.one_line)

    def ends_with_line(self, request: Request) -> bool:
        """Whether a reply is one line. Chat models end their turn; others go on with a text of their own."""
        return request.one_line and not self._encoder.is_chat

    def label_stops(self, one_line: bool) -> list[int]:
        """The tokens after which a label is the whole reply."""
        return sorted({*self._stops, *(self._encoder.line_ends() if one_line else ())})

    def has_line(self, reply: Sequence[int]) -> bool:
        """Whether the reply so far has a line break after its first word."""
        return "\n" in self._encoder.decode([reply])[0].lstrip()

    def texts(self, rows: Sequence[Sequence[int]], one_line: bool) -> list[str]:
        """The replies as text."""
        replies = [self._encoder.opened + text.strip() for text in self._encoder.decode(rows)]
        return [reply.split("\n", 1)[0].rstrip() for reply in replies] if one_line else replies


def shared_start(prompts: Iterable[list[int]]) -> list[int]:
    """What all prompts (one or more) begin with, without any prompt's last token."""
    shortened = [prompt[:-1] for prompt in prompts]
    first, last = min(shortened), max(shortened)  # in lexical order: all others are between them
    ends = (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
    return first[: next(ends, min(len(first), len(last)))]


class CausalLLM(DecoderLLM):
    """A causal model through transformers, rows padded on the left.

    The keys and values of what all rows begin with, the instruction, are computed once. The scale's
    likelihoods come from the keys and values that the reply is generated from, so they cost no second pass
    over the prompt.
    """

    def __init__(self, checkpoint: CausalCheckpoint) -> None:
        import torch

        self._torch = torch
        self._placed = PlacedModel(checkpoint)
        self._model, self._device = self._placed.model, self._placed.device
        super().__init__(checkpoint, _GPU_BATCH_TOKENS if self._placed.on_gpu else _CPU_BATCH_TOKENS)
        pad = self._tokenizer.pad_token_id
        self._pad_id = pad if pad is not None else (self._stops or [0])[0]
        # Decoding is ours to choose and to record: nothing is taken over from the checkpoint unseen.
        self._model.generation_config = import_transformers().GenerationConfig()

    def engine_provenance(self) -> dict[str, str]:
        """Engine, dtype, device kind and versions."""
        return self._placed.provenance()

    def start(
        self, requests: Sequence[Request], encoded: Sequence[Encoded]
    ) -> Callable[[], list[Completion]]:
        """The work happens when the result is asked for: one batch at a time."""
        return lambda: self._run(requests[0], [prompt.ids for prompt in encoded])

    def _run(self, first: Request, prompts: list[list[int]]) -> list[Completion]:
        one_line = self.ends_with_line(first)
        shared = self._shared_tokens(prompts)
        with self._torch.inference_mode():
            ids, mask = self._pad(prompts, shared)
            cache = self._prefill(ids, mask, shared) if first.labels or shared else None
            logprobs = self._label_logprobs(first.labels, ids, mask, cache, one_line)
            watcher = _OverflowWatcher(self._options.beams)
            texts = self._replies(ids, mask, cache, self._encoder.new_tokens(first), one_line, watcher)
        return [
            Completion(text, label_logprobs=probs) if fine else Completion(error=self._placed.overflow)
            for text, probs, fine in zip(texts, logprobs, watcher.sound(len(prompts)), strict=True)
        ]

    def _shared_tokens(self, prompts: list[list[int]]) -> int:
        """How many tokens all rows begin with, where it pays and the model allows it."""
        if len(prompts) < 2 or not self._can_share:
            return 0
        # Two tokens are left of every prompt: one to compute here, and the last to generate from.
        shared = len(shared_start(prompt[:-1] for prompt in prompts))
        return shared if shared >= SHORTEST_PREFIX else 0

    @cached_property
    def _can_share(self) -> bool:
        """Whether the model keeps keys and values of every token, and gets the positions of tokens from us.

        Padding stands behind the shared tokens, which others would count.
        """
        if self._options.beams > 1 or "position_ids" not in self._takes:
            return False
        token = self._torch.tensor([[self._pad_id]], device=self._device)
        with self._torch.inference_mode():
            cache = getattr(self._model.base_model(input_ids=token, use_cache=True), "past_key_values", None)
        layers = getattr(cache, "layers", None) or [None]
        return all(type(layer).__name__ == "DynamicLayer" for layer in layers)

    def _pad(self, prompts: Sequence[Sequence[int]], shared: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows of one length: what is shared, padding, and the rest of the prompt."""
        longest = max(len(prompt) for prompt in prompts)
        gaps = [longest - len(prompt) for prompt in prompts]
        ids = [
            [*prompt[:shared], *[self._pad_id] * gap, *prompt[shared:]]
            for prompt, gap in zip(prompts, gaps, strict=True)
        ]
        mask = [[1] * shared + [0] * gap + [1] * (longest - gap - shared) for gap in gaps]
        return self._torch.tensor(ids, device=self._device), self._torch.tensor(mask, device=self._device)

    def _prefill(self, ids: torch.Tensor, mask: torch.Tensor, shared: int) -> Any:
        """Keys and values of all tokens but the last; None for models that keep something else."""
        if ids.shape[1] < 2 or self._options.beams > 1:
            return None
        known: dict[str, Any] = {}
        if shared:
            once = self._inputs(ids[:1, :shared], mask[:1, :shared], 0)
            cache = self._model.base_model(**once, use_cache=True).past_key_values
            cache.batch_repeat_interleave(len(ids))
            known = {"past_key_values": cache}
        inputs = self._inputs(ids[:, :-1], mask[:, :-1], shared)
        output = self._model.base_model(**inputs, **known, use_cache=True)
        return getattr(output, "past_key_values", None)

    def _inputs(self, ids: torch.Tensor, mask: torch.Tensor, known: int) -> dict[str, torch.Tensor]:
        """Arguments of a forward pass over what follows the first ``known`` columns."""
        inputs = {"input_ids": ids[:, known:], "attention_mask": mask}
        if "position_ids" in self._takes:
            inputs["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)[:, known:]
        return inputs

    @cached_property
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
        stops = torch.tensor(self.label_stops(one_line))
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
        self,
        ids: torch.Tensor,
        mask: torch.Tensor,
        cache: Any,
        max_new_tokens: int,
        one_line: bool,
        watcher: _OverflowWatcher,
    ) -> list[str]:
        transformers = import_transformers()
        config = transformers.GenerationConfig(
            max_length=ids.shape[1] + max_new_tokens,
            num_beams=self._options.beams,
            early_stopping=self._options.beams > 1,
            do_sample=False,
            pad_token_id=self._pad_id,
            eos_token_id=self._stops or None,
        )
        options: dict[str, Any] = {} if cache is None else {"past_key_values": cache}
        options["logits_processor"] = [watcher]
        if one_line:
            options["stopping_criteria"] = transformers.StoppingCriteriaList([self._line_end(ids.shape[1])])
        output = self._model.generate(ids, attention_mask=mask, generation_config=config, **options)
        return self.texts(output[:, ids.shape[1] :].tolist(), one_line)

    def _line_end(self, start: int) -> Callable[..., torch.Tensor]:
        """A stopping criterion: rows whose reply has a line break after its first word."""

        def has_line(sequences: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
            done = [self.has_line(reply) for reply in sequences[:, start:].tolist()]
            marks: torch.Tensor = self._torch.tensor(done, device=sequences.device)
            return marks

        return has_line


class _OverflowWatcher:
    """Watches the scores of a search for numbers that are none; changes nothing."""

    def __init__(self, beams: int) -> None:
        self._beams = beams
        self._unsound: torch.Tensor | None = None

    def __call__(self, _input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        found = ~(scores < float("inf")).all(-1)  # what is not a number is smaller than nothing
        self._unsound = found if self._unsound is None else self._unsound | found
        return scores

    def sound(self, rows: int) -> list[bool]:
        """Whether all scores of each row were numbers."""
        if self._unsound is None:
            return [True] * rows
        fine: list[bool] = (~self._unsound.view(rows, self._beams).any(-1)).tolist()
        return fine
