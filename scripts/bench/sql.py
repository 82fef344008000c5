"""Benchmark of SQL over graded files: CPU seconds and peak memory, at the size of TREC DL 2020 and beyond.

Usage: python -m scripts.bench.sql [--scales 1 20] [--rounds 3] [--memory-limit 300MB] [--keep FOLDER]

All ways (`scripts/bench/ways.py`) compute the mean rating and the number of pairs of each prompt. `query`
works like `exam-pp query`; `save` fills all tables first, like `exam-pp query --save`; `python` is a loop
over `json.loads`. `validate` works like `exam-pp validate` and has no result.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from scripts.bench.ways import check_equal, in_turn, measured, medians, output

SQL = """SELECT prompt_class, count(*), avg(rating) FROM ratings WHERE is_rated GROUP BY ALL ORDER BY ALL"""
Rows = list[tuple[str, int, float]]


def python(source: Path) -> Rows:
    """A loop over decoded lines."""
    ratings: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    with gzip.open(source, "rt", encoding="utf-8") as stream:
        for line in stream:
            for passage in json.loads(line)[1]:
                for grades in passage["exam_grades"]:
                    for rating in grades.get("self_ratings") or ():
                        count = ratings[grades["prompt_info"]["prompt_class"]]
                        count[0] += 1
                        count[1] += rating["self_rating"]
    return [(name, number, total / number) for name, (number, total) in sorted(ratings.items())]


def answer(way: str, source: Path, folder: Path, memory: str) -> Rows:
    if way == "python":
        return python(source)
    if way == "validate":
        from exam_pp.phases.validation.validate import validate

        validate([source], limit=10)
        return []
    from exam_pp.plugins.sql.duck import Limits
    from exam_pp.plugins.sql.query import SqlSources, build_database, query_result

    sources, limits = SqlSources([source]), Limits(memory)
    if way == "save":
        database = folder / "grades.duckdb"
        build_database(sources, database, limits)
        sources = SqlSources([database])
    with query_result(sources, SQL, {}, limits) as result:
        return [(str(name), int(number), float(mean)) for name, number, mean in result]


def measure(way: str, source: Path, memory: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(dir=source.parent) as name:
        result = measured(lambda: answer(way, source, Path(name), memory))
        result["size"] = sum(path.stat().st_size for path in Path(name).iterdir()) / 1e6
    return result | {"result": [[*row[:2], round(row[2], 9)] for row in result["result"]]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scales", type=float, nargs="+", default=[1, 20])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory-limit", default="300MB")
    parser.add_argument("--keep", type=Path, help="folder that keeps the files for the next run")
    parser.add_argument("--way", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.way:
        way, path, memory = arguments.way
        print(json.dumps(measure(way, Path(path), memory)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        print(
            "| file | way | CPU (s) | wall (s) | peak (MB) | database (MB) |\n|---|---|---:|---:|---:|---:|"
        )
        for scale in arguments.scales:
            source = folder / f"graded-{scale:g}.jsonl.gz"
            if not source.exists():
                # A separate process, because the memory of this process would count for its children.
                output([sys.executable, "-m", "scripts.bench.make_graded", str(source), f"--scale={scale}"])
            ways = ["query", "save", "python", "validate"]
            results = in_turn(__file__, ways, [str(source), arguments.memory_limit], arguments.rounds)
            check_equal(results)
            for way, row in medians(results).items():
                seconds = f"{row['cpu']:.2f} | {row['wall']:.2f}"
                print(f"| {scale:g}× | {way} | {seconds} | {row['peak']:.0f} | {row['size']:.1f} |")


if __name__ == "__main__":
    main()
