"""Benchmark of reading and writing graded passages: CPU seconds, peak memory and file size of several ways.

Usage: python -m scripts.bench.store [--rounds 3] [--scale 1.0] [--json FILE]

A synthetic file of the size of TREC DL 2020 (`scripts/bench/make_graded.py`) is read and written by
`json.loads` alone, in the published way (whole file in memory, a pydantic v1 object per record, gzip level 9)
and by exam_pp (`scripts/bench/ways.py`). Each way that reads ratings counts passages and sums ratings; the
results must agree.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from scripts.bench.make_graded import generate
from scripts.bench.ways import check_equal, environment, in_turn, measured, medians

Sums = tuple[int, int]
"""The number of passages and the sum of all ratings, to compare the ways."""


# --- the ways -----------------------------------------------------------------------------------


def json_alone(source: Path) -> Sums:
    """`json.loads` of every line, without keeping the values."""
    passages = total = 0
    with gzip.open(source, "rt", encoding="utf-8") as stream:
        for line in stream:
            for passage in json.loads(line)[1]:
                passages += 1
                for grades in passage["exam_grades"]:
                    total += sum(rating["self_rating"] for rating in grades.get("self_ratings") or ())
    return passages, total


def published_load(source: Path, record: Callable[[str, list[Any]], Any]) -> list[Any]:
    """The whole file as pydantic v1 objects, as the published reference implementation does."""
    with gzip.open(source, "rt", encoding="utf-8") as stream:
        return [record(*json.loads(line)) for line in stream]


def _published_models() -> Callable[[str, list[Any]], Any]:
    """The classes of the published data model (its keys: docs/reference/data-model.md)."""
    from pydantic.v1 import BaseModel

    class SelfRating(BaseModel):
        question_id: str | None
        nugget_id: str | None
        self_rating: int

    class Judgment(BaseModel):
        paragraphId: str  # noqa: N815 - names in the file
        query: str
        relevance: int
        titleQuery: str  # noqa: N815

    class ParagraphRankingEntry(BaseModel):
        method: str
        paragraphId: str  # noqa: N815
        queryId: str  # noqa: N815
        rank: int
        score: float

    class ParagraphData(BaseModel):
        judgments: list[Judgment]
        rankings: list[ParagraphRankingEntry]

    class ExamGrades(BaseModel):
        correctAnswered: list[str]  # noqa: N815
        wrongAnswered: list[str]  # noqa: N815
        answers: list[tuple[str, str]]
        llm_response_errors: dict[str, Any] | None
        llm: str
        llm_options: dict[str, Any]
        exam_ratio: float
        prompt_info: dict[str, Any] | None
        self_ratings: list[SelfRating] | None
        prompt_type: str | None
        relevance_label: int | None

    class FullParagraphData(BaseModel):
        paragraph_id: str
        text: str
        paragraph: Any | None
        paragraph_data: ParagraphData
        exam_grades: list[ExamGrades] | None

    # Annotations of classes inside a function are strings, which need the function's names to resolve.
    for model in (ParagraphData, ExamGrades, FullParagraphData):
        model.update_forward_refs(**locals())

    return lambda query, records: (query, [FullParagraphData.parse_obj(record) for record in records])


def published_sums(queries: list[Any]) -> Sums:
    passages = [passage for _, records in queries for passage in records]
    rated = (rating for p in passages for grades in p.exam_grades for rating in grades.self_ratings or ())
    return len(passages), sum(rating.self_rating for rating in rated)


def published_write(queries: list[Any], target: Path) -> None:
    """`json.dumps` of dictionaries without null fields, gzip at Python's default level 9."""
    with gzip.open(target, "wt", encoding="utf-8") as stream:
        for query, passages in queries:
            stream.write(
                json.dumps([query, [passage.dict(exclude_none=True) for passage in passages]]) + "\n"
            )


def _count(queries: Iterator[Any]) -> Sums:
    passages = total = 0
    for query in queries:
        for passage in query.passages:
            passages += 1
            total += sum(sum(g.entry_ratings().values()) for g in passage.grade_sets() if g.is_rated)
    return passages, total


def _published(source: Path, target: Path | None = None) -> Callable[[], Sums]:
    record = _published_models()

    def call() -> Sums:
        queries = published_load(source, record)
        if target is not None:
            published_write(queries, target)
        return published_sums(queries)

    return call


def prepared(way: str, source: Path, target: Path) -> Callable[[], Any]:
    """The function that a way measures; its imports happen before the measurement."""
    match way:
        case "json":
            return lambda: json_alone(source)
        case "published":
            return _published(source)
        case "published, copy":
            return _published(source, target)
    from exam_pp.store.passages.graded_file import read_passages
    from exam_pp.store.passages.raw_passages import read_raw_passages

    ways: dict[str, Callable[[], Any]] = {
        "full": lambda: _count(read_passages(source)),
        "full, copy": lambda: _copy(read_passages(source), target),
        "raw": lambda: _count_raw(read_raw_passages(source)),
        "raw, copy": lambda: _copy(read_raw_passages(source), target),
        "raw, append": lambda: _copy(_graded(read_raw_passages(source)), target),
        "metrics": lambda: _count(read_passages(source)),
    }
    return ways[way]


def measure(way: str, source: Path, target: Path) -> dict[str, Any]:
    """Measure a way in this process."""
    target.unlink(missing_ok=True)
    result = measured(prepared(way, source, target))
    return result | {"written": target.stat().st_size / 1e6 if target.exists() else 0}


def _count_raw(queries: Iterable[Any]) -> None:
    """Read the queries; ratings are not decoded, so there is no sum."""
    for _query in queries:
        pass


def _copy(queries: Iterable[Any], target: Path) -> None:
    from exam_pp.store.passages.graded_file import passages_writer

    with passages_writer(target) as writer:
        for query in queries:
            writer.write(query)


def _graded(queries: Iterable[Any]) -> Iterator[Any]:
    """Add a set of grades to every passage."""
    from exam_pp.data_model import RubricGrades, SelfRating

    ratings = [SelfRating(question_id=f"q/{number}", self_rating=number % 6) for number in range(10)]
    ids = [rating.entry_id for rating in ratings]
    for query in queries:
        for passage in query.passages:
            grades = RubricGrades(model="new", correct=ids[1:], wrong=ids[:1], self_ratings=ratings)
            passage.add_grades([grades])
        yield query


# --- the report ---------------------------------------------------------------------------------

ROWS = (
    ("`json.loads` alone", "json", None),
    ("published way", "published", "published, copy"),
    ("exam_pp, full objects", "full", "full, copy"),
    ("exam_pp, unchanged data keeps its bytes", "raw", "raw, copy"),
    ("exam_pp, a set of grades added to every passage", "raw", "raw, append"),
    ("exam_pp, fields for metrics", "metrics", None),
)
"""Label, the way that reads, and the way that reads and writes."""
WAYS = list(dict.fromkeys(way for _, *ways in ROWS for way in ways if way))


def table(by_way: dict[str, dict[str, float]]) -> str:
    """The medians as Markdown, with ratios to the published way."""
    lines = [
        "| way | load (s) | load + write (s) | gzip (MB) | peak (MB) | published / load | load + write |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, load, copy in ROWS:
        seconds = by_way[load]["cpu"]
        ratio = f"{by_way['published']['cpu'] / seconds:.1f}"
        cells = [name, f"{seconds:.2f}", "", "", f"{by_way[copy or load]['peak']:.0f}", ratio, ""]
        if copy:
            both = by_way[copy]["cpu"]
            cells[2:4] = [f"{both:.2f}", f"{by_way[copy]['written']:.1f}"]
            cells[6] = f"{by_way['published, copy']['cpu'] / both:.1f}"
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the 11,386 passages")
    parser.add_argument("--json", type=Path, help="also write the numbers here")
    parser.add_argument("--way", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        way, source, target = options.way
        print(json.dumps(measure(way, Path(source), Path(target))))
        return
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "synthetic-dl20.jsonl.gz"
        size = generate(source, options.scale)
        results = in_turn(__file__, WAYS, [str(source), f"{name}/copy.jsonl.gz"], options.rounds)
    check_equal(results)
    by_way = medians(results)
    print(f"{size / 1e6:.0f} MB of JSON; {environment('pydantic', 'msgspec', 'zlib-ng')}\n\n{table(by_way)}")
    way, worst = max(by_way.items(), key=lambda item: item[1]["spread"])
    print(f"\nLargest spread: {worst['spread']:.0%} ({way}).")
    if options.json:
        options.json.write_text(json.dumps({"bytes": size, "medians": by_way}, indent=2) + "\n")


if __name__ == "__main__":
    main()
