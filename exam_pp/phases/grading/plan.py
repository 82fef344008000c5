"""The plan of a grading: requests counted over the whole file, and the total time estimated from a sample."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from exam_pp.errors import SelectionError
from exam_pp.llm.base import LLM, Batch, ModelOptions
from exam_pp.llm.batched import BatchedLLM
from exam_pp.phases.grading.grade import GradeOptions, GradeSummary, grading_jobs
from exam_pp.phases.grading.grading_run import (
    GradeFiles,
    check_files,
    check_lists,
    in_shard,
    journal_of,
    prepare_llm,
    resolve_soft,
)
from exam_pp.phases.grading.memory import gpu_memory, peak_memory
from exam_pp.phases.grading.scheduler import WINDOW_REQUESTS, Answerer
from exam_pp.phases.grading.sharding import Shard
from exam_pp.requests import Completion, Request
from exam_pp.store.files import is_read_once
from exam_pp.store.passages.journal import Journal
from exam_pp.store.passages.raw_passages import read_raw_passages

PROBE_SECONDS = 10.0
"""The probe ends with the group of batches during which this time is over."""
SEED = 20240714
"""Seed of the random sample of batches."""

_FIRST_BATCHES = 4
_PROBE_WINDOWS = 3
"""Windows kept in memory for the probe, about 1.6 kB per request. A probe seldom needs a second window."""
_CHARACTERS_PER_TOKEN = 4


@dataclass
class Probe:
    """The results of the timed sample.

    ``eta`` is the estimated time of the whole grading in seconds, without the time ``loading`` to load the
    model. ``memory`` is the peak memory of the process and ``gpu_memory`` the memory in use on the fullest
    GPU, in bytes or None.
    """

    requests: int
    seconds: float
    eta: float
    loading: float = 0.0
    failures: Counter[str] = field(default_factory=Counter)
    memory: int | None = None
    gpu_memory: int | None = None


@dataclass
class Plan:
    """Counts of a planned grading.

    ``requests`` is the number of requests to send: distinct, and without a reply in the journal. ``lengths``
    counts them by their number of tokens, which is ``estimated`` if the model has no local tokenizer.
    ``characters`` is their total length.
    """

    model: str
    summary: GradeSummary
    distinct: int = 0
    journaled: int = 0
    requests: int = 0
    shortened: int = 0
    lengths: Counter[int] = field(default_factory=Counter)
    characters: int = 0
    estimated: bool = False
    probe: Probe | None = None


def plan_grading(
    files: GradeFiles,
    model: ModelOptions,
    options: GradeOptions,
    *,
    shard: Shard | None = None,
    probe_seconds: float = PROBE_SECONDS,
) -> Plan:
    """Count the requests of :func:`exam_pp.phases.grading.grading_run.grade_file`, and time a sample of them.

    The sample writes its replies to a temporary file, because writing is part of the time. No other file is
    written. Requests that depend on earlier replies are not counted. Raises the errors of the grading about
    files and model.
    """
    exam = check_files(files, options)
    check_lists(model, options.prompts)
    if is_read_once(files.passages):
        raise SelectionError(
            "--plan reads the passages before the grading does: use a file instead of a pipe."
        )
    options = in_shard(options, shard, files, exam)
    began = time.monotonic()
    llm = prepare_llm(model, files)
    options = resolve_soft(options, llm, model)
    loading = time.monotonic() - began
    summary = GradeSummary()
    began = time.monotonic()
    work = grading_jobs(
        read_raw_passages(files.passages),
        exam,
        model=llm.name,
        provenance=llm.provenance(),
        options=options,
        summary=summary,
    )
    requests = (request for _, jobs in work for job in jobs for request in next(job.grading, []))
    plan = Plan(llm.name, summary)
    with _journal(files) as journal:
        survey = _Survey(plan, llm, Answerer(llm, journal, lookup_only=True))
        for window in _windows(requests):
            survey.add(window)
    reading = time.monotonic() - began - survey.seconds
    if plan.requests:
        plan.probe = _probe(llm, survey.sample(), plan.characters, probe_seconds)
        # A grading reads the file twice: to count the pairs, and to make requests and write grades.
        plan.probe.eta += 2 * reading
        plan.probe.loading = loading
    return plan


def _windows(requests: Iterable[Request]) -> Iterator[dict[str, Request]]:
    """Distinct requests by key, in windows of the size that a grading uses."""
    seen: set[bytes] = set()  # Only the keys stay in memory.
    window: dict[str, Request] = {}
    for request in requests:
        key = request.key()
        if (short := bytes.fromhex(key)) not in seen:
            seen.add(short)
            window[key] = request
            if len(window) == WINDOW_REQUESTS:
                yield window
                window = {}
    if window:
        yield window


def _journal(files: GradeFiles) -> Journal:
    """The journal of an interrupted run, or an empty journal in memory."""
    path = journal_of(files)
    return Journal(path if path is not None and path.exists() else None)


class _Survey:
    """Counts requests window by window, and keeps a few random windows for the probe.

    ``seconds`` is the time that this took.
    """

    def __init__(self, plan: Plan, llm: LLM, answerer: Answerer) -> None:
        self.seconds = 0.0
        self._plan, self._llm, self._answerer = plan, llm, answerer
        self._random = Random(SEED)
        self._kept: list[tuple[float, list[Request]]] = []

    def add(self, window: dict[str, Request]) -> None:
        """Count the distinct requests of a window, and keep those without a reply if the window is drawn."""
        began = time.monotonic()
        known = self._answerer.answered(list(window.values()))
        todo = [request for key, request in window.items() if key not in known]
        self._plan.distinct += len(window)
        self._plan.journaled += len(window) - len(todo)
        self._plan.requests += len(todo)
        self._plan.characters += sum(len(request.text) for request in todo)
        self._measure(todo)
        if todo:
            self._kept.append((self._random.random(), todo))
            self._kept.sort(key=itemgetter(0))
            del self._kept[_PROBE_WINDOWS:]
        self.seconds += time.monotonic() - began

    def sample(self) -> list[list[Request]]:
        """The windows of the random sample, in random order."""
        return [window for _, window in self._kept]

    def _measure(self, todo: Sequence[Request]) -> None:
        if isinstance(self._llm, BatchedLLM):
            encoded = self._llm.encode(todo)
            self._plan.lengths.update(len(prompt.ids) for prompt in encoded)
            self._plan.shortened += sum(prompt.tokens_cut > 0 for prompt in encoded)
        else:
            self._plan.lengths.update(len(request.text) // _CHARACTERS_PER_TOKEN + 1 for request in todo)
            self._plan.estimated = True


def _probe(llm: LLM, windows: Sequence[Sequence[Request]], characters: int, seconds: float) -> Probe:
    """Send random batches of the windows until the time is over.

    The estimate is the time of the probe, times the characters of all prompts / characters of its prompts.
    """
    with TemporaryDirectory() as folder, Journal(Path(folder) / "replies") as journal:
        return _timed(llm, windows, characters, seconds, journal)


def _timed(
    llm: LLM, windows: Sequence[Sequence[Request]], characters: int, seconds: float, journal: Journal
) -> Probe:
    random = Random(SEED)
    failures: Counter[str] = Counter()
    weight = requests = 0
    spent = 0.0
    for window in windows:
        batches = llm.batches(window)
        random.shuffle(batches)
        if not spent:  # Warm up: the first batches of a process are slow.
            _ask(llm, window, [min(batches, key=len)], Counter(), journal)
        size, at = _FIRST_BATCHES, 0
        while at < len(batches) and spent < seconds:
            group = batches[at : at + size]
            began = time.monotonic()
            _ask(llm, window, group, failures, journal)
            spent += time.monotonic() - began
            weight += sum(len(window[index].text) for batch in group for index in batch)
            requests += sum(map(len, group))
            at, size = at + size, 2 * size
        if spent >= seconds:
            break
    return Probe(
        requests,
        spent,
        max(spent * characters / max(1, weight), 1e-3),
        failures=failures,
        memory=peak_memory(),
        gpu_memory=gpu_memory(),
    )


def _ask(
    llm: LLM, window: Sequence[Request], batches: list[Batch], failures: Counter[str], journal: Journal
) -> None:
    replies: dict[str, Completion] = {}
    sizes = [len(batch) for batch in batches]
    for index, completion in llm.generate(window, batches):
        replies[str(index)] = completion
        if completion.error is not None:
            failures[completion.error] += 1
        if len(replies) >= sizes[0]:  # A grading writes its journal about as often.
            journal.add(replies)
            replies = {}
