"""The Dockerfiles copy files that exist and that their ignore file lets through."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


def copied_files(dockerfile: str) -> set[str]:
    lines = re.findall(r"^COPY (?!--from)(.*)$", dockerfile, re.MULTILINE)
    return {name for line in lines for name in line.split()[:-1]}


@pytest.mark.parametrize("name", ["Dockerfile", "Dockerfile.autojudge"])
def test_copied_files_exist(name: str, repository: Path) -> None:
    copied = copied_files((repository / "scripts" / "docker" / name).read_text("utf-8"))
    assert [file for file in copied if not (repository / file).exists()] == []


def test_copied_files_are_not_ignored(repository: Path) -> None:
    folder = repository / "scripts" / "docker"
    first, *others = (folder / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    copied = copied_files((folder / "Dockerfile").read_text("utf-8"))
    assert (first, {line[1:] for line in others if line.startswith("!")}) == ("*", copied)
