"""The format of an output: that of --format, or else that of the ending of its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exam_pp.cli.main import main


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("x.html", "<!doctype html>"),
        ("x.json", "{"),
        ("x.md", "#"),
        ("x.tex", "%"),
        ("x.tsv", "system\t"),
        ("x.out", "Rubric-Cover\n"),
    ],
)
def test_the_ending_decides(tiny_passages: Path, name: str, start: str) -> None:
    main(["evaluate", "cover", str(tiny_passages), "-o", name])
    assert Path(name).read_text().startswith(start)


def test_format_overrides_the_ending(tiny_passages: Path) -> None:
    main(["evaluate", "cover", str(tiny_passages), "--format", "json", "-o", "x.html"])
    assert json.loads(Path("x.html").read_text())["title"] == "Rubric-Cover"
