"""Asking a model many things: identical requests once, known replies from the journal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from exam_pp.data_model import DirectGrade, Passage, QueryPassages, RubricGrades
from exam_pp.graders.base import Grading
from exam_pp.llm.base import LLM
from exam_pp.messages import Completion, Request
from exam_pp.store.journal import Journal

R = TypeVar("R")
OnReplies = Callable[[int], None]
Answer = Callable[[Sequence[Request]], list[Completion]]
AnyGrades = RubricGrades | DirectGrade

WINDOW_REQUESTS = 8192
"""Requests that are sorted and batched together; a window ends with the query that reaches it."""


class Answerer:
    """Answers requests from the journal where it can and from the model where it must.

    The batches are planned from all requests before the journal is read, and an unfinished batch is
    asked again whole: so a run that continues after a kill forms the batches of an uninterrupted one.
    What is used is always what the journal holds, the first reply of each request.
    """

    def __init__(self, llm: LLM, journal: Journal, on_replies: OnReplies = lambda _count: None) -> None:
        self.llm = llm
        self.asked = 0
        self._journal = journal
        self._on_replies = on_replies
        identity = json.dumps([llm.name, llm.provenance()], sort_keys=True)
        self._model = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def __call__(self, requests: Sequence[Request]) -> list[Completion]:
        """One completion a request, in order."""
        keys = [f"{self._model}/{request.key()}" for request in requests]
        unique = dict(zip(keys, requests, strict=True))
        order = list(unique)
        replies = self._ask(order, [unique[key] for key in order])
        return [replies[key] for key in keys]

    def _ask(self, keys: list[str], requests: list[Request]) -> dict[str, Completion]:
        batches = self.llm.batches(requests)
        known = self._journal.get(keys)
        todo = [batch for batch in batches if any(keys[index] not in known for index in batch)]
        self._on_replies(sum(len(batch) for batch in batches) - sum(len(batch) for batch in todo))
        waiting = {index: number for number, batch in enumerate(todo) for index in batch}
        missing = [len(batch) for batch in todo]
        done: list[dict[str, Completion]] = [{} for _ in todo]
        for index, completion in self.llm.generate(requests, todo):
            number = waiting[index]
            done[number][keys[index]] = completion
            missing[number] -= 1
            if not missing[number]:
                self._journal.add(done[number])
                self.asked += len(done[number])
                self._on_replies(len(done[number]))
                # Keys that were known keep their first reply, here as in the journal.
                known = done[number] | known
                done[number] = {}
        return known


@dataclass(frozen=True)
class Job:
    """What is asked about one passage: its position in the query, and how many grades are wanted."""

    position: int
    grading: Grading[AnyGrades]
    pairs: int


def answer_in_windows(
    work: Iterable[tuple[QueryPassages, Sequence[Job]]],
    answer: Answer,
    on_grades: Callable[[AnyGrades], None],
    window_requests: int = WINDOW_REQUESTS,
) -> Iterator[QueryPassages]:
    """The queries with the grades of their jobs appended, in input order, window by window."""
    window: list[tuple[QueryPassages, Sequence[Job]]] = []
    size = 0
    for query, jobs in work:
        window.append((query, jobs))
        size += sum(job.pairs for job in jobs)
        if size >= window_requests:
            yield from _answer_window(window, answer, on_grades)
            window, size = [], 0
    yield from _answer_window(window, answer, on_grades)


def _answer_window(
    window: Sequence[tuple[QueryPassages, Sequence[Job]]],
    answer: Answer,
    on_grades: Callable[[AnyGrades], None],
) -> Iterator[QueryPassages]:
    results = iter(drive((job.grading for _, jobs in window for job in jobs), answer))
    for query, jobs in window:
        new: dict[int, list[AnyGrades]] = {}
        for job in jobs:
            grades = next(results)
            on_grades(grades)
            new.setdefault(job.position, []).append(grades)
        for position, grades_list in new.items():
            _append(query.passages[position], grades_list)
        yield query


def _append(passage: Passage, new: Sequence[AnyGrades]) -> None:
    rubric = [grades for grades in new if isinstance(grades, RubricGrades)]
    direct = [grades for grades in new if isinstance(grades, DirectGrade)]
    if rubric:
        passage.rubric_grades = [*(passage.rubric_grades or ()), *rubric]
    if direct:
        passage.direct_grades = [*(passage.direct_grades or ()), *direct]


def drive(asking: Iterable[Generator[list[Request], list[Completion], R]], answer: Answer) -> list[R]:
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
