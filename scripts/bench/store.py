"""Benchmark of reading and writing graded passages: CPU seconds, peak memory and file size of several ways.

Usage: python -m scripts.bench.store [--rounds 3] [--scale 1.0] [--json FILE] [--keep FOLDER]

A synthetic file of the size of TREC DL 2020 (`scripts/bench/make_graded.py`) is read and written by
`json.loads` alone, by the published way (whole file in memory, one pydantic v1 object per record, gzip level
9) and by exam_pp. Every measurement is its own process; the ways are interleaved, and the table shows
medians. Each way also counts passages and sums ratings, which must agree.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from scripts.bench.make_graded import generate

ENV = os.environ | {"OMP_NUM_THREADS": "1"}
ROOT = Path(__file__).resolve().parents[2]
MUST = 25
Sums = tuple[int, int]
"""Passages, and the sum of all ratings: equal for every way that really read the file."""


# --- the ways -----------------------------------------------------------------------------------


def json_alone(source: Path) -> Sums:
    """`json.loads` of every line, nothing kept."""
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
    """The classes of the published data model (its keys: docs/data-model.md)."""
    from pydantic.v1 import BaseModel

    class SelfRating(BaseModel):
        question_id: str | None
        nugget_id: str | None
        self_rating: int

    class Judgment(BaseModel):
        paragraphId: str  # noqa: N815 - the file's own names
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

    # Annotations of classes inside a function are strings that only the function can resolve.
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


def measure(way: str, source: Path, target: Path) -> dict[str, Any]:
    """Run one way in this process; its imports come before the clock starts."""
    match way:
        case "json":
            result = _timed(lambda: json_alone(source))
        case "published":
            record = _published_models()
            queries: list[Any] = []
            result = _timed(lambda: queries.extend(published_load(source, record)))
            result["write"] = _timed(lambda: published_write(queries, target))["seconds"]
            result["sums"] = published_sums(queries)
        case _:
            from exam_pp.store.passages.graded_file import read_passages, read_passages_for_metrics
            from exam_pp.store.passages.raw_passages import read_raw_passages

            ways: dict[str, Callable[[], Any]] = {
                "full": lambda: _count(read_passages(source)),
                "full, copy": lambda: _copy(read_passages(source), target),
                "raw": lambda: _count_raw(read_raw_passages(source)),
                "raw, copy": lambda: _copy(read_raw_passages(source), target),
                "raw, append": lambda: _copy(_graded(read_raw_passages(source)), target),
                "metrics": lambda: _count(read_passages_for_metrics(source)),
            }
            result = _timed(ways[way])
    result["written"] = target.stat().st_size / 1e6 if target.exists() else None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return result | {"peak_mb": peak / (1024 if sys.platform == "linux" else 1024**2)}


def _timed(call: Callable[[], Any]) -> dict[str, Any]:
    gc.collect()
    start = time.process_time()
    sums = call()
    return {"seconds": time.process_time() - start, "sums": sums}


def _count_raw(queries: Iterable[Any]) -> None:
    """Ids and texts are decoded as the queries are read; ratings are not, so there is no sum."""
    for _query in queries:
        pass


def _copy(queries: Iterable[Any], target: Path) -> None:
    from exam_pp.store.passages.graded_file import passages_writer

    with passages_writer(target) as writer:
        for query in queries:
            writer.write(query)


def _graded(queries: Iterable[Any]) -> Iterator[Any]:
    """Every passage with one more set of grades."""
    from exam_pp.data_model import RubricGrades, SelfRating

    ratings = [SelfRating(question_id=f"q/{number}", self_rating=number % 6) for number in range(10)]
    ids = [rating.entry_id for rating in ratings]
    for query in queries:
        for passage in query.passages:
            grades = RubricGrades(model="new", correct=ids[1:], wrong=ids[:1], self_ratings=ratings)
            passage.add_grades([grades])
        yield query


# --- the report ---------------------------------------------------------------------------------

WAYS = ("json", "published", "full", "full, copy", "raw", "raw, copy", "raw, append", "metrics")


def run(way: str, source: Path, folder: Path) -> dict[str, Any]:
    target = folder / "copy.jsonl.gz"
    target.unlink(missing_ok=True)
    command = [sys.executable, "-m", "scripts.bench.store", "--way", way, str(source), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENV, cwd=ROOT, check=False)
    if done.returncode:
        if way == "published" and "pydantic.v1" in done.stderr:
            return {}
        raise SystemExit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def bench(source: Path, folder: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Medians over interleaved rounds; a way that cannot run here is left out."""
    results: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    for number in range(rounds):
        for way in WAYS:
            print(f"round {number + 1} of {rounds}: {way}", file=sys.stderr)
            if result := run(way, source, folder):
                results[way].append(result)
    sums = {tuple(r["sums"]) for runs in results.values() for r in runs if r["sums"] is not None}
    if len(sums) != 1:
        raise SystemExit(f"the ways read different files: {sums}")
    return {way: _medians(runs) for way, runs in results.items() if runs}


def _medians(runs: list[dict[str, Any]]) -> dict[str, float]:
    numbers = {
        key: [run[key] for run in runs] for key in runs[0] if key != "sums" and runs[0][key] is not None
    }
    spread = max(numbers["seconds"]) / min(numbers["seconds"]) - 1
    return {key: statistics.median(values) for key, values in numbers.items()} | {"spread": spread}


def table(medians: dict[str, dict[str, float]]) -> str:
    """The medians as Markdown, with ratios to the published way."""
    published = medians.get("published", {})
    loads = {name: medians[name]["seconds"] for name in medians}
    rows: list[tuple[str, float, float | None, dict[str, float]]] = [
        ("`json.loads` alone", loads["json"], None, medians["json"]),
        ("exam_pp, full objects", loads["full"], loads["full, copy"], medians["full, copy"]),
        (
            "exam_pp, what is not changed keeps its bytes",
            loads["raw"],
            loads["raw, copy"],
            medians["raw, copy"],
        ),
        (
            "exam_pp, a set of grades added to every passage",
            loads["raw"],
            loads["raw, append"],
            medians["raw, append"],
        ),
        ("exam_pp, fields for metrics", loads["metrics"], None, medians["metrics"]),
    ]
    if published:
        both = loads["published"] + published["write"]
        rows.insert(1, ("published way", loads["published"], both, published))
    lines = [
        "| way | load (s) | load + write (s) | gzip (MB) | peak (MB) | published / load | load + write |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, load, total, numbers in rows:
        ratios = ["", ""]
        if published:
            ratios[0] = f"{loads['published'] / load:.1f}"
            ratios[1] = "" if total is None else f"{both / total:.1f}"
        written = f"{numbers['written']:.1f}" if numbers.get("written") else ""
        cells = [
            name,
            f"{load:.2f}",
            "" if total is None else f"{total:.2f}",
            written,
            f"{numbers['peak_mb']:.0f}",
            *ratios,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def verdict(medians: dict[str, dict[str, float]]) -> str:
    """Whether load + write is as much faster than the published way as it must be."""
    published = medians["published"]
    ratio = (published["seconds"] + published["write"]) / medians["raw, copy"]["seconds"]
    met = "met" if ratio >= MUST else "not met"
    return f"Load + write against the published way: {ratio:.1f}, must be {MUST}: {met}."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the 11,386 passages")
    parser.add_argument("--json", type=Path, help="also write the numbers here")
    parser.add_argument("--keep", type=Path, help="keep the synthetic file in this folder")
    parser.add_argument("--way", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        way, source, target = options.way
        print(json.dumps(measure(way, Path(source), Path(target))))
        return
    with tempfile.TemporaryDirectory(dir=options.keep) as name:
        source = (options.keep or Path(name)) / "synthetic-dl20.jsonl.gz"
        size = generate(source, options.scale)
        input_size = source.stat().st_size
        medians = bench(source, Path(name), options.rounds)
    versions = {
        "python": platform.python_version(),
        **{p: version(p) for p in ("pydantic", "msgspec", "zlib-ng")},
    }
    packages = ", ".join(f"{name} {number}" for name, number in versions.items())
    print(
        f"{size / 1e6:.0f} MB of JSON, {input_size / 1e6:.1f} MB as the input's gzip, medians of "
        f"{options.rounds} rounds, one core; {packages}\n"
    )
    print(table(medians))
    if "published" in medians:
        print(f"\n{verdict(medians)}")
    if "published" not in medians:
        print("\nThe published way needs pydantic.v1, which this version of Python does not have.")
    worst = max(medians.items(), key=lambda item: item[1]["spread"])
    if worst[1]["spread"] > 0.15:
        print(f"\nNo verdict: {worst[0]} varied by {worst[1]['spread']:.0%}; run again on a quieter machine.")
    report = {"versions": versions, "bytes": size, "medians": medians}
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
