"""Files beside the package that users get: versions, flake.nix, files of containers, licences."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import exam_pp
from scripts.licences import PAGE, lines_of

NOT_IN_NIXPKGS = {"autojudge-base", "autojudge-evaluate", "evalica"}
NOT_FOR_TESTS = {"build", "latex2mathml", "mypy", "ruff", "scipy-stubs", "types-jsonschema", "zensical"}


@pytest.fixture(scope="module")
def project(repository: Path) -> dict[str, Any]:
    return dict(tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"])


def test_the_version_is_the_same_everywhere(project: dict[str, Any], repository: Path) -> None:
    version = project["version"]
    assert exam_pp.__version__ == version
    assert str(yaml.safe_load((repository / "CITATION.cff").read_text("utf-8"))["version"]) == version
    assert f"\n## {version} " in (repository / "CHANGELOG.md").read_text("utf-8")
    pages = "".join(page.read_text("utf-8") for page in (repository / "docs").rglob("*.md"))
    assert set(re.findall(r"exam_pp-(.+?)-py3-none-any\.whl", pages)) == {version}


def test_the_flake_has_the_packages_of_the_project(project: dict[str, Any], repository: Path) -> None:
    flake = (repository / "flake.nix").read_text("utf-8")
    lists = dict(re.findall(r"^      (\w+) = py: with py; \[(.*?)\];", flake, re.MULTILINE | re.DOTALL))
    of_extras = {
        "core": project["dependencies"],
        "models": lines_of(project, "hf") + lines_of(project, "fast"),
        "tests": [
            *lines_of(project, "dev"),
            *lines_of(project, "openai"),
            *(line for line in project["optional-dependencies"]["ci"] if "[browser]" not in line),
        ],
    }
    needed = {name: {re.split(r"[^\w-]", line)[0] for line in lines} for name, lines in of_extras.items()}
    needed["tests"] -= NOT_IN_NIXPKGS | NOT_FOR_TESTS
    assert {name: set(listed.split()) for name, listed in lists.items()} == needed


CONTAINERS = Path(__file__).parents[1] / "scripts" / "docker"


@pytest.mark.parametrize("name", [f.name for f in sorted(CONTAINERS.iterdir()) if "ignore" not in f.name])
def test_files_of_containers_exist_and_are_not_ignored(name: str, repository: Path) -> None:
    folder = repository / "scripts" / "docker"
    lines = re.findall(r"^COPY (?!--from)(.*)$", (folder / name).read_text("utf-8"), re.MULTILINE)
    copied = {file for line in lines for file in line.split()[:-1]}
    assert [file for file in copied if not (repository / file).exists()] == []
    ignored = folder / f"{name}.dockerignore"
    if ignored.exists():
        assert {f"!{file}" for file in copied} <= set(ignored.read_text("utf-8").splitlines())


def test_packages_under_the_gpl_serve_only_tests() -> None:
    rows = re.findall(r"^\| (\S+) \|.*GPL.*\| *(.*?) *\|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert rows == [("krippendorff", "ci")]
