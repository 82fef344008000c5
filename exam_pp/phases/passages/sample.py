"""Random samples of queries and passages: of passages files by judgment, of queries files by any field."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from exam_pp.errors import DataError, SelectionError
from exam_pp.phases.passages.transform import Rewritten, rewrite
from exam_pp.store.inputs import reading
from exam_pp.store.passages.raw_passages import RawPassage, RawQuery, read_raw_passages
from exam_pp.store.trec.queries import Query, read_queries, write_query_lines
from exam_pp.text.wording import counted, did_you_mean, listed

Level = int | None
"""The highest judgment of a passage; None without judgments."""


@dataclass(frozen=True)
class SampleOptions:
    """Sample sizes; None keeps all queries, or all passages of each query.

    ``by_judgment`` draws equal numbers of the passages of a query with each judgment, and of the unjudged.
    """

    queries: int | None = None
    passages: int | None = None
    seed: int = 0
    by_judgment: bool = False


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
    counts = allocate({level: len(ids) for level, ids in strata.items()}, count)
    return {
        passage_id
        for level, ids in strata.items()
        for passage_id in sorted(ids, key=lambda key: random_key(options.seed, query.query_id, key))[
            : counts[level]
        ]
    }


def _level(passage: RawPassage) -> Level:
    return max((judgment.relevance for judgment in passage.judgments), default=None)


def allocate(sizes: Mapping[Level, int], count: int) -> dict[Level, int]:
    """Return the sample size of each stratum; the sum is ``count``, or that of ``sizes`` if it is less.

    Each stratum gets 1 in turn, from the highest judgment to the unjudged, until it is exhausted.
    """
    counts = dict.fromkeys(sorted(sizes, key=lambda level: (level is None, -(level or 0))), 0)
    while sum(counts.values()) < min(count, sum(sizes.values())):
        for level in counts:
            if counts[level] < sizes[level] and sum(counts.values()) < count:
                counts[level] += 1
    return counts


def random_key(seed: int, *names: str) -> str:
    """Return a sort key that depends only on the seed and the names (SHA-256).

    The names with the smallest keys are a uniform random sample.
    """
    return hashlib.sha256("/".join([str(seed), *names]).encode("utf-8", "surrogatepass")).hexdigest()


_HOW = (
    "write judgment=equal, or for a queries file FIELD=VALUE:NUMBER,VALUE:NUMBER, such as "
    "model=gpt-4:100,opus:50"
)


_STRATUM = re.compile(r"(?P<value>.+):(?P<number>[0-9]+)")


class Strata(NamedTuple):
    """The field that divides queries into strata, and the sample size of each value."""

    field: str
    sizes: Mapping[str, int]


def parse_strata(text: str) -> Strata:
    """Parse ``FIELD=VALUE:NUMBER,VALUE:NUMBER``; values can contain colons."""
    field, equals, rest = text.partition("=")
    sizes: dict[str, int] = {}
    for part in rest.split(","):
        match = _STRATUM.fullmatch(part.strip())
        if not (equals and field.strip() and match) or int(match["number"]) < 1:
            raise SelectionError(f"--by {text!r} cannot be read; {_HOW}.")
        if match["value"] in sizes:
            raise SelectionError(f"--by {text!r} has the value {match['value']!r} twice.")
        sizes[match["value"]] = int(match["number"])
    return Strata(field.strip(), sizes)


def draw_queries(queries: Sequence[Query], strata: Strata, seed: int = 0, *, file: str = "") -> list[Query]:
    """Draw a random sample from each stratum, in the order of the queries.

    The sample depends only on the seed and the ids, not on the order of the queries. A larger sample with the
    same seed contains a smaller one. Queries with other values of the field are not drawn.

    Source:
        Rackauckas et al., "Evaluating RAG-Fusion with RAGElo", LLM4Eval 2024, section 4: 100, 50, 30 and 20
        queries of four models.
    """
    by_value: defaultdict[str, list[str]] = defaultdict(list)
    for query in queries:
        value = _fields(query).get(strata.field)
        if value is not None:
            by_value[value].append(query.query_id)
    where = file or "The queries"
    if not by_value:
        fields = sorted({name for query in queries for name in _fields(query)})
        raise SelectionError(
            f"{where}: no query has the field {strata.field!r} of --by; fields with a single value are "
            f"{listed(fields)}."
        )
    drawn: set[str] = set()
    for value, size in strata.sizes.items():
        ids = by_value.get(value, [])
        if len(ids) < size:
            raise SelectionError(f"{where}: {_too_few(strata.field, value, size, by_value)}")
        drawn.update(sorted(ids, key=lambda query_id: random_key(seed, query_id))[:size])
    return [query for query in queries if query.query_id in drawn]


def _too_few(field: str, value: str, size: int, by_value: Mapping[str, Sequence[str]]) -> str:
    """The message for a stratum that is smaller than its sample."""
    if value in by_value:
        queries = counted(len(by_value[value]), "query has", "queries have")
        return f"only {queries} the {field} {value!r}, but --by asks for {size}."
    hint = did_you_mean(value, by_value, f"Its values are {listed(sorted(by_value))}.")
    return f"no query has the {field} {value!r}. {hint}"


def _fields(query: Query) -> dict[str, str]:
    """The fields with a single value, as text."""
    fields = {"query_id": query.query_id, "query_text": query.query_text, **(query.model_extra or {})}
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in fields.items()
        if isinstance(value, str | int | float)
    }


@reading()
def sample_queries_file(source: Path, output: Path, strata: Strata, seed: int = 0) -> list[str]:
    """Write a stratified random sample of a queries file as JSON lines, with all fields of the queries.

    Returns the summary. Raises :class:`exam_pp.errors.ExamError` as :func:`draw_queries` and
    :func:`~exam_pp.store.trec.queries.read_queries` do.
    """
    queries = list(read_queries(source).values())
    drawn = draw_queries(queries, strata, seed, file=str(source))
    write_query_lines(drawn, output, inputs=[source])
    sizes = ", ".join(f"{size} of {value}" for value, size in strata.sizes.items())
    return [f"{counted(len(drawn), 'query')} of {len(queries)} ({strata.field}: {sizes})."]
