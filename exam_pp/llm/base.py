"""Contract of model backends: options, requests, batches, completions, and failures as errors."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from exam_pp.errors import ExamError, ModelError
from exam_pp.judges import SMOLLM2
from exam_pp.llm_requests import Completion, Request

Engine = Literal["auto", "transformers", "ctranslate2"]
Dtype = Literal["auto", "float32", "bfloat16", "float16"]
NoAnswerAt = Literal["auto", "cls", "first"]

Batch = list[int]
"""Indices of requests in a sequence."""

PUBLISHED_BEAMS = 5
"""Beam size of the published FLAN-T5 gradings."""


def is_gguf(model: str) -> bool:
    """Whether a local model of this name is a GGUF file."""
    return model == SMOLLM2 or model.lower().endswith(".gguf")


@dataclass(frozen=True)
class ModelOptions:
    """Options of a model; a backend ignores the options that it does not need.

    Args:
        model: A name on the Hugging Face Hub, a folder, a GGUF file, ``smollm2``, ``e5``, a
            baseline, or a model of an endpoint.
        pipeline: The backend: ``text2text``, ``text-generation``, ``question-answering``,
            ``text-classification``, ``sentence-similarity``, ``openai`` or ``openai-completions``. GGUF files
            and ``smollm2`` turn ``text2text`` into ``text-generation``.
        revision: The branch, tag or commit of a model on the Hub.
        device: ``cpu``, ``cuda`` or ``cuda:N``. Default: the first GPU, else the CPU.
        device_map: ``auto`` distributes the weights over all GPUs and the main memory of the machine.
        dtype: The type of the weights. Default: bfloat16 on GPUs that support it, else float32.
        engine: The library that runs a checkpoint. Default: CTranslate2 for T5-like models if possible.
        compute_type: The type in which CTranslate2 computes, such as ``int8``.
        batch_tokens: The maximal number of padded tokens in a batch. Default: depends on the device.
        num_beams: The beam size; 1 is greedy decoding. Default: 5 for ``text2text``, else 1.
        max_input_tokens: The maximal number of tokens in a prompt. Default: the limit of the model.
        threads: The number of CPU threads, and for ``e5`` of processes with one thread. Default: all cores.
        thinking_tokens: The number of tokens for thinking before each reply. 0 switches thinking off.
        base_url: The URL of an endpoint.
        timeout: Seconds after which a call to an endpoint is cancelled and repeated, and after which a run
            without connection to the endpoint stops.
        concurrency: The number of simultaneous calls to an endpoint.
        max_reply_mb: The maximal size of an endpoint's reply in megabytes, unpacked.
        any_server: Whether the replies of all servers count as those of the same model: files do not record
            the URL, which is not read before the first request.
        max_tokens_total: The number of tokens, of prompts and replies, before which a grading by an endpoint
            stops. Default: no limit.
        temperature: The temperature of sampling. 0: always the likeliest reply. Local models sample with
            transformers, and the replies do not depend on the batches.
        top_p: The probability of the tokens from which a reply is sampled (nucleus sampling, Holtzman et
            al., 2020). Default: all tokens; for endpoints, the default of the server.
        sampling_seed: The seed of sampling. Default: 0; for endpoints, the default of the server.
        presence_penalty: The penalty of an endpoint for tokens that occur in the reply.
        frequency_penalty: The penalty of an endpoint for each occurrence of a token in the reply.
        max_tokens: The maximal number of tokens in a reply. Default: the limit of the prompt.
        stop: Texts at which an endpoint ends a reply.
        reasoning_effort: How much a model behind an endpoint reasons, such as ``low``.
        response_format: ``text``, ``json``, or a file with a JSON Schema that an endpoint enforces.
        choose: Whether a reply to a prompt with labels is the likeliest label, without decoding.
        positive_class: The class of a pair scorer whose probability is the score, such as ``entailment``.
        trust_remote_code: Whether code in the files of a pair scorer may run. A model of the Hub then needs a
            commit as ``revision``.
        no_answer_at: Where extractive models score "no answer": ``cls`` puts the classification token
            before the question, ``first`` takes the first token. Default: ``cls`` for T5-like models whose
            tokenizer has such a token without inserting it, else the token of the tokenizer.
        cut_points: The lowest cosines of the grades from 1 on, for ``sentence-similarity`` and ``e5``.
        query_prefix: The text before questions, for ``sentence-similarity``.
        passage_prefix: The text before passages, for ``sentence-similarity``.
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
    max_reply_mb: float = 16.0
    any_server: bool = False
    max_tokens_total: int | None = None
    temperature: float = 0
    top_p: float | None = None
    sampling_seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    reasoning_effort: str | None = None
    response_format: str | None = None
    no_answer_at: NoAnswerAt = "auto"
    choose: bool = False
    positive_class: str | None = None
    trust_remote_code: bool = False
    cut_points: tuple[float, ...] = ()
    query_prefix: str | None = None
    passage_prefix: str | None = None

    def __post_init__(self) -> None:
        if self.pipeline == "text2text" and is_gguf(self.model):
            object.__setattr__(self, "pipeline", "text-generation")

    @property
    def samples(self) -> bool:
        """Whether replies are sampled."""
        return self.temperature > 0

    @property
    def requests_ctranslate2(self) -> bool:
        """Whether ``-M engine=ctranslate2`` or ``-M compute_type`` requests CTranslate2."""
        return self.engine == "ctranslate2" or self.compute_type is not None

    @property
    def beams(self) -> int:
        """The beam size: ``num_beams``, else 5 for seq2seq models (as published), and 1 to sample.

        1 with ``choose``, which does not search.
        """
        if self.choose:
            return 1
        published = self.pipeline == "text2text" and not self.samples
        return self.num_beams or (PUBLISHED_BEAMS if published else 1)

    @property
    def thinking(self) -> dict[str, int]:
        """The ``thinking_tokens`` entry of provenance; empty if thinking is off."""
        return {"thinking_tokens": self.thinking_tokens} if self.thinking_tokens else {}


class LLM(Protocol):
    """A model that answers requests.

    Files record ``name`` as ``llm``. The failure of one request is a :class:`Completion` with an ``error``;
    an exception means that no further request can be answered. A backend whose label likelihoods take about
    as long as the replies has the attribute ``labels_are_expensive``.
    """

    name: str

    def provenance(self) -> dict[str, Any]:
        """Return all facts that determine the replies: revision, dtype, generation options, versions."""

    def batches(self, requests: Sequence[Request]) -> list[Batch]:
        """Group the requests into batches, as lists of indices; depends only on requests and options."""

    def generate(
        self, requests: Sequence[Request], batches: Iterable[Batch] | None = None
    ) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion) pairs batch by batch, in any order.

        With ``batches`` only the requests in them are answered; by default all are.
        """


@runtime_checkable
class PairScorer(LLM, Protocol):
    """A backend that scores pairs of a source and a claim, such as a checkpoint for sequence classification.

    It is an :class:`LLM` for the requests of :func:`exam_pp.llm_requests.pair_request`, without a prompt. The
    text of a completion is the score as a decimal number from 0 to 1; higher means that the claim is more
    consistent with the source. Batches, provenance, journal and failures are those of all backends.
    """

    @property
    def positive_class(self) -> str:
        """The name of the class whose probability is the score."""


@runtime_checkable
class LimitsTokens(Protocol):
    """A backend that stops before its replies have used ``token_limit`` tokens; None for no limit.

    ``tokens_used`` are those of the replies so far, also of those that the journal has.
    """

    token_limit: int | None
    tokens_used: int


log = logging.getLogger(__name__)


@contextmanager
def failures_as_model_error(make: Callable[[BaseException], ModelError]) -> Iterator[None]:
    """Raise the error that ``make`` returns for every exception in the block; with -v, log its traceback.

    Libraries raise exceptions of any class for damaged files, also panics of Rust, which are no Exception.
    """
    try:
        yield
    except ExamError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        log.debug("The model has failed", exc_info=error)
        raise make(error) from error


def reason_of(error: BaseException) -> str:
    """The message of an exception in one line of at most 300 characters."""
    reason = " ".join(str(error).split()).rstrip(".")
    return reason if len(reason) < 300 else reason[:300] + " ..."
