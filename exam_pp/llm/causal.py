"""Causal language models (Llama, Qwen, Mistral, GPT ...) for the pipeline ``text-generation``."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from exam_pp._version import __version__
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.batched import BatchedLLM
from exam_pp.llm.chat import PROMPT_DATE, CausalEncoder
from exam_pp.llm.checkpoint import ModelCheckpoint, PlacedModel, import_transformers
from exam_pp.llm.decoding import Sampler, recorded_decoding
from exam_pp.llm.encoding import Encoded, choice, exclusive, label_pieces
from exam_pp.llm_requests import Completion, Request

if TYPE_CHECKING:
    import torch

_CPU_BATCH_TOKENS, _GPU_BATCH_TOKENS = 2048, 16384
_UNKNOWN_CONTEXT = 2048
_CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length", "seq_length")

SHORTEST_PREFIX = 16
"""Minimal length in tokens of a shared prefix whose keys and values are computed once."""


class CausalCheckpoint(ModelCheckpoint):
    """A decoder-only checkpoint. ``context`` is the maximal number of tokens in prompt and reply together."""

    def __init__(self, options: ModelOptions) -> None:
        super().__init__(options)
        config = self.config.get_text_config()
        lengths = [getattr(config, key, None) for key in _CONTEXT_KEYS]
        lengths.append(getattr(self.tokenizer, "model_max_length", None))
        self.context = min((int(n) for n in lengths if n and n < 10**9), default=_UNKNOWN_CONTEXT)

    def ends(self) -> list[int]:
        """All end-of-sequence token ids of the checkpoint; some checkpoints have several."""
        configs = (self.generation, self.config.get_text_config())
        values = (getattr(config, "eos_token_id", None) for config in configs)
        ids = [i for value in values for i in (value if isinstance(value, list) else [value])]
        return [i for i in dict.fromkeys([*ids, self.tokenizer.eos_token_id]) if i is not None]


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
            **({} if self._options.choose else self._decoding),
            **recorded_decoding(self._options),
            **self._options.thinking,
            "max_input_tokens": self._encoder.max_tokens,
            "exam_pp": __version__,
        }

    @property
    def _decoding(self) -> dict[str, Any]:
        limit = {} if self._options.max_tokens else {"max_new_tokens": self._encoder.max_reply_tokens}
        return {"num_beams": self._options.beams, "do_sample": self._options.samples, **limit}

    def encode(self, requests: Sequence[Request]) -> list[Encoded]:
        """Encode prompts in the model's format; only passages are shortened."""
        return self._encoder.encode(requests)

    def group(self, request: Request, prompt: Encoded) -> Hashable:
        """Requests of a batch have the same scale and the same rule for the end of a reply."""
        end = request.search.name if request.search is not None and request.cuts else ""
        return (request.labels, request.max_new_tokens, request.one_line, end)

    def ends_with_line(self, request: Request) -> bool:
        """Whether to stop at the line end; models without a chat template would continue the text."""
        return request.one_line and not self._encoder.is_chat

    def texts(self, rows: Sequence[Sequence[int]], one_line: bool) -> list[str]:
        """Decode replies to text."""
        replies = [self._encoder.opening_tag + text.strip() for text in self._encoder.decode(rows)]
        return [reply.split("\n", 1)[0].rstrip() for reply in replies] if one_line else replies

    def chooses(self, request: Request) -> bool:
        """Whether the reply is the likeliest label."""
        return self._options.choose and bool(request.labels)

    def ends_early(self, request: Request, reply: Sequence[int]) -> bool:
        """Whether a reply ends here: at its line end, or as soon as its label is known."""
        # A line break before the first word does not end a reply.
        if self.ends_with_line(request) and "\n" in self._encoder.decode([reply])[0].lstrip():
            return True
        search = request.search
        if search is None or search.is_settled is None:
            return False
        return search.is_settled(self.texts([reply], self.ends_with_line(request))[0])

    def label_place(self, request: Request, reply: Sequence[int]) -> LabelPlace | None:
        """Where the label of a reply stands: at its beginning, or where ``request.search`` finds it."""
        if request.search is None:
            return LabelPlace(0, label_pieces(self._tokenizer, request.labels))
        span = request.search.find(self.texts([reply], self.ends_with_line(request))[0])
        if span is None:
            return None
        raw = self._encoder.decode([reply])[0]
        begin = len(raw) - len(raw.lstrip()) + span[0] - len(self._encoder.opening_tag)
        end = begin + span[1] - span[0]
        lengths = map(len, self._encoder.decode(reply[: at + 1] for at in range(len(reply))))
        at = next((at for at, length in enumerate(lengths) if length > begin), None)
        return (
            None if at is None else LabelPlace(at, self._pieces_at(request.labels, raw[begin:end], reply[at]))
        )

    def _pieces_at(self, labels: Sequence[str], written: str, token: int) -> list[list[int]]:
        """The ids of each label where ``token`` begins the label ``written``, such as " 4" or "4"."""
        piece: str = self._tokenizer.convert_ids_to_tokens(token)
        spelled = [label.lower() if written.islower() else label for label in labels]
        same = [self._vocabulary.get(piece.replace(written, label)) for label in spelled]
        if written in piece and None not in same:
            return [[token_id] for token_id in same if token_id is not None]
        text = self._encoder.decode([[token]])[0]
        before = text[: max(0, text.find(written[:1]))]
        return label_pieces(self._tokenizer, [before + label for label in spelled])

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        return vocabulary

    def may_begin_label(self, request: Request, token: int) -> bool:
        """Whether a label of the reply may stand at this token."""
        text = self._encoder.decode([[token]])[0].strip().lower()
        return any(text in label.lower() or label.lower() in text for label in request.labels)


@dataclass(frozen=True)
class LabelPlace:
    """The number of a reply's token at which its label begins, and the token ids of each label there."""

    at: int
    pieces: list[list[int]]


def shared_start(prompts: Iterable[list[int]]) -> list[int]:
    """The longest common prefix of at least one prompt, without the last token of any prompt."""
    shortened = [prompt[:-1] for prompt in prompts]
    first, last = min(shortened), max(shortened)  # a prefix of these two is a prefix of all between them
    ends = (at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return first[: next(ends, min(len(first), len(last)))]


@dataclass
class _Reply:
    """A reply in progress: its tokens, and the scores of the steps at which its label may stand."""

    tokens: list[int] = field(default_factory=list)
    scores: dict[int, torch.Tensor] = field(default_factory=dict)
    is_valid: bool = True


class CausalLLM(DecoderLLM):
    """A causal model through transformers.

    The keys and values of the prefix that all rows share, the instruction, are computed once; padding follows
    the prefix. Rows whose reply is complete leave the batch, so that a long reply costs only its own row. The
    likelihoods of the labels come from the search; if a label has several tokens, from further passes.
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
        shared = self._shared_tokens(prompts)
        with self._torch.inference_mode():
            ids, mask = self._placed.padded(prompts, self._pad_id, shared)
            if self.chooses(requests[0]):
                return self._choose(requests[0].labels, ids, mask, shared)
            sampler = None
            if self._options.samples:
                sampler = Sampler(self._options, [request.key() for request in requests])
            if self._caches_tokens:
                replies = self._decode(requests, ids, mask, self._prefill(ids, mask, shared), sampler)
            else:
                replies = self._search(requests[0], ids, mask, sampler)
            return [
                self._completion(request, prompt, reply)
                for request, prompt, reply in zip(requests, prompts, replies, strict=True)
            ]

    def _completion(self, request: Request, prompt: list[int], reply: _Reply) -> Completion:
        if not reply.is_valid:
            return Completion(error=self._placed.overflow)
        text = self.texts([reply.tokens], self.ends_with_line(request))[0]
        place = self.label_place(request, reply.tokens) if request.labels else None
        if place is None:
            return Completion(text)
        if place.at in reply.scores and all(len(label) == 1 for label in place.pieces):
            scores = reply.scores[place.at].log_softmax(-1)
            logprobs = scores[[label[0] for label in place.pieces]].tolist()
        else:
            ids, mask = self._placed.padded([[*prompt, *reply.tokens[: place.at]]], self._pad_id)
            logprobs = self._label_logprobs(place.pieces, ids, mask)[0]
        return Completion(text, label_logprobs=exclusive(logprobs, place.pieces), definition="number")

    def _choose(
        self, labels: tuple[str, ...], ids: torch.Tensor, mask: torch.Tensor, shared: int
    ) -> list[Completion]:
        """The likeliest label of each prompt, without decoding."""
        pieces = label_pieces(self._tokenizer, labels)
        cache = self._prefill(ids, mask, shared) if self._caches_tokens else None
        return [
            choice(labels, exclusive(row, pieces), "choice") or Completion(error=self._placed.overflow)
            for row in self._label_logprobs(pieces, ids, mask, cache)
        ]

    def _shared_tokens(self, prompts: list[list[int]]) -> int:
        """The length of the shared prefix; 0 if sharing does not pay or the model does not support it."""
        if len(prompts) < 2 or not self._caches_tokens:
            return 0
        # Two tokens of every prompt stay outside: one for this pass, and the last one to generate from.
        shared = len(shared_start(prompt[:-1] for prompt in prompts))
        return shared if shared >= SHORTEST_PREFIX else 0

    @cached_property
    def _caches_tokens(self) -> bool:
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
        self, pieces: Sequence[Sequence[int]], ids: torch.Tensor, mask: torch.Tensor, cache: Any = None
    ) -> list[list[float]]:
        """Log-probability that each row continues with each label, given as token ids.

        ``cache`` has the keys and values of all tokens but the last. One pass scores the first tokens of all
        labels; a label of several tokens needs a further pass over its tokens.
        """
        torch = self._torch
        output = self._model(
            **self._inputs(ids, mask, 0 if cache is None else ids.shape[1] - 1),
            **({} if cache is None else {"past_key_values": cache, "use_cache": True}),
        )
        first = output.logits[:, -1].float().log_softmax(-1)
        columns = []
        for label in pieces:
            column = first[:, label[0]]
            if len(label) > 1:
                tokens = torch.tensor(label, device=self._device).expand(len(ids), -1)
                inputs = self._inputs(
                    torch.cat([ids, tokens[:, :-1]], 1),
                    torch.cat([mask, torch.ones_like(tokens[:, :-1])], 1),
                    0 if cache is None else ids.shape[1],
                )
                # A pass appends to its cache, so it gets a copy.
                copied = {} if cache is None else {"past_key_values": copy.deepcopy(cache), "use_cache": True}
                logits = self._model(**inputs, **copied).logits[:, 1 - len(label) :].float().log_softmax(-1)
                column = column + logits.gather(-1, tokens[:, 1:, None]).sum((1, 2))
            columns.append(column)
        rows: list[list[float]] = torch.stack(columns, dim=1).tolist()
        return rows

    def _decode(
        self,
        requests: Sequence[Request],
        ids: torch.Tensor,
        mask: torch.Tensor,
        cache: Any,
        sampler: Sampler | None,
    ) -> list[_Reply]:
        """Generate the replies token by token; ``cache`` has all tokens of the prompts but the last."""
        torch = self._torch
        # Batches are made of requests with the same limit.
        limit = self._encoder.new_tokens(requests[0])
        replies = [_Reply() for _ in requests]
        running = list(range(len(requests)))
        tokens = ids[:, -1:]
        while running:
            output = self._model(
                input_ids=tokens,
                attention_mask=mask,
                # Padding stands behind the shared prefix, inside a row, so a position counts real tokens.
                position_ids=mask.sum(-1, keepdim=True) - 1,
                past_key_values=cache,
                use_cache=True,
            )
            cache, scores = output.past_key_values, output.logits[:, -1].float()
            is_valid = (scores < float("inf")).all(-1).tolist()  # comparisons with NaN are False
            chosen = (scores if sampler is None else sampler(tokens, scores)).argmax(-1)
            kept = []
            for at, (row, token) in enumerate(zip(running, chosen.tolist(), strict=True)):
                request, reply = requests[row], replies[row]
                reply.is_valid = is_valid[at]
                # Scores are as long as the vocabulary, so they are kept only where a label may begin.
                if request.labels and (not reply.tokens or self.may_begin_label(request, token)):
                    reply.scores[len(reply.tokens)] = scores[at].clone()  # not the scores of all rows
                reply.tokens.append(token)
                is_done = token in self._stops or len(reply.tokens) == limit or not reply.is_valid
                if not (is_done or self.ends_early(request, reply.tokens)):
                    kept.append(at)
            mask = torch.cat([mask, torch.ones_like(mask[:, :1])], 1)
            tokens = chosen[:, None].to(ids.device)  # the last layers may be on another device
            if len(kept) < len(running):
                # Complete rows leave the batch, so that they do not wait for the longest reply.
                running = [running[at] for at in kept]
                # Indices on the CPU select from tensors of every device.
                rows = torch.tensor(kept, dtype=torch.long)
                mask, tokens = mask[rows], tokens[rows]
                if running:
                    cache.batch_select_indices(rows)
                if sampler is not None:
                    sampler.keep(kept)
        return replies

    def _search(
        self, first: Request, ids: torch.Tensor, mask: torch.Tensor, sampler: Sampler | None
    ) -> list[_Reply]:
        """Generate the replies with transformers: for beam search, and for models with other caches."""
        transformers = import_transformers()
        watcher = _OverflowWatcher(self._options.beams)
        config = transformers.GenerationConfig(
            max_length=ids.shape[1] + self._encoder.new_tokens(first),
            num_beams=self._options.beams,
            early_stopping=self._options.beams > 1,
            do_sample=False,
            pad_token_id=self._pad_id,
            eos_token_id=self._stops or None,
        )
        options: dict[str, Any] = {"logits_processor": [watcher, *([sampler] if sampler else [])]}
        if self.ends_with_line(first) or first.cuts:
            options["stopping_criteria"] = transformers.StoppingCriteriaList([self._end(first, ids.shape[1])])
        output = self._model.generate(ids, attention_mask=mask, generation_config=config, **options)
        rows = output[:, ids.shape[1] :].tolist()
        return [
            _Reply(row, is_valid=is_valid)
            for row, is_valid in zip(rows, watcher.is_valid(len(rows)), strict=True)
        ]

    def _end(self, request: Request, start: int) -> Callable[..., torch.Tensor]:
        """A stopping criterion for rows whose reply ends early."""

        def ends(sequences: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
            done = [self.ends_early(request, reply) for reply in sequences[:, start:].tolist()]
            marks: torch.Tensor = self._torch.tensor(done, device=sequences.device)
            return marks

        return ends


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
