"""scripts/run_page.py writes fresh outputs into a page."""

from __future__ import annotations

from pathlib import Path

from scripts.run_page import rerun
from tests.example_files import ExampleFiles


def test_outputs_are_replaced(tmp_path: Path) -> None:
    page = (
        "```sh\necho one\n```\n\n```text\ntwo\n```\n\n```sh\necho three > file\n```\n\n"
        "```python\nprint(1 + 1)\n```\n\n```text\n3\n4\n```\n"
    )
    assert rerun("page.md", page, tmp_path, ExampleFiles(tmp_path / "examples", tmp_path)) == page.replace(
        "two", "one"
    ).replace("3\n4\n", "2\n")
    assert (tmp_path / "page" / "file").read_text() == "three\n"


def test_shortened_and_unshown_outputs_are_kept(tmp_path: Path) -> None:
    page = "```sh\nseq 9\n```\n\n```text\n1\n...\n9\n```\n\n```sh\nseq 3\n```\n\nText.\n\n```text\n0\n```\n"
    assert rerun("page.md", page, tmp_path, ExampleFiles(tmp_path / "examples", tmp_path)) == page
