"""Rewriting of passages files query by query, with one query in memory."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from exam_pp.store.passages.graded_file import write_passages
from exam_pp.store.passages.raw_passages import RawQuery, read_raw_passages
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)

NO_QUERIES = "%s has no queries. This is normal for a shard if there are more shards than queries."

Q = TypeVar("Q")


class Step(NamedTuple, Generic[Q]):
    """A change of every query, and a check of the whole file at its end, which may raise an error."""

    change: Callable[[Q], Q | None]
    check: Callable[[Rewritten], None]


def in_turn(steps: Sequence[Step[Q]]) -> Step[Q]:
    """Several steps as one: each gets the queries that the step before it keeps."""

    def change(query: Q) -> Q | None:
        kept: Q | None = query
        for step in steps:
            if kept is not None:
                kept = step.change(kept)
        return kept

    def check(counts: Rewritten) -> None:
        for step in steps:
            step.check(counts)

    return Step(change, check)


@dataclass
class Rewritten:
    """Numbers of queries read and written, and of their units: passages, or games."""

    unit: str = "passage"
    queries_read: int = 0
    units_read: int = 0
    queries: int = 0
    units: int = 0

    def __str__(self) -> str:
        return (
            f"Written: {self.queries} of {counted(self.queries_read, 'query')}, {self.units} of "
            f"{counted(self.units_read, self.unit)}."
        )


def rewrite(
    source: Path,
    output: Path,
    change: Callable[[RawQuery], RawQuery | None],
    *,
    inputs: Iterable[Path] = (),
    check: Callable[[Rewritten], None] = lambda _counts: None,
) -> Rewritten:
    """Write ``source`` to ``output``, applying ``change`` to every query; unchanged parts keep their bytes.

    ``change`` returns None to drop a query. ``inputs`` are further files that must not be overwritten.
    ``check`` gets the counts before the output appears, and may raise an error. ``-`` is standard input or
    output. Raises :class:`~exam_pp.errors.ExamError`.
    """
    counts = Rewritten()
    queries = changed(
        read_raw_passages(source), Step(change, check), lambda query: len(query.passages), counts
    )
    write_passages(queries, output, inputs=[source, *inputs])
    if not counts.queries_read:
        log.warning(NO_QUERIES, source)
    return counts


def changed(queries: Iterable[Q], step: Step[Q], size: Callable[[Q], int], counts: Rewritten) -> Iterator[Q]:
    """Yield the changed queries, and count them and their units, of which ``size`` is the number."""
    for query in queries:
        counts.queries_read += 1
        counts.units_read += size(query)
        after = step.change(query)
        if after is not None:
            counts.queries += 1
            counts.units += size(after)
            yield after
    step.check(counts)  # before the output appears
