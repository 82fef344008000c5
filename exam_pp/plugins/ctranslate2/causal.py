"""CTranslate2 engine for causal models: the pipeline ``text-generation`` on a CPU or in 8 bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

from exam_pp.errors import ModelError
from exam_pp.llm.causal import SHORTEST_PREFIX, CausalCheckpoint, DecoderLLM, shared_start
from exam_pp.llm.encoding import Encoded, choice, exclusive, label_pieces
from exam_pp.llm_requests import Completion, Request
from exam_pp.plugins.ctranslate2.conversion import (
    Placement,
    as_tensor,
    check_distributions,
    convert_once,
    probe_compute_type,
    start_or_none,
)

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


def llm_or_none(checkpoint: CausalCheckpoint) -> CTranslate2CausalLLM | None:
    """The model on CTranslate2, if the options request that."""
    options = checkpoint.options
    if not options.requests_ctranslate2:
        return None
    return start_or_none(options, lambda: CTranslate2CausalLLM(checkpoint))


class CTranslate2CausalLLM(DecoderLLM):
    """A causal model on CTranslate2, with several batches at a time.

    All prompts of a batch have the same length, so there is no padding. The keys and values of the shared
    prefix, the instruction, are computed once. Label likelihoods need a second pass, over the prompt and the
    words of the reply before its label.
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
        self._generator = ctranslate2.Generator(str(folder), **placement.arguments)
        # GPU libraries are loaded with the first batch, so this probe shows a missing library at the start.
        self._generator.generate_batch([self._tokens([self._stops[0]])], beam_size=1, max_length=1)
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
        if self.chooses(first):
            pieces = label_pieces(self._tokenizer, first.labels)
            scores = self._ask_labels(first, [(prompt, pieces) for prompt in prompts])
            return lambda: [self._choice(first.labels, pieces, row) for row in scores()]
        replies = self._ask(first, prompts)
        if not first.labels:
            return lambda: [Completion(text) for text in self.texts(replies(), self.ends_with_line(first))]
        return lambda: self._with_labels(requests, prompts, replies())

    def _choice(
        self, labels: Sequence[str], pieces: Sequence[Sequence[int]], logprobs: Sequence[float]
    ) -> Completion:
        chosen = choice(labels, exclusive(logprobs, pieces), "choice")
        return chosen or Completion(error="the model's numbers overflow; use another -M compute_type")

    def _with_labels(
        self, requests: Sequence[Request], prompts: Sequence[list[int]], replies: Sequence[list[int]]
    ) -> list[Completion]:
        """The completions with the likelihoods of the labels where the label of the reply stands."""
        texts = self.texts(replies, self.ends_with_line(requests[0]))
        places = [self.label_place(*pair) for pair in zip(requests, replies, strict=True)]
        found = [(row, place) for row, place in enumerate(places) if place is not None]
        contexts = [([*prompts[row], *replies[row][: place.at]], place.pieces) for row, place in found]
        completions = [Completion(text) for text in texts]
        for (row, place), logprobs in zip(found, self._ask_labels(requests[0], contexts)(), strict=True):
            completions[row] = Completion(
                texts[row], label_logprobs=exclusive(logprobs, place.pieces), definition="number"
            )
        return completions

    def _ask(self, first: Request, prompts: Sequence[list[int]]) -> Callable[[], list[list[int]]]:
        """Generate greedy replies, as token ids, to prompts of the same length."""
        may_end_early = self.ends_with_line(first) or first.cuts
        prefix = self._prefix(first, prompts)
        futures = self._generator.generate_batch(
            [self._tokens(prompt[len(prefix) :]) for prompt in prompts],
            static_prompt=self._tokens(prefix) or None,
            max_length=self._encoder.new_tokens(first),
            callback=self._watch(first, len(prompts)) if may_end_early else None,
            **self._search,
        )
        return lambda: [future.result().sequences_ids[0] for future in futures]

    def _ask_labels(
        self, first: Request, contexts: Sequence[tuple[list[int], Sequence[Sequence[int]]]]
    ) -> Callable[[], list[list[float]]]:
        """Log-probabilities that each context continues with each of its labels, given as token ids."""
        rows = {
            (row, tuple(label[:end]))
            for row, (_, labels) in enumerate(contexts)
            for label in labels
            for end in range(len(label))
        }
        of_length: dict[int, list[tuple[int, TokenPath]]] = {}
        for row, path in sorted(rows):
            of_length.setdefault(len(contexts[row][0]) + len(path), []).append((row, path))
        waits: dict[tuple[int, TokenPath], Any] = {}
        for group in of_length.values():
            futures = self._following(first, [[*contexts[row][0], *path] for row, path in group])
            waits |= dict(zip(group, futures, strict=True))

        def wait() -> list[list[float]]:
            after = {
                key: as_tensor(future.result().logits[0][0]).log_softmax(-1) for key, future in waits.items()
            }
            return [
                [
                    math.fsum(after[row, tuple(label[:at])][token].item() for at, token in enumerate(label))
                    for label in labels
                ]
                for row, (_, labels) in enumerate(contexts)
            ]

        return wait

    def _following(self, first: Request, prompts: Sequence[list[int]]) -> Any:
        """One token after prompts of the same length, with the logits of all tokens."""
        prefix = self._prefix(first, prompts)
        return self._generator.generate_batch(
            [self._tokens(prompt[len(prefix) :]) for prompt in prompts],
            static_prompt=self._tokens(prefix) or None,
            max_length=1,
            return_logits_vocab=True,
            **self._search,
        )

    @property
    def _search(self) -> dict[str, Any]:
        return {
            "asynchronous": True,
            "beam_size": 1,
            "end_token": self._stops,
            "return_end_token": True,  # the end token is a visible token in some checkpoints
            "include_prompt_in_result": False,
        }

    def _watch(self, first: Request, rows: int) -> Callable[[Any], bool]:
        """Return a callback for each token that returns whether the reply ends here."""
        replies: list[list[int]] = [[] for _ in range(rows)]

        def ends(step: Any) -> bool:
            replies[step.batch_id].append(step.token_id)
            return self.ends_early(first, replies[step.batch_id])

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
