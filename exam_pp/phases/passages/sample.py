"""A random part of a passages file: queries, and passages of every query."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from exam_pp.errors import DataError, SelectionError
from exam_pp.phases.passages.transform import Rewritten, rewrite
from exam_pp.store.files import is_stream
from exam_pp.store.passages.raw_passages import RawPassage, RawQuery, read_raw_passages

Stratify = Literal["proportional", "equal"]
Level = int | None
"""The highest judgment of a passage; None without one."""


@dataclass(frozen=True)
class SampleOptions:
    """How much is drawn. None keeps all queries, or all passages of each.

    ``by_judgment`` draws the passages of every level of judgment (the unjudged are one, too): in the
    proportions of the query, or as many of each as there are.
    """

    queries: int | None = None
    passages: int | None = None
    seed: int = 0
    by_judgment: Stratify | None = None


def sample_file(source: Path, output: Path, options: SampleOptions) -> Rewritten:
    """Write a random part of a passages file, in its order.

    What is drawn depends on the seed and on the ids alone: not on the order of the file, and the passages
    of a query not on other queries. Unless stratified, a larger sample contains the smaller one of its seed.
    Raises :class:`DataError` where passages are drawn of a query on several lines: each would be a query.
    """
    if options.queries is None and options.passages is None:
        raise SelectionError("Say how much is drawn: --queries, --passages, or both.")
    chosen = None if options.queries is None else _draw_queries(source, options.queries, options.seed)

    seen: set[str] = set()

    def change(query: RawQuery) -> RawQuery | None:
        if chosen is not None and query.query_id not in chosen:
            return None
        if options.passages is not None:
            if query.query_id in seen:
                words = "stands on several lines; unite them with `exam-pp merge` first."
                raise DataError(f"the query {query.query_id!r} {words}", file=str(source))
            seen.add(query.query_id)
            kept = _draw_passages(query, options.passages, options)
            query.passages = [passage for passage in query.passages if passage.passage_id in kept]
        return query

    return rewrite(source, output, change)


def _draw_queries(source: Path, count: int, seed: int) -> set[str]:
    if is_stream(source):
        raise SelectionError(f"To draw queries the file is read twice: name a file, not {str(source)!r}.")
    ids = {query.query_id for query in read_raw_passages(source)}
    return set(sorted(ids, key=lambda query_id: draw(seed, query_id))[:count])


def _draw_passages(query: RawQuery, count: int, options: SampleOptions) -> set[str]:
    strata: dict[Level, dict[str, None]] = {}
    for passage in query.passages:
        level = _level(passage) if options.by_judgment else None
        strata.setdefault(level, {})[passage.passage_id] = None
    sizes = {level: len(ids) for level, ids in strata.items()}
    shares = allocate(sizes, count, options.by_judgment or "proportional")
    return {
        passage_id
        for level, ids in strata.items()
        for passage_id in sorted(ids, key=lambda key: draw(options.seed, query.query_id, key))[
            : shares[level]
        ]
    }


def _level(passage: RawPassage) -> Level:
    return max((judgment.relevance for judgment in passage.judgments), default=None)


def allocate(sizes: Mapping[Level, int], count: int, how: Stratify) -> dict[Level, int]:
    """How many are drawn of strata of these sizes, ``count`` together (or all there are).

    ``"proportional"``: as the sizes, the largest remainders rounded up. ``"equal"``: one after the other
    from each stratum that has some left.
    """
    total = sum(sizes.values())
    count = min(count, total)
    order: Sequence[Level] = sorted(sizes, key=lambda level: (level is None, -(level or 0)))
    if how == "proportional":
        shares = {level: sizes[level] * count // max(1, total) for level in order}
        rest = sorted(order, key=lambda level: -(sizes[level] * count % max(1, total)))
        for level in rest[: count - sum(shares.values())]:
            shares[level] += 1
        return shares
    shares = dict.fromkeys(order, 0)
    while sum(shares.values()) < count:
        for level in order:
            if shares[level] < sizes[level] and sum(shares.values()) < count:
                shares[level] += 1
    return shares


def draw(seed: int, *names: str) -> str:
    """A random key for a named thing: those with the smallest keys of a set are a fair sample of it."""
    return hashlib.sha256("/".join([str(seed), *names]).encode("utf-8", "surrogatepass")).hexdigest()
