"""Stratified random samples of queries by a field, such as the model that generated them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from exam_pp.errors import SelectionError
from exam_pp.phases.passages.sample import random_key
from exam_pp.store.files import STDIO
from exam_pp.store.inputs import reading
from exam_pp.store.trec.queries import Query, read_queries, write_query_lines
from exam_pp.wording import counted, listed

_HOW = (
    "write judgment=equal, or for a queries file FIELD=VALUE:NUMBER,VALUE:NUMBER, such as "
    "model=gpt-4:100,opus:50"
)
_STRATUM = re.compile(r"(?P<value>.+):(?P<number>[0-9]+)")


class Strata(NamedTuple):
    """The field that divides queries into strata, and the sample size of each value."""

    field: str
    sizes: Mapping[str, int]


@dataclass(frozen=True)
class SampledQueries:
    """Counts for the summary: queries of the sample and of the file, and of the sample by value."""

    drawn: int
    queries: int
    strata: Strata
    output: str

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        sizes = ", ".join(f"{size} of {value}" for value, size in self.strata.sizes.items())
        yield f"{counted(self.drawn, 'query')} of {self.queries} ({self.strata.field}: {sizes})."
        if self.output != STDIO:
            yield f"Written: {self.output}"


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
        value = _value(query, strata.field)
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
    close = get_close_matches(value, by_value, n=1)
    hint = f"Did you mean {close[0]!r}?" if close else f"Its values are {listed(sorted(by_value))}."
    return f"no query has the {field} {value!r}. {hint}"


def _fields(query: Query) -> dict[str, str]:
    """The fields with a single value, as text."""
    fields = {"query_id": query.query_id, "query_text": query.query_text, **(query.model_extra or {})}
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in fields.items()
        if isinstance(value, str | int | float)
    }


def _value(query: Query, field: str) -> str | None:
    return _fields(query).get(field)


@reading()
def sample_queries_file(source: Path, output: Path, strata: Strata, seed: int = 0) -> SampledQueries:
    """Write a stratified random sample of a queries file as JSON lines, with all fields of the queries.

    Raises :class:`exam_pp.errors.ExamError` as :func:`draw_queries` and
    :func:`~exam_pp.store.trec.queries.read_queries` do.
    """
    queries = list(read_queries(source).values())
    drawn = draw_queries(queries, strata, seed, file=str(source))
    write_query_lines(drawn, output, inputs=[source])
    return SampledQueries(len(drawn), len(queries), strata, str(output))
