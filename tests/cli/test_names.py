"""Arguments and file names that are not UTF-8: one sentence, or the same result as with other names."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest

from exam_pp.cli.main import COMMANDS, main
from exam_pp.errors import DataError
from exam_pp.store.trec.runs import read_run, run_files
from tests.conftest import passage, rubric

LATIN_1 = os.fsdecode(b"K\xf6ln")


def _commands(
    names: tuple[str, ...], command: click.Command
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        yield names, command
        return
    for name, child in command.commands.items():
        yield from _commands((*names, name), child)


def _attacks() -> Iterator[list[str]]:
    """Every command with a name that is not UTF-8 in one of its arguments and options."""
    for top, (module, _) in COMMANDS.items():
        for names, command in _commands((top,), import_module(module).command):
            for parameter in command.params:
                if isinstance(parameter, click.Argument):
                    yield [*names, LATIN_1]
                elif isinstance(parameter, click.Option) and not parameter.is_flag:
                    yield [*names, parameter.opts[-1], LATIN_1]
                    yield [*names, f"{max(parameter.opts, key=len)}={LATIN_1}"]


def test_every_parameter_of_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    attacks = list(_attacks())
    assert len(attacks) > 500
    for arguments in attacks:
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2, arguments
        shown = capsys.readouterr()
        assert re.search(r"K\\xf6ln' is not UTF-8", shown.err), arguments
        assert shown.out == ""


@pytest.fixture
def runs(tmp_path: Path, demo_data: Path) -> Path:
    """A folder with a run file whose name is not UTF-8."""
    folder = tmp_path / "runs"
    folder.mkdir()
    shutil.copy(demo_data / "runs" / "bm25.run", folder / f"{LATIN_1}.run")
    return folder


def test_a_folder_with_a_run_file(runs: Path) -> None:
    with pytest.raises(DataError, match=r"runs: the name of the file 'K\\xf6ln.run' is not UTF-8. Rename"):
        run_files(runs)
    with pytest.raises(DataError, match="not UTF-8"):
        run_files(runs / f"{LATIN_1}.run")
    with pytest.raises(DataError, match="not UTF-8"):
        next(read_run(runs / f"{LATIN_1}.run"))


@pytest.fixture
def graded(tmp_path: Path, write_jsonl: Callable[[str, list[Any]], Path]) -> Path:
    return write_jsonl("graded.jsonl", [["q", [passage("p", exam_grades=[rubric({"q/a": 1})])]]])


@pytest.mark.parametrize(
    "command",
    [
        "evaluate judgments {demo}/qrels.txt --runs runs",
        "evaluate qrels graded.jsonl --runs runs",
        "evaluate report graded.jsonl --runs runs -o out",
        "import --runs runs --texts {demo}/passages.tsv -o out",
        "validate runs",
        "convert runs --to run -o out",
        "query --runs runs TABLE%runs",
        "query --runs runs --save out",
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
        ("split graded.jsonl --by query -o parts", 0),
        ("query graded.jsonl TABLE%ratings", 0),
        ("query graded.jsonl --save out.duckdb", 1),
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
    ended: object = 0
    try:
        main([part.replace("%", " ") for part in command.split()])
    except SystemExit as stop:
        ended = stop.code
    assert ended == code, capsys.readouterr()
    assert ("whose name is not UTF-8" in capsys.readouterr().err) == bool(code)
