"""Shared options: inputs, outputs and formats behave the same in every command."""

from __future__ import annotations

import ast
import os
import re
from errno import EACCES
from pathlib import Path
from typing import Any

import click
import pytest

import exam_pp
from exam_pp.cli.command import WITH_ALL_OPTIONS
from exam_pp.cli.command_line import OLD_OPTIONS
from exam_pp.cli.keyed_options import KeyedOption
from exam_pp.cli.main import cli, main
from exam_pp.cli.option_sections import ADVANCED, OPTIONS
from exam_pp.phases.grading.settings_files import SETTINGS
from exam_pp.rendering.document import Report
from exam_pp.rendering.render import RENDERERS, REPORT_FORMATS
from scripts.command_tree import commands


def error(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stop:
        main(command.split())
    assert stop.value.code == 1
    return capsys.readouterr().err


INPUTS = [
    "evaluate cover IN -o out",
    "evaluate cover here --bank IN",
    "evaluate cover here --queries IN",
    "evaluate cover here --official IN",
    "evaluate qrels here --fill-holes IN",
    "diff here IN",
    "import --texts IN -o out",
    "import --answers IN -o out",
    "apply IN here -o out",
    "merge here --passages IN -o out",
    "show prompt --prompt-file IN",
]


@pytest.mark.parametrize("command", INPUTS)
def test_an_input_that_cannot_be_read(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here").touch()
    Path("folder").mkdir()
    absent = error(command.replace("IN", "absent"), capsys)
    assert absent.startswith("exam-pp: absent: ")
    assert absent.endswith("(No such file or directory).\n")
    assert error(command.replace("IN", "folder"), capsys).startswith("exam-pp: folder: is a folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "here"]


@pytest.mark.parametrize(
    "command",
    [*INPUTS, "evaluate judgments - --runs IN", "convert IN -o out --to run", "query IN FROM/**/grades"],
)
def test_an_input_without_permission(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here").touch()
    Path("private").write_text("[]")
    monkeypatch.setattr(os, "access", lambda path, _mode: os.fspath(path) != "private")
    path_open = Path.open

    def refused(path: Path, *args: Any, **options: Any) -> Any:  # as the system does, but not to root
        if path.name == "private":
            raise PermissionError(EACCES, os.strerror(EACCES))
        return path_open(path, *args, **options)

    monkeypatch.setattr(Path, "open", refused)
    message = error(command.replace("IN", "private"), capsys)
    assert message.startswith("exam-pp: private: ")
    assert message.endswith("(Permission denied).\n")


def test_an_empty_name_is_not_the_current_folder(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", "cover", ""])
    assert stop.value.code == 2
    assert " empty" in capsys.readouterr().err


def test_missing_inputs_are_checked_by_the_commands_not_by_click() -> None:
    """click would report a missing file as wrong usage (exit code 2)."""
    paths = [
        p.type for command in commands(cli).values() for p in command.params if isinstance(p.type, click.Path)
    ]
    assert paths
    assert not any(path.exists for path in paths)


@pytest.mark.parametrize(
    "command",
    [
        "bank clinic here --bank here -o OUT --also edits=SAME",
        "import --from nuggetizer-assignments here -o OUT --also bank=SAME",
        "evaluate qrels here --runs . -o OUT --also qrels=SAME",
        "evaluate qrels here --runs . --also qrels=OUT --plot SAME",
        "analyze correlation here --official here -o OUT --plot SAME",
        "analyze correlation here --by condition --plot OUT --plot length=SAME",
        "grade here --bank here --model fake -o OUT --journal SAME",
    ],
)
def test_two_outputs_are_two_files(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the same file, the second output would overwrite the first."""
    monkeypatch.chdir(tmp_path)
    Path("here").touch()
    with pytest.raises(SystemExit) as stop:
        main(command.replace("OUT", "x.svg").replace("SAME", "./x.svg").split())
    assert stop.value.code == 2
    assert "x.svg is also the file of --" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_every_option_in_a_text_exists() -> None:
    """Messages, help and docstrings do not mention renamed options."""
    params = [param for command in commands(cli).values() for param in command.params]
    known = {name for param in params for name in (*param.opts, *param.secondary_opts)}
    known |= {name for param in cli.params for name in param.opts} | {"--help", "--version"}
    known |= {option for options in OPTIONS.values() for option in options}
    known |= OLD_OPTIONS.keys()
    named: dict[str, Path] = {}
    settings: dict[str, Path] = {}
    for path in Path(exam_pp.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                settings |= dict.fromkeys(re.findall(r"(?<!\w)-M ([a-z]\w+)", node.value), path)
                named |= dict.fromkeys(re.findall(r"(?<![\w-])--[a-z][a-z_-]+", node.value), path)
    assert len(named) > 100
    of_commands = {name.removeprefix("-M ") for name in known if name.startswith("-M ")}
    assert {name: path for name, path in settings.items() if name not in {*SETTINGS, *of_commands}} == {}
    of_others = {name for name in named if "_" in name or name in ("--num", "--no-deps")}  # accelerate's
    of_others |= {name for name, path in named.items() if "pictures" in path.parts}  # CSS variables
    assert {name: path for name, path in named.items() if name not in known | of_others} == {}


def test_reports_have_every_registered_format() -> None:
    assert sorted(REPORT_FORMATS) == RENDERERS.names()


def test_report_formats_of_other_packages_are_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def upper(report: Report) -> str:
        return f"{len(report.blocks)} BLOCKS\n"

    monkeypatch.setitem(RENDERERS._values, "upper", upper)
    main(["list", "models", "--format", "upper"])
    assert capsys.readouterr().out == "2 BLOCKS\n"


def name_in_help(option: click.Option) -> str:
    name = max(option.opts, key=len)
    return f"{name} KEY" if isinstance(option, KeyedOption) else name


@pytest.mark.parametrize("path", list(commands(cli)))
def test_the_help_shows_at_most_twenty_options_and_every_required_one(path: str) -> None:
    command = commands(cli)[path]
    context = click.Context(command, info_name=path)
    short = command.get_help(context)
    options = [option for option in command.get_params(context) if isinstance(option, click.Option)]
    shown = [
        option
        for option in options
        if re.search(rf"^  (-\w, )?{name_in_help(option)}[ =/,\n]", short, re.MULTILINE)
    ]
    assert len(shown) <= 20
    assert all(option in shown for option in options if option.required)
    context.meta[WITH_ALL_OPTIONS] = True
    full = command.get_help(context)
    assert all(max(option.opts, key=len) in full for option in options if type(option) is click.Option)


def test_the_full_help_is_an_option_where_the_help_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    main(["grade", "--help"])
    assert "--journal" not in capsys.readouterr().out
    main(["grade", "--help-all"])
    assert "--journal" in capsys.readouterr().out


def test_advanced_options_exist() -> None:
    names = {name for command in commands(cli).values() for param in command.params for name in param.opts}
    assert names.union(("--quiet", "--verbose")) >= ADVANCED
