"""The contract of a backend: requests in, completions out, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from exam_pp.messages import Completion, Request

Engine = Literal["auto", "transformers", "ctranslate2"]
Dtype = Literal["auto", "float32", "bfloat16", "float16"]

Batch = list[int]
"""Indices into a sequence of requests."""

PUBLISHED_BEAMS = 5
"""The beam size of the published FLAN-T5 gradings."""

BUNDLED = "bundled"
"""The model name of the grader that comes with the package."""


@dataclass(frozen=True)
class ModelOptions:
    """What a user can say about a model; each backend uses what concerns it.

    ``batch_tokens`` bounds the padded tokens of a batch (None: chosen for the device).
    ``num_beams`` is the beam size, 1 for greedy decoding (None: :attr:`beams` says).
    ``max_input_tokens`` bounds a prompt (None: what the model was made for).
    ``device_map="auto"`` spreads a model over all GPUs of the machine (and its memory).
    ``thinking_tokens`` is the room for thoughts before each reply; 0: models that can are asked not to think.
    ``base_url``, ``timeout`` (seconds a call) and ``concurrency`` (calls at a time) are for endpoints.
    """

    model: str
    pipeline: str = "text2text"
    revision: str | None = None
    device: str | None = None
    device_map: str | None = None
    dtype: Dtype = "auto"
    engine: Engine = "auto"
    compute_type: str | None = None
    batch_tokens: int | None = None
    num_beams: int | None = None
    max_input_tokens: int | None = None
    threads: int | None = None
    thinking_tokens: int = 0
    base_url: str | None = None
    timeout: float = 120.0
    concurrency: int = 16

    @property
    def beams(self) -> int:
        """The asked beam size; else the published 5 for seq2seq models, and greedy for all others."""
        return self.num_beams or (PUBLISHED_BEAMS if self.pipeline == "text2text" else 1)

    @property
    def thinking(self) -> dict[str, int]:
        """What grades record of the thoughts."""
        return {"thinking_tokens": self.thinking_tokens} if self.thinking_tokens else {}


class LLM(Protocol):
    """A model that answers requests.

    ``name`` is what files record as ``llm``. A failure of one request is a :class:`Completion` with
    an ``error``; only what makes every further answer impossible is raised.
    """

    name: str

    def provenance(self) -> dict[str, Any]:
        """What decides the replies: revision, dtype, generation options, versions."""

    def batches(self, requests: Sequence[Request]) -> list[Batch]:
        """How the requests will be grouped: a pure function of the requests and the options."""

    def generate(
        self, requests: Sequence[Request], batches: Iterable[Batch] | None = None
    ) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion) as each batch is done, in any order.

        Without ``batches`` every request is answered; with them, exactly those that they hold.
        """


@runtime_checkable
class LearnsFromPassages(Protocol):
    """A backend that looks at all passages before it grades (IDF of the lexical grader)."""

    def learn(self, passages: Iterable[str]) -> None:
        """Take the texts in; called once, before the first request."""


@runtime_checkable
class HasExpensiveLabels(Protocol):
    """A backend that may need about as long for the labels' likelihoods as for the reply itself."""

    @property
    def labels_are_expensive(self) -> bool:
        """Whether it does."""
