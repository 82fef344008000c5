"""Fuzzing of commands with damaged input files.

Usage: python -m scripts.reliability.fuzz [--cases 10000] [--seed 1]

Every case damages a good file and runs a command that reads it, in this process. The command must write its
output and exit with 0, or print a message and exit with 1 or 2 without output; inputs must not change. A
traceback is a problem. Commands that copy must copy everything, and must refuse lines that Python's json
module cannot read.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import logging
import os
import shlex
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from exam_pp.cli.main import main as exam_pp
from scripts.reliability.good_files import Target, lay_out, targets
from scripts.reliability.mutations import mutate


@dataclass(frozen=True)
class Outcome:
    """The result of a case; ``problem`` is "" if the command behaved correctly."""

    mutation: str
    file: str
    command: str
    code: int
    message: str
    problem: str = ""


class Standard(io.TextIOWrapper):
    """A replacement of standard output, for text and bytes."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def content(self) -> str:
        """The written text."""
        raw = self.buffer
        assert isinstance(raw, io.BytesIO)
        return raw.getvalue().decode("utf-8", "replace")


def run_case(folder: Path, target: Target, damage: str, data: bytes) -> Outcome:
    """Run a command on a damaged file, in a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    lay_out(folder)
    (folder / target.file).write_bytes(data)
    before = snapshot(folder)
    ran = run_inside(folder, target.command.format(target.file))
    problem = ran.crash or _problem(target, data, ran.code, before, snapshot(folder), ran.output, ran.message)
    return Outcome(damage, target.file, target.command, ran.code, ran.message, problem)


@dataclass(frozen=True)
class Ran:
    """The result of a command: exit code, standard output and error, and its exception or ""."""

    code: int
    output: str
    message: str
    crash: str


def run_inside(folder: Path, command: str) -> Ran:
    """Run a command in this process, with a folder as the working directory."""
    out, err = Standard(), Standard()
    code, crash = 0, ""
    with inside(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            exam_pp(["-q", *shlex.split(command)])
        except SystemExit as stop:
            code = int(stop.code or 0)
        except BaseException as error:  # noqa: BLE001 - any exception is a problem
            crash = _where(error)
    return Ran(code, out.content(), err.content().strip(), crash)


def _where(error: BaseException) -> str:
    """The exception, with the last line of exam_pp in its traceback."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "exam_pp" in frame.filename]
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__}: {str(error)[:200]} at {place}"


def snapshot(folder: Path) -> dict[str, bytes]:
    """The content of all files in a folder, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """The folder is the working directory in the block; log handlers are removed after it."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        logging.getLogger().handlers.clear()


def _problem(
    target: Target,
    data: bytes,
    code: int,
    before: dict[str, bytes],
    after: dict[str, bytes],
    out: str,
    err: str,
) -> str:
    changed = [name for name, content in before.items() if after.get(name) != content]
    new = sorted(after.keys() - before.keys())
    if changed:
        return f"inputs were changed: {changed}"
    if code not in {0, 1, 2}:
        return f"exit code {code}"
    if code == 0:
        if not any(name == target.output or name.startswith(f"{target.output}/") for name in new):
            return "exit code 0 without an output"
        extra = [name for name in new if name != target.output and not name.startswith(f"{target.output}/")]
        return f"leftovers: {extra}" if extra else _loss(target, data, after)
    if target.command.startswith(("validate", "bank show")) and new == [target.output]:
        return ""  # the report is the output
    # A grading keeps its journal.
    new = [name for name in new if name != f".{target.output}.journal"]
    if new:
        return f"exit code {code} with outputs: {new}"
    if out:
        return f"exit code {code} with text on standard output: {out[:80]!r}"
    last = err.splitlines()[-1] if err else ""
    if code == 1 and not last.startswith("exam-pp: "):
        return f"no message: {last!r}"
    return ""


def _loss(target: Target, data: bytes, after: dict[str, bytes]) -> str:
    """The data that a copying command lost, or ""."""
    if not target.keeps:
        return ""
    # A conversion counts duplicate keys, of which it keeps the last value.
    decode = json.loads if target.command.startswith("convert") else _decoded
    try:
        content = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        lines = [line.strip() for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
        values = [decode(line) for line in lines if line]
    except (ValueError, OSError, EOFError, RecursionError) as error:
        return f"an output was written although the input is not valid ({error})"
    written: dict[str, list[Any]] = {}
    for line in after[target.output].splitlines():
        query_id, passages = _query(decode(line))
        written.setdefault(str(query_id), []).extend(passages)
    for query_id, passages in map(_query, values):
        name = _as_text(query_id)
        copies = written.get(name) or written.get(name.removesuffix(".0")) or []
        for passage in passages:
            if not any(_contains(copy, passage) for copy in copies):
                return f"lost: {json.dumps(passage)[:300]}"
    return ""


def _query(value: Any) -> tuple[Any, list[Any]]:
    """The id of a line's query, and its passages; a line of a games file counts as one passage."""
    if isinstance(value, dict):
        # Files of queries may call the text of a query "text"; it is written as "query_text".
        if "text" in value and "query_text" not in value:
            value = {"query_text" if key == "text" else key: item for key, item in value.items()}
        return value.get("query_id"), [value]
    query_id, passages = value
    return query_id, passages


def _decoded(line: bytes) -> Any:
    """A JSON line with integers as texts, which have any length, and all values of duplicate keys."""
    return json.loads(line, parse_int=str, object_pairs_hook=_with_duplicates)


def _with_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, item in pairs:
        name = key
        while name in value:
            name += " again"
        value[name] = item
    return value


def _as_text(value: Any) -> str:
    return str(value).encode("utf-8", "replace").decode()


_MISSING = object()


def _contains(copy: Any, value: Any) -> bool:
    """Whether a copy contains all data of a value; it may contain more."""
    if copy == value:  # saves recursion into deeply nested values
        return True
    if isinstance(value, dict):
        return isinstance(copy, dict) and all(
            _contains(copy.get(_as_text(key), _MISSING), v) for key, v in value.items()
        )
    if isinstance(value, list):
        return isinstance(copy, list) and all(any(_contains(c, item) for c in copy) for item in value)
    # Ids become strings, "a" may be renamed to "z", surrogates are replaced (with a warning).
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return True
    return _as_text(copy) in {_as_text(value), _as_text(value).removesuffix(".0"), "z"}


@dataclass
class Result:
    """Counts of many cases."""

    cases: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[Outcome] = field(default_factory=list)


def fuzz(cases: int, seed: int = 1) -> Result:
    """Run this many cases; targets take turns."""
    rng, result = Random(seed), Result()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "case"
        folder.mkdir()
        lay_out(folder)
        good = snapshot(folder)
        for number in range(cases):
            target = targets()[number % len(targets())]
            damage, data = mutate(rng, good[target.file])
            outcome = run_case(folder, target, damage, data)
            result.cases[damage] += 1
            result.refused[damage] += outcome.code != 0
            if outcome.problem:
                result.problems.append(outcome)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    result = fuzz(options.cases, options.seed)
    for damage, count in sorted(result.cases.items()):
        print(f"{damage}: {count} cases, {result.refused[damage]} refused")
    for outcome in result.problems:
        print(f"\n{outcome.command} ({outcome.file}, {outcome.mutation}), exit code {outcome.code}")
        print(f"{outcome.message}\n{outcome.problem}")
    print(f"{len(result.problems)} problems in {options.cases} cases")
    sys.exit(bool(result.problems))


if __name__ == "__main__":
    main()
