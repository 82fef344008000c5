"""Outputs of commands, kept to compare commits: equal when they are made again, and of every command."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.command_tree import is_here, kinds_of
from scripts.golden_outputs import compare, keep, leaf_of, parts
from scripts.reliability.good_files import lay_out
from tests.cli.test_help_examples import COMMANDS

LINES = (
    "verify grading graded.jsonl --bank bank.jsonl --grader model --grades type=question -o out.html",
    "merge graded.jsonl -o out.jsonl.gz",
    "bank show missing.jsonl",
)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_only_a_changed_byte_is_found(tmp_path: Path) -> None:
    inputs = tmp_path / "inputs"
    lay_out(inputs)
    old, new = tmp_path / "old" / "small", tmp_path / "new" / "small"
    for line in LINES:
        for folder in (old, new):
            keep(line, inputs, folder / line.split()[0])
    assert list(compare(old, new)) == []
    files = {str(path.relative_to(new)): path.read_text() for path in new.rglob("*") if path.is_file()}
    assert files.keys() == {
        "verify/out.html", "merge/out.jsonl.gz",
        *(f"{name}/{stream}" for name in ("verify", "merge", "bank") for stream in ("stdout", "stderr")),
    }  # fmt: skip
    assert files["merge/out.jsonl.gz"].startswith('["q1"')
    assert files["bank/stderr"].startswith("exam-pp: missing.jsonl")
    assert files["bank/stderr"].endswith("exit code 1\n")

    (new / "verify" / "out.html").write_text(files["verify/out.html"].replace("yeast", "Yeast", 1))
    (new / "merge" / "stdout").unlink()
    missing, differs, *lines = compare(old, new)
    assert (missing, differs) == ("missing: small/merge/stdout", "differs: small/verify/out.html")
    assert any("Yeast" in line for line in lines)


def test_every_kind_of_work_is_run() -> None:
    every = parts(Path())
    lines = [line.removeprefix("--manifest ") for name in every if name != "help" for line in every[name][1]]
    words = [(leaf_of(line), line.split()) for line in filter(is_here, lines)]
    assert [
        (path, kind)
        for path, command in COMMANDS.items()
        for kind in kinds_of(command) or path.split()[-1:]
        if not any(leaf == path and kind in given for leaf, given in words)
    ] == []
