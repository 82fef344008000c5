"""Fault injection: full disks, read-only folders, concurrent writers.

Each fault runs real processes in its own folder and returns the problem with the result, or "".
"""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from exam_pp.store.files import atomic_output
from scripts.bench.make_graded import generate

EXAM_PP = [sys.executable, "-m", "exam_pp", "-q"]
SCALE = 0.05
_LIMIT = 200_000


@dataclass(frozen=True)
class Fault:
    """A fault, the expected result, and the number of runs."""

    name: str
    expected: str
    times: int
    run: Callable[[Path, int], str]


def run(folder: Path, *arguments: str, before: Callable[[], None] | None = None) -> tuple[int, str]:
    """Run a command; returns its exit code and its last line on standard error."""
    command = [*EXAM_PP, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, preexec_fn=before, check=False)
    lines = done.stderr.strip().splitlines()
    return done.returncode, lines[-1] if lines else ""


SOURCE = "graded.jsonl.gz"
COPY = ("filter", SOURCE, "--rename", "system=run01=z", "-o", "out.jsonl.gz")


def check(folder: Path, result: tuple[int, str], code: int, message: str, *, output: bool = False) -> str:
    """The problem: a wrong exit code, message or output, leftover files, or a changed input; else ""."""
    if result[0] != code:
        return f"exit code {result[0]} ({result[1]})"
    if message not in result[1]:
        return f"the message is {result[1]!r}"
    return _leftovers(folder, output=output)


def _leftovers(folder: Path, *, output: bool) -> str:
    names = {path.name for path in folder.iterdir()}
    expected = {"graded.jsonl.gz"} | ({"out.jsonl.gz"} if output else set())
    if names != expected:
        return f"the folder contains {sorted(names)}"
    return "" if _input_is_unchanged(folder) else "the input was changed"


def _input_is_unchanged(folder: Path) -> bool:
    return (folder / "graded.jsonl.gz").stat().st_size == (folder.parent / "graded.jsonl.gz").stat().st_size


def full_disk(folder: Path, number: int) -> str:
    """A random limit on the file size makes writes fail, as on a full disk."""
    size = random.Random(number).randrange(0, _LIMIT)

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return check(folder, run(folder, *COPY, before=limit), 1, "cannot be written: File too large")


def full_device(folder: Path, _number: int) -> str:
    """Standard output is a full device."""
    with Path("/dev/full").open("wb") as full:
        command = [*EXAM_PP, *COPY[:-1], "-"]
        done = subprocess.run(
            command, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    result = done.returncode, done.stderr.strip()
    return check(folder, result, 1, "exam-pp: Standard output cannot be written: No space left on device.")


def reader_gone(folder: Path, _number: int) -> str:
    """The reader of a pipe ends early, as ``head`` does."""
    command = (
        f"{' '.join(EXAM_PP)} {' '.join(COPY[:-1])} - | head -c 100 > /dev/null; exit ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    return check(folder, (done.returncode, done.stderr.strip()), 141, "")


def no_permission(folder: Path, _number: int) -> str:
    """The folder is read-only; for root, who can write to any folder, it is in /proc."""
    target = "/proc/out.jsonl.gz"
    if os.geteuid():
        locked = folder.parent / "locked"
        locked.mkdir(mode=0o500, exist_ok=True)
        target = str(locked / "out.jsonl.gz")
    return check(folder, run(folder, *COPY[:-1], target), 1, "cannot be written")


def two_writers(folder: Path, _number: int) -> str:
    """Another process writes the same output."""
    output = folder / "out.jsonl.gz"
    with atomic_output(output) as stream:
        stream.write(b"first")
        result = run(folder, *COPY)
        if result[0] != 1 or "is being written by another process" not in result[1]:
            return f"exit code {result[0]} ({result[1]})"
    return _leftovers(folder, output=True)


FAULTS: tuple[Fault, ...] = (
    Fault(
        "full disk, at a random place", "one sentence, exit code 1, no output, no leftovers", 40, full_disk
    ),
    Fault("full device as standard output", "one sentence, exit code 1", 3, full_device),
    Fault("a reader that ends early (`head`)", "exit code 141, no message", 3, reader_gone),
    Fault("a folder without permission", "one sentence, exit code 1", 3, no_permission),
    Fault(
        "another process writes the output",
        "one sentence, exit code 1; the first output is kept",
        3,
        two_writers,
    ),
)


def provoke(fault: Fault, times: int | None = None) -> list[str]:
    """The problems of this many runs of a fault."""
    problems = []
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        generate(root / "graded.jsonl.gz", SCALE)
        for number in range(times or fault.times):
            folder = root / "run"
            folder.mkdir()
            (folder / "graded.jsonl.gz").write_bytes((root / "graded.jsonl.gz").read_bytes())
            problems.append(fault.run(folder, number))
            for path in folder.iterdir():
                path.unlink()
            folder.rmdir()
    return [problem for problem in problems if problem]
