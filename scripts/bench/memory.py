"""Benchmark of peak memory: commands on graded files of the size of TREC DL 2020 and of 20 times that size.

Usage: python -m scripts.bench.memory [--scales 1,20] [--only NAME] [--folder FOLDER] [--json FILE]

Larger files have more queries, not larger queries (`scripts/bench/make_graded.py`), so that a command which
keeps one query in memory has the same peak on all files. Every command runs in its own process; the table has
its largest resident set (`ru_maxrss`) and its CPU seconds. The files need about 15 MB of disk per scale, and
are deleted.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SET = "--prompt-class QuestionSelfRatedUnanswerablePromptWithChoices"
BANKED = f"{{graded}} --bank {{bank}} {SET} -o {{out}}"
READ = "-c 'from exam_pp.store.passages.{module} import {name} as read; [0 for _ in read(\"{{graded}}\")]'"

COMMANDS: dict[str, str] = {
    "(the interpreter)": "-c pass",
    "(reading, bytes kept)": READ.format(module="raw_passages", name="read_raw_passages"),
    "(reading, full objects)": READ.format(module="graded_file", name="read_passages"),
    "filter": "filter {graded} --min-judgment 2 -o {out}",
    "sample": "sample {graded} --max-passages 10 --by-judgment equal -o {out}",
    "rename": "rename {graded} --grader google/flan-t5-large=flan -o {out}",
    "strip": "strip {graded} --remove texts --remove replies -o {out}",
    "split": "split {graded} -n 2 -o {parts}",
    "merge, parts of the file": "merge {part1} {part2} -o {out}",
    "merge, with itself": "merge {graded} {graded} -o {out}",
    "reread": f"reread {{graded}} {SET} -o {{out}}",
    "evaluate cover": f"evaluate cover {BANKED}",
    "evaluate qrels": f"evaluate qrels {BANKED}",
    "verify spurious --limit 100": f"verify spurious {BANKED} --limit 100",
    "verify grading --limit 3": f"verify grading {BANKED} --limit 3",
    "query": "query {graded} 'SELECT model, avg(rating) FROM ratings GROUP BY model' -o {out}",
    "db": "db {graded} -o {out}.duckdb",
    "validate": "validate {graded}",
    "grade --plan, 10 questions": f"grade {BANKED} --model constant --plan",
    "grade, constant model, 10 questions": f"grade {BANKED} --model constant",
    "grade, constant model, 1 question": f"grade {{graded}} --bank {{few}} --model constant {SET} -o {{out}}",
    "grade, lexical model, 1 question": f"grade {{graded}} --bank {{few}} --model lexical {SET} -o {{out}}",
}


def make_files(folder: Path, scale: str) -> dict[str, Path]:
    """Make the graded file, its bank, and a bank with one question per query.

    A separate process makes them, because the memory of this process would count for its children.
    """
    names = ("graded.jsonl.gz", "bank.jsonl", "few.jsonl", "out.jsonl.gz", "parts")
    graded, bank, few, out, parts = (folder / name for name in names)
    make = ["-m", "scripts.bench.make_graded", str(graded), "--scale", scale, "--bank", str(bank)]
    subprocess.run([sys.executable, *make], cwd=ROOT, check=True)
    with bank.open() as lines, few.open("w") as stream:
        for line in map(json.loads, lines):
            stream.write(json.dumps({**line, "items": line["items"][:1]}) + "\n")
    return {
        "graded": graded,
        "bank": bank,
        "few": few,
        "out": out,
        "parts": parts,
        "part1": parts / "graded-1-of-2.jsonl.gz",
        "part2": parts / "graded-2-of-2.jsonl.gz",
    }


def peak(command: str, files: dict[str, Path]) -> tuple[float, float]:
    """Peak memory in MB and CPU seconds of a command."""
    arguments = shlex.split(command.format(**files))
    if not command.startswith("-c "):
        arguments = ["-m", "exam_pp", "-q", *arguments]
    with subprocess.Popen([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"exit code {process.returncode}: {command}")
    divisor = 1024 if sys.platform == "linux" else 1024**2
    return usage.ru_maxrss / divisor, usage.ru_utime + usage.ru_stime


def table(results: dict[str, dict[str, tuple[float, float]]], scales: list[str]) -> str:
    """Peaks by command and scale as Markdown."""
    header = ["command", *(f"{scale}×: peak (MB) | CPU (s)" for scale in scales)]
    lines = [f"| {' | '.join(header)} |", "|---|" + "---:|---:|" * len(scales)]
    for name, by_scale in results.items():
        cells = [f"{by_scale[scale][0]:.0f} | {by_scale[scale][1]:.1f}" for scale in scales]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scales", default="1,20", help="multiples of TREC DL 2020, separated by commas")
    parser.add_argument("--only", action="append", help="only this row; may be repeated")
    parser.add_argument("--folder", type=Path, help="folder for the temporary files")
    parser.add_argument("--json", type=Path, help="also write the numbers here")
    options = parser.parse_args()
    scales = options.scales.split(",")
    results: dict[str, dict[str, tuple[float, float]]] = {}
    for scale in scales:
        with tempfile.TemporaryDirectory(dir=options.folder) as name:
            files = make_files(Path(name), scale)
            for row, command in COMMANDS.items():
                if not options.only or row in options.only:
                    print(f"{scale}x: {row}", file=sys.stderr)
                    results.setdefault(row, {})[scale] = peak(command, files)
    print(table(results, scales))
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
