"""Sequence-to-sequence models (the T5 family): base of the engines transformers and CTranslate2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from exam_pp._version import __version__
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.batched import BatchedLLM
from exam_pp.llm.decoding import recorded_decoding
from exam_pp.llm.encoding import Encoded, PromptEncoder
from exam_pp.llm_requests import DEFAULT_MAX_NEW_TOKENS, Completion, Request


@dataclass(frozen=True, slots=True)
class EngineBatch:
    """A batch for an engine: prompts with the same labels and length limit, and their keys for sampling.

    With ``choose``, the replies are the likeliest labels, without a search.
    """

    prompts: list[list[int]]
    labels: tuple[str, ...]
    max_new_tokens: int
    keys: Sequence[str] = ()
    choose: bool = False


class Seq2SeqEngine(Protocol):
    """An engine that runs batches of token ids, ``parallel`` of them at a time.

    ``labels_are_expensive`` means that label likelihoods take about as long as the replies.
    """

    parallel: int
    batch_tokens: int
    labels_are_expensive: bool

    def start(self, job: EngineBatch) -> Callable[[], list[Completion]]:
        """Start a batch; the returned function waits for its completions."""

    def provenance(self) -> dict[str, Any]:
        """Engine, dtype, device kind and versions."""


class Seq2SeqLLM(BatchedLLM[Encoded]):
    """A sequence-to-sequence model behind the :class:`exam_pp.llm.base.LLM` contract."""

    def __init__(
        self,
        options: ModelOptions,
        encoder: PromptEncoder,
        engine: Seq2SeqEngine,
        identity: dict[str, str],
        max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS,
    ) -> None:
        super().__init__(options.model, options.batch_tokens or engine.batch_tokens, engine.parallel)
        self._options = options
        self._encoder = encoder
        self._engine = engine
        self._identity = identity
        self._max_new_tokens = max_new_tokens

    def provenance(self) -> dict[str, Any]:
        """Return all facts that determine the replies, in a fixed order of keys."""
        return {
            **self._identity,
            "pipeline": self._options.pipeline,
            **self._engine.provenance(),
            **({} if self._options.choose else self._decoding),
            **recorded_decoding(self._options),
            "max_input_tokens": self._encoder.max_tokens,
            "exam_pp": __version__,
        }

    @property
    def _decoding(self) -> dict[str, Any]:
        return {
            "num_beams": self._options.beams,
            "early_stopping": self._options.beams > 1,
            "length_penalty": 1.0,
            **({} if self._options.max_tokens else {"max_new_tokens": self._max_new_tokens}),
        }

    @property
    def labels_are_expensive(self) -> bool:
        """Whether label likelihoods take about as long as replies with this engine."""
        return self._engine.labels_are_expensive

    def encode(self, requests: Sequence[Request]) -> list[Encoded]:
        """Encode the prompts; only passages are shortened."""
        return self._encoder.encode(requests)

    def start(
        self, requests: Sequence[Request], encoded: Sequence[Encoded]
    ) -> Callable[[], list[Completion]]:
        """Start a batch on the engine."""
        limit = min(self._options.max_tokens or requests[0].max_new_tokens, self._max_new_tokens)
        keys = [request.key() for request in requests] if self._options.samples else []
        labels = requests[0].labels
        choose = self._options.choose and bool(labels)
        return self._engine.start(
            EngineBatch([prompt.ids for prompt in encoded], labels, limit, keys, choose)
        )
