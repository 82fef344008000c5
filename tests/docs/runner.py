"""Runs the blocks of a page in order, in one folder.

Lines that only call exam-pp run in this process, which saves their start; all others run in bash.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from unittest.mock import patch

import nltk

from exam_pp.cli.main import main
from exam_pp.prompts import PROMPTS
from tests.docs.pages import DOTS, ROOT, Block, commands, exit_code, has_dots, is_assignment, is_simple
from tests.docs.stand_ins import stand_ins

_PROGRAMS = {
    "exam-pp": "-m tests.docs.stand_ins",
    "python": "",
    "auto-judge": "-m autojudge_base.cli",
    "auto-judge-evaluate": "-m autojudge_evaluate",
}
_CLOSED_PIPE = 141
_TIME = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", re.MULTILINE)


class PageError(AssertionError):
    """A block fails, or prints something else than the page shows."""


@dataclass
class Printed:
    """What a block printed; log lines have no times, as on a terminal."""

    out: str
    err: str

    def shows(self, shown: str) -> bool:
        """True if the shown text is the output; a line of dots stands for any lines."""
        if not has_dots(shown):
            return shown in (self.out, self.err, self.err + self.out)
        parts = DOTS.split(shown)
        pattern = ".*?".join(re.escape(part) for part in parts)
        return bool(re.search(rf"\A{pattern}\Z", self.out, re.DOTALL))


@dataclass
class Runner:
    """The state of a page: its folder, variables of its shell blocks, names of its Python blocks."""

    folder: Path
    variables: list[str] = field(default_factory=list)
    names: dict[str, object] = field(default_factory=lambda: {"__name__": "__page__"})

    def run(self, block: Block) -> Printed:
        """Run a block of commands or Python code; raises PageError if it fails."""
        if block.language == "python":
            code = compile("\n" * block.line + block.text, block.page, "exec", dont_inherit=True)
            return _captured(block, lambda: exec(code, self.names))
        lines = commands(block.text)
        expanded = [self._expanded(line) for line in lines]
        if all(is_simple(line) for line in expanded):
            return _captured(block, lambda: _run_commands(expanded))
        if len(lines) > 1 and all(line.startswith("exam-pp ") for line in expanded):
            parts = [self.run(replace(block, text=line)) for line in expanded]
            return Printed("".join(part.out for part in parts), "".join(part.err for part in parts))
        printed = self._bash(block, lines)
        self.variables += filter(is_assignment, lines)
        return printed

    def _expanded(self, line: str) -> str:
        """The command with the variables of earlier blocks."""
        for variable in self.variables:
            name, _, value = variable.removeprefix("export ").partition("=")
            line = re.sub(rf"\${name}\b", " ".join(shlex.split(value)), line)
        return line

    def _bash(self, block: Block, lines: list[str]) -> Printed:
        code = "\n".join(map(_with_exit_code, lines)) if any(map(exit_code, lines)) else block.text
        script = "\n".join(["set -eo pipefail", *self.variables, code])
        done = subprocess.run(
            ["bash", "-c", script], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode not in (0, _CLOSED_PIPE):
            raise PageError(f"{block.place}: exit code {done.returncode}\n{block.text}\n{done.stderr}")
        return _printed(done.stdout, done.stderr)


def _with_exit_code(line: str) -> str:
    expected = exit_code(line)
    if not expected:
        return line
    command = re.sub(r"\s*# exit code.*", "", line)
    return f"if {command}; then exit 99; else [ $? -eq {expected} ]; fi"


def _run_commands(lines: list[str]) -> None:
    for line in lines:
        code: object = 0
        try:
            main(shlex.split(line, comments=True)[1:])
        except SystemExit as stop:
            code = stop.code or 0
        if code != exit_code(line):
            raise PageError(f"exit code {code}: {line}")


def _captured(block: Block, run: Callable[[], object]) -> Printed:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            run()
    except Exception as error:
        about = str(error) if isinstance(error, PageError) else traceback.format_exc()
        raise PageError(f"{block.place}: {about}\n{_text(err)}") from error
    return _printed(_text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")


def _printed(out: str, err: str) -> Printed:
    plain = (
        "".join(f"{line.rstrip()}\n" for line in text.splitlines()) for text in (out, _TIME.sub("", err))
    )
    return Printed(*plain)


@contextmanager
def room(folder: Path) -> Iterator[Runner]:
    """A folder with data/ and scripts/ as the working directory, and programs on PATH."""
    work, programs = folder / "page", folder / "bin"
    for new in (work, programs):
        new.mkdir()
    for name in ("data", "scripts"):
        (work / name).symlink_to(ROOT / name)
    for name, arguments in _PROGRAMS.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n')
        (programs / name).chmod(0o755)
    PROMPTS.names()  # all are read, so that the patch below takes away only what a page registers
    environment = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
        "HF_HUB_OFFLINE": "1",
        "HOME": str(folder),
        "NLTK_DATA": os.pathsep.join(nltk.data.path),
        "EXAM_PP_PYTHON": sys.executable,
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    with (
        chdir(work),
        patch.dict(os.environ, environment),
        patch.dict(PROMPTS._values),
        stand_ins(),
    ):
        yield Runner(work)
