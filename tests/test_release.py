"""Versions are equal everywhere, CITATION.cff is complete, and the metadata name what is tested."""

from __future__ import annotations

import datetime
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import exam_pp
from scripts.compare_distributions import sdist_differences
from scripts.test_versions import find_python, supported_versions

REFERENCE_TYPES = {"article", "conference-paper", "software"}


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


def test_the_citation_is_complete(citation: dict[str, Any], project: dict[str, Any]) -> None:
    """The required keys of version 1.2.0 of the Citation File Format, and types that it knows."""
    assert citation["cff-version"] == "1.2.0"
    assert citation["license"] == project["license"]
    for work in (citation, *citation["references"]):
        assert work["title"]
        assert all(person.keys() & {"name", "family-names"} for person in work["authors"])
        assert work["authors"]
    assert citation["message"]
    assert {work["type"] for work in citation["references"]} <= REFERENCE_TYPES
    for work in citation["references"]:
        assert 1990 <= work["year"] <= datetime.datetime.now(datetime.UTC).year
        assert re.fullmatch(r"10\.\d{4,}/\S+", work.get("doi", "10.1234/x"))


def test_the_classifiers_name_supported_pythons(project: dict[str, Any], repository: Path) -> None:
    versions = supported_versions()
    assert project["requires-python"] == f">={versions[0]}"
    assert versions == [f"3.{minor}" for minor in range(11, 11 + len(versions))]
    assert find_python("2.0") is None
    environment = (repository / "scripts" / "_environment.sh").read_text("utf-8")
    assert all(f"python{version}" in environment for version in versions)


def test_differences_of_a_source_distribution_are_named() -> None:
    lines = list(sdist_differences({"a.py", "left.log", "PKG-INFO"}, {"a.py", "b.py"}))
    assert lines == ["missing in the source distribution: b.py", "not tracked by git: left.log"]
