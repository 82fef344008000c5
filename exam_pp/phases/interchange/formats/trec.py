"""Conversion: queries, qrels and runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from exam_pp.errors import DataError
from exam_pp.phases.interchange.dropped_fields import query_losses, uncounted
from exam_pp.phases.interchange.export_runs import write_runs
from exam_pp.phases.interchange.formats.base import Source, Target, add_format, reading
from exam_pp.results import Qrel, RunLine
from exam_pp.store.files import is_stream, read_lines, read_text
from exam_pp.store.trec.queries import Query, read_queries, write_queries, write_query_lines
from exam_pp.store.trec.runs import (
    method_of,
    read_qrels,
    read_run,
    run_files,
    warn_of_left_out_runs,
    write_qrels,
    write_run,
)
from exam_pp.store.trec.topics import unused_fields

Runs = Mapping[str, Sequence[RunLine]]


def _read_queries(path: Path) -> list[Query]:
    return list(read_queries(path).values())


def _read_topics(source: Source) -> list[Query]:
    if is_stream(source.path):
        uncounted(source.losses)
    else:
        for tag, count in unused_fields(read_text(source.path)).items():
            source.losses.add(f"values of {tag!r}", count)
    return _read_queries(source.path)


def _write_queries(queries: Iterable[Query], target: Target, form: Literal["json", "tsv", "jsonl"]) -> None:
    queries = list(queries)
    if form != "jsonl":
        for query in queries:
            query_losses(query, target.losses)
            if form == "tsv":
                changed = " ".join(query.query_text.split()) != query.query_text
                target.losses.add("white space in texts", changed)
    if form == "json":
        texts = {query.query_id: query.query_text for query in queries}
        write_queries(texts, target.path, inputs=target.inputs)
    else:
        write_query_lines(queries, target.path, as_json=form == "jsonl", inputs=target.inputs)


add_format(
    "queries-json",
    "queries",
    "queries, JSON {id: text}",
    reading(_read_queries),
    partial(_write_queries, form="json"),
)
add_format(
    "queries-tsv",
    "queries",
    "queries, id<TAB>text",
    reading(_read_queries),
    partial(_write_queries, form="tsv"),
)
add_format(
    "queries-jsonl",
    "queries",
    "queries, JSON lines with facets",
    reading(_read_queries),
    partial(_write_queries, form="jsonl"),
)
add_format("topics", "queries", "TREC topics (titles)", _read_topics, None)


def _read_qrels(source: Source) -> list[Qrel]:
    """The second column is nearly always 0; where it says more, that is lost."""
    if is_stream(source.path):
        uncounted(source.losses)
    else:
        columns = [line.split()[1:2] for _, line in read_lines(source.path)]
        source.losses.add("second columns that are not 0", sum(c not in ([b"0"], [b"Q0"]) for c in columns))
    return read_qrels(source.path)


def _write_qrels(qrels: Iterable[Qrel], target: Target) -> None:
    write_qrels(qrels, target.path, inputs=target.inputs)


def _read_runs(source: Source) -> Runs:
    """The runs by their names; the tag is lost where the file's name is taken."""
    runs: dict[str, list[RunLine]] = {}
    warn_of_left_out_runs(source.path)
    for file in run_files(source.path):
        by_file = source.method_name == "stem"
        for line in read_run(file, method="tag", one_system=by_file):
            name = method_of(file) if by_file else line.system
            source.losses.add("tags, as systems are named by their files", name != line.system)
            runs.setdefault(name, []).append(line._replace(system=name))
    if not runs:
        raise DataError("holds no results.", file=str(source.path))
    return runs


def _write_runs(runs: Runs, target: Target) -> None:
    """One file for one system, unless the target is a folder."""
    if len(runs) == 1 and not target.path.is_dir():
        (lines,) = runs.values()
        write_run(lines, target.path, inputs=target.inputs)
    else:
        write_runs(runs, target.path, inputs=target.inputs)


add_format("qrels", "qrels", "qrels of trec_eval", _read_qrels, _write_qrels)
add_format("run", "runs", "TREC run, or a folder of them", _read_runs, _write_runs)
