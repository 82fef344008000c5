"""Sequence-to-sequence models (the T5 family): what both engines share."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from exam_pp import __version__
from exam_pp.llm.base import Batch, ModelOptions
from exam_pp.llm.batching import plan_batches
from exam_pp.llm.encoding import Encoded, PromptEncoder
from exam_pp.messages import Completion, Request

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """A batch as an engine gets it: prompts that share labels and length limit."""

    prompts: list[list[int]]
    labels: tuple[str, ...]
    max_new_tokens: int


class Seq2SeqEngine(Protocol):
    """Runs batches of token ids. ``parallel`` is how many batches it works on at a time."""

    parallel: int
    batch_tokens: int

    def start(self, job: Job) -> Callable[[], list[Completion]]:
        """Begin a batch; the returned function waits for its completions."""
        ...

    def provenance(self) -> dict[str, Any]:
        """Engine, dtype, device kind and versions."""
        ...


class Seq2SeqLLM:
    """A seq2seq checkpoint behind the :class:`exam_pp.llm.base.LLM` contract."""

    def __init__(
        self, options: ModelOptions, encoder: PromptEncoder, engine: Seq2SeqEngine, identity: dict[str, str]
    ) -> None:
        self.name = options.model
        self._options = options
        self._encoder = encoder
        self._engine = engine
        self._identity = identity
        self._planned: tuple[Sequence[Request], list[Encoded]] = ((), [])

    def provenance(self) -> dict[str, Any]:
        """What decides the replies, in a fixed order of keys."""
        return {
            **self._identity,
            "pipeline": self._options.pipeline,
            **self._engine.provenance(),
            "num_beams": self._options.num_beams,
            "early_stopping": self._options.num_beams > 1,
            "length_penalty": 1.0,
            "max_input_tokens": self._encoder.max_tokens,
            "exam_pp": __version__,
        }

    def batches(self, requests: Sequence[Request]) -> list[Batch]:
        """By length under the token budget; requests with different scales do not mix."""
        encoded = self._encoded(requests)
        askable = [index for index, prompt in enumerate(encoded) if prompt.error is None]
        plan = plan_batches(
            [len(encoded[index].ids) for index in askable],
            self._options.batch_tokens or self._engine.batch_tokens,
            [(requests[index].labels, requests[index].max_new_tokens) for index in askable],
        )
        refused = [[index] for index, prompt in enumerate(encoded) if prompt.error is not None]
        return refused + [[askable[position] for position in batch] for batch in plan]

    def generate(
        self, requests: Sequence[Request], batches: Iterable[Batch] | None = None
    ) -> Iterator[tuple[int, Completion]]:
        """Answer batch by batch; with a parallel engine, a few batches ahead."""
        encoded = self._encoded(requests)
        running: deque[tuple[Batch, Callable[[], list[Completion]]]] = deque()
        for batch in self.batches(requests) if batches is None else batches:
            running.append((batch, self._start(requests, encoded, batch)))
            if len(running) > self._engine.parallel:
                yield from self._finish(requests, encoded, *running.popleft())
        while running:
            yield from self._finish(requests, encoded, *running.popleft())

    def _encoded(self, requests: Sequence[Request]) -> list[Encoded]:
        if self._planned[0] is not requests:
            self._planned = (requests, self._encoder.encode(requests))
        return self._planned[1]

    def _start(
        self, requests: Sequence[Request], encoded: list[Encoded], batch: Batch
    ) -> Callable[[], list[Completion]]:
        if encoded[batch[0]].error is not None:
            return lambda: [Completion(error=encoded[index].error) for index in batch]
        first = requests[batch[0]]
        return self._engine.start(
            Job([encoded[index].ids for index in batch], first.labels, first.max_new_tokens)
        )

    def _finish(
        self,
        requests: Sequence[Request],
        encoded: list[Encoded],
        batch: Batch,
        wait: Callable[[], list[Completion]],
    ) -> Iterator[tuple[int, Completion]]:
        try:
            completions = wait()
        except (RuntimeError, MemoryError) as error:
            if not _is_out_of_memory(error):
                raise
            yield from self._halves(requests, encoded, batch)
            return
        for index, completion in zip(batch, completions, strict=True):
            yield index, replace(completion, tokens_cut=encoded[index].tokens_cut)

    def _halves(
        self, requests: Sequence[Request], encoded: list[Encoded], batch: Batch
    ) -> Iterator[tuple[int, Completion]]:
        """Out of memory is no reason to stop: the batch is tried again in two halves."""
        _free_memory()
        if len(batch) == 1:
            yield batch[0], Completion(error="out of memory, even in a batch of its own")
            return
        log.warning("Out of memory with a batch of %d prompts: halving it", len(batch))
        middle = (len(batch) + 1) // 2
        for half in (batch[:middle], batch[middle:]):
            yield from self._finish(requests, encoded, half, self._start(requests, encoded, half))


def _is_out_of_memory(error: BaseException) -> bool:
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(
        sign in text
        for sign in ("out of memory", "can't allocate memory", "cannot allocate memory", "bad_alloc")
    )


def _free_memory() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
