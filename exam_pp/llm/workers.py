"""Threads that wait for a server, and that never delay the end of the process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import islice
from queue import SimpleQueue
from typing import TypeVar

from exam_pp.signals import STOP

T = TypeVar("T")
R = TypeVar("R")


def in_threads(work: Callable[[T], R], items: Iterator[T], count: int) -> Iterator[tuple[T, R]]:
    """Yield each item with its result as soon as it is known; up to ``count`` items are worked on at a time.

    An exception of ``work`` is raised here. SIGTERM and Ctrl-C end the wait at once. The threads are daemons,
    because a connection or a look-up of a name cannot be interrupted.
    """
    tasks: SimpleQueue[T | None] = SimpleQueue()
    results: SimpleQueue[tuple[T, Callable[[], R]]] = SimpleQueue()

    def serve() -> None:
        while (item := tasks.get()) is not None:
            results.put((item, _outcome(work, item)))

    running = threads = 0
    try:
        while True:
            for item in islice(items, count - running):
                tasks.put(item)
                running += 1
            while threads < running:
                threading.Thread(target=serve, name="endpoint", daemon=True).start()
                threads += 1
            if not running:
                return
            with STOP.at_once():
                item, result = results.get()
            running -= 1
            yield item, result()
    finally:
        for _ in range(threads):
            tasks.put(None)


def _outcome(work: Callable[[T], R], item: T) -> Callable[[], R]:
    """A function that returns the result, or raises the exception of the work."""
    try:
        result = work(item)
    except BaseException as error:  # noqa: BLE001 - raised in the main thread
        failure = error

        def fail() -> R:
            raise failure

        return fail
    return lambda: result
