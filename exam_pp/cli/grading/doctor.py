"""Diagnosis of the machine, and a probe that checks whether replies depend on batches or the engine.

A second part compares the ratings that the model writes with those that it chooses (``--reply chosen``).

The probe sends the same requests one at a time, in one batch, in a batch with a long prompt, and to the
reference engine in float32. Replies should depend only on the prompt, so a reply that changes is a problem.
The requests are few and their replies short, because the probabilities of the labels show any dependency of
the model on its batch more sharply than further replies.
"""

from __future__ import annotations

import logging
import math
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from statistics import fmean

from exam_pp.cli.grading.plan import gpu_memory, peak_memory
from exam_pp.errors import ModelError
from exam_pp.graders.make import RATING_TOKENS
from exam_pp.graders.soft import soft_grade
from exam_pp.llm.backends import can_rate, load_llm
from exam_pp.llm.base import LLM, LearnsFromPassages, ModelOptions
from exam_pp.llm.cores import available_cores
from exam_pp.llm_requests import LOW_MASS, Completion, Request
from exam_pp.phases.grading.grading_run import CHAT_PIPELINES
from exam_pp.prompts.base import Prompt, Unparsed
from exam_pp.prompts.rubric import QUESTION_EXTRACTION, QUESTION_SELF_RATED
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)

Advance = Callable[[int, int | None], None]

_PACKAGES = ("exam_pp", "torch", "transformers", "tokenizers", "ctranslate2", "accelerate", "pydantic")
_VARIABLES = ("HF_HOME", "HF_HUB_OFFLINE", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "EXAM_PP_CACHE")

REFERENCE = "transformers in float32"
_MAX_NEW_TOKENS = 16

_PASSAGES = (
    "Bees dance to tell other bees of the hive where flowers are. The angle of the dance shows the "
    "direction relative to the sun, and its length the distance.",
    "A sourdough starter is flour and water in which wild yeast and bacteria live. It is fed every day "
    "and makes bread rise without baker's yeast.",
    "The lighthouse was built in 1858. In 1971 its lamp was replaced by an automatic one, and the last "
    "keeper left the island.",
    "Rust forms when iron meets water and oxygen. Salt speeds it up; paint, oil or zinc keep it away.",
)
_QUESTIONS = (  # of the passages in order
    "How do bees tell each other where flowers are?",
    "What makes sourdough bread rise?",
    "When was the lighthouse built?",
    "How can iron be kept from rusting?",
)
_ORDER = (0, 1, 3, 2)
"""The passage of each question: the first two contain the answer, the others do not."""
_PAIRS = tuple((question, passage) for question in _QUESTIONS for passage in _PASSAGES)
"""The pairs of question and passage that are rated in writing and by choice."""

_PROMPTS = (QUESTION_SELF_RATED, QUESTION_EXTRACTION)


def probe_requests(prompts: Sequence[Prompt] = _PROMPTS) -> list[Request]:
    """The requests of the probe: every prompt with four questions, each with a passage."""
    return [
        _request(prompt, question, _PASSAGES[index])
        for prompt in prompts
        for question, index in zip(_QUESTIONS, _ORDER, strict=True)
    ]


def _request(prompt: Prompt, question: str, passage: str) -> Request:
    parts = prompt.render({"question": question, "context": passage})
    return Request(parts, prompt.labels, _MAX_NEW_TOKENS, one_line=True)


@dataclass(frozen=True)
class SettingComparison:
    """Replies in a setting, compared with the replies to one prompt at a time.

    ``flips`` counts the replies that changed. ``largest_change`` is the largest change of the probability of
    a label, None without labels.
    """

    setting: str
    replies: int
    flips: int
    largest_change: float | None


@dataclass(frozen=True)
class ModelExamination:
    """The results of the probe for a model.

    ``seconds`` is the time to load the model, ``pairs_per_second`` the speed with one prompt at a time.
    ``memory`` and ``gpu_memory`` are in bytes, None if unknown. ``reference_error`` is the reason why the
    reference engine could not be used. ``sound`` is False if replies change in float32. ``choices`` compares
    ratings by choice with written ones; a text is the reason why there is no comparison.
    """

    model: str
    seconds: float
    provenance: Mapping[str, object]
    pairs_per_second: float
    comparisons: Sequence[SettingComparison]
    reference_error: str | None
    sound: bool
    choices: Choices | str
    memory: int | None
    gpu_memory: int | None

    @property
    def flips(self) -> int:
        """The number of replies that changed, over all comparisons."""
        return sum(comparison.flips for comparison in self.comparisons)


def environment() -> Iterator[tuple[str, str | int]]:
    """Facts about the machine: name and value."""
    yield "system", f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    for package in _PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            yield package, "not installed"
    yield "CPU cores", available_cores()
    if memory := _total_memory():
        yield "memory", f"{memory / 2**30:.1f} GiB"
    yield from _gpus()
    yield from ((name, os.environ[name]) for name in _VARIABLES if name in os.environ)


def _total_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):  # Some systems lack sysconf or these names.
        return None


def _gpus() -> Iterator[tuple[str, str | int]]:
    try:
        import torch  # an optional package that is slow to import
    except ImportError:
        return
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        yield f"GPU {index}", f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB"
    if not torch.cuda.is_available():
        yield "GPU", "not usable by torch"


def examine_model(options: ModelOptions, advance: Advance = lambda _steps, _total: None) -> ModelExamination:
    """Examine a model.

    ``advance`` gets the number of new replies and, before the first, the total. Raises
    :class:`exam_pp.errors.ModelError` if the model cannot be loaded.
    """
    start = time.perf_counter()
    llm = _load(options)
    loading = time.perf_counter() - start
    provenance = llm.provenance()
    prompts = _PROMPTS if can_rate(options) else (QUESTION_EXTRACTION,)
    requests = probe_requests(prompts)
    choosing = _load_choosing(options)
    _announce(llm, prompts, requests, 0 if isinstance(choosing, str) else len(_PAIRS), advance)
    start = time.perf_counter()
    alone = _ask(llm, requests, _one_by_one(requests), advance)
    speed = len(requests) / (time.perf_counter() - start)
    settings = _settings(llm, prompts, requests, advance)
    comparisons = [_compare(name, alone, replies) for name, replies in settings]
    reference_error = None
    if _has_reference(llm):
        try:
            comparisons.append(_compare(REFERENCE, alone, _ask_reference(options, requests, advance)))
        except ModelError as error:  # The GPU may have no memory for a second model in float32.
            reference_error = str(error)
    return ModelExamination(
        llm.name,
        loading,
        provenance,
        speed,
        comparisons,
        reference_error,
        sound=not any(comparison.flips for comparison in comparisons) or provenance.get("dtype") != "float32",
        choices=choosing if isinstance(choosing, str) else _choices(options, llm, choosing, advance),
        memory=peak_memory(),
        gpu_memory=gpu_memory(),
    )


def _load_choosing(options: ModelOptions) -> LLM | str:
    """The model with ``--reply chosen``, or the reason why it cannot choose."""
    try:
        return _load(replace(options, choose=True))
    except ModelError as error:
        return str(error)


def _choices(options: ModelOptions, llm: LLM, choosing: LLM, advance: Advance) -> Choices:
    unparsed: Unparsed = "chat" if options.pipeline in CHAT_PIPELINES else "default"
    requests = rating_requests(_PAIRS, unparsed)
    written = llm if not options.choose else _load(replace(options, choose=False))
    replies, chosen = (
        _ask(model, requests, [[*range(len(requests))]], advance) for model in (written, choosing)
    )
    return compare_choices(replies, chosen, unparsed)


def _announce(
    llm: LLM, prompts: Sequence[Prompt], requests: list[Request], choices: int, advance: Advance
) -> None:
    """Log how long the probe takes, by the time of the first request of every prompt."""
    each = len(requests) // len(prompts)
    start = time.perf_counter()
    _ask(llm, requests, [[index] for index in range(0, len(requests), each)])
    seconds = (time.perf_counter() - start) / len(prompts)
    total = (3 + _has_reference(llm)) * len(requests) + len(prompts) + 2 * choices
    log.info("The probe has %s and takes about %.0f s", counted(total, "request"), seconds * total)
    advance(0, total)


def _load(options: ModelOptions) -> LLM:
    llm = load_llm(options)
    if isinstance(llm, LearnsFromPassages):
        llm.learn(_PASSAGES)
    return llm


def _settings(
    llm: LLM, prompts: Sequence[Prompt], requests: list[Request], advance: Advance
) -> Iterator[tuple[str, list[Completion]]]:
    """Yield the name of each setting with its replies: the same requests in other batches."""
    each = len(requests) // len(prompts)
    batches = [list(range(start, start + each)) for start in range(0, len(requests), each)]
    yield "all in one batch", _ask(llm, requests, batches, advance)
    long = [_request(prompt, _QUESTIONS[0], " ".join(_PASSAGES * 2)) for prompt in prompts]
    with_long = [[*batch, len(requests) + number] for number, batch in enumerate(batches)]
    replies = _ask(llm, [*requests, *long], with_long, advance)
    yield "in a batch with a long prompt", replies[: len(requests)]


def _has_reference(llm: LLM) -> bool:
    provenance = llm.provenance()
    used = (provenance["engine"], provenance.get("dtype"))
    return used[1] is not None and used != ("transformers", "float32")


def _ask_reference(options: ModelOptions, requests: list[Request], advance: Advance) -> list[Completion]:
    reference = _load(replace(options, engine="transformers", dtype="float32", compute_type=None))
    return _ask(reference, requests, _one_by_one(requests), advance)


def _one_by_one(requests: Sequence[Request]) -> list[list[int]]:
    return [[index] for index in range(len(requests))]


def _ask(
    llm: LLM,
    requests: Sequence[Request],
    batches: list[list[int]],
    advance: Advance = lambda _steps, _total: None,
) -> list[Completion]:
    replies = {}
    for index, reply in llm.generate(requests, batches):
        replies[index] = reply
        advance(1, None)
    return [replies[index] for index in range(len(requests)) if index in replies]


def _compare(setting: str, alone: Sequence[Completion], replies: Sequence[Completion]) -> SettingComparison:
    flips = sum(a.text != b.text or a.error != b.error for a, b in zip(alone, replies, strict=True))
    changes = [
        abs(math.exp(p) - math.exp(q))
        for a, b in zip(alone, replies, strict=True)
        for p, q in zip(a.label_logprobs, b.label_logprobs, strict=False)
    ]
    return SettingComparison(setting, len(alone), flips, max(changes, default=None))


@dataclass(frozen=True)
class Choices:
    """Ratings of pairs by choice, compared with the ratings that the model writes.

    ``written`` counts the replies with a rating, ``agreeing`` those among them that equal the choice.
    ``mass`` is the mean probability of all labels together where the choice is made; None if unknown.
    """

    pairs: int
    written: int
    agreeing: int
    mass: float | None


def rating_requests(pairs: Iterable[tuple[str, str]], unparsed: Unparsed) -> list[Request]:
    """The requests for ratings of pairs of a question and a passage.

    The written ratings and the choices get the same requests; a choice ignores how a reply is read.
    """
    prompt = QUESTION_SELF_RATED
    return [
        Request(
            prompt.render({"question": question, "context": passage}),
            prompt.labels,
            RATING_TOKENS,
            one_line=True,
            search=prompt.label_search(unparsed),
        )
        for question, passage in pairs
    ]


def compare_choices(
    replies: Sequence[Completion], choices: Sequence[Completion], unparsed: Unparsed
) -> Choices:
    """Compare the replies to :func:`rating_requests` with the choices of the same model."""
    written, chosen = _ratings(replies, unparsed), _ratings(choices, unparsed)
    both = [(a, b) for a, b in zip(written, chosen, strict=True) if a is not None]
    soft = [grade for choice in choices if (grade := soft_grade(choice.label_logprobs)) is not None]
    mass = fmean(grade.mass for grade in soft) if soft else None
    return Choices(len(choices), len(both), sum(a == b for a, b in both), mass)


def _ratings(replies: Iterable[Completion], unparsed: Unparsed) -> list[int | None]:
    """The ratings of replies; None without a number, where some policies assume a rating."""
    verdicts = (QUESTION_SELF_RATED.parse(reply.text, None, unparsed) for reply in replies)
    return [verdict.rating if verdict.source == "number" else None for verdict in verdicts]


def doctor_report(examination: ModelExamination | None) -> Report:
    """The environment and, if a model was examined, facts about it and the results of the probe."""
    blocks: list[Block] = [Table(("property", "value"), list(environment()), "Environment")]
    if examination is not None:
        blocks += _examination(examination)
    return Report("exam-pp grade --plan", blocks)


def _examination(examination: ModelExamination) -> list[Block]:
    facts: list[tuple[Cell, Cell]] = [
        ("model", examination.model),
        ("loaded in", f"{examination.seconds:.1f} s"),
    ]
    facts += [(key, str(value)) for key, value in examination.provenance.items()]
    facts.append(("one pair at a time", f"{examination.pairs_per_second:.1f} pairs/s"))
    used = {"peak memory": examination.memory, "GPU memory in use": examination.gpu_memory}
    facts += [(name, f"{value / 2**30:.2f} GiB") for name, value in used.items() if value is not None]
    columns = ("compared with one prompt at a time", "replies", "changed", "largest change of a probability")
    rows = [
        (comparison.setting, comparison.replies, comparison.flips, comparison.largest_change)
        for comparison in examination.comparisons
    ]
    failure = ""
    if examination.reference_error is not None:
        failure = f" The reference engine could not be used: {examination.reference_error}"
    return [
        Table(("property", "value"), facts, "Model"),
        Table(columns, rows, "Probe", decimals=6),
        Paragraph(_conclusion(examination) + failure),
        Paragraph(_choice_paragraphs(examination.choices)),
    ]


def _choice_paragraphs(choices: Choices | str) -> str:
    if isinstance(choices, str):
        return f"Ratings by choice cannot be compared with written ratings. {choices}"
    mass = "" if choices.mass is None else f" The labels have a mean probability of {choices.mass:.2f} there."
    low = (
        " With so low a probability, a choice says little about the rating that the model would write."
        if choices.mass is not None and choices.mass < LOW_MASS
        else ""
    )
    return (
        f"Of {counted(choices.pairs, 'rating')}, {choices.written} could be read from a written reply, and "
        f"{choices.agreeing} of these equal the rating by choice (--reply chosen).{mass}{low}"
    )


def _conclusion(examination: ModelExamination) -> str:
    if not examination.flips:
        compared = any(comparison.setting == REFERENCE for comparison in examination.comparisons)
        agree = ", and agree with the reference engine" if compared else ""
        return f"No reply changed: grades do not depend on batches{agree}."
    changed = counted(examination.flips, "reply")
    if examination.sound:
        return (
            f"{changed} changed. In reduced precision this is normal if two labels are about equally likely."
        )
    return f"{changed} changed. In float32 this is a defect: use -M engine=transformers, and report it."
