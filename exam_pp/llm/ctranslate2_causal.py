"""CTranslate2 engine for causal models: the pipeline ``text-generation`` on a CPU or in 8 bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exam_pp.errors import ModelError
from exam_pp.llm.causal import SHORTEST_PREFIX, CausalCheckpoint, DecoderLLM, shared_start
from exam_pp.llm.conversion import (
    Placement,
    as_tensor,
    check_distributions,
    convert_once,
    probe_compute_type,
    start_engine,
)
from exam_pp.llm.encoding import Encoded, label_pieces
from exam_pp.requests import Completion, Request

if TYPE_CHECKING:
    import torch

_CPU_BATCH_TOKENS, _GPU_BATCH_TOKENS = 2048, 16384

_MAX_PREFIXES = 4
"""Maximum number of cached prefixes: they stay in the memory of every worker until the end."""

_LONG_PROBE = 1024
"""Tokens of the longest test prompt, because errors in positions grow with the length."""

_PROBES = (
    "Question: which year was the bridge over the river opened? Passage: The bridge was opened in 1932.",
    "Key Fact: glaciers store water. Passage: 0 1 2 3 4 5",
    "Rate from 0 to 5. " + "The bridge over the river was opened in 1932, after nine years of work. " * 100,
)

TokenPath = tuple[int, ...]
"""Token ids at the beginning of a reply."""


class CTranslate2CausalLLM(DecoderLLM):
    """A causal model on CTranslate2, with several batches at a time.

    All prompts of a batch have the same length, so there is no padding. The keys and values of the shared
    prefix, the instruction, are computed once. For label likelihoods, each prompt is read once and continued
    with all labels in parallel; a reply that is not a label is generated afterwards.
    """

    def __init__(self, checkpoint: CausalCheckpoint) -> None:
        import ctranslate2

        options = checkpoint.options
        if options.beams > 1:
            raise ModelError("it supports only greedy decoding for causal models")
        self._placement = placement = Placement.of(options)
        usual = _GPU_BATCH_TOKENS if placement.device == "cuda" else _CPU_BATCH_TOKENS
        super().__init__(checkpoint, usual, 2 * placement.workers)
        _check_architecture(checkpoint, self._encoder.max_tokens)
        if not self._stops:
            raise ModelError("the checkpoint has no end-of-sequence token")
        folder = convert_once(checkpoint, placement.compute_type, self._check)
        self._generator = start_engine(
            lambda: ctranslate2.Generator(str(folder), **placement.arguments),
            lambda generator: generator.generate_batch(
                [self._tokens([self._stops[0]])], beam_size=1, max_length=1
            ),
        )
        self._prefixes: dict[str, list[int]] = {}
        self._kept: set[TokenPath] = set()

    def engine_provenance(self) -> dict[str, str]:
        """Engine, compute type as dtype, device kind and version."""
        return self._placement.provenance()

    def encode(self, requests: Sequence[Request]) -> list[Encoded]:
        """Encode prompts in the model's format and remember the shared prefix of every instruction."""
        encoded = super().encode(requests)
        sharing: dict[str, list[list[int]]] = {}
        for request, prompt in zip(requests, encoded, strict=True):
            if prompt.error is None and (instruction := _instruction(request)):
                sharing.setdefault(instruction, []).append(prompt.ids)
        for instruction, prompts in sharing.items():
            shared = shared_start(prompts)
            if instruction in self._prefixes:
                shared = shared_start([[*self._prefixes[instruction], 0], [*shared, 0]])
            self._prefixes[instruction] = shared
        return encoded

    def group(self, request: Request, prompt: Encoded) -> Hashable:
        """Prompts of a batch have the same instruction and the same length."""
        return (super().group(request, prompt), _instruction(request), len(prompt.ids))

    def start(
        self, requests: Sequence[Request], encoded: Sequence[Encoded]
    ) -> Callable[[], list[Completion]]:
        """Queue a batch for the next free worker."""
        first, prompts = requests[0], [prompt.ids for prompt in encoded]
        if not first.labels:
            replies = self._ask(first, prompts)
            return lambda: [Completion(text) for text in replies()]
        labels = label_pieces(self._tokenizer, first.labels)
        waits = [self._ask_labels(prompt, labels) for prompt in prompts]
        return lambda: self._collect(first, prompts, labels, [wait() for wait in waits])

    def _ask(self, first: Request, prompts: Sequence[list[int]]) -> Callable[[], list[str]]:
        """Generate greedy replies to prompts of the same length."""
        one_line = self.ends_with_line(first)
        prefix = self._prefix(first, prompts)
        futures = self._generator.generate_batch(
            [self._tokens(prompt[len(prefix) :]) for prompt in prompts],
            static_prompt=self._tokens(prefix) or None,
            max_length=self._encoder.new_tokens(first),
            callback=self._line_watch(len(prompts)) if one_line else None,
            **self._search,
        )
        return lambda: self.texts([future.result().sequences_ids[0] for future in futures], one_line)

    def _ask_labels(
        self, prompt: list[int], labels: Sequence[Sequence[int]]
    ) -> Callable[[], dict[TokenPath, torch.Tensor]]:
        """Log-probabilities of the next token after the prompt and after each prefix of a label."""
        rows = sorted({tuple(label[:end]) for label in labels for end in range(len(label) + 1)})
        futures = self._generator.generate_batch(
            [self._tokens([prompt[-1], *row]) for row in rows],
            static_prompt=self._tokens(prompt[:-1]) or None,
            cache_static_prompt=False,
            max_length=max(map(len, rows)) + 1,
            return_logits_vocab=True,
            **self._search,
        )

        def wait() -> dict[TokenPath, torch.Tensor]:
            # The engine starts at the length of the shortest row, which is the empty label, so it returns
            # logits for every step of the longer rows.
            steps = [future.result().logits[0] for future in futures]
            return {
                row: as_tensor(logits[len(row)]).log_softmax(-1)
                for row, logits in zip(rows, steps, strict=True)
            }

        return wait

    @property
    def _search(self) -> dict[str, Any]:
        return {
            "asynchronous": True,
            "beam_size": 1,
            "end_token": self._stops,
            "return_end_token": True,  # the end token is a visible token in some checkpoints
            "include_prompt_in_result": False,
        }

    def _collect(
        self,
        first: Request,
        prompts: Sequence[list[int]],
        labels: Sequence[Sequence[int]],
        following: Sequence[dict[TokenPath, torch.Tensor]],
    ) -> list[Completion]:
        """Take replies that are labels from the scores, and generate the others."""
        one_line, limit = self.ends_with_line(first), self._encoder.new_tokens(first)
        stops = self.label_stops(one_line)
        likelihoods = [_label_logprobs(after, labels, stops) for after in following]
        scored = [self._walk(after, limit, one_line) for after in following]
        missing = [row for row, reply in enumerate(scored) if reply is None]
        texts = self.texts([reply or () for reply in scored], one_line)
        if missing:
            for row, text in zip(missing, self._ask(first, [prompts[row] for row in missing])(), strict=True):
                texts[row] = text
        return [Completion(text, label_logprobs=row) for text, row in zip(texts, likelihoods, strict=True)]

    def _walk(self, following: dict[TokenPath, torch.Tensor], limit: int, one_line: bool) -> TokenPath | None:
        """The greedy reply if it is within the scored paths, else None."""
        reply: TokenPath = ()
        while len(reply) < limit:
            if reply not in following:
                return None
            token = int(following[reply].argmax())
            reply = (*reply, token)
            if token in self._stops or (one_line and self.has_line(reply)):
                break
        return reply

    def _line_watch(self, rows: int) -> Callable[[Any], bool]:
        """Return a callback for each token that returns whether the reply has reached its line end."""
        replies: list[list[int]] = [[] for _ in range(rows)]

        def ends(step: Any) -> bool:
            replies[step.batch_id].append(step.token_id)
            return self.has_line(replies[step.batch_id])

        return ends

    def _prefix(self, first: Request, prompts: Sequence[list[int]]) -> list[int]:
        """The shared prefix if its keys and values are cached, else empty."""
        prefix = self._prefixes.get(_instruction(first), [])
        if len(prefix) < SHORTEST_PREFIX or any(ids[: len(prefix)] != prefix for ids in prompts):
            return []
        if len(self._kept) < _MAX_PREFIXES:
            self._kept.add(tuple(prefix))
        return prefix if tuple(prefix) in self._kept else []

    def _tokens(self, ids: Sequence[int]) -> list[str]:
        tokens: list[str] = self._tokenizer.convert_ids_to_tokens(list(ids))
        return tokens

    def _check(self, folder: Path) -> None:
        """Raise ModelError if distributions over the next token differ from those of transformers."""
        import ctranslate2
        import torch

        model = self._checkpoint.model(torch.float32)
        generator = ctranslate2.Generator(
            str(folder), device="cpu", compute_type=probe_compute_type(self._placement.compute_type)
        )
        longest = min(_LONG_PROBE, self._checkpoint.context - 8)
        pairs = []
        for probe in _PROBES:
            prompt = self._tokenizer(probe, add_special_tokens=False, verbose=False)["input_ids"][:longest]
            for label in label_pieces(self._tokenizer, ("0", "3", " the answer")):
                ids = [*prompt, *label]
                with torch.inference_mode():
                    expected = model(torch.tensor([ids])).logits[0, -1].float().log_softmax(-1)
                (result,) = generator.generate_batch(
                    [self._tokens(ids)],
                    beam_size=1,
                    max_length=1,
                    return_logits_vocab=True,
                    include_prompt_in_result=False,
                )
                pairs.append((as_tensor(result.logits[0][0]).log_softmax(-1), expected))
        check_distributions(pairs, self._placement.compute_type)


def _check_architecture(checkpoint: CausalCheckpoint, longest: int) -> None:
    """Raise ModelError for models whose errors a check with short prompts cannot show."""
    config = checkpoint.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    if window and getattr(config, "use_sliding_window", True) and window < longest:
        raise ModelError(f"the model's attention has a sliding window of {window} tokens")
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    scaling = rope.get("rope_type") or rope.get("type") or "default"
    if scaling not in ("default", "linear"):  # CTranslate2 4.8.5 scales the positions of Llama 3 wrongly
        raise ModelError(f"the model's scaling of token positions is not supported ({scaling})")
    ids = sorted(checkpoint.tokenizer.get_vocab().values())
    if ids != list(range(len(ids))):
        raise ModelError("the token ids of the model have gaps")


def _instruction(request: Request) -> str:
    """The text of the prompt template before the first placeholder."""
    first = next(iter(request.parts), None)
    return first.text if first is not None and first.slot is None else ""


def _label_logprobs(
    following: dict[TokenPath, torch.Tensor], labels: Iterable[Sequence[int]], stops: Sequence[int]
) -> tuple[float, ...]:
    """Joint log-probability of every label followed by a stop token."""
    return tuple(
        math.fsum(following[tuple(label[:at])][token].item() for at, token in enumerate(label))
        + following[tuple(label)][stops].logsumexp(-1).item()
        for label in labels
    )
