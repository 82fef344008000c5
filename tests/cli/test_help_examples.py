"""Every command's ``--help`` has a purpose and examples, and the examples work.

An example is an indented line ``exam-pp ...`` of the help text; a backslash continues it. The files that
examples name are made once, from ``data/demo``: see ``tests/example_files.py``.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import click
import pytest

from exam_pp.cli.grading.show import find_manifest
from exam_pp.cli.main import cli, main
from exam_pp.cli.study import run
from exam_pp.judges import LEXICAL
from exam_pp.store.manifests import SUFFIX, manifest_path
from scripts.command_tree import command_tree, commands, kinds_of
from tests.example_files import BASE, LARGE, ExampleFiles

GROUPS = {path: command for path, command in command_tree(cli) if isinstance(command, click.Group)}
COMMANDS = commands(cli)


HELP = {path: command.help or "" for path, command in COMMANDS.items()} | {
    f"{path} {name}": kind.help
    for path, command in COMMANDS.items()
    for name, kind in kinds_of(command).items()
}
"""Command, or command and kind of work, to its help text."""


def examples(text: str) -> list[str]:
    """The example commands of a help text."""
    return re.findall(r"^ *(exam-pp .*)$", text.replace("\\\n", " "), flags=re.MULTILINE)


EXAMPLES = {line: path for path, text in HELP.items() for line in examples(text)}


@pytest.fixture
def folder(
    example_files: ExampleFiles,
    request: pytest.FixtureRequest,
    example_endpoint: str,
    t5_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """The files that an example names, as the working directory."""
    folder = tmp_path / "work"
    monkeypatch.setenv("EXAM_PP_MANIFEST", "1")
    example_files.copy(request.node.callspec.params["line"], folder)
    for model in (LARGE, BASE):
        (folder / model).parent.mkdir(exist_ok=True)
        (folder / model).symlink_to(t5_folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(run, "_judge_of_questions", lambda: LEXICAL)  # e5 takes minutes
    monkeypatch.setenv("OPENAI_BASE_URL", example_endpoint)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@pytest.mark.parametrize("path", HELP)
def test_a_command_has_an_example(path: str) -> None:
    assert examples(HELP[path])


@pytest.mark.parametrize(("line", "path"), EXAMPLES.items(), ids=EXAMPLES.values())
def test_the_example_works(line: str, path: str, folder: Path) -> None:
    assert line.startswith("exam-pp ")
    named = next(
        name for name in (path, path.rpartition(" ")[0]) if name in COMMANDS
    )  # without a kind of work
    assert set(named.split()) <= set(line.split()) or "$(" in line
    before = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
    if "$(" in line or "|" in line:
        script = f'exam-pp() {{ "{sys.executable}" -m exam_pp "$@"; }}; set -o pipefail; {line}'
        done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    else:
        try:
            main(shlex.split(line.removeprefix("exam-pp ")))
        except SystemExit as stop:
            if stop.code:
                pytest.fail(f"exit code {stop.code}: {line}")
    changed = {file for file in folder.iterdir() if before.get(file) != file.stat().st_mtime_ns}
    _assert_manifests({file for file in changed if not file.name.endswith(SUFFIX)}, line)


def _assert_manifests(written: set[Path], line: str) -> None:
    """Every output of an example has a manifest, which describes it."""
    others = {"--also", "trace=--status", "--journal", ">", "tee"}
    words = shlex.split(line)
    unmade = {Path(word).name for before, word in pairwise(words) if before in others}
    for output in sorted(written):
        if output.name not in unmade:
            found = find_manifest(output)
            assert found.place == manifest_path(output), output
            assert found.state == "unchanged"
