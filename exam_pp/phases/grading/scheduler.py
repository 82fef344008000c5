"""Scheduler of model requests: de-duplication, windows, batches, journal and process groups."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from exam_pp.data_model import (
    AnyGrades,
    ConsistencyGrade,
    CriteriaGrades,
    QueryPassages,
    SupportGrades,
)
from exam_pp.errors import ModelError
from exam_pp.graders.base import Grading
from exam_pp.llm.base import LLM, Batch, LimitsTokens
from exam_pp.llm_requests import NOT_SENT, Completion, Request
from exam_pp.phases.grading.distributed import SINGLE_PROCESS, ProcessGroup, assign_shards
from exam_pp.records import replace
from exam_pp.signals import STOP
from exam_pp.store.passages.journal import Journal
from exam_pp.store.passages.raw_passages import RawQuery
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)

R = TypeVar("R")
T = TypeVar("T")
AnyQuery = TypeVar("AnyQuery", QueryPassages, RawQuery)
OnReplies = Callable[[int], None]
"""Called with the number of grades for which replies are known, new or from the journal."""
Answer = Callable[[Sequence[Request]], list[Completion]]

WINDOW_REQUESTS = 8192
"""Requests that are sorted and batched together; a window ends with the query that reaches it."""


class Answerer:
    """Answers requests from the journal, and all further requests with the model.

    Batches are planned from all requests before the journal is read, and an unfinished batch is sent again as
    a whole. Therefore a run that continues after an interruption uses the same batches as an uninterrupted
    run. If the journal holds a reply of a request, this first reply is used.

    In a process group, all processes call with the same requests and plan the same batches. Rank 0 has the
    replies of earlier runs; the journals of other ranks keep their replies until rank 0 has them. SIGTERM
    stops the run between batches (:class:`exam_pp.errors.StoppedError`). ``asked`` counts model calls.
    """

    def __init__(
        self,
        llm: LLM,
        journal: Journal,
        on_replies: OnReplies = lambda _count: None,
        group: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        self.llm = llm
        self.asked = 0
        self._journal = journal
        self._on_replies = on_replies
        self._group = group
        identity = json.dumps([llm.name, llm.provenance()], sort_keys=True)
        self._model = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        if len(set(group.gather(identity))) > 1:
            raise ModelError(
                "The processes use different models, devices or versions, so their grades could differ (this "
                f"process: {identity})."
            )
        journal.model = self._model
        if limited := llm if isinstance(llm, LimitsTokens) and llm.token_limit else None:
            limited.tokens_used = sum(
                sum(reply.tokens)
                for key, reply in journal.all_replies().items()
                if key.startswith(self._model)
            )
        if group.leads and journal.path is not None:
            self._log_known()

    def _log_known(self) -> None:
        """Log the number of replies that this run can use from the journal, and of those it cannot use."""
        path, others = self._journal.path, self._journal.count_other_replies()
        if own := len(self._journal) - others:
            log.info("Continuing with %s from %s", counted(own, "reply", "replies"), path)
        if others:
            log.warning(
                "Ignoring %s in %s by another model, or with other options, versions or kind of device.",
                counted(others, "reply", "replies"), path,
            )  # fmt: skip

    def __call__(self, requests: Sequence[Request]) -> list[Completion]:
        """The completion of each request, in order."""
        keys = self._keys(requests)
        unique = dict(zip(keys, requests, strict=True))
        order = list(unique)
        pairs: Counter[str] = Counter()
        for key, request in zip(keys, requests, strict=True):
            pairs[key] += request.pairs
        replies = self._ask(order, [unique[key] for key in order], pairs)
        completions = []
        for key in keys:
            completions.append(replies[key])
            if replies[key].tokens:  # paid for once
                replies[key] = dataclasses.replace(replies[key], tokens=())
        return completions

    def known(self, requests: Sequence[Request]) -> dict[str, Completion]:
        """The replies in the journal by the key (:meth:`Request.key`) of their request."""
        known = self._journal.get(self._keys(requests))
        return {key.partition("/")[2]: reply for key, reply in known.items()}

    def add(self, replies: Mapping[str, Completion]) -> None:
        """Add replies to the journal, by the key of their request."""
        self._journal.add({f"{self._model}/{key}": reply for key, reply in replies.items()})

    def _keys(self, requests: Sequence[Request]) -> list[str]:
        return [f"{self._model}/{request.key()}" for request in requests]

    def _ask(self, keys: list[str], requests: list[Request], pairs: Counter[str]) -> dict[str, Completion]:
        batches = self.llm.batches(requests)
        known = self._group.broadcast(self._journal.get(keys) if self._group.leads else {})
        todo = [batch for batch in batches if any(keys[index] not in known for index in batch)]
        self._on_replies(sum(pairs.pop(key) for key in known))
        weights = [len(batch) * max(len(requests[index].text) for index in batch) for batch in todo]
        own = self._group.split(assign_shards(weights, self._group.size))
        answered = self._answer([todo[number] for number in own], keys, requests, pairs)
        # Known replies take precedence, because the journal keeps the first reply.
        return self._exchange(answered, pairs) | known

    def _answer(
        self, todo: list[Batch], keys: list[str], requests: list[Request], pairs: Counter[str]
    ) -> dict[str, Completion]:
        """The replies to the batches of this process; each finished batch is written to the journal."""
        answered: dict[str, Completion] = {}
        with STOP.after_batches():
            for completions in by_batch(self.llm, requests, todo):
                replies = {keys[index]: completion for index, completion in completions.items()}
                self._journal.add(replies)
                self._count(replies, pairs)
                answered |= replies
                STOP.check()
        return answered

    def _exchange(self, answered: dict[str, Completion], pairs: Counter[str]) -> dict[str, Completion]:
        """The replies of all processes; rank 0 adds them to its journal."""
        for rank, replies in enumerate(self._group.gather(answered)):
            if rank != self._group.rank:
                if self._group.leads:
                    self._journal.add(replies)
                self._count(replies, pairs)
                answered = answered | replies
        return answered

    def _count(self, replies: Iterable[str], pairs: Counter[str]) -> None:
        keys = list(replies)
        self.asked += len(keys)
        self._on_replies(sum(pairs[key] for key in keys))


def by_batch(
    llm: LLM, requests: Sequence[Request], batches: Sequence[Batch]
) -> Iterator[dict[int, Completion]]:
    """Yield the completions of each batch by index, when the batch is finished."""
    of_batch = {index: number for number, batch in enumerate(batches) for index in batch}
    done: list[dict[int, Completion]] = [{} for _ in batches]
    for index, completion in llm.generate(requests, batches) if batches else ():
        number = of_batch[index]
        done[number][index] = completion
        if len(done[number]) == len(batches[number]):
            yield done[number]
            done[number] = {}


@dataclass(frozen=True)
class Job:
    """The grading of one passage: its position in the query, and the number of pairs to grade."""

    position: int
    grading: Grading[AnyGrades]
    pairs: int


def answer_in_windows(
    work: Iterable[tuple[AnyQuery, Sequence[Job]]],
    answer: Answer,
    on_grades: Callable[[AnyGrades], None],
    window_requests: int = WINDOW_REQUESTS,
) -> Iterator[AnyQuery]:
    """The queries with the grades of their jobs appended, in input order, window by window."""
    tasks = (
        ((query, jobs), [job.grading for job in jobs], sum(job.pairs for job in jobs)) for query, jobs in work
    )
    for (query, jobs), results in results_in_windows(tasks, answer, window_requests):
        new: dict[int, list[AnyGrades]] = {}
        for job, grades in zip(jobs, results, strict=True):
            on_grades(grades)
            new.setdefault(job.position, []).append(grades)
        for position, grades_list in new.items():
            query.passages[position].add_grades(grades_list)
        yield query


def results_in_windows(
    tasks: Iterable[tuple[T, Sequence[Generator[list[Request], list[Completion], R]], int]],
    answer: Answer,
    window_requests: int = WINDOW_REQUESTS,
) -> Iterator[tuple[T, list[R]]]:
    """Yield each task with the results of its generators, in input order, window by window.

    A task has its generators and the number of its requests. A window ends with the task that reaches
    ``window_requests``.
    """
    window: deque[tuple[T, Sequence[Generator[list[Request], list[Completion], R]]]] = deque()
    size = 0
    for task, generators, requests in tasks:
        window.append((task, generators))
        size += requests
        if size >= window_requests:
            yield from _answer_window(window, answer)
            size = 0
    yield from _answer_window(window, answer)


def _answer_window(
    window: deque[tuple[T, Sequence[Generator[list[Request], list[Completion], R]]]], answer: Answer
) -> Iterator[tuple[T, list[R]]]:
    results = iter(run_requests((each for _, generators in window for each in generators), answer))
    while window:
        task, generators = window.popleft()  # Free the memory of queries that are written.
        yield task, [next(results) for _ in generators]


def _with_facts(result: R, not_sent: Collection[str], tokens: Collection[int]) -> R:
    """The result; grades record the tokens of their replies, and the settings that the endpoint refused."""
    if not isinstance(result, AnyGrades | ConsistencyGrade | SupportGrades | CriteriaGrades):
        return result
    facts: dict[str, Any] = {"tokens": [*tokens]} if tokens else {}
    if not_sent:
        sent = {name: value for name, value in (result.model_options or {}).items() if name not in not_sent}
        facts["model_options"] = {**sent, NOT_SENT: sorted(not_sent)}
    return replace(result, **facts)


def run_requests(
    generators: Iterable[Generator[list[Request], list[Completion], R]], answer: Answer
) -> list[R]:
    """Run generators that yield lists of requests, and return their results in order.

    In every round, the requests of all unfinished generators are answered together.
    """
    running = list(generators)
    results: dict[int, R] = {}
    pending: dict[int, list[Request]] = {}
    not_sent: dict[int, set[str]] = defaultdict(set)
    tokens: dict[int, list[int]] = {}

    def advance(index: int, replies: list[Completion] | None) -> None:
        not_sent[index].update(*(reply.not_sent for reply in replies or ()))
        counts = [reply.tokens for reply in replies or () if reply.tokens]
        if counts:
            tokens[index] = [sum(each) for each in zip(*counts, tokens.get(index, (0, 0)), strict=True)]
        try:
            pending[index] = running[index].send(replies)  # type: ignore[arg-type]
        except StopIteration as stop:
            results[index] = _with_facts(stop.value, not_sent[index], tokens.get(index, ()))

    for index in range(len(running)):
        advance(index, None)
    while pending:
        asked, pending = pending, {}
        requests = [request for batch in asked.values() for request in batch]
        replies = iter(answer(requests) if requests else [])
        for index, batch in asked.items():
            advance(index, [next(replies) for _ in batch])
    return [results[index] for index in range(len(running))]
