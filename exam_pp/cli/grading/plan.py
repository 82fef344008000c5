"""What ``exam-pp grade --plan`` shows: the machine, the requests of a grading, and the time of a sample."""

from __future__ import annotations

import os
import platform
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from heapq import nsmallest
from importlib.metadata import PackageNotFoundError, version
from random import Random

from exam_pp.llm.backends import load_llm
from exam_pp.llm.base import LLM, ModelOptions
from exam_pp.llm.batched import BatchedLLM
from exam_pp.llm.cores import available_cores
from exam_pp.llm_requests import Request
from exam_pp.phases.grading.distributed import Shard
from exam_pp.phases.grading.grade import GradeOptions, GradeSummary, grading_jobs
from exam_pp.phases.grading.grading_run import (
    GradeFiles,
    check_files,
    check_fit,
    check_pairs,
    forget_failures,
    in_shard,
    journal_of,
    resolve_options,
)
from exam_pp.phases.grading.scheduler import WINDOW_REQUESTS, Answerer, Job
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.store.passages.journal import Journal
from exam_pp.store.passages.raw_passages import RawQuery, read_raw_passages
from exam_pp.text.wording import counted

SECONDS = 10.0
"""Time for the sample; the group of batches that is running then is finished."""
SEED = 20240714
"""Seed of the order of batches."""

_FIRST_BATCHES = 4
_CHARACTERS_PER_TOKEN = 4
_PACKAGES = ("exam_pp", "torch", "transformers", "tokenizers", "ctranslate2", "accelerate", "pydantic")
_VARIABLES = ("HF_HOME", "HF_HUB_OFFLINE", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "EXAM_PP_CACHE")


@dataclass
class Plan:
    """The report of a planned grading, and the number of requests that are left to send."""

    report: Report
    requests: int


@dataclass
class _Work:
    """Counts of requests: of all distinct ones, and of those to send.

    ``tokens`` are the lengths of the latter, ``shortened`` those among them that are too long for the model.
    """

    distinct: int = 0
    requests: int = 0
    shortened: int = 0
    characters: int = 0
    tokens: list[int] = field(default_factory=list)

    def to_send(
        self, jobs: Iterable[tuple[RawQuery, Sequence[Job]]], answer: Answerer
    ) -> Iterator[tuple[str, Request]]:
        """Count the requests, and yield those without a reply in the journal by their keys."""
        seen: set[bytes] = set()  # only the keys of all requests stay in memory
        for _, of_query in jobs:
            asked = {request.key(): request for job in of_query for request in next(job.grading, [])}
            new = {key: request for key, request in asked.items() if bytes.fromhex(key) not in seen}
            seen.update(map(bytes.fromhex, new))
            known = answer.known(list(new.values()))
            left = {key: request for key, request in new.items() if key not in known}
            self.distinct += len(new)
            self.requests += len(left)
            self._measure(answer.llm, list(left.values()))
            yield from left.items()

    def _measure(self, llm: LLM, requests: Sequence[Request]) -> None:
        self.characters += sum(len(request.text) for request in requests)
        if isinstance(llm, BatchedLLM):
            encoded = llm.encode(requests)
            self.tokens += [len(prompt.ids) for prompt in encoded]
            self.shortened += sum(prompt.tokens_cut > 0 for prompt in encoded)
        else:
            self.tokens += [len(request.text) // _CHARACTERS_PER_TOKEN + 1 for request in requests]


def plan_grading(
    files: GradeFiles,
    model: ModelOptions,
    options: GradeOptions,
    *,
    shard: Shard | None = None,
    seconds: float = SECONDS,
) -> Plan:
    """Count the requests of :func:`exam_pp.phases.grading.grading_run.grade_file`, and time a sample of them.

    No file is written; with ``retry_failed``, the journal loses its failed requests, as in the grading.
    Requests that depend on earlier replies are not counted. Raises the errors of the grading about files and
    model.
    """
    exam = check_files(files, options)
    check_fit(model, options)
    options = in_shard(options, shard, files, exam)
    # For its errors, which are those of the grading; its counts are of pairs, not of requests.
    check_pairs(files, exam, model, options, shard)
    began = time.monotonic()
    llm = load_llm(model)
    options = resolve_options(options, llm, model)
    loaded = time.monotonic()
    summary, work = GradeSummary(), _Work()
    jobs = grading_jobs(
        read_raw_passages(files.passages),
        exam,
        model=llm.name,
        provenance=llm.provenance(),
        options=options,
        summary=summary,
    )
    path = journal_of(files)
    with Journal(path if path is not None and path.exists() else None) as journal:
        forget_failures(journal, files)
        # Keys are hashes, so the smallest are a random sample; it is as large as a window of the grading.
        sample = nsmallest(WINDOW_REQUESTS, work.to_send(jobs, Answerer(llm, journal)))
    counted_at = time.monotonic()
    timed = _time([request for _, request in sample], llm, seconds) if sample else None
    blocks = [_work_table(summary, work, timed, estimated=not isinstance(llm, BatchedLLM))]
    if timed is None:
        blocks.append(Paragraph("No requests are left."))
    else:
        blocks += timed.blocks(summary, work, loaded - began, counted_at - loaded)
    return Plan(Report(f"Plan of a grading with {llm.name}", blocks), work.requests)


def _work_table(summary: GradeSummary, work: _Work, timed: _Timed | None, *, estimated: bool) -> Block:
    about = f" (estimated with {_CHARACTERS_PER_TOKEN} characters per token)" if estimated else ""
    tokens: list[tuple[str, Cell]] = [(f"tokens of their prompts{about}", sum(work.tokens))]
    if timed is not None and any(timed.tokens):  # the endpoint counts them
        prompts, replies = (round(timed.share_of(work) * count) for count in timed.tokens)
        tokens = [
            ("tokens of their prompts (by the sample)", prompts),
            ("tokens of their replies (by the sample)", replies),
        ]
    counts: list[tuple[str, Cell]] = [
        ("queries", summary.queries),
        ("passages", summary.passages),
        ("pairs in total", summary.pairs + summary.reused),
        ("pairs with a grade in the file", summary.reused),
        ("pairs to grade", summary.pairs),
        ("distinct requests", work.distinct),
        ("requests with a reply in the journal", work.distinct - work.requests),
        ("requests to send", work.requests),
        *tokens,
        ("tokens of the longest prompt", max(work.tokens, default=0)),
        ("prompts that will be shortened", work.shortened),
    ]
    return Table(("item", "count"), counts, "Work")


@dataclass
class _Timed:
    """The timed sample: its requests, seconds, characters of prompts, and failures with their reasons."""

    requests: int = 0
    seconds: float = 0.0
    characters: int = 0
    tokens: list[int] = field(default_factory=lambda: [0, 0])
    failures: Counter[str] = field(default_factory=Counter)

    def share_of(self, work: _Work) -> float:
        """How many times the sample all work is, by the characters of prompts."""
        return work.characters / max(1, self.characters)

    def blocks(self, summary: GradeSummary, work: _Work, loading: float, reading: float) -> Iterator[Block]:
        """The time of the whole grading, as that of the sample by the characters of all prompts."""
        asking = max(self.seconds * self.share_of(work), 1e-3) + reading
        rows: list[tuple[str, Cell]] = [
            ("requests in the sample", self.requests),
            ("requests per second", round(work.requests / asking, 1)),
            ("pairs per second", round(summary.pairs * work.requests / work.distinct / asking, 1)),
            ("seconds to load the model", round(loading, 1)),
            ("total seconds", round(loading + asking, 1)),
            ("total time", str(timedelta(seconds=round(loading + asking)))),
            *used_memory(),
        ]
        yield Table(("property", "value"), rows, "Timed sample")
        for reason, count in self.failures.most_common(3):
            yield Paragraph(f"{counted(count, 'request')} of the sample failed: {reason}.")


def _time(requests: Sequence[Request], llm: LLM, seconds: float) -> _Timed:
    """Send batches in random order until the time is over."""
    batches = llm.batches(requests)
    Random(SEED).shuffle(batches)
    if len(batches) > 1:  # the first batch of a process is slow
        list(llm.generate(requests, [batches.pop(batches.index(min(batches, key=len)))]))
    timed, at, size = _Timed(), 0, _FIRST_BATCHES
    while at < len(batches) and timed.seconds < seconds:
        group = batches[at : at + size]
        began = time.monotonic()
        for index, reply in llm.generate(requests, group):
            timed.requests += 1
            timed.characters += len(requests[index].text)
            timed.tokens = [sum(each) for each in zip(timed.tokens, reply.tokens or (0, 0), strict=True)]
            timed.failures.update([reply.error] if reply.error is not None else [])
        timed.seconds += time.monotonic() - began
        at, size = at + size, 2 * size
    return timed


def used_memory() -> Iterator[tuple[str, float]]:
    """The peak memory of this process, and the memory in use on the fullest GPU by all processes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield "peak memory (GB)", round((peak if sys.platform == "darwin" else peak * 1024) / 1e9, 2)
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        # The allocator of torch does not count the memory of CTranslate2.
        devices = [torch.cuda.mem_get_info(index) for index in range(torch.cuda.device_count())]
        yield "GPU memory in use (GB)", round(max(total - free for free, total in devices) / 1e9, 2)


def machine() -> Table:
    """Facts about the machine, the versions of libraries, and the settings of the environment."""
    return Table(("property", "value"), [*_machine()], "Environment")


def _machine() -> Iterator[tuple[str, str | int]]:
    yield "system", f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    for package in _PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            yield package, "not installed"
    yield "CPU cores", available_cores()
    if "SC_PHYS_PAGES" in os.sysconf_names:
        yield "memory", f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB"
    yield from _gpus()
    yield from ((name, os.environ[name]) for name in _VARIABLES if name in os.environ)


def _gpus() -> Iterator[tuple[str, str]]:
    try:
        import torch  # an optional package that is slow to import
    except ImportError:
        return
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        yield f"GPU {index}", f"{properties.name}, {properties.total_memory / 2**30:.0f} GiB"
    if not torch.cuda.is_available():
        yield "GPU", "not usable by torch"
