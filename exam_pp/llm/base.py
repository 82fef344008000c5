"""The contract of a backend: requests in, completions out, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from exam_pp.errors import ModelError, UnknownNameError
from exam_pp.messages import Completion, Request
from exam_pp.registry import Registry

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
class ChargesForLabels(Protocol):
    """A backend that may need about as long for the labels' likelihoods as for the reply itself."""

    @property
    def labels_are_dear(self) -> bool:
        """Whether it does."""


BACKENDS: Registry[Callable[[ModelOptions], LLM]] = Registry("model pipeline", "backends")

_OWN_MODELS = {"fake": "fake", "lexical": "lexical", "random": "random", "constant": "constant"}
"""Model names that are a backend of their own."""
_NEVER_THINK = ("text2text", "question-answering")


def load_llm(options: ModelOptions) -> LLM:
    """The model that the options name; loads weights, so call it once a process.

    Raises :class:`exam_pp.errors.UnknownNameError`, :class:`exam_pp.errors.ModelError` and
    :class:`exam_pp.errors.MissingExtraError`.
    """
    _refuse_misspelt_name(options.model)
    if options.base_url and options.pipeline != "openai":
        raise ModelError("--base-url is for endpoints: add --model-pipeline openai, or leave it out.")
    if options.thinking_tokens and (options.model in _OWN_MODELS or options.pipeline in _NEVER_THINK):
        raise ModelError(
            "--thinking-tokens is for models that think aloud: those of --model-pipeline text-generation or "
            "openai."
        )
    return BACKENDS.get(_OWN_MODELS.get(options.model, options.pipeline))(options)


def reads_lists(options: ModelOptions) -> bool:
    """Whether the model is of a kind for prompts that list many things: one that continues text."""
    if options.model in _OWN_MODELS:
        return options.model == "fake"
    return options.pipeline not in ("text2text", "question-answering")


def rates(options: ModelOptions) -> bool:
    """Whether the model can be asked for ratings: extractive models only find answers."""
    return options.model in _OWN_MODELS or options.pipeline != "question-answering"


def _refuse_misspelt_name(model: str) -> None:
    """A slip in one of our own names should not end as a search on the Hub."""
    own = [*_OWN_MODELS, BUNDLED]
    close = get_close_matches(model, own, n=1, cutoff=0.75)
    if close and model not in own and not Path(model).exists():
        raise UnknownNameError(f"No model named {model!r}. Did you mean {close[0]!r}?")


def _fake(options: ModelOptions) -> LLM:
    from exam_pp.llm.fake import FakeLLM

    return FakeLLM()


def _seq2seq(options: ModelOptions) -> LLM:
    from exam_pp.llm.huggingface import load_seq2seq

    return load_seq2seq(options)


def _causal(options: ModelOptions) -> LLM:
    from exam_pp.llm.causal import load_causal

    return load_causal(options)


def _extractive(options: ModelOptions) -> LLM:
    from exam_pp.llm.extractive import load_extractive

    return load_extractive(options)


def _endpoint(options: ModelOptions) -> LLM:
    from exam_pp.llm.endpoint import load_endpoint

    return load_endpoint(options)


def _lexical(options: ModelOptions) -> LLM:
    from exam_pp.llm.lexical import LexicalLLM

    return LexicalLLM()


def _random(options: ModelOptions) -> LLM:
    from exam_pp.llm.baselines import RandomLLM

    return RandomLLM()


def _constant(options: ModelOptions) -> LLM:
    from exam_pp.llm.baselines import ConstantLLM

    return ConstantLLM()


BACKENDS.add("text2text", _seq2seq)
BACKENDS.add("text-generation", _causal)
BACKENDS.add("question-answering", _extractive)
BACKENDS.add("openai", _endpoint)
BACKENDS.add("fake", _fake)
BACKENDS.add("lexical", _lexical)
BACKENDS.add("random", _random)
BACKENDS.add("constant", _constant)
