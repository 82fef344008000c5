"""Kill every writing command before each of its file system calls, and run it again.

Usage: python -m scripts.reliability.kills [--signal KILL TERM INT] [--only TEXT] [--most 1000] [--python]

A command runs in a forked process, to which strace sends a signal at one system call that changes files. Then
inputs must be unchanged, and outputs complete or absent. After SIGTERM and SIGINT there must be no leftovers;
after SIGKILL the same command must write the output of an uninterrupted run and remove all leftovers. Without
strace (or with --python), the signal is sent before calls of Python's functions that change files.

Prints a table. Exits with 1 if there were problems.
"""

from __future__ import annotations

import argparse
import fcntl
import gc
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from exam_pp.cli.main import COMMANDS
from exam_pp.cli.main import main as exam_pp
from scripts.command_tree import is_here
from scripts.reliability.fuzz import snapshot
from scripts.reliability.good_files import RATED, lay_out, targets

_SET = f"--grader model --prompt {RATED}"
_MORE = (
    f"review graded.jsonl --bank bank.jsonl {_SET} -o out",
    f"bank clinic graded.jsonl --bank bank.jsonl {_SET} -o out --also edits=edits.json",
    "bank apply bank.jsonl --secret 0.5 -o out --also secret=secret",
    f"evaluate qrels graded.jsonl {_SET} --runs runs -o out --also qrels=qrels.out",
    f"evaluate report graded.jsonl --bank bank.jsonl {_SET} -o out",
    "convert graded.jsonl --from graded --to qrels -o out --also dropped-fields=dropped.json",
    f"grade graded.jsonl --bank bank.jsonl --model fake --prompt {RATED} -o out",
    "generate answers queries.jsonl --model fake -o out",
    "compare compared.jsonl --queries queries.tsv --model fake --games judged-games.jsonl -o out "
    "--journal compare.journal",
    "generate queries texts.tsv --pool kinds.jsonl --model fake -o out --journal queries.journal",
    "evaluate elo all.games.jsonl --grader model --elo tournaments=3 -S samples=100 -o out "
    "--plot ratings.svg --plot matrix=matrix.svg",
    "evaluate answers cited.jsonl --metric criteria -o out --plot criteria.svg",
    "analyze graders rated.jsonl --by criterion -S samples=100 -o out --plot differences=differences.svg",
    "apply compared.jsonl decisions.json --games judged-games.jsonl -o out",
    "query graded.jsonl --bank bank.jsonl --runs runs --save out",
    "query graded.jsonl --bank bank.jsonl --runs runs --format parquet --save out",
    "query graded.jsonl --bank bank.jsonl --runs runs --format parquet --save existing",
    "split graded.jsonl -n 2 -o existing",
    "convert graded.jsonl --from graded --to run -o new/folder/out",
    "convert graded.jsonl --from graded --to run -o existing/",
)
SYSTEM_CALLS = (
    *("openat", "mkdir", "rename", "unlink", "unlinkat", "rmdir", "ftruncate"),
    *("write", "pwrite64", "fsync", "fdatasync", "chmod", "fchmod", "flock"),
)
"""System calls that change files or folders."""

_GROWING = ("compare.journal", "queries.journal")
"""Files that a command writes while it works, so that the next one can go on where it was stopped."""

Point = tuple[str, int]
"""A system call or function, and its number in the process."""


def writing_commands() -> list[str]:
    """Command lines of all commands that write a file, on the files of :func:`lay_out`."""
    lines = [target.command.format(target.file) for target in targets()]
    return list(dict.fromkeys([*filter(is_here, _MORE), *lines]))


@dataclass
class Count:
    """The results of a command: attacked calls, those that the process did not reach, and problems."""

    points: int = 0
    missed: int = 0
    problems: list[str] = field(default_factory=list)


class Strace:
    """Signals at system calls."""

    def points(self, process: Process) -> list[Point]:
        """Run a process, and return its system calls that change files."""
        log = process.folder.with_suffix(".log")
        self._trace(process, "-y", "-o", str(log), "-e", f"trace={','.join(SYSTEM_CALLS)}")
        process.wait()
        numbers: Counter[tuple[str, str]] = Counter()
        points = set()
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            match = re.match(r"(\d+) +(\w+)\((.*)", line)
            if match is None or match[2] not in SYSTEM_CALLS:
                continue
            numbers[match[1], match[2]] += 1
            changes = "O_CREAT" in match[3] or "O_RDWR" in match[3] or "O_WRONLY" in match[3]
            named = self._named(process, match[3])
            of_command = f"{process.folder}" in named and f"{process.folder.with_suffix('.out')}" not in named
            if (match[2] != "openat" or changes) and of_command:
                points.add((match[2], numbers[match[1], match[2]]))
        return sorted(points)

    def _named(self, process: Process, arguments: str) -> str:
        """The arguments, in which relative paths are those of the process's folder."""
        return re.sub(r'AT_FDCWD<[^>]*>|"(?!/)', f'"{process.folder}/', arguments)

    def attack(self, process: Process, point: Point, sent: signal.Signals) -> None:
        """Send a signal at a system call of a process that has not begun."""
        call, number = point
        inject = f"inject={call}:signal={sent.name}:when={number}"
        self._trace(process, "-o", os.devnull, "-e", f"trace={call}", "-e", inject)

    def _trace(self, process: Process, *options: str) -> None:
        tracer = subprocess.Popen(
            ["strace", "-f", "-qq", *options, "-p", str(process.id)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        status = Path(f"/proc/{process.id}/status")
        while "TracerPid:\t0\n" in status.read_text(encoding="ascii"):
            if tracer.poll() is not None:
                raise OSError("strace cannot trace processes here; use --python.")
            time.sleep(0.001)
        process.tracer = tracer
        process.begin()


class Functions:
    """Signals before calls of Python's functions."""

    _FUNCTIONS = ("open", "mkdir", "rename", "replace", "unlink", "rmdir", "chmod", "fsync")

    def points(self, process: Process) -> list[Point]:
        """Run a process, and return its calls that change files."""
        log = process.folder.with_suffix(".log")
        process.prepare = partial(self._patch, lambda point: _append(log, point[0]))
        process.begin()
        process.wait()
        calls = log.read_text(encoding="ascii").splitlines() if log.exists() else []
        return [("call", number) for number in range(1, len(calls) + 1)]

    def attack(self, process: Process, point: Point, sent: signal.Signals) -> None:
        """Send a signal before a call of a process that has not begun."""
        process.prepare = partial(
            self._patch, lambda at: os.kill(os.getpid(), sent) if at[1] == point[1] else None
        )
        process.begin()

    def _patch(self, step: Callable[[Point], object]) -> None:
        numbers = count(1)
        for module, name in [*((os, name) for name in self._FUNCTIONS), (fcntl, "flock")]:
            original: Callable[..., Any] = getattr(module, name)

            def patched(*arguments: Any, _original: Any = original, _name: str = name, **options: Any) -> Any:
                step((_name, next(numbers)))
                return _original(*arguments, **options)

            setattr(module, name, patched)


def _append(log: Path, line: str) -> None:
    with log.open("a", encoding="ascii") as stream:
        stream.write(line + "\n")


class Process:
    """A command in a forked process, which waits for :meth:`begin`.

    Attributes:
        folder: The working directory of the command.
        prepare: Is called in the forked process before the command; only if set before :meth:`begin`.
    """

    def __init__(self, folder: Path, command: str) -> None:
        self.folder = folder
        self.command = command
        self.prepare: Callable[[], object] = lambda: None
        self.tracer: subprocess.Popen[bytes] | None = None
        self.id = 0
        self._waits, self._go = os.pipe()

    def fork(self) -> Process:
        """Start the process, which waits."""
        self.id = os.fork()
        if not self.id:
            os.read(self._waits, 1)
            self._run()
        return self

    def begin(self) -> None:
        """Let the command begin."""
        if not self.id:
            self.fork()
        os.write(self._go, b".")

    def wait(self) -> int:
        """The exit code, or the negative number of a signal."""
        _, status = os.waitpid(self.id, 0)
        os.close(self._waits)
        os.close(self._go)
        if self.tracer is not None:
            self.tracer.wait()
        return os.waitstatus_to_exitcode(status)

    def _run(self) -> None:
        code = 70
        try:
            os.chdir(self.folder)
            with self.folder.with_suffix(".out").open("ab") as messages:
                for descriptor in (1, 2):
                    os.dup2(messages.fileno(), descriptor)
            tempfile.tempdir = str(self.folder.with_suffix(".tmp"))
            self.prepare()
            gc.freeze()  # the objects of the first process
            known = set(sys.modules)
            code = _exit_code(self.command)
            gc.collect()  # as at the end of a process, which closes generators that are suspended
            self.folder.with_suffix(".modules").write_text("\n".join(set(sys.modules) - known), "utf-8")
        except BaseException:  # noqa: BLE001 - as the interpreter would report it
            traceback.print_exc()
        finally:
            os._exit(code)


def _exit_code(command: str) -> int:
    try:
        exam_pp(["-q", *shlex.split(command)])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def attack(command: str, root: Path, tool: Strace | Functions, sent: signal.Signals, most: int) -> Count:
    """Send a signal to a command at every call that changes files, or at ``most`` of them."""
    result = Count()
    expected = [_uninterrupted(root / f"whole{number}", command) for number in range(2)]
    names = expected[0].keys()
    if names != expected[1].keys() or not names:
        message = (root / "whole0.out").read_text(errors="replace")[-300:]
        return Count(problems=[f"the command has no output: {sorted(names)} {message}"])
    same = {name: content if content == expected[1][name] else None for name, content in expected[0].items()}
    points = tool.points(_new(root / "points", command, traced=isinstance(tool, Strace)))
    for point in sorted(Random(0).sample(points, min(most, len(points)))):
        result.points += 1
        folder = root / "attacked"
        process = _new(folder, command, traced=isinstance(tool, Strace))
        before = snapshot(folder)
        tool.attack(process, point, sent)
        code = process.wait()
        result.missed += sent == signal.SIGKILL and code != -sent
        problem = _problem(process, code, before, same, sent)
        if problem:
            result.problems.append(f"{command} ({sent.name} at {point[0]} {point[1]}): {problem}")
    return result


def _new(folder: Path, command: str, *, traced: bool) -> Process:
    for path in (folder, folder.with_suffix(".tmp")):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
    for suffix in (".log", ".out"):
        folder.with_suffix(suffix).unlink(missing_ok=True)
    lay_out(folder)
    (folder / "existing").mkdir()
    (folder / "existing" / "other").write_text("of somebody else\n")
    process = Process(folder, command)
    return process.fork() if traced else process


def _uninterrupted(folder: Path, command: str) -> dict[str, bytes]:
    process = _new(folder, command, traced=False)
    before = snapshot(folder)
    process.begin()
    code = process.wait()
    after = snapshot(folder)
    for module in folder.with_suffix(".modules").read_text("utf-8").split():
        with suppress(Exception):  # forks need not import what this process has imported
            import_module(module)
    return {name: after[name] for name in after.keys() - before.keys()} if code == 0 else {}


def _problem(
    process: Process,
    code: int,
    before: Mapping[str, bytes],
    expected: Mapping[str, bytes | None],
    sent: signal.Signals,
) -> str:
    folder = process.folder
    problem = _state_problem(folder, before, expected, killed=sent == signal.SIGKILL)
    if problem:
        return f"exit code {code}; {problem}"
    if sent != signal.SIGKILL:
        if code not in {0, 128 + sent, -sent}:
            return f"exit code {code}: {folder.with_suffix('.out').read_text(errors='replace')[-300:]}"
        if any(folder.with_suffix(".tmp").iterdir()):
            return "a temporary folder is left"
    again = Process(folder, process.command)
    again.begin()
    code = again.wait()
    message = folder.with_suffix(".out").read_text(errors="replace").strip()[-200:]
    after = snapshot(folder)
    new = after.keys() - before.keys()
    if code:
        return f"the second run has exit code {code} ({message})"
    if new != expected.keys():
        return f"after the second run, the new files are {sorted(new)}"
    different = [name for name, content in expected.items() if content is not None and after[name] != content]
    return f"after the second run, other content: {different}" if different else ""


def _state_problem(
    folder: Path, before: Mapping[str, bytes], expected: Mapping[str, bytes | None], *, killed: bool
) -> str:
    """The problem with the files after a signal, or ""."""
    after = snapshot(folder)
    changed = [name for name, content in before.items() if after.get(name) != content]
    if changed:
        return f"inputs were changed: {changed}"
    new = after.keys() - before.keys()
    half = [name for name in new & expected.keys() if expected[name] not in {None, after[name]}]
    half = [name for name in half if name not in _GROWING]
    if half:
        return f"half an output: {half}"
    for top in {name.split("/")[0] for name in expected if "/" in name} - {"existing"}:
        files = {name for name in expected if name.startswith(f"{top}/")}
        if 0 < len(files & new) < len(files):
            return f"half a folder: {sorted(files & new)}"
    others = [name for name in new - expected.keys() if ".journal" not in name and ".panel" not in name]
    if killed:
        hidden = re.compile(r"(.*/)?\.[^/]+\.(lock|part|work/.*)")
        others = [name for name in others if hidden.fullmatch(name) is None]
    elif (
        0
        < len([name for name in expected.keys() & new if name.startswith("existing/")])
        < len([name for name in expected if name.startswith("existing/")])
    ):
        return f"not all files were moved: {sorted(new)}"
    return f"leftovers: {sorted(others)}" if others else ""


def kills(
    signals: Iterable[signal.Signals], commands: Iterable[str], tool: Strace | Functions, most: int
) -> Iterator[tuple[str, signal.Signals, Count]]:
    """Yield the results of each command and signal."""
    for module, _ in COMMANDS.values():
        import_module(module)
    with tempfile.TemporaryDirectory(prefix="exam-pp-kills-") as name:
        for command in commands:
            for sent in signals:
                yield command, sent, attack(command, Path(name).resolve(), tool, sent, most)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--signal", nargs="+", choices=["KILL", "TERM", "INT"], default=["KILL", "TERM"])
    parser.add_argument("--only", default="", help="only commands that contain this text")
    parser.add_argument("--most", type=int, default=1000, help="only this many calls of each command")
    parser.add_argument("--python", action="store_true", help="do not use strace")
    options = parser.parse_args()
    tool = Functions() if options.python or not shutil.which("strace") else Strace()
    signals = [signal.Signals[f"SIG{name}"] for name in options.signal]
    commands = [command for command in writing_commands() if options.only in command]
    points: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for command, sent, result in kills(signals, commands, tool, options.most):
        points[sent.name] += result.points
        missed[sent.name] += result.missed
        wrong[sent.name] += len(result.problems)
        print(f"{result.points:4} {sent.name} {command}", file=sys.stderr)
        for problem in result.problems:
            print(f"    {problem}", file=sys.stderr)
    print("| signal | commands | calls | not reached | violations |\n|---|---:|---:|---:|---:|")
    for sent in signals:
        row = len(commands), points[sent.name], missed[sent.name], wrong[sent.name]
        print(f"| {sent.name} | " + " | ".join(map(str, row)) + " |")
    sys.exit(bool(wrong.total()))


if __name__ == "__main__":
    main()
