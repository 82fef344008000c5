"""``exam-pp apply`` sees from the files of decisions what they hold."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from exam_pp.store.edits import FORMAT
from scripts.command_tree import is_here
from scripts.reliability.good_files import lay_out


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    lay_out(tmp_path)
    ratings = json.loads(Path("ratings.json").read_text())["ratings"]
    games = json.loads(Path("decisions.json").read_text())["games"]
    Path("mixed.json").write_text(json.dumps({"format": FORMAT, "ratings": ratings, "games": games}))
    return tmp_path


@pytest.mark.parametrize(
    ("line", "content"),
    [
        row
        for row in (
            ("graded.jsonl ratings.json --force", '"human:ana"'),
            ("cited.jsonl ratings.csv --reviewer ann", '"criteria_grades"'),
        )
        if is_here(f"apply {row[0]}")
    ],
)
def test_the_output_is_that_of_the_kind(line: str, content: str) -> None:
    main(["-q", "apply", *shlex.split(line), "-o", "out.jsonl"])
    assert content in Path("out.jsonl").read_text()
