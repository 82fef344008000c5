"""Run the tests with other versions of Python and of the packages, each in a new temporary environment.

Usage: python3 -m scripts.test_versions [--python 3.12]... [--packages locked|lowest|newest] [--models]
       [--short] [-- PYTEST ARGUMENTS]

Runs with every supported Python that is on PATH or that pyenv has. `lowest` takes the lowest versions that
pyproject.toml allows for the packages it names, `newest` the newest ones, and `locked` (the default) those
of scripts/locks/dev.txt; with EXAM_PP_WITHOUT_HASHES=1, constraints.txt alone pins versions. Without
--models, the packages of local models are not installed, and their tests are skipped. With it, torch is
installed by pip in the version of constraints.txt, because CPUs and GPUs need different builds. --short runs
the folders of tests in SHORT.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

from scripts.lock import ROOT, UV, programs

EXTRAS = ["openai", "diversity", "irds", "dev"]
"""Extras without packages of local models."""
MODELS = ["fast"]
SHORT = ["tests/api", "tests/formats", "tests/metrics", "tests/prompts", "tests/store"]


def supported_versions() -> list[str]:
    """The minor versions of Python in the classifiers of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return re.findall(r":: (3\.\d+)$", "\n".join(project["classifiers"]), re.MULTILINE)


def find_python(version: str) -> Path | None:
    """An interpreter of a minor version on PATH or of pyenv; None if both lack it."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)]
    for python in (Path(path) for path in found if path):
        printed = subprocess.run([python, "--version"], capture_output=True, text=True, check=False).stdout
        if printed.startswith(f"Python {version}."):
            return python
    return None


def packages_of(choice: str) -> list[str]:
    """Options of `uv pip install` that choose the versions of packages."""
    if choice == "locked":
        constraints = (
            "constraints.txt" if os.environ.get("EXAM_PP_WITHOUT_HASHES") else "scripts/locks/dev.txt"
        )
        return ["--constraint", constraints]
    return ["--resolution", "lowest-direct" if choice == "lowest" else "highest"]


def install(uv: Path, base: Path, folder: Path, choice: str, *, models: bool) -> Path:
    """Make an environment in a folder; returns its interpreter."""
    subprocess.run([uv, "venv", "--quiet", "--seed", "--python", base, folder], check=True)
    python = folder / "bin" / "python"

    def run(*command: str | Path) -> str:
        return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout

    extras, kept = EXTRAS, []
    if models:
        run(python, "-m", "pip", "install", "--quiet", "-c", "constraints.txt", "torch")
        version = run(python, "-c", "from importlib.metadata import version; print(version('torch'))")
        extras, kept = [*EXTRAS, *MODELS], [f"torch=={version.strip()}"]
    project = f".[{','.join(extras)}]"
    run(
        uv,
        "pip",
        "install",
        "--quiet",
        "--python",
        python,
        *packages_of(choice),
        *kept,
        "--editable",
        project,
    )
    return python


def run_tests(python: Path, arguments: Sequence[str], *, models: bool) -> bool:
    """Run pytest, for which a skip without excuse is a failure; returns whether all tests passed."""
    environment = os.environ | {"PYTHONNOUSERSITE": "1"}
    environment.setdefault("EXAM_PP_SKIPS", os.devnull)
    if not models:
        environment["EXAM_PP_WITHOUT_MODELS"] = "1"
    processes = os.environ.get("EXAM_PP_TEST_PROCESSES", "2")
    command: list[str | Path] = [
        python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-n",
        processes,
        "--dist",
        "worksteal",
    ]
    return subprocess.run([*command, *arguments], cwd=ROOT, env=environment, check=False).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", action="append", metavar="VERSION", help="such as 3.12; several times")
    parser.add_argument("--packages", choices=["locked", "lowest", "newest"], default="locked")
    parser.add_argument("--models", action="store_true", help="also the packages of local models")
    parser.add_argument("--short", action="store_true", help="only the tests of some folders")
    parser.add_argument("arguments", nargs="*", help="for pytest, after --")
    given = parser.parse_args()
    arguments = [*given.arguments, *(SHORT if given.short else [])]
    lines, failed = [], False
    with programs(UV) as tools:
        for version in given.python or supported_versions():
            start, base = time.monotonic(), find_python(version)
            if base is None:
                lines.append(f"skipped: Python {version} is not installed")
                continue
            print(f"=== Python {version}, {given.packages} packages", flush=True)
            with tempfile.TemporaryDirectory() as folder:
                python = install(
                    tools / "uv", base, Path(folder) / "venv", given.packages, models=given.models
                )
                passed = run_tests(python, arguments, models=given.models)
            failed |= not passed
            result, seconds = "passed" if passed else "FAILED", time.monotonic() - start
            lines.append(f"{result}: Python {version}, {given.packages} packages, {seconds:.0f} s")
    print(*lines, sep="\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
