"""Benchmark of reading and writing graded passages: CPU seconds and peak memory of four ways.

Usage: python scripts/bench/store.py [--rounds 3] [--scale 1.0] [--json FILE] [--keep FOLDER]

A synthetic file of the size of TREC DL 2020 (54 queries, 11,386 passages, 4 sets of grades) is read and
written by `json.loads` alone, by the published way (whole file in memory, one pydantic v1 object per
record, gzip level 9) and by exam_pp. Every measurement is its own process; the ways are interleaved, and
the table shows medians. Each way also counts passages and sums ratings, which must agree.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import hashlib
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

QUERIES, PASSAGES, GRADE_SETS, ENTRIES = 54, 11_386, 4, 10
SEED = 20
ENV = os.environ | {"OMP_NUM_THREADS": "1"}
Sums = tuple[int, int]
"""Passages, and the sum of all ratings: equal for every way that really read the file."""


# --- the file -----------------------------------------------------------------------------------


def generate(path: Path, scale: float) -> int:
    """Write the synthetic file; returns its size in bytes before compression."""
    rng = random.Random(SEED)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(5000)]
    size = 0
    per_query = max(1, round(PASSAGES * scale / QUERIES))
    with gzip.open(path, "wb", compresslevel=6) as stream:
        left = max(1, round(PASSAGES * scale))
        for query in range(QUERIES):
            count = left if query == QUERIES - 1 else min(per_query, left)
            left -= count
            line = json.dumps(
                [f"{query:06d}", [_passage(rng, words, f"{query:06d}", i) for i in range(count)]]
            )
            size += len(line) + 1
            stream.write(line.encode() + b"\n")
    return size


def _passage(rng: random.Random, words: list[str], query: str, index: int) -> dict[str, Any]:
    key = f"msmarco_passage_{query}_{index:08d}"
    rankings = [
        {
            "method": f"run{run}",
            "paragraphId": key,
            "queryId": query,
            "rank": rng.randint(0, 999),
            "score": rng.random(),
        }
        for run in rng.sample(range(60), k=8)
    ]
    judgments = [{"paragraphId": key, "query": query, "relevance": rng.randint(0, 3), "titleQuery": query}]
    return {
        "paragraph_id": key,
        "text": " ".join(rng.choices(words, k=rng.randint(40, 90))) + ".",
        "paragraph": {},
        "paragraph_data": {"judgments": judgments, "rankings": rankings},
        "exam_grades": [_grades(rng, words, query, number) for number in range(GRADE_SETS)],
    }


def _grades(rng: random.Random, words: list[str], query: str, number: int) -> dict[str, Any]:
    rated, kind = number % 2 == 0, "question" if number < 2 else "nugget"
    ids = [f"{query}/{hashlib.md5(f'{kind}{query}{i}'.encode()).hexdigest()}" for i in range(ENTRIES)]
    ratings = {entry: rng.randint(0, 5) for entry in ids}
    correct = [entry for entry, rating in ratings.items() if rating > 0]
    grades: dict[str, Any] = {
        "correctAnswered": correct,
        "wrongAnswered": [entry for entry in ids if ratings[entry] == 0],
        "answers": [[e, str(r) if rated else " ".join(rng.choices(words, k=9))] for e, r in ratings.items()],
        "llm_response_errors": {},
        "llm": "google/flan-t5-large",
        "llm_options": {},
        "exam_ratio": len(correct) / ENTRIES,
        "prompt_info": {
            "prompt_class": f"{kind.title()}Prompt{number}", "prompt_style": "Can the question be answered",
            "context_first": False, "check_unanswerable": True, "check_answer_key": False,
            "is_self_rated": rated,
        },
        "prompt_type": kind,
        "relevance_label": max(ratings.values()),
    }  # fmt: skip
    if rated:
        grades["self_ratings"] = [{f"{kind}_id": e, "self_rating": r} for e, r in ratings.items()]
    return grades


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
            from exam_pp.store import passages

            readers: dict[str, Callable[[], Any]] = {
                "ours": lambda: _count(passages.read_passages(source)),
                "ours, copy": lambda: _copy(source, target),
                "metrics": lambda: _count(passages.read_passages_for_metrics(source)),
            }
            result = _timed(readers[way])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return result | {"peak_mb": peak / (1024 if sys.platform == "linux" else 1024**2)}


def _timed(call: Callable[[], Any]) -> dict[str, Any]:
    gc.collect()
    start = time.process_time()
    sums = call()
    return {"seconds": time.process_time() - start, "sums": sums}


def _copy(source: Path, target: Path) -> None:
    from exam_pp.store.passages import passages_writer, read_passages

    with passages_writer(target) as writer:
        for query in read_passages(source):
            writer.write(query)


# --- the report ---------------------------------------------------------------------------------

WAYS = ("json", "published", "ours", "ours, copy", "metrics")


def run(way: str, source: Path, folder: Path) -> dict[str, Any]:
    target = folder / "copy.jsonl.gz"
    target.unlink(missing_ok=True)
    command = [sys.executable, __file__, "--way", way, str(source), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENV, check=False)
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
    numbers = {key: [run[key] for run in runs] for key in runs[0] if key != "sums"}
    spread = max(numbers["seconds"]) / min(numbers["seconds"]) - 1
    return {key: statistics.median(values) for key, values in numbers.items()} | {"spread": spread}


def table(medians: dict[str, dict[str, float]]) -> str:
    """The medians as Markdown, with ratios to the published way."""
    published = medians.get("published", {})
    ours, copy = medians["ours"], medians["ours, copy"]
    rows: list[tuple[str, float, float | None, float]] = [
        ("`json.loads` alone", medians["json"]["seconds"], None, medians["json"]["peak_mb"]),
        ("exam_pp, full objects", ours["seconds"], copy["seconds"] - ours["seconds"], copy["peak_mb"]),
        ("exam_pp, fields for metrics", medians["metrics"]["seconds"], None, medians["metrics"]["peak_mb"]),
    ]
    if published:
        rows.insert(1, ("published way", published["seconds"], published["write"], published["peak_mb"]))
    lines = [
        "| way | load (s) | write (s) | peak (MB) | load: published / this | load + write |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, load, write, peak in rows:
        ratios = ["", ""]
        if published:
            ratios[0] = f"{published['seconds'] / load:.1f}"
            if write is not None:
                ratios[1] = f"{(published['seconds'] + published['write']) / (load + write):.1f}"
        cells = [name, f"{load:.2f}", "" if write is None else f"{write:.2f}", f"{peak:.0f}", *ratios]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


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
        medians = bench(source, Path(name), options.rounds)
    versions = {
        "python": platform.python_version(),
        **{p: version(p) for p in ("pydantic", "msgspec", "zlib-ng")},
    }
    packages = ", ".join(f"{name} {number}" for name, number in versions.items())
    print(f"{size / 1e6:.0f} MB of JSON, medians of {options.rounds} rounds, one core; {packages}\n")
    print(table(medians))
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
