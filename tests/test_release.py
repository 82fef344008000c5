"""Versions are equal everywhere, and the metadata name what is tested."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import exam_pp
from scripts.test_versions import find_python, supported_versions


@pytest.fixture(scope="module")
def project(repository: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    return found


@pytest.fixture(scope="module")
def citation(repository: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((repository / "CITATION.cff").read_text("utf-8"))
    return found


def test_the_version_is_the_same_everywhere(
    project: dict[str, Any], citation: dict[str, Any], repository: Path
) -> None:
    version = project["version"]
    assert exam_pp.__version__ == version
    assert str(citation["version"]) == version
    assert f"\n## {version} " in (repository / "CHANGELOG.md").read_text("utf-8")
    wheels = {
        name: set(re.findall(r"exam_pp-(.+?)-py3-none-any\.whl", name.read_text("utf-8")))
        for name in (repository / "docs").rglob("*.md")
    }
    assert set().union(*wheels.values()) == {version}


def test_the_changelog_can_be_read_before_an_upgrade(repository: Path) -> None:
    assert len((repository / "CHANGELOG.md").read_text("utf-8").splitlines()) <= 150


def test_the_classifiers_name_supported_pythons(project: dict[str, Any], repository: Path) -> None:
    versions = supported_versions()
    assert project["requires-python"] == f">={versions[0]}"
    assert versions == [f"3.{minor}" for minor in range(11, 11 + len(versions))]
    assert find_python("2.0") is None
    environment = (repository / "scripts" / "_environment.sh").read_text("utf-8")
    assert all(f"python{version}" in environment for version in versions)
