"""Causal language models (Llama, Qwen, Mistral, GPT ...) for the pipeline ``text-generation``."""

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
from exam_pp.llm.decoding import recorded_decoding
from exam_pp.llm.encoding import Encoded, label_pieces
from exam_pp.llm.sampling import Sampler
from exam_pp.requests import Completion, Request

if TYPE_CHECKING:
    import torch

_CPU_BATCH_TOKENS, _GPU_BATCH_TOKENS = 2048, 16384
_UNKNOWN_CONTEXT = 2048
_CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length", "seq_length")

SHORTEST_PREFIX = 16
"""Minimal length in tokens of a shared prefix whose keys and values are computed once."""


class CausalCheckpoint(ModelCheckpoint):
    """A decoder-only checkpoint. ``context`` is the maximal number of tokens in prompt and reply together."""

    pipeline = "text-generation"

    def __init__(self, options: ModelOptions) -> None:
        super().__init__(options)
        config = self.config.get_text_config()
        lengths = [getattr(config, key, None) for key in _CONTEXT_KEYS]
        lengths.append(getattr(self.tokenizer, "model_max_length", None))
        self.context = min((int(n) for n in lengths if n and n < 10**9), default=_UNKNOWN_CONTEXT)

    def ends(self) -> list[int]:
        """All end-of-sequence token ids of the checkpoint; some checkpoints have several."""
        values = (self._generation_end(), self.config.get_text_config().eos_token_id)
        ids = [i for value in values for i in (value if isinstance(value, list) else [value])]
        return [i for i in dict.fromkeys([*ids, self.tokenizer.eos_token_id]) if i is not None]

    def _generation_end(self) -> Any:
        try:
            config = import_transformers().GenerationConfig.from_pretrained(self.path, revision=self.revision)
        except OSError:  # the file is optional
            return None
        return config.eos_token_id


class DecoderLLM(BatchedLLM[Encoded]):
    """Base class of causal models: encodes prompts in the model's chat format and decodes replies."""

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
            options.max_tokens,
        )
        self._stops = sorted(self._encoder.stops)

    @abstractmethod
    def engine_provenance(self) -> dict[str, str]:
        """Engine, dtype, device kind and versions."""

    def provenance(self) -> dict[str, Any]:
        """Return all facts that determine the replies, in a fixed order of keys."""
        return {
            **self._checkpoint.identity,
            "pipeline": self._options.pipeline,
            **self.engine_provenance(),
            "prompt_format": "chat" if self._encoder.is_chat else "plain",
            **({"prompt_date": PROMPT_DATE.isoformat()} if self._encoder.names_date else {}),
            "num_beams": self._options.beams,
            "do_sample": self._options.samples,
            **({} if self._options.max_tokens else {"max_new_tokens": self._encoder.max_reply_tokens}),
            **recorded_decoding(self._options),
            **self._options.thinking,
            "max_input_tokens": self._encoder.max_tokens,
            "exam_pp": __version__,
        }

    def encode(self, requests: Sequence[Request]) -> list[Encoded]:
        """Encode prompts in the model's format; only passages are shortened."""
        return self._encoder.encode(requests)

    def group(self, request: Request, prompt: Encoded) -> Hashable:
        """Requests of a batch have the same scale and the same rule for the end of a reply."""
        return (request.labels, request.max_new_tokens, request.one_line)

    def ends_with_line(self, request: Request) -> bool:
        """Whether to stop at the line end; models without a chat template would continue the text."""
        return request.one_line and not self._encoder.is_chat

    def label_stops(self, one_line: bool) -> list[int]:
        """The token ids after which a label is the whole reply."""
        return sorted({*self._stops, *(self._encoder.line_ends() if one_line else ())})

    def has_line(self, reply: Sequence[int]) -> bool:
        """Whether the reply so far has a line break after its first word."""
        return "\n" in self._encoder.decode([reply])[0].lstrip()

    def texts(self, rows: Sequence[Sequence[int]], one_line: bool) -> list[str]:
        """Decode replies to text."""
        replies = [self._encoder.opening_tag + text.strip() for text in self._encoder.decode(rows)]
        return [reply.split("\n", 1)[0].rstrip() for reply in replies] if one_line else replies


def shared_start(prompts: Iterable[list[int]]) -> list[int]:
    """The longest common prefix of at least one prompt, without the last token of any prompt."""
    shortened = [prompt[:-1] for prompt in prompts]
    first, last = min(shortened), max(shortened)  # a prefix of these two is a prefix of all between them
    ends = (at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(ends, min(len(first), len(last)))]


class CausalLLM(DecoderLLM):
    """A causal model through transformers.

    The keys and values of the prefix that all rows share, the instruction, are computed once; padding follows
    the prefix. The label likelihoods reuse the keys and values of the prompt, so they need no second pass
    over it.
    """

    def __init__(self, checkpoint: CausalCheckpoint) -> None:
        import torch

        self._torch = torch
        self._placed = PlacedModel(checkpoint)
        self._model, self._device = self._placed.model, self._placed.device
        super().__init__(checkpoint, _GPU_BATCH_TOKENS if self._placed.on_gpu else _CPU_BATCH_TOKENS)
        pad = self._tokenizer.pad_token_id
        self._pad_id = pad if pad is not None else (self._stops or [0])[0]
        # An empty config replaces the checkpoint's, because all decoding options are set and recorded here.
        self._model.generation_config = import_transformers().GenerationConfig()

    def engine_provenance(self) -> dict[str, str]:
        """Engine, dtype, device kind and versions."""
        return self._placed.provenance()

    def start(
        self, requests: Sequence[Request], encoded: Sequence[Encoded]
    ) -> Callable[[], list[Completion]]:
        """Return a function that runs the batch when it is called, so that one batch runs at a time."""
        return lambda: self._run(requests, [prompt.ids for prompt in encoded])

    def _run(self, requests: Sequence[Request], prompts: list[list[int]]) -> list[Completion]:
        first = requests[0]
        one_line = self.ends_with_line(first)
        shared = self._shared_tokens(prompts)
        with self._torch.inference_mode():
            ids, mask = self._pad(prompts, shared)
            cache = self._prefill(ids, mask, shared) if first.labels or shared else None
            logprobs = self._label_logprobs(first.labels, ids, mask, cache, one_line)
            watcher = _OverflowWatcher(self._options.beams)
            processors: list[Any] = [watcher]
            if self._options.samples:
                processors.append(Sampler(self._options, [request.key() for request in requests]))
            texts = self._replies(ids, mask, cache, self._encoder.new_tokens(first), one_line, processors)
        return [
            Completion(text, label_logprobs=probs) if valid else Completion(error=self._placed.overflow)
            for text, probs, valid in zip(texts, logprobs, watcher.is_valid(len(prompts)), strict=True)
        ]

    def _shared_tokens(self, prompts: list[list[int]]) -> int:
        """The length of the shared prefix; 0 if sharing does not pay or the model does not support it."""
        if len(prompts) < 2 or not self._can_share:
            return 0
        # Two tokens of every prompt stay outside: one for this pass, and the last one to generate from.
        shared = len(shared_start(prompt[:-1] for prompt in prompts))
        return shared if shared >= SHORTEST_PREFIX else 0

    @cached_property
    def _can_share(self) -> bool:
        """Whether the model caches keys and values of every token and takes ``position_ids``.

        Without ``position_ids``, a model would count the padding behind the shared prefix.
        """
        if self._options.beams > 1 or "position_ids" not in self._parameters:
            return False
        token = self._torch.tensor([[self._pad_id]], device=self._device)
        with self._torch.inference_mode():
            cache = getattr(self._model.base_model(input_ids=token, use_cache=True), "past_key_values", None)
        layers = getattr(cache, "layers", None) or [None]
        return all(type(layer).__name__ == "DynamicLayer" for layer in layers)

    def _pad(self, prompts: Sequence[Sequence[int]], shared: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
        """Pad rows to one length: shared prefix, padding, rest of the prompt."""
        longest = max(len(prompt) for prompt in prompts)
        gaps = [longest - len(prompt) for prompt in prompts]
        ids = [
            [*prompt[:shared], *[self._pad_id] * gap, *prompt[shared:]]
            for prompt, gap in zip(prompts, gaps, strict=True)
        ]
        mask = [[1] * shared + [0] * gap + [1] * (longest - gap - shared) for gap in gaps]
        return self._torch.tensor(ids, device=self._device), self._torch.tensor(mask, device=self._device)

    def _prefill(self, ids: torch.Tensor, mask: torch.Tensor, shared: int) -> Any:
        """Keys and values of all tokens but the last; None for beam search and models without this cache."""
        if ids.shape[1] < 2 or self._options.beams > 1:
            return None
        cached: dict[str, Any] = {}
        if shared:
            once = self._inputs(ids[:1, :shared], mask[:1, :shared], 0)
            cache = self._model.base_model(**once, use_cache=True).past_key_values
            cache.batch_repeat_interleave(len(ids))
            cached = {"past_key_values": cache}
        inputs = self._inputs(ids[:, :-1], mask[:, :-1], shared)
        output = self._model.base_model(**inputs, **cached, use_cache=True)
        return getattr(output, "past_key_values", None)

    def _inputs(self, ids: torch.Tensor, mask: torch.Tensor, cached: int) -> dict[str, torch.Tensor]:
        """Arguments of a forward pass over the columns after the first ``cached`` ones."""
        inputs = {"input_ids": ids[:, cached:], "attention_mask": mask}
        if "position_ids" in self._parameters:
            inputs["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)[:, cached:]
        return inputs

    @cached_property
    def _parameters(self) -> set[str]:
        """The names of the parameters of the model's forward pass."""
        import inspect

        return set(inspect.signature(self._model.forward).parameters)

    def _label_logprobs(
        self, labels: tuple[str, ...], ids: torch.Tensor, mask: torch.Tensor, cache: Any, one_line: bool
    ) -> list[tuple[float, ...]]:
        """Joint log-probability of every label followed by a stop token, by teacher forcing."""
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
            # The pass appends to its cache, so it gets a copy: the reply is generated from the original.
            cached = {} if cache is None else {"past_key_values": copy.deepcopy(cache), "use_cache": True}
            logits = self._model(**inputs, **cached).logits[:, -len(label) - 1 :].float().log_softmax(-1)
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
        processors: list[Any],
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
        options["logits_processor"] = processors
        if one_line:
            options["stopping_criteria"] = transformers.StoppingCriteriaList([self._line_end(ids.shape[1])])
        output = self._model.generate(ids, attention_mask=mask, generation_config=config, **options)
        return self.texts(output[:, ids.shape[1] :].tolist(), one_line)

    def _line_end(self, start: int) -> Callable[..., torch.Tensor]:
        """A stopping criterion for rows whose reply has a line break after its first word."""

        def has_line(sequences: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
            done = [self.has_line(reply) for reply in sequences[:, start:].tolist()]
            marks: torch.Tensor = self._torch.tensor(done, device=sequences.device)
            return marks

        return has_line


class _OverflowWatcher:
    """A logits processor that records NaN and +inf and returns the scores unchanged."""

    def __init__(self, beams: int) -> None:
        self._beams = beams
        self._overflown: torch.Tensor | None = None

    def __call__(self, _input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        overflown = ~(scores < float("inf")).all(-1)  # comparisons with NaN are False
        self._overflown = overflown if self._overflown is None else self._overflown | overflown
        return scores

    def is_valid(self, rows: int) -> list[bool]:
        """Whether no score of the row was NaN or +inf, for each row."""
        if self._overflown is None:
            return [True] * rows
        valid: list[bool] = (~self._overflown.view(rows, self._beams).any(-1)).tolist()
        return valid
