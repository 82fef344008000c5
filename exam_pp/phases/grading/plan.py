"""What a grading will ask, and how long that will take: counted on everything, timed on a sample."""

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
from exam_pp.messages import Completion, Request
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
from exam_pp.store.files import is_stream
from exam_pp.store.passages.journal import Journal
from exam_pp.store.passages.raw_passages import read_raw_passages

PROBE_SECONDS = 10.0
"""A probe asks until it has taken this long, and its last group of batches is finished."""
SEED = 20240714
"""Which batches are asked is drawn at random, but always alike."""

_FIRST_BATCHES = 4
_PROBE_WINDOWS = 3
"""Windows are kept whole, about 1.6 kB a request; a probe seldom comes to the end of the first."""
_CHARACTERS_PER_TOKEN = 4


@dataclass
class Probe:
    """What the timed sample showed.

    ``eta`` is the seconds for all after the model is loaded, which took ``loading``; ``memory`` is the peak
    of the process and ``gpu_memory`` what is in use on the fullest device, both in bytes
    where they are known.
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
    """Counts of a grading. ``requests`` are those to be asked, after de-duplication and journal.

    ``lengths`` counts them by their tokens, ``estimated`` if the model's tokenizer is not known here, and
    ``characters`` is their length in all.
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
    """Count what :func:`exam_pp.phases.grading.grading_run.grade_file` would ask, and time a sample of it.

    Nothing is written (the replies of the sample are kept for a moment where the system has its temporary
    files, as keeping them is part of the time). Requests of later rounds, for graders that ask in several,
    are not foreseen. Raises what the grading would raise about files and model.
    """
    exam = check_files(files, options)
    check_lists(model, options.prompts)
    if is_stream(files.passages):
        raise SelectionError("A plan reads the passages and leaves them for the grading: name a file.")
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
        survey = _Survey(plan, llm, Answerer(llm, journal, asks=False))
        for window in _windows(requests):
            survey.add(window)
    reading = time.monotonic() - began - survey.seconds
    if plan.requests:
        plan.probe = _probe(llm, survey.sample(), plan.characters, probe_seconds)
        # A grading goes over the file twice: it counts, and it makes requests and writes grades.
        plan.probe.eta += 2 * reading
        plan.probe.loading = loading
    return plan


def _windows(requests: Iterable[Request]) -> Iterator[dict[str, Request]]:
    """Distinct requests by key, as many as a grading asks together."""
    seen: set[bytes] = set()  # all that is kept of each request
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
    """What an interrupted run left; else an empty one in memory."""
    path = journal_of(files)
    return Journal(path if path is not None and path.exists() else None)


class _Survey:
    """Counts the requests that go by, window by window, and keeps a few windows for the probe.

    ``seconds`` is the time it took.
    """

    def __init__(self, plan: Plan, llm: LLM, answerer: Answerer) -> None:
        self.seconds = 0.0
        self._plan, self._llm, self._answerer = plan, llm, answerer
        self._random = Random(SEED)
        self._kept: list[tuple[float, list[Request]]] = []

    def add(self, window: dict[str, Request]) -> None:
        """Count the distinct requests of a window; keep what is to be asked of it, if the draw says so."""
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
        """Windows drawn at random, in the order of the draw."""
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
    """Ask batches as the grading will form them, drawn at random from the windows, until the time is over.

    The time for all is the probe's, times the characters of all prompts over those of the probe.
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
        if not spent:  # the first batches of a process are slow
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
        if len(replies) >= sizes[0]:  # about as often as a grading does
            journal.add(replies)
            replies = {}
