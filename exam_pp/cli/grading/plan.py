"""The plan of a grading: counts of all requests, and the time estimated from a timed sample."""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from random import Random

from exam_pp.llm.base import LLM, Batch, ModelOptions
from exam_pp.llm.batched import BatchedLLM
from exam_pp.llm_requests import Completion, Request
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
    prepare_llm,
    resolve_options,
)
from exam_pp.phases.grading.scheduler import WINDOW_REQUESTS, Answerer, Job, by_batch
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.store.locks import temporary_folder
from exam_pp.store.passages.journal import Journal
from exam_pp.store.passages.raw_passages import RawQuery, read_raw_passages
from exam_pp.text.wording import counted

PROBE_SECONDS = 10.0
"""Duration of the probe; the group of batches that is running then is finished."""
SEED = 20240714
"""Seed of the random sample of batches."""

_FIRST_BATCHES = 4
_PROBE_WINDOWS = 3
"""Number of windows in memory for the probe, at about 1.6 kB per request; one is nearly always enough."""
_CHARACTERS_PER_TOKEN = 4


@dataclass
class Probe:
    """The results of the timed sample.

    ``eta`` is the estimated time of the whole grading in seconds, without the time ``loading`` to load the
    model. ``memory`` is the peak memory of the process and ``gpu_memory`` the memory in use on the fullest
    GPU, in bytes or None. ``kept`` replies are in the ``journal`` for the grading; the journal is None if the
    grading has none.
    """

    requests: int
    seconds: float
    eta: float
    loading: float = 0.0
    failures: Counter[str] = field(default_factory=Counter)
    memory: int | None = None
    gpu_memory: int | None = None
    kept: int = 0
    journal: Path | None = None


@dataclass
class Plan:
    """Counts of a planned grading.

    ``requests`` is the number of requests to send: ``distinct`` minus ``journaled``, which have a reply in
    the journal. ``lengths`` counts them by number of tokens, which is ``estimated`` if the model has no local
    tokenizer. ``characters`` is their total length.
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

    The sample's replies are kept in the journal of the grading, which answers them from there. With
    ``retry_failed``, the journal loses its failed requests, as in the grading. No other file is written.
    Requests that depend on earlier replies are not counted. Raises the errors of the grading about files and
    model.
    """
    exam = check_files(files, options)
    check_fit(model, options)
    options = in_shard(options, shard, files, exam)
    # For its errors, which are those of the grading; its counts are of pairs, not of requests.
    check_pairs(files, exam, model, options, shard)
    began = time.monotonic()
    llm = prepare_llm(model, files)
    options = resolve_options(options, llm, model)
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
    plan = Plan(llm.name, summary)
    path = journal_of(files)
    with _journal(path) as journal:
        forget_failures(journal, files)
        answerer = Answerer(llm, journal, lookup_only=True)
        survey = _Survey(plan, llm, answerer)
        for window in _windows(work):
            survey.add(window)
        reading = time.monotonic() - began - survey.seconds
        if plan.requests:
            with ExitStack() as opened:
                replies = _Replies(answerer, journal, path, opened)
                plan.probe = _probe(llm, survey.sample(), plan.characters, probe_seconds, replies)
            # A grading reads the file twice: to count the pairs, and to make requests and write grades.
            plan.probe.eta += 2 * reading
            plan.probe.loading = loading
    return plan


def _windows(work: Iterable[tuple[RawQuery, Sequence[Job]]]) -> Iterator[dict[str, Request]]:
    """The distinct requests of each window of the grading, by key, so that both make the same batches."""
    window: dict[str, Request] = {}
    size = 0
    for _, jobs in work:
        window |= {request.key(): request for job in jobs for request in next(job.grading, [])}
        size += sum(job.pairs for job in jobs)
        if size >= WINDOW_REQUESTS:
            yield window
            window, size = {}, 0
    if window:
        yield window


def _journal(path: Path | None) -> Journal:
    """The journal of the output, or if it does not exist, an empty journal in memory."""
    return Journal(path if path is not None and path.exists() else None)


@dataclass(frozen=True)
class _Window:
    """The requests of a window of the grading, and which of them the grading will have no reply for."""

    requests: list[Request]
    keys: list[str]
    todo: frozenset[int]

    def batches(self, llm: LLM) -> list[Batch]:
        """The batches that the grading sends."""
        return [batch for batch in llm.batches(self.requests) if not self.todo.isdisjoint(batch)]


class _Survey:
    """Counts requests window by window, and keeps a few random windows for the probe.

    ``seconds`` is the time of the survey itself.
    """

    def __init__(self, plan: Plan, llm: LLM, answerer: Answerer) -> None:
        self.seconds = 0.0
        self._plan, self._llm, self._answerer = plan, llm, answerer
        self._random = Random(SEED)
        self._kept: list[tuple[float, _Window]] = []
        self._seen: set[bytes] = set()  # Only the keys of all requests stay in memory.

    def add(self, window: dict[str, Request]) -> None:
        """Count the new requests of a window, and keep the window if it is drawn and needs replies."""
        began = time.monotonic()
        known = self._answerer.answered(list(window.values()))
        todo: list[int] = []
        for index, key in enumerate(window):
            if (short := bytes.fromhex(key)) not in self._seen:
                self._seen.add(short)
                self._plan.distinct += 1
                if key not in known:
                    todo.append(index)
        requests = list(window.values())
        unanswered = [requests[index] for index in todo]
        self._plan.requests += len(todo)
        self._plan.journaled = self._plan.distinct - self._plan.requests
        self._plan.characters += sum(len(request.text) for request in unanswered)
        self._measure(unanswered)
        if todo:
            # The windows with the smallest random numbers are a random sample, without keeping all of them.
            self._kept.append((self._random.random(), _Window(requests, list(window), frozenset(todo))))
            self._kept.sort(key=itemgetter(0))
            del self._kept[_PROBE_WINDOWS:]
        self.seconds += time.monotonic() - began

    def sample(self) -> list[_Window]:
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


class _Replies:
    """Keeps the replies of the probe in the journal of the grading, which exists from the first reply on.

    Without a journal file, they are written to a temporary file, because writing is part of the time.
    ``kept`` counts the replies in the journal.
    """

    def __init__(self, answerer: Answerer, journal: Journal, path: Path | None, opened: ExitStack) -> None:
        self.path = path
        self.kept = 0
        self._answerer = answerer
        self._open = opened
        self._journal = None if journal.path is None else journal

    def add(self, replies: Mapping[str, Completion]) -> None:
        """Write replies by the keys of their requests; failed requests are sent again by the grading."""
        answered = {key: reply for key, reply in replies.items() if reply.error is None}
        if not answered:
            return
        if self._journal is None:
            path = self.path or self._open.enter_context(temporary_folder()) / "replies"
            self._journal = self._open.enter_context(Journal(path))
        self._answerer.keep(self._journal, answered)
        self.kept += len(answered) if self.path is not None else 0


def _probe(llm: LLM, windows: Sequence[_Window], characters: int, seconds: float, replies: _Replies) -> Probe:
    """Send random batches of the windows until the time is over.

    Estimated time: seconds of the probe × characters of all prompts / characters of the probe's prompts.
    """
    random = Random(SEED)
    failures: Counter[str] = Counter()
    weight = requests = 0
    spent = 0.0
    for window in windows:
        batches = window.batches(llm)
        random.shuffle(batches)
        if not spent and len(batches) > 1:  # Warm up: the first batches of a process are slow.
            _ask(llm, window, [batches.pop(batches.index(min(batches, key=len)))], Counter(), replies)
        size, at = _FIRST_BATCHES, 0
        while at < len(batches) and spent < seconds:
            group = batches[at : at + size]
            began = time.monotonic()
            _ask(llm, window, group, failures, replies)
            spent += time.monotonic() - began
            weight += sum(len(window.requests[index].text) for batch in group for index in batch)
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
        kept=replies.kept,
        journal=replies.path,
    )


def _ask(llm: LLM, window: _Window, batches: list[Batch], failures: Counter[str], replies: _Replies) -> None:
    """Send batches, and keep each batch's new replies, as the grading does."""
    for completions in by_batch(llm, window.requests, batches):
        failures.update(reply.error for reply in completions.values() if reply.error is not None)
        new = {window.keys[index]: reply for index, reply in completions.items() if index in window.todo}
        replies.add(new)


def peak_memory() -> int:
    """The peak memory of this process in bytes."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


def gpu_memory() -> int | None:
    """Bytes in use on the fullest GPU by all processes, or None without a GPU.

    The allocator of torch does not count the memory of CTranslate2.
    """
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    devices = [torch.cuda.mem_get_info(index) for index in range(torch.cuda.device_count())]
    return max(int(total - free) for free, total in devices)


_BOUNDS = (64, 128, 192, 256, 384, 512, 1024, 2048, 4096, 8192)
"""Upper bounds of the bins of the histogram, in tokens."""


def plan_report(plan: Plan) -> Report:
    """The counts of work, the histogram of prompt lengths, and the timing of the probe."""
    counts: list[tuple[str, Cell]] = [
        ("queries", plan.summary.queries),
        ("passages", plan.summary.passages),
        ("pairs in total", plan.summary.pairs + plan.summary.reused),
        ("pairs with a grade in the file", plan.summary.reused),
        ("pairs to grade", plan.summary.pairs),
        ("distinct requests", plan.distinct),
        ("requests with a reply in the journal", plan.journaled),
        ("requests to send", plan.requests),
        ("prompts that will be shortened", plan.shortened),
    ]
    blocks: list[Block] = [Table(("item", "count"), counts, "Work")]
    if plan.lengths:
        about = " (estimated with 4 characters per token)" if plan.estimated else ""
        title = f"Length of prompts{about}"
        blocks.append(Table(("tokens", "prompts", "share"), length_histogram(plan), title))
    if plan.probe:
        blocks.extend(_timing(plan, plan.probe))
    elif not plan.requests:
        blocks.append(Paragraph("No requests are left."))
    return Report(f"Plan of a grading with {plan.model}", blocks)


def length_histogram(plan: Plan) -> list[tuple[str, int, str]]:
    """Range of tokens, number of prompts, and their share as a number and a bar."""
    rows, below = [], 0
    for bound in (*_BOUNDS, sys.maxsize):
        count = sum(n for length, n in plan.lengths.items() if below < length <= bound)
        if count:
            name = f"{below + 1}-{bound}" if bound < sys.maxsize else f"over {below}"
            share = count / plan.lengths.total()
            rows.append((name, count, f"{100 * share:5.1f} % {'#' * round(40 * share)}".rstrip()))
        below = bound
    return rows


def _timing(plan: Plan, probe: Probe) -> Iterator[Block]:
    whole = probe.loading + probe.eta
    rows: list[tuple[str, Cell]] = [
        ("requests in the probe", probe.requests),
        ("requests per second", round(plan.requests / probe.eta, 1)),
        ("pairs per second", round(plan.summary.pairs * plan.requests / plan.distinct / probe.eta, 1)),
        ("seconds to load the model", round(probe.loading, 1)),
        ("total seconds", round(whole, 1)),
        ("total time", _duration(whole)),
    ]
    if probe.memory is not None:
        rows.append(("peak memory (GB)", round(probe.memory / 1e9, 2)))
    if probe.gpu_memory is not None:
        rows.append(("GPU memory in use (GB)", round(probe.gpu_memory / 1e9, 2)))
    if probe.journal is not None:
        rows.append(("replies kept in the journal", probe.kept))
    yield Table(("property", "value"), rows, "Timed probe")
    if probe.kept:
        yield Paragraph(
            f"The journal {probe.journal} keeps {counted(probe.kept, 'reply', 'replies')} of the probe and "
            "of its warm-up, which is not timed, so that the grading does not request them again."
        )
    for reason, count in probe.failures.most_common(3):
        yield Paragraph(f"{counted(count, 'request')} of the probe failed: {reason}.")


def _duration(seconds: float) -> str:
    """``"2 h 05 min"``, ``"3 min 20 s"``, ``"14 s"``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
