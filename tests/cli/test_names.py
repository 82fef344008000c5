"""Arguments and file names that are not UTF-8: one sentence, or the same result as with other names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
import pytest

from exam_pp.cli.main import cli, main
from scripts.command_tree import commands
from tests.conftest import passage, rubric

LATIN_1 = os.fsdecode(b"K\xf6ln")


def attacks() -> Iterator[list[str]]:
    """Every command with a name that is not UTF-8 in one of its arguments and options."""
    for path, command in commands(cli).items():
        for parameter in command.params:
            if isinstance(parameter, click.Argument):
                yield [*path.split(), LATIN_1]
            elif isinstance(parameter, click.Option) and not parameter.is_flag:
                yield [*path.split(), parameter.opts[-1], LATIN_1]
                yield [*path.split(), f"{max(parameter.opts, key=len)}={LATIN_1}"]


def test_every_parameter_of_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in attacks():
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        shown = capsys.readouterr()
        assert (stop.value.code, shown.out) == (2, ""), arguments
        assert "K\\xf6ln' is not UTF-8" in shown.err, arguments


@pytest.fixture
def runs(tmp_path: Path, demo_data: Path) -> Path:
    """A folder with a run file whose name is not UTF-8."""
    folder = tmp_path / "runs"
    folder.mkdir()
    shutil.copy(demo_data / "runs" / "bm25.run", folder / f"{LATIN_1}.run")
    return folder


@pytest.fixture
def graded(tmp_path: Path, write_jsonl: Callable[[str, list[Any]], Path]) -> Path:
    return write_jsonl("graded.jsonl", [["q", [passage("p", exam_grades=[rubric({"q/a": 1})])]]])


@pytest.mark.parametrize(
    "command",
    [
        "evaluate judgments {demo}/qrels.txt --runs runs",
        "import --runs runs --texts {demo}/passages.tsv -o out",
        "validate runs",
        "convert runs --to run -o out",
        "analyze sweep graded.jsonl --official {demo}/official_leaderboard.json --runs runs",
    ],
)
def test_commands_with_a_folder_of_runs(
    command: str,
    runs: Path,
    graded: Path,
    demo_data: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(graded.parent)
    with pytest.raises(SystemExit) as stop:
        main([part.replace("%", " ") for part in command.format(demo=demo_data).split()])
    shown = capsys.readouterr()
    assert stop.value.code == 1, shown
    assert "K\\xf6ln.run" in shown.out + shown.err
    assert {path.name for path in Path().iterdir()} == {"graded.jsonl", "runs"}


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("filter graded.jsonl --query q -o out.jsonl", 0),
        ("split graded.jsonl --count 1 -o parts", 0),
    ],
)
def test_a_working_folder(
    command: str, code: int, graded: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder's name is in no output; only DuckDB cannot work in such a folder."""
    folder = graded.parent / LATIN_1
    folder.mkdir()
    graded.rename(folder / graded.name)
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) if code else nullcontext():
        main([part.replace("%", " ") for part in command.split()])
    assert ("whose name is not UTF-8" in capsys.readouterr().err) == bool(code)
