"""Benchmark of evaluation: CPU seconds of scoring runs, of boards of a graded file, of the nested bootstrap.

Usage: python scripts/bench/evaluation.py [--rounds 3] [--scale 1.0] [--json FILE]

Synthetic runs of the size of TREC DL 2020 (60 runs, 54 queries, 1,000 lines) are scored with five measures
by exam_pp in one process, and by one process a run that reads the qrels and the run and calls pytrec_eval
(the floor of calling trec_eval once a run); the scores must agree. Boards: time over the time of reading
the graded file alone. Every measurement is its own process; ways are interleaved, figures are medians, and
ratios are what to quote.
"""

from __future__ import annotations

import argparse
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
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

RUNS, QUERIES, LINES, JUDGED = 60, 54, 1000, 210
MEASURES = ["nDCG@10", "AP", "RR", "P@10", "R@100"]
PYTREC = ["ndcg_cut.10", "map", "recip_rank", "P.10", "recall.100"]
ENV = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


# --- the data -----------------------------------------------------------------------------------


def generate(folder: Path, scale: float) -> None:
    """Run files, qrels, and a graded file with the rankings' first 20 passages."""
    rng = random.Random(20)
    queries = [f"{number:06d}" for number in range(QUERIES)]
    labels: dict[tuple[str, int], int] = {}
    with (folder / "qrels").open("w") as out:
        for query in queries:
            for document in sorted(rng.sample(range(3 * LINES), JUDGED)):
                labels[query, document] = rng.choice([0, 0, 0, 1, 2, 3, 4, 5])
                out.write(f"{query} 0 msmarco_passage_{document:08d} {labels[query, document]}\n")
    (folder / "runs").mkdir()
    ranked: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for number in range(max(2, round(RUNS * scale))):
        name = f"run{number:02d}"
        with (folder / "runs" / f"{name}.run").open("w") as out:
            for query in queries:
                for rank, document in enumerate(rng.sample(range(3 * LINES), LINES), 1):
                    if rank <= 20:
                        ranked.setdefault((query, document), []).append((name, rank))
                    score = LINES - rank + rng.random()
                    out.write(f"{query} Q0 msmarco_passage_{document:08d} {rank} {score:.6f} {name}\n")
    _graded(folder / "graded.jsonl", queries, ranked, rng)


def _graded(
    path: Path, queries: list[str], ranked: dict[tuple[str, int], list[tuple[str, int]]], rng: random.Random
) -> None:
    with path.open("w") as out:
        for query in queries:
            passages = []
            for (of_query, document), systems in ranked.items():
                if of_query != query:
                    continue
                key = f"msmarco_passage_{document:08d}"
                ratings = [
                    {"question_id": f"{query}/{n}", "self_rating": rng.choice([0, 0, 0, 3, 5])}
                    for n in range(20)
                ]
                rankings = [
                    {"method": s, "paragraphId": key, "queryId": query, "rank": r, "score": 1 / r}
                    for s, r in systems
                ]
                grades = {
                    "correctAnswered": [],
                    "wrongAnswered": [],
                    "answers": [],
                    "llm": "m",
                    "prompt_info": {"prompt_class": "P"},
                    "self_ratings": ratings,
                }
                passages.append(
                    {
                        "paragraph_id": key,
                        "text": "word " * 60,
                        "paragraph_data": {"judgments": [], "rankings": rankings},
                        "exam_grades": [grades],
                    }
                )
            out.write(json.dumps([query, passages]) + "\n")


# --- the ways -----------------------------------------------------------------------------------


def runs_exam_pp(folder: Path) -> float:
    """All runs in one process; returns the sum of all scores."""
    from exam_pp.phases.score_runs import score_runs
    from exam_pp.store.trec import read_qrels

    evaluation = score_runs(read_qrels(folder / "qrels"), folder / "runs", MEASURES)
    return sum(score.value for score in evaluation.scores)


def runs_one_process_each(folder: Path) -> float:
    """A process for every run, as calling trec_eval in a loop."""
    total = 0.0
    for path in sorted((folder / "runs").iterdir()):
        command = [sys.executable, __file__, "--single", str(path), "--folder", str(folder)]
        total += float(subprocess.run(command, env=ENV, check=True, capture_output=True, text=True).stdout)
    return total


def single(path: Path, folder: Path) -> float:
    """One run, with nothing but pytrec_eval."""
    import pytrec_eval

    qrels: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels").read_text().splitlines():
        query, _, document, grade = line.split()
        qrels.setdefault(query, {})[document] = int(grade)
    run: dict[str, dict[str, float]] = {}
    for line in path.read_text().splitlines():
        query, _, document, _, score, _ = line.split()
        run.setdefault(query, {})[document] = float(score)
    found = pytrec_eval.RelevanceEvaluator(qrels, PYTREC).evaluate(run)
    return float(sum(value for measures in found.values() for value in measures.values()))


def read_only(folder: Path) -> float:
    """The graded file, read as metrics read it."""
    from exam_pp.store.passages import read_passages_for_metrics

    return float(sum(len(query.passages) for query in read_passages_for_metrics(folder / "graded.jsonl")))


def boards(folder: Path) -> float:
    """Cover, normalised cover and labels of the graded file."""
    from exam_pp.phases import evaluate

    evaluate.cover(folder / "graded.jsonl")
    return float(len(evaluate.qrels(folder / "graded.jsonl").qrels))


def nested(_folder: Path) -> float:
    """2,000 samples of 60 systems × 54 queries × 20 entries."""
    import numpy as np

    from exam_pp.metrics.entry_values import EntryValues
    from exam_pp.metrics.uncertainty import nested_bootstrap_means

    rng = np.random.default_rng(1)
    bank = [EntryValues((rng.random((60, 20)) < 0.4).astype(float), np.ones(20)) for _ in range(54)]
    return float(nested_bootstrap_means(bank, samples=2000).mean())


WAYS: dict[str, Callable[[Path], float]] = {
    "runs, exam_pp": runs_exam_pp,
    "runs, one process each": runs_one_process_each,
    "graded file, read only": read_only,
    "graded file, cover + qrels": boards,
    "nested bootstrap": nested,
}


def measure(way: str, folder: Path) -> tuple[float, float, float]:
    """CPU seconds (children included), wall seconds and the checksum of a way in a process of its own."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, __file__, "--way", way, "--folder", str(folder)]
    done = subprocess.run(command, env=ENV, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - start, float(done.stdout)


def main() -> None:
    """Run the benchmark, or one way of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the 60 runs")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("--single", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.single is not None:
        print(repr(single(options.single, options.folder)))
        return
    if options.way is not None:
        print(repr(WAYS[options.way](options.folder)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder, options.scale)
        results: dict[str, list[tuple[float, float, float]]] = {way: [] for way in WAYS}
        for _ in range(options.rounds):
            for way, found in results.items():
                found.append(measure(way, folder))
    report(results, options.json)


def report(results: dict[str, list[tuple[float, float, float]]], path: Path | None) -> None:
    """Print medians and ratios; say where ways that must agree do not."""
    cpu = {way: statistics.median(row[0] for row in rows) for way, rows in results.items()}
    wall = {way: statistics.median(row[1] for row in rows) for way, rows in results.items()}
    for way in results:
        print(f"{way:28} {cpu[way]:7.2f} s CPU {wall[way]:7.2f} s wall")
    ratios = {
        "runs, one process each / exam_pp": cpu["runs, one process each"] / cpu["runs, exam_pp"],
        "cover + qrels / reading twice": cpu["graded file, cover + qrels"]
        / 2
        / cpu["graded file, read only"],
    }
    for name, ratio in ratios.items():
        print(f"{name:36} {ratio:6.2f}")
    sums = [results[way][0][2] for way in ("runs, exam_pp", "runs, one process each")]
    agree = abs(sums[0] - sums[1]) < 1e-6 * abs(sums[1])
    print("scores agree" if agree else f"scores differ: {sums}")
    if path is not None:
        versions = {name: version(name) for name in ("exam_pp", "ir-measures", "numpy", "scipy")}
        record = {
            "cpu": cpu, "wall": wall, "ratios": ratios, "scores agree": agree,
            "versions": versions, "python": platform.python_version(),
        }  # fmt: skip
        path.write_text(json.dumps(record, indent=2) + "\n")
    sys.exit(not agree)


if __name__ == "__main__":
    main()
