"""Shared options: inputs, outputs and formats behave the same in every command."""

from __future__ import annotations

import os
import re
from errno import EACCES
from pathlib import Path
from typing import Any

import click
import pytest

import exam_pp
from exam_pp.cli.command_line import OLD_OPTIONS
from exam_pp.cli.main import cli, main
from exam_pp.cli.option_sections import OPTIONS
from exam_pp.phases.grading.settings_files import SETTINGS
from exam_pp.rendering.document import Report
from exam_pp.rendering.render import RENDERERS
from scripts.command_tree import commands


def error(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stop:
        main(command.split())
    assert stop.value.code == 1
    return capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "evaluate cover IN -o out",
        "evaluate cover here --bank IN",
        "evaluate judgments - --runs IN",
        "show prompt --prompt-file IN",
    ],
)
def test_an_input_without_permission(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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
        text = re.sub("#.*", "", path.read_text())
        settings |= dict.fromkeys(re.findall(r"(?<!\w)-M ([a-z]\w+)", text), path)
        named |= dict.fromkeys(re.findall(r"(?<![\w-])--[a-z][a-z_-]+", text), path)
    of_commands = {name.removeprefix("-M ") for name in known if name.startswith("-M ")}
    assert {name: path for name, path in settings.items() if name not in {*SETTINGS, *of_commands}} == {}
    of_others = {name for name in named if "_" in name or name in ("--num", "--no-deps")}  # accelerate's
    of_others |= {name for name, path in named.items() if "pictures" in path.parts}  # CSS variables
    assert {name: path for name, path in named.items() if name not in known | of_others} == {}


def test_report_formats_of_other_packages_are_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def upper(report: Report) -> str:
        return f"{len(report.blocks)} BLOCKS\n"

    monkeypatch.setitem(RENDERERS._values, "upper", upper)
    main(["list", "models", "--format", "upper"])
    assert capsys.readouterr().out == "2 BLOCKS\n"


def test_the_full_help_is_an_option_where_the_help_is_short(capsys: pytest.CaptureFixture[str]) -> None:
    main(["grade", "--help"])
    assert "--journal" not in capsys.readouterr().out
    main(["grade", "--help-all"])
    assert "--journal" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["grade", "import", "run"])
def test_a_short_help_fits_a_screen(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    main([name, "--help"])
    shown = capsys.readouterr().out
    assert sum(1 + (len(line) - 1) // 80 for line in shown.splitlines()) <= (70 if name == "run" else 60)
    assert name == "grade" or "--columns" in shown
    assert name != "import" or re.search(r"--passages FILE +Passages file of umbrela", shown)


@pytest.mark.parametrize("name", commands(cli))
def test_every_help_has_a_section_for_each_option(name: str) -> None:
    """An option without a section in OPTIONS is a KeyError."""
    command = commands(cli)[name]
    assert "--help" in command.get_help(click.Context(command, info_name=name))
