"""Measurement of several implementations ("ways") of the same work, in separate processes that take turns."""

from __future__ import annotations

import gc
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ENV = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
Rounds = list[dict[str, Any]]


def measured(call: Callable[[], Any]) -> dict[str, Any]:
    """CPU and wall seconds of a call, the peak memory of this process in MB, and the result of the call."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform == "linux" else 1024**2)
    return {"cpu": cpu, "wall": wall, "peak": peak, "result": result}


def in_turn(script: str, ways: Iterable[str], arguments: Sequence[str], rounds: int) -> dict[str, Rounds]:
    """Run ``SCRIPT --way WAY ARGUMENTS`` for each way in each round; returns the JSON that it prints.

    ``process`` and ``process_wall`` are added: CPU and wall seconds of the whole process with imports.
    """
    results: dict[str, Rounds] = {way: [] for way in ways}
    for number in range(rounds):
        for way, rows in results.items():
            print(f"round {number + 1} of {rounds}: {way}", file=sys.stderr)
            start, before = time.perf_counter(), children()
            result = json.loads(output([sys.executable, script, "--way", way, *arguments]))
            seconds = {"process": children() - before, "process_wall": time.perf_counter() - start}
            rows.append(result | seconds)
    return results


def check_equal(results: dict[str, Rounds]) -> None:
    """Exit if ways have different results; empty results are ignored."""
    different = {json.dumps(row["result"]) for rounds in results.values() for row in rounds if row["result"]}
    if len(different) > 1:
        raise SystemExit(f"The ways have different results: {sorted(different)}")


def output(command: Sequence[str]) -> str:
    """The standard output of a command; exits with its standard error if it fails."""
    done = subprocess.run(command, env=ENV, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def children() -> float:
    """CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def medians(results: dict[str, Rounds]) -> dict[str, dict[str, float]]:
    """Way to the medians of its numbers; ``spread`` is (slowest - fastest) / median of the CPU seconds."""
    by_way = {}
    for way, rounds in results.items():
        numbers = {key: [row[key] for row in rounds] for key in rounds[0] if key != "result"}
        spread = (max(numbers["cpu"]) - min(numbers["cpu"])) / median(numbers["cpu"])
        by_way[way] = {key: median(values) for key, values in numbers.items()} | {"spread": spread}
    return by_way


def environment(*packages: str) -> str:
    """Processor, load and versions, as the context of the numbers."""
    info = Path("/proc/cpuinfo")
    models = re.findall(r"^model name\s*: (.*)$", info.read_text() if info.exists() else "", re.MULTILINE)
    versions = [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)]
    cores = f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}"
    return f"{models[0] if models else platform.processor()}, {cores}; {', '.join(versions)}"
