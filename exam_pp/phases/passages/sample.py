"""Random samples of queries and passages from passages files, also stratified by judgment."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from exam_pp.errors import DataError, SelectionError
from exam_pp.phases.passages.transform import Rewritten, rewrite
from exam_pp.store.guarded_inputs import reading
from exam_pp.store.passages.raw_passages import RawPassage, RawQuery, read_raw_passages

Stratify = Literal["proportional", "equal"]
Level = int | None
"""The highest judgment of a passage; None without judgments."""


@dataclass(frozen=True)
class SampleOptions:
    """Sample sizes; None keeps all queries, or all passages of each query.

    ``by_judgment`` stratifies the passages of a query by their judgment, with the unjudged as a stratum:
    ``proportional`` to the size of the strata, or with ``equal`` numbers.
    """

    queries: int | None = None
    passages: int | None = None
    seed: int = 0
    by_judgment: Stratify | None = None


@reading()
def sample_file(source: Path, output: Path, options: SampleOptions) -> Rewritten:
    """Write a random sample of a passages file, in the order of the file.

    The sample depends only on the seed and the ids, not on the order of the file, and the passages of a query
    do not depend on other queries. Unless stratified, a larger sample contains a smaller one with the same
    seed. Raises :class:`DataError` if passages are drawn from a query that is on several lines.
    """
    if options.queries is None and options.passages is None:
        raise SelectionError("sample needs --max-queries, --max-passages or both.")
    chosen = None if options.queries is None else _draw_queries(source, options.queries, options.seed)

    seen: set[str] = set()

    def change(query: RawQuery) -> RawQuery | None:
        if chosen is not None and query.query_id not in chosen:
            return None
        if options.passages is not None:
            if query.query_id in seen:
                raise DataError(
                    f"the query {query.query_id!r} is on several lines. Merge them first with exam-pp merge.",
                    file=str(source),
                )
            seen.add(query.query_id)
            kept = _draw_passages(query, options.passages, options)
            query.passages = [passage for passage in query.passages if passage.passage_id in kept]
        return query

    return rewrite(source, output, change)


def _draw_queries(source: Path, count: int, seed: int) -> set[str]:
    ids = {query.query_id for query in read_raw_passages(source)}
    return set(sorted(ids, key=lambda query_id: random_key(seed, query_id))[:count])


def _draw_passages(query: RawQuery, count: int, options: SampleOptions) -> set[str]:
    strata: dict[Level, dict[str, None]] = {}
    for passage in query.passages:
        level = _level(passage) if options.by_judgment else None
        strata.setdefault(level, {})[passage.passage_id] = None
    sizes = {level: len(ids) for level, ids in strata.items()}
    counts = allocate(sizes, count, options.by_judgment or "proportional")
    return {
        passage_id
        for level, ids in strata.items()
        for passage_id in sorted(ids, key=lambda key: random_key(options.seed, query.query_id, key))[
            : counts[level]
        ]
    }


def _level(passage: RawPassage) -> Level:
    return max((judgment.relevance for judgment in passage.judgments), default=None)


def allocate(sizes: Mapping[Level, int], count: int, how: Stratify) -> dict[Level, int]:
    """Return the sample size of each stratum; the sum is ``count``, or that of ``sizes`` if it is less.

    ``"proportional"`` rounds the largest remainders up. ``"equal"`` adds 1 to each stratum in turn, until the
    stratum is exhausted.
    """
    total = sum(sizes.values())
    count = min(count, total)
    order: Sequence[Level] = sorted(sizes, key=lambda level: (level is None, -(level or 0)))
    if how == "proportional":
        counts = {level: sizes[level] * count // max(1, total) for level in order}
        rest = sorted(order, key=lambda level: -(sizes[level] * count % max(1, total)))
        for level in rest[: count - sum(counts.values())]:
            counts[level] += 1
        return counts
    counts = dict.fromkeys(order, 0)
    while sum(counts.values()) < count:
        for level in order:
            if counts[level] < sizes[level] and sum(counts.values()) < count:
                counts[level] += 1
    return counts


def random_key(seed: int, *names: str) -> str:
    """Return a sort key that depends only on the seed and the names (SHA-256).

    The names with the smallest keys are a uniform random sample.
    """
    return hashlib.sha256("/".join([str(seed), *names]).encode("utf-8", "surrogatepass")).hexdigest()
