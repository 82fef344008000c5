"""The examples of help texts work.

The files that they name are made once, from ``data/demo``: see ``tests/example_files.py``.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from exam_pp.judges import LEXICAL
from scripts.command_tree import is_here
from tests.cli.test_help_examples import EXAMPLES
from tests.example_files import BASE, LARGE, ExampleFiles


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
    monkeypatch.setattr("exam_pp.studies.engine.E5", LEXICAL)  # e5 takes minutes
    monkeypatch.setenv("OPENAI_BASE_URL", example_endpoint)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


HERE = {
    line: path
    for line, path in EXAMPLES.items()
    # `serve` ends with Ctrl-C only; its own tests start it as a process.
    if is_here(line.removeprefix("exam-pp ")) and path != "serve"
}


@pytest.mark.parametrize("line", HERE, ids=HERE.values())
def test_the_example_works(line: str, folder: Path) -> None:
    if "$(" in line or "|" in line:
        script = f'exam-pp() {{ "{sys.executable}" -m exam_pp "$@"; }}; set -o pipefail; {line}'
        done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    else:
        main(shlex.split(line.removeprefix("exam-pp ")))
