"""Damaged inputs: never a traceback, never a silent loss, never a changed input, never half an output.

Usage: python -m scripts.reliability.fuzz [--cases 10000] [--seed 1]

Every case damages one good file in one way and runs a command that reads it, in this process. The command
must write its output and exit with 0, or say one sentence and exit with 1 or 2 without any output; in both
cases all inputs are as before. Of lines that Python's json module does not read nothing may be written, and
commands that copy must copy everything.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from exam_pp.cli.main import main as exam_pp
from scripts.reliability.good_files import TARGETS, Target, lay_out
from scripts.reliability.mutations import mutate


@dataclass(frozen=True)
class Outcome:
    """What happened to one case. ``problem`` is what must not happen, if it did."""

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
        """What was written."""
        raw = self.buffer
        assert isinstance(raw, io.BytesIO)
        return raw.getvalue().decode("utf-8", "replace")


def run_case(folder: Path, target: Target, damage: str, data: bytes) -> Outcome:
    """Run one command on a damaged file, in a folder that is made for it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    lay_out(folder)
    (folder / target.file).write_bytes(data)
    before = _snapshot(folder)
    out, err = Standard(), Standard()
    code, crash = 0, ""
    with _inside(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            exam_pp(["-q", *shlex.split(target.command.format(target.file))])
        except SystemExit as stop:
            code = int(stop.code or 0)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is what is looked for
            crash = _where(error)
    after = _snapshot(folder)
    message = err.content().strip()
    problem = crash or _problem(target, data, code, before, after, out.content(), message)
    return Outcome(damage, target.file, target.command, code, message, problem)


def _where(error: BaseException) -> str:
    """An exception, and the last line of ours that it came through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "exam_pp" in frame.filename]
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__}: {str(error)[:200]} at {place}"


def _snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
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
    if target.command.startswith(("validate", "bank lint")) and new == [target.output]:
        return ""  # the report is the output
    # A grading keeps the replies that it has; of a split by query, the files before the bad line are whole.
    new = [name for name in new if name != f"{target.output}.journal" and "--by-query" not in target.command]
    if new:
        return f"exit code {code} with outputs: {new}"
    if out:
        return f"exit code {code} with words on standard output: {out[:80]!r}"
    last = err.splitlines()[-1] if err else ""
    if code == 1 and not last.startswith("exam-pp: "):
        return f"no sentence: {last!r}"
    return ""


def _loss(target: Target, data: bytes, after: dict[str, bytes]) -> str:
    """What a command that copies everything did not copy."""
    if not target.keeps:
        return ""
    try:
        content = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        lines = [line.strip() for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
        given = [json.loads(line) for line in lines if line]
    except (ValueError, OSError, EOFError, RecursionError) as error:
        return f"written, although the input is not valid ({error})"
    written: dict[str, list[Any]] = {}
    for line in after[target.output].splitlines():
        query_id, passages = json.loads(line)
        written.setdefault(str(query_id), []).extend(passages)
    for query_id, passages in given:
        for passage in passages:
            if not any(_holds(copy, passage) for copy in written.get(_as_text(query_id), ())):
                return f"lost: {json.dumps(passage)[:300]}"
    return ""


def _as_text(value: Any) -> str:
    return str(value).encode("utf-8", "replace").decode()


_MISSING = object()


def _holds(copy: Any, value: Any) -> bool:
    """Whether a copy says everything that a value says; it may say more."""
    if copy == value:  # equal ones may be nested deeply
        return True
    if isinstance(value, dict):
        return isinstance(copy, dict) and all(
            _holds(copy.get(_as_text(key), _MISSING), v) for key, v in value.items()
        )
    if isinstance(value, list):
        return isinstance(copy, list) and all(any(_holds(other, item) for other in copy) for item in value)
    # Ids become texts, "a" may be renamed to "z", surrogates are replaced (with a warning).
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return True
    return _as_text(copy) in {_as_text(value), _as_text(value).removesuffix(".0"), "z"}


@dataclass
class Result:
    """Counts of many cases."""

    cases: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[Outcome] = field(default_factory=list)


def fuzz(cases: int, seed: int = 1, targets: Sequence[Target] = TARGETS, keep: Path | None = None) -> Result:
    """Run so many cases; every target has its turn. The data of problems goes to the folder ``keep``."""
    rng, result = Random(seed), Result()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "case"
        folder.mkdir()
        lay_out(folder)
        good = _snapshot(folder)
        for number in range(cases):
            target = targets[number % len(targets)]
            damage, data = mutate(rng, good[target.file])
            outcome = run_case(folder, target, damage, data)
            result.cases[damage] += 1
            result.refused[damage] += outcome.code != 0
            if outcome.problem:
                result.problems.append(outcome)
                if keep is not None:
                    (keep / f"{seed}-{number}").write_bytes(data)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for the damaged files of problems")
    options = parser.parse_args()
    result = fuzz(options.cases, options.seed, keep=options.keep)
    for damage, count in sorted(result.cases.items()):
        print(f"{damage}: {count} cases, {result.refused[damage]} refused")
    for outcome in result.problems:
        print(f"\n{outcome.command} ({outcome.file}, {outcome.mutation}), exit code {outcome.code}")
        print(f"{outcome.message}\n{outcome.problem}")
    print(f"{len(result.problems)} problems in {options.cases} cases")
    sys.exit(bool(result.problems))


if __name__ == "__main__":
    main()
