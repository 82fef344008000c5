"""The manifest of a file, and its report."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.grading.show import find_manifest
from exam_pp.cli.main import main
from exam_pp.store.manifests import SUFFIX
from scripts.reliability.good_files import lay_out
from tests.conftest import data_error


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXAM_PP_MANIFEST", "1")
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path)
    return tmp_path


def run(command: str) -> int:
    try:
        main(["-q", *shlex.split(command)])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def change(name: str, **values: Any) -> None:
    """Change a manifest, as another version or machine would have written it."""
    place = Path(f"{name}{SUFFIX}")
    place.write_text(json.dumps(json.loads(place.read_text()) | values))


def test_equal_steps_differ_in_the_named_options_only() -> None:
    """So ``diff`` of two manifests, or of two reports, shows why two files differ."""
    for name, cutoff in (("a", 20), ("b", 1)):
        run(f"evaluate cover graded.jsonl --bank bank.jsonl --grader model --grades type=question "
            f"--cutoff {cutoff} --format tsv -o {name}.tsv")  # fmt: skip
    left, right = (json.loads(Path(f"{name}.tsv{SUFFIX}").read_text()) for name in "ab")
    assert {key for key in left if left[key] != right[key]} == {"output", "options", "report"}
    assert [
        (mine["name"], mine["value"], other["value"])
        for mine, other in zip(left["options"], right["options"], strict=True)
        if mine != other
    ] == [("--cutoff", 20, 1)]


def test_the_manifest_of_a_folder_is_that_of_its_files() -> None:
    run("split graded.jsonl -n 2 -o parts")
    for name in ("parts", "parts/graded-1-of-2.jsonl", f"parts{SUFFIX}"):
        found = find_manifest(Path(name))
        assert (found.manifest.command, found.state) == ("split", "unchanged")
    Path("parts/graded-1-of-2.jsonl").write_text("other\n")
    for name in ("parts", "parts/graded-1-of-2.jsonl"):
        assert find_manifest(Path(name)).state == "changed"
    Path("parts/mine.jsonl").write_text("mine\n")
    with data_error("parts/mine.jsonl", about="has no manifest"):
        find_manifest(Path("parts/mine.jsonl"))


def test_files_outside_of_a_folder_are_not_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A manifest is data: of a folder of others, it could name /proc/kmsg, which never ends."""
    assert run("split graded.jsonl -n 1 -o parts") == 0
    content = json.loads(Path(f"parts{SUFFIX}").read_text())["output"]
    (file,) = content["files"]
    shutil.move(f"parts/{file['path']}", "outside")
    Path(f"parts/{file['path']}").symlink_to("../outside")
    assert find_manifest(Path("parts")).state == "changed"
    change("parts", output=content | {"files": [file | {"path": "../outside"}]})
    assert find_manifest(Path("parts")).state == "changed"
    change("parts", output=content | {"path": str(tmp_path.parent), "files": None})
    with Path(f"parts{SUFFIX}").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert find_manifest(Path("-")).state == "unknown"


def test_a_file_without_a_manifest() -> None:
    for name in ("graded.jsonl", "runs"):
        with data_error(name, about="has no manifest"):
            find_manifest(Path(name))


@pytest.mark.parametrize("form", ["text", "md", "html", "json", "tsv", "latex"])
def test_the_report_in_every_format(form: str) -> None:
    run("filter graded.jsonl --rename system=a=z -o renamed.jsonl")
    assert run(f"show manifest renamed.jsonl --format {form} -o show") == 0
    text = Path("show").read_text()
    assert "graded.jsonl" in text
    assert "--rename system" in text or form == "latex"
