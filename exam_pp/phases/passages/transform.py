"""Rewriting of passages files query by query, with one query in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from exam_pp.store.passages.graded_file import passages_writer
from exam_pp.store.passages.raw_passages import RawQuery, read_raw_passages
from exam_pp.wording import counted

log = logging.getLogger(__name__)

NO_QUERIES = "%s has no queries. This is normal for a shard if there are more shards than queries."

ChangeQuery = Callable[[RawQuery], RawQuery | None]
"""Returns the changed query, or None to drop it."""
Q = TypeVar("Q")
C = TypeVar("C")


class Step(NamedTuple, Generic[Q, C]):
    """A change of every query, and a check of the whole file at its end, which may raise an error."""

    change: Callable[[Q], Q | None]
    check: Callable[[C], None]


def in_turn(steps: Sequence[Step[Q, C]]) -> Step[Q, C]:
    """Several steps as one: each gets the queries that the step before it keeps."""

    def change(query: Q) -> Q | None:
        kept: Q | None = query
        for step in steps:
            if kept is not None:
                kept = step.change(kept)
        return kept

    def check(counts: C) -> None:
        for step in steps:
            step.check(counts)

    return Step(change, check)


@dataclass
class Rewritten:
    """Numbers of lines and passages read and written."""

    lines_read: int = 0
    passages_read: int = 0
    lines: int = 0
    passages: int = 0

    def __str__(self) -> str:
        return (
            f"Written: {self.lines} of {counted(self.lines_read, 'query')}, {self.passages} of "
            f"{counted(self.passages_read, 'passage')}."
        )


def rewrite(
    source: Path,
    output: Path,
    change: ChangeQuery,
    *,
    inputs: Iterable[Path] = (),
    check: Callable[[Rewritten], None] = lambda _counts: None,
) -> Rewritten:
    """Write ``source`` to ``output``, applying ``change`` to every query; unchanged parts keep their bytes.

    ``inputs`` are further files that must not be overwritten. ``check`` gets the counts before the output
    appears, and may raise an error. ``-`` is standard input or output. Raises
    :class:`~exam_pp.errors.ExamError`.
    """
    counts = Rewritten()
    with passages_writer(output, inputs=[source, *inputs]) as writer:
        for query in read_raw_passages(source):
            counts.lines_read += 1
            counts.passages_read += len(query.passages)
            after = change(query)
            if after is not None:
                counts.lines += 1
                counts.passages += len(after.passages)
                writer.write(after)
        check(counts)
    if not counts.lines_read:
        log.warning(NO_QUERIES, source)
    return counts
