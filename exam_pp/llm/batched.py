"""Base class of local models: batches by length, asynchronous execution, recovery from out of memory."""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from exam_pp.errors import ModelError
from exam_pp.llm.base import Batch, failures_as_model_error, reason_of
from exam_pp.llm.batch_plan import plan_batches
from exam_pp.llm.checkpoint import ModelCheckpoint, PlacedModel
from exam_pp.llm.encoding import Encoded
from exam_pp.llm_requests import Completion, Request

log = logging.getLogger(__name__)

E = TypeVar("E", bound=Encoded)


class BatchedLLM(ABC, Generic[E]):
    """A local model behind the :class:`exam_pp.llm.base.LLM` contract; subclasses encode and answer prompts.

    ``batch_tokens`` is the maximal number of padded tokens in a batch; ``parallel`` is the number of batches
    that are started before the first result is awaited.
    """

    def __init__(self, name: str, batch_tokens: int, parallel: int = 0) -> None:
        self.name = name
        self._batch_tokens = batch_tokens
        self._parallel = parallel
        self._too_large = math.inf
        self._planned: tuple[Sequence[Request], list[E]] = ((), [])

    @abstractmethod
    def provenance(self) -> dict[str, Any]:
        """Return all facts that determine the replies, in a fixed order of keys."""

    @abstractmethod
    def encode(self, requests: Sequence[Request]) -> list[E]:
        """Encode the prompts for the model, in order."""

    @abstractmethod
    def start(self, requests: Sequence[Request], encoded: Sequence[E]) -> Callable[[], list[Completion]]:
        """Start a batch of requests of one group; the returned function waits for the completions."""

    def group(self, request: Request, prompt: E) -> Hashable:
        """The group of a request; only requests of the same group share a batch."""
        return (request.labels, request.max_new_tokens)

    def batches(self, requests: Sequence[Request]) -> list[Batch]:
        """Group requests by length under the token budget; requests of different groups do not mix."""
        encoded = self._encoded(requests)
        valid = [index for index, prompt in enumerate(encoded) if prompt.error is None]
        plan = plan_batches(
            [len(encoded[index].ids) for index in valid],
            self._batch_tokens,
            [self.group(requests[index], encoded[index]) for index in valid],
        )
        refused = [[index] for index, prompt in enumerate(encoded) if prompt.error is not None]
        return refused + [[valid[position] for position in batch] for batch in plan]

    def generate(
        self, requests: Sequence[Request], batches: Iterable[Batch] | None = None
    ) -> Iterator[tuple[int, Completion]]:
        """Answer batch by batch; up to ``parallel`` further batches run in the meantime."""
        encoded = self._encoded(requests)
        running: deque[tuple[Batch, Callable[[], list[Completion]]]] = deque()
        for planned in self.batches(requests) if batches is None else batches:
            for batch in self._parts(encoded, planned):
                running.append((batch, self._start(requests, encoded, batch)))
                if len(running) > self._parallel:
                    yield from self._finish(requests, encoded, *running.popleft())
        while running:
            yield from self._finish(requests, encoded, *running.popleft())

    def _failure(self, error: BaseException) -> ModelError:
        return ModelError(
            f"The model {self.name!r} has failed ({type(error).__name__}: {reason_of(error)}). Check its "
            "files, or see the traceback with -v."
        )

    def _encoded(self, requests: Sequence[Request]) -> list[E]:
        # batches() and generate() get the same list, so its prompts are encoded once.
        if self._planned[0] is not requests:
            with failures_as_model_error(self._failure):
                self._planned = (requests, self.encode(requests))
        return self._planned[1]

    def _start(
        self, requests: Sequence[Request], encoded: list[E], batch: Batch
    ) -> Callable[[], list[Completion]]:
        if encoded[batch[0]].error is not None:
            return lambda: [Completion(error=encoded[index].error) for index in batch]
        with failures_as_model_error(self._failure):
            return self.start([requests[index] for index in batch], [encoded[index] for index in batch])

    def _finish(
        self,
        requests: Sequence[Request],
        encoded: list[E],
        batch: Batch,
        wait: Callable[[], list[Completion]],
    ) -> Iterator[tuple[int, Completion]]:
        with failures_as_model_error(self._failure):
            completions = _wait(wait)
        if completions is None:
            # The halves need the memory that the function of the failed batch may hold.
            del wait
            yield from self._retry_halves(requests, encoded, batch)
            return
        for index, completion in zip(batch, completions, strict=True):
            yield index, replace(completion, tokens_cut=encoded[index].tokens_cut)

    def _retry_halves(
        self, requests: Sequence[Request], encoded: list[E], batch: Batch
    ) -> Iterator[tuple[int, Completion]]:
        """Retry a batch that ran out of memory as two halves.

        Later batches of the same size are split before they start, because they would fail as well.
        """
        free_memory()
        if len(batch) == 1:
            yield batch[0], Completion(error="out of memory with a batch of one prompt")
            return
        log.warning("Out of memory with a batch of %d prompts; retrying with half of them", len(batch))
        self._too_large = min(self._too_large, _size(encoded, batch))
        for half in self._parts(encoded, batch):
            yield from self._finish(requests, encoded, half, self._start(requests, encoded, half))

    def _parts(self, encoded: list[E], batch: Batch) -> Iterator[Batch]:
        """Yield the batch, or parts of it that are smaller than any batch that ran out of memory."""
        if len(batch) == 1 or _size(encoded, batch) < self._too_large:
            yield batch
            return
        middle = (len(batch) + 1) // 2
        for half in (batch[:middle], batch[middle:]):
            yield from self._parts(encoded, half)


class EncoderLLM(BatchedLLM[E]):
    """A model on transformers that answers a request of any kind in one forward pass, one batch at a time."""

    def __init__(self, checkpoint: ModelCheckpoint) -> None:
        import torch

        self._torch = torch
        self._checkpoint = checkpoint
        self._options = checkpoint.options
        self._tokenizer = checkpoint.tokenizer
        self._placed = PlacedModel(checkpoint)
        self._model = self._placed.model
        batch_tokens = self._options.batch_tokens or self._placed.encoder_batch_tokens
        super().__init__(self._options.model, batch_tokens)

    def group(self, request: Request, prompt: E) -> Hashable:
        """All requests may share a batch."""
        return None

    def start(self, requests: Sequence[Request], encoded: Sequence[E]) -> Callable[[], list[Completion]]:
        """Return a function that runs the batch when it is called."""
        return lambda: self._run(encoded)

    @abstractmethod
    def _run(self, encoded: Sequence[E]) -> list[Completion]: ...

    def _padded(self, rows: Sequence[dict[str, list[int]]]) -> Any:
        """The arguments of the model for a batch of rows."""
        return self._tokenizer.pad(rows, padding=True, return_tensors="pt").to(self._placed.device)


def _size(encoded: Sequence[Encoded], batch: Batch) -> int:
    """The number of padded tokens in a batch."""
    return len(batch) * max(len(encoded[index].ids) for index in batch)


def _wait(wait: Callable[[], list[Completion]]) -> list[Completion] | None:
    """Wait for the completions; None after an out-of-memory error.

    This must be a separate function: while an exception is handled, its traceback keeps tensors in memory.
    """
    try:
        return wait()
    except (RuntimeError, MemoryError) as error:
        if not _is_out_of_memory(error):
            raise
        return None


def _is_out_of_memory(error: BaseException) -> bool:
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(
        sign in text
        for sign in (
            "out of memory",
            "can't allocate memory",
            "cannot allocate memory",
            "bad_alloc",
            "status_alloc_failed",  # cuBLAS and cuDNN without memory for their own buffers
        )
    )


def free_memory() -> None:
    """Release the GPU memory that torch caches."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
