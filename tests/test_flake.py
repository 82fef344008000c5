"""flake.nix has the packages of pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

NOT_IN_NIXPKGS = {"autojudge-base", "autojudge-evaluate", "evalica"}
NOT_FOR_TESTS = {"build", "latex2mathml", "mypy", "ruff", "scipy-stubs", "types-jsonschema", "zensical"}


@pytest.fixture(scope="module")
def project(repository: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def names_of(project: Mapping[str, Any], *extras: str) -> set[str]:
    """The packages of extras, including those of the extras that they name."""
    found: set[str] = set()
    for requirement in (line for extra in extras for line in project["optional-dependencies"][extra]):
        inner = re.fullmatch(r"exam_pp\[(.*)\]", requirement)
        found |= names_of(project, *inner[1].split(",")) if inner else {name_of(requirement)}
    return found


def name_of(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement)[0]


def listed(repository: Path, name: str) -> set[str]:
    """The packages of a list of flake.nix."""
    flake = (repository / "flake.nix").read_text("utf-8")
    (found,) = re.findall(rf"^      {name} = py: with py; \[(.*?)\];", flake, re.MULTILINE | re.DOTALL)
    return set(found.split())


def test_the_lists_are_those_of_the_project(repository: Path, project: dict[str, Any]) -> None:
    assert listed(repository, "core") == set(map(name_of, project["dependencies"]))
    assert listed(repository, "models") == names_of(project, "hf", "fast")
    tests = names_of(project, "dev", "openai") - NOT_IN_NIXPKGS - NOT_FOR_TESTS
    assert listed(repository, "tests") == tests
