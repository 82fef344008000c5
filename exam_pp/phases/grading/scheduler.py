"""Asking a model many things: identical requests once, known replies from the journal."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from exam_pp.data_model import DirectGrade, QueryPassages, RubricGrades
from exam_pp.errors import ModelError
from exam_pp.graders.base import Grading
from exam_pp.llm.base import LLM, Batch
from exam_pp.messages import Completion, Request
from exam_pp.phases.grading.distributed import ALONE, ProcessGroup
from exam_pp.phases.grading.sharding import assign_shards
from exam_pp.phases.grading.signals import STOP
from exam_pp.store.passages.journal import Journal
from exam_pp.store.passages.raw_passages import RawQuery
from exam_pp.wording import counted

log = logging.getLogger(__name__)

R = TypeVar("R")
AnyQuery = TypeVar("AnyQuery", QueryPassages, RawQuery)
OnReplies = Callable[[int], None]
"""Called with the number of grades that are answered, asked now or known before."""
Answer = Callable[[Sequence[Request]], list[Completion]]
AnyGrades = RubricGrades | DirectGrade

WINDOW_REQUESTS = 8192
"""Requests that are sorted and batched together; a window ends with the query that reaches it."""


class Answerer:
    """Answers requests from the journal where it can and from the model where it must.

    The batches are planned from all requests before the journal is read, and an unfinished batch is
    asked again whole: so a run that continues after a kill forms the batches of an uninterrupted one.
    What is used is always what the journal holds, the first reply of each request.

    In a team all processes call with the same requests and plan the same batches. Rank 0 knows what was
    answered before; the others' journals keep what they answer until rank 0 has it. SIGTERM is heard
    between batches (:class:`exam_pp.errors.StoppedError`). ``asks`` False: only what is known is looked up.
    """

    def __init__(
        self,
        llm: LLM,
        journal: Journal,
        on_replies: OnReplies = lambda _count: None,
        group: ProcessGroup = ALONE,
        *,
        asks: bool = True,
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
                "The processes would answer with different models, devices or versions, which would show in "
                f"the grades (this one: {identity})."
            )
        journal.model = self._model
        if asks and group.leads and journal.path is not None:
            self._tell_known()

    def _tell_known(self) -> None:
        """How many replies this run begins with, and whether others are there that it cannot use."""
        path, others = self._journal.path, self._journal.others()
        if own := len(self._journal) - others:
            log.info("Continuing: %s in %s", counted(own, "reply is", "replies are"), path)
        if others:
            log.warning(
                "%s in %s: by another model, or with other options, versions or another kind of device.",
                counted(others, "reply is of no use", "replies are of no use"), path,
            )  # fmt: skip

    def __call__(self, requests: Sequence[Request]) -> list[Completion]:
        """One completion a request, in order."""
        keys = self._keys(requests)
        unique = dict(zip(keys, requests, strict=True))
        order = list(unique)
        wanted: Counter[str] = Counter()
        for key, request in zip(keys, requests, strict=True):
            wanted[key] += request.pairs
        replies = self._ask(order, [unique[key] for key in order], wanted)
        return [replies[key] for key in keys]

    def answered(self, requests: Sequence[Request]) -> set[str]:
        """The keys (:meth:`Request.key`) of the requests that the journal answers."""
        found = self._journal.get(self._keys(requests))
        return {key.partition("/")[2] for key in found}

    def _keys(self, requests: Sequence[Request]) -> list[str]:
        return [f"{self._model}/{request.key()}" for request in requests]

    def _ask(self, keys: list[str], requests: list[Request], wanted: Counter[str]) -> dict[str, Completion]:
        batches = self.llm.batches(requests)
        known = self._group.broadcast(self._journal.get(keys) if self._group.leads else {})
        todo = [batch for batch in batches if any(keys[index] not in known for index in batch)]
        self._on_replies(wanted.total() - sum(wanted[keys[index]] for batch in todo for index in batch))
        weights = [len(batch) * max(len(requests[index].text) for index in batch) for batch in todo]
        mine = assign_shards(weights, self._group.size)[self._group.rank]
        answered = self._answer([todo[number] for number in mine], keys, requests, wanted)
        # Keys that were known keep their first reply, here as in the journal.
        return self._exchange(answered, wanted) | known

    def _answer(
        self, todo: list[Batch], keys: list[str], requests: list[Request], wanted: Counter[str]
    ) -> dict[str, Completion]:
        """The replies of this process's batches, each batch in the journal as soon as it is done."""
        answered: dict[str, Completion] = {}
        waiting = {index: number for number, batch in enumerate(todo) for index in batch}
        missing = [len(batch) for batch in todo]
        done: list[dict[str, Completion]] = [{} for _ in todo]
        with STOP.after_batches():
            for index, completion in self.llm.generate(requests, todo):
                number = waiting[index]
                done[number][keys[index]] = completion
                missing[number] -= 1
                if not missing[number]:
                    self._journal.add(done[number])
                    self._count(done[number], wanted)
                    answered |= done[number]
                    done[number] = {}
                    STOP.check()
        return answered

    def _exchange(self, answered: dict[str, Completion], wanted: Counter[str]) -> dict[str, Completion]:
        """What all processes answered; rank 0 adds it to its journal."""
        for rank, replies in enumerate(self._group.gather(answered)):
            if rank != self._group.rank:
                if self._group.leads:
                    self._journal.add(replies)
                self._count(replies, wanted)
                answered = answered | replies
        return answered

    def _count(self, replies: Iterable[str], wanted: Counter[str]) -> None:
        keys = list(replies)
        self.asked += len(keys)
        self._on_replies(sum(wanted[key] for key in keys))


@dataclass(frozen=True)
class Job:
    """What is asked about one passage: its position in the query, and how many grades are wanted."""

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
    window: deque[tuple[AnyQuery, Sequence[Job]]] = deque()
    size = 0
    for query, jobs in work:
        window.append((query, jobs))
        size += sum(job.pairs for job in jobs)
        if size >= window_requests:
            yield from _answer_window(window, answer, on_grades)
            size = 0
    yield from _answer_window(window, answer, on_grades)


def _answer_window(
    window: deque[tuple[AnyQuery, Sequence[Job]]],
    answer: Answer,
    on_grades: Callable[[AnyGrades], None],
) -> Iterator[AnyQuery]:
    results = iter(run_requests((job.grading for _, jobs in window for job in jobs), answer))
    while window:
        query, jobs = window.popleft()  # what is written need not stay
        new: dict[int, list[AnyGrades]] = {}
        for job in jobs:
            grades = next(results)
            on_grades(grades)
            new.setdefault(job.position, []).append(grades)
        for position, grades_list in new.items():
            query.passages[position].add_grades(grades_list)
        yield query


def run_requests(asking: Iterable[Generator[list[Request], list[Completion], R]], answer: Answer) -> list[R]:
    """Run what asks side by side: all that is asked in a round is answered at once."""
    running = list(asking)
    results: dict[int, R] = {}
    pending: dict[int, list[Request]] = {}

    def advance(index: int, replies: list[Completion] | None) -> None:
        try:
            pending[index] = running[index].send(replies)  # type: ignore[arg-type]
        except StopIteration as stop:
            results[index] = stop.value

    for index in range(len(running)):
        advance(index, None)
    while pending:
        asked, pending = pending, {}
        requests = [request for batch in asked.values() for request in batch]
        replies = iter(answer(requests) if requests else [])
        for index, batch in asked.items():
            advance(index, [next(replies) for _ in batch])
    return [results[index] for index in range(len(running))]
