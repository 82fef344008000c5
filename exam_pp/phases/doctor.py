"""Is this machine fit for grading, and can this model's engine be trusted?

The probe asks the same questions alone, together, and beside a long prompt, and once more of the
reference engine in float32. A reply that changes depends on something that should not matter.
"""

from __future__ import annotations

import math
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version

from exam_pp.llm.base import LLM, LearnsFromPassages, ModelOptions, load_llm
from exam_pp.messages import Completion, Request
from exam_pp.prompts.base import Prompt
from exam_pp.prompts.rubric import QUESTION_EXTRACTION, QUESTION_SELF_RATED
from exam_pp.reports.document import Cell, Paragraph, Report, Table

_PACKAGES = ("exam_pp", "torch", "transformers", "tokenizers", "ctranslate2", "accelerate", "pydantic")
_VARIABLES = ("HF_HOME", "HF_HUB_OFFLINE", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "EXAM_PP_CACHE")

_REFERENCE = "transformers in float32"

_PASSAGES = (
    "Bees dance to tell other bees of the hive where flowers are. The angle of the dance shows the "
    "direction relative to the sun, and its length the distance.",
    "A sourdough starter is flour and water in which wild yeast and bacteria live. It is fed every day "
    "and makes bread rise without baker's yeast.",
    "The lighthouse was built in 1858. In 1971 its lamp was replaced by an automatic one, and the last "
    "keeper left the island.",
    "Rust forms when iron meets water and oxygen. Salt speeds it up; paint, oil or zinc keep it away.",
)
_QUESTIONS = (
    "How do bees tell each other where flowers are?",
    "What makes sourdough bread rise?",
    "When was the lighthouse built?",
    "How can iron be kept from rusting?",
)


def probe_requests(max_new_tokens: int = 40) -> list[Request]:
    """Every question asked of every passage, as a rating and as an extraction."""
    return [
        _request(prompt, question, passage, max_new_tokens)
        for prompt in (QUESTION_SELF_RATED, QUESTION_EXTRACTION)
        for question in _QUESTIONS
        for passage in _PASSAGES
    ]


def _request(prompt: Prompt, question: str, passage: str, max_new_tokens: int) -> Request:
    parts = prompt.render({"question": question, "context": passage})
    return Request(parts, prompt.labels, max_new_tokens)


@dataclass(frozen=True)
class Findings:
    """What the doctor found. ``sound`` is False where replies change that must not: those in float32."""

    report: Report
    sound: bool = True


def doctor(options: ModelOptions | None) -> Findings:
    """The environment and, where a model is named, the probe's result.

    Raises :class:`exam_pp.errors.ModelError` if the model cannot be loaded.
    """
    environment = Table(("what", "value"), list(_environment()), "Environment")
    if options is None:
        return Findings(Report("exam-pp doctor", [environment]))
    blocks, sound = _examine(options)
    return Findings(Report("exam-pp doctor", [environment, *blocks]), sound)


def _environment() -> Iterator[tuple[Cell, Cell]]:
    yield "system", f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    for package in _PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            yield package, "not installed"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield "CPU cores", cores
    if memory := _total_memory():
        yield "memory", f"{memory / 2**30:.1f} GiB"
    yield from _gpus()
    yield from ((name, os.environ[name]) for name in _VARIABLES if name in os.environ)


def _total_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):  # not on every system
        return None


def _gpus() -> Iterator[tuple[Cell, Cell]]:
    try:
        import torch  # noqa: PLC0415 - an optional package that is slow to import
    except ImportError:
        return
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        yield f"GPU {index}", f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB"
    if not torch.cuda.is_available():
        yield "GPU", "none that torch can use"


def _examine(options: ModelOptions) -> tuple[list[Table | Paragraph], bool]:
    start = time.perf_counter()
    llm = _load(options)
    seconds = time.perf_counter() - start
    facts: list[tuple[Cell, Cell]] = [("model", llm.name), ("loaded in", f"{seconds:.1f} s")]
    facts += [(key, str(value)) for key, value in llm.provenance().items()]
    requests = probe_requests()
    start = time.perf_counter()
    alone = _ask(llm, requests, [[index] for index in range(len(requests))])
    facts.append(("one by one", f"{len(requests) / (time.perf_counter() - start):.1f} pairs/s"))
    rows = [_compare(name, alone, replies) for name, replies in _variants(llm, options, requests)]
    facts.append(("peak memory", f"{_peak_memory() / 2**30:.2f} GiB"))
    columns = ("compared with one prompt at a time", "replies", "flips", "largest change of a label's p")
    flips = sum(int(row[2] or 0) for row in rows)
    sound = not flips or llm.provenance().get("dtype") != "float32"
    blocks: list[Table | Paragraph] = [
        Table(("what", "value"), facts, "Model"),
        Table(columns, rows, "Probe", decimals=6),
        Paragraph(_conclusion(rows, flips, sound)),
    ]
    return blocks, sound


def _load(options: ModelOptions) -> LLM:
    llm = load_llm(options)
    if isinstance(llm, LearnsFromPassages):
        llm.learn(_PASSAGES)
    return llm


def _variants(
    llm: LLM, options: ModelOptions, requests: list[Request]
) -> Iterator[tuple[str, list[Completion]]]:
    """The same requests in other company; the reference engine last, if it is another one."""
    ratings = [index for index, request in enumerate(requests) if request.labels]
    others = [index for index, request in enumerate(requests) if not request.labels]
    yield "all in one batch", _ask(llm, requests, [ratings, others])
    longest = _request(QUESTION_SELF_RATED, _QUESTIONS[0], " ".join(_PASSAGES * 4), 40)
    long_free = _request(QUESTION_EXTRACTION, _QUESTIONS[0], " ".join(_PASSAGES * 4), 40)
    padded = [*requests, longest, long_free]
    company = {True: len(requests), False: len(requests) + 1}
    batches = [[index, company[bool(request.labels)]] for index, request in enumerate(requests)]
    yield "beside a long prompt", _ask(llm, padded, batches)[: len(requests)]
    provenance = llm.provenance()
    if "dtype" in provenance and (provenance["engine"], provenance["dtype"]) != ("transformers", "float32"):
        reference = replace(options, engine="transformers", dtype="float32", compute_type=None)
        one_by_one = [[index] for index in range(len(requests))]
        yield _REFERENCE, _ask(_load(reference), requests, one_by_one)


def _ask(llm: LLM, requests: Sequence[Request], batches: list[list[int]]) -> list[Completion]:
    replies = dict(llm.generate(requests, batches))
    return [replies[index] for index in range(len(requests)) if index in replies]


def _compare(name: str, one: Sequence[Completion], other: Sequence[Completion]) -> tuple[Cell, ...]:
    flips = sum(a.text != b.text or a.error != b.error for a, b in zip(one, other, strict=True))
    changes = [
        abs(math.exp(p) - math.exp(q))
        for a, b in zip(one, other, strict=True)
        for p, q in zip(a.label_logprobs, b.label_logprobs, strict=False)
    ]
    return name, len(one), flips, max(changes, default=None)


def _conclusion(rows: Sequence[tuple[Cell, ...]], flips: int, sound: bool) -> str:
    if not flips:
        agree = ", and agree with the reference engine" if any(row[0] == _REFERENCE for row in rows) else ""
        return f"No reply changed: grades do not depend on batches{agree}."
    if sound:
        return f"{flips} replies changed. In reduced precision this happens where two hypotheses nearly tie."
    return f"{flips} replies changed. In float32 this is a fault: use --engine transformers, and report it."


def _peak_memory() -> int:
    """Bytes; of the process on the CPU, or of the GPU where one is used."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return int(torch.cuda.max_memory_allocated())
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
