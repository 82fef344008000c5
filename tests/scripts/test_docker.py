"""The Dockerfiles copy files that exist and that their ignore file lets through."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.test_versions import supported_versions


@pytest.fixture(scope="module")
def dockerfile(repository: Path) -> str:
    return (repository / "scripts" / "docker" / "Dockerfile").read_text("utf-8")


def copied_files(dockerfile: str) -> set[str]:
    lines = re.findall(r"^COPY (?!--from)(.*)$", dockerfile, re.MULTILINE)
    return {name for line in lines for name in line.split()[:-1]}


def test_copied_files_exist_and_are_not_ignored(dockerfile: str, repository: Path) -> None:
    copied = copied_files(dockerfile)
    ignored = (repository / "scripts" / "docker" / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    assert ignored[0] == "*"
    assert copied == {line[1:] for line in ignored if line.startswith("!")}
    assert all((repository / name).exists() for name in copied)


def test_all_stages_have_the_same_supported_python(dockerfile: str) -> None:
    images = re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)
    assert len(images) == 2
    (version,) = {match[1] for image in images if (match := re.match(r"python:(3\.\d+)\.\d+-slim-", image))}
    assert version in supported_versions()
    assert set(re.findall(r"python(3\.\d+)/", dockerfile)) == {version}


def test_the_command_is_a_program_of_the_package(dockerfile: str, repository: Path) -> None:
    (program,) = re.findall(r'^ENTRYPOINT \["(.*)"\]$', dockerfile, re.MULTILINE)
    assert f"\n{program} = " in (repository / "pyproject.toml").read_text("utf-8")


def test_the_image_for_autojudge_has_the_same_python_and_copies_files_that_exist(
    dockerfile: str, repository: Path
) -> None:
    text = (repository / "scripts" / "docker" / "Dockerfile.autojudge").read_text("utf-8")
    (image,) = re.findall(r"^FROM .*$", text, re.MULTILINE)
    assert f"\n{image}\n" in dockerfile
    assert all((repository / name).exists() for name in copied_files(text))
