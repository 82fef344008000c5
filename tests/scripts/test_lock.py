"""The locks of the environments belong to pyproject.toml and constraints.txt, and every file has a hash."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from scripts.lock import ADDED_TO, LOCKS, WITHOUT_DEPENDENCIES, blocks, build_requirements

_NAME = re.compile(r"[\w.-]+")


def _names(requirements: list[str]) -> set[str]:
    return {match[0].lower() for requirement in requirements if (match := _NAME.match(requirement))}


def _required(repository: Path, extras: list[str]) -> set[str]:
    """The names of all packages that an environment asks for by name."""
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    found: set[str] = _names(project["dependencies"])
    for extra in extras:
        for requirement in project["optional-dependencies"][extra]:
            inner = re.fullmatch(r"exam_pp\[(.*)\]", requirement)
            found |= _required(repository, inner[1].split(",")) if inner else _names([requirement])
    return found


def _locked(repository: Path, name: str) -> dict[str, list[str]]:
    """Package to its requirements with hashes, of which some packages have several."""
    found: dict[str, list[str]] = {}
    for block in blocks((repository / "scripts" / "locks" / f"{name}.txt").read_text("utf-8")):
        if not block.startswith("#"):
            found.setdefault(block.partition("==")[0], []).append(block)
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_every_package_except_torch(name: str, repository: Path) -> None:
    asked = _required(repository, LOCKS[name]) | _names([*build_requirements(), *WITHOUT_DEPENDENCIES[name]])
    locked = _locked(repository, name).keys() | _locked(repository, ADDED_TO.get(name, name)).keys()
    assert asked - locked == asked & {"torch"}


def test_the_extras_are_those_of_the_script(repository: Path) -> None:
    script = (repository / "scripts" / "_environment.sh").read_text("utf-8")
    assert {name: extras.split(",") for name, extras in re.findall(r"(\w+)\) extras=(\S+)", script)} == LOCKS
