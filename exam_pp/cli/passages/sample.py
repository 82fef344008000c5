"""``exam-pp sample``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse
from exam_pp.cli.options import PASSAGES, log_summary, output_option
from exam_pp.cli.ranges import IntRange
from exam_pp.errors import SelectionError
from exam_pp.store.files import STDIO
from exam_pp.store.guarded_inputs import reading
from exam_pp.text.wording import counted, did_you_mean, listed

if TYPE_CHECKING:
    from exam_pp.store.trec.queries import Query


@click.command("sample", cls=Command)
@PASSAGES
@output_option("Passages file, or queries file, to write.  [default: standard output]")
@click.option("--max-queries", type=IntRange(min=1), help="Number of queries to draw.  [default: all]")
@click.option(
    "--max-passages",
    type=IntRange(min=1),
    help="Number of passages to draw per query.  [default: all]",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random sample.")
@click.option(
    "--by judgment",
    "by_judgment",
    type=click.Choice(["proportional", "equal"]),
    help="Stratify the passages of a query by judgment: in proportion to the judgments, or equal numbers for "
    "each judgment.",
)
@click.option(
    "--by",
    "strata",
    metavar="FIELD=VALUE:N,...",
    help="PASSAGES is a queries file instead: draw N queries of each VALUE of a field, such as "
    "model=gpt-4:100,opus:50.",
)
def command(
    passages: Path,
    output: Path,
    max_queries: int | None,
    max_passages: int | None,
    seed: int,
    by_judgment: Any,
    strata: str | None,
) -> None:
    """Draw a random sample of queries, and of passages of each query.

    The sample depends only on the seed and the ids, not on the order of the file. Unjudged passages are a
    stratum of --by judgment. With --by another field, the file has queries, and the sample is written as JSON
    lines.

    Examples:

    \b
      exam-pp sample passages.jsonl.gz --max-queries 5 --max-passages 10 --by judgment=equal \\
        -o sample.jsonl.gz
      exam-pp sample generated.jsonl --by model=fake:3 --seed 1 -o test-queries.jsonl
    """
    if strata is not None:
        _refuse_with_by("max_queries", "max_passages", "by_judgment")
        log_summary(sample_queries_file(passages, output, parse_strata(strata), seed).lines())
        return
    from exam_pp.phases.passages.sample import SampleOptions, sample_file

    log_summary([sample_file(passages, output, SampleOptions(max_queries, max_passages, seed, by_judgment))])


def _refuse_with_by(*names: str) -> None:
    """Refuse options for samples of passages."""
    why = "cannot be combined with --by FIELD=VALUE:N"
    refuse(click.get_current_context(), names.__contains__, why)


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
    from exam_pp.phases.passages.sample import random_key

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
def sample_queries_file(source: Path, output: Path, strata: Strata, seed: int = 0) -> SampledQueries:
    """Write a stratified random sample of a queries file as JSON lines, with all fields of the queries.

    Raises :class:`exam_pp.errors.ExamError` as :func:`draw_queries` and
    :func:`~exam_pp.store.trec.queries.read_queries` do.
    """
    from exam_pp.store.trec.queries import read_queries, write_query_lines

    queries = list(read_queries(source).values())
    drawn = draw_queries(queries, strata, seed, file=str(source))
    write_query_lines(drawn, output, inputs=[source])
    return SampledQueries(len(drawn), len(queries), strata, str(output))
