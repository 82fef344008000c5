"""An option means the same in every command; shell completion."""

from __future__ import annotations

import logging

import click
import pytest
from click.shell_completion import ShellComplete

from exam_pp.cli.command import Command, Group
from exam_pp.cli.main import cli, main
from exam_pp.cli.option_sections import OPTIONS, REPEATABLE_ONLY_IN, section_of
from scripts.command_tree import command_tree, commands

ALL = dict(command_tree(cli))
COMMANDS = commands(cli)
USES = [
    (path, parameter)
    for path, command in COMMANDS.items()
    for parameter in command.get_params(click.Context(command))
    if isinstance(parameter, click.Option)
]


def long_name(option: click.Option) -> str:
    return [name for name in option.opts if name.startswith("--")][-1]


def test_every_command_is_of_our_class() -> None:
    assert all(isinstance(command, Command | Group) for command in ALL.values())


def test_the_table_has_every_option_and_no_other() -> None:
    names = [name for options in OPTIONS.values() for name in options]
    assert len(names) == len(set(names))
    assert {long_name(option) for _, option in USES} == set(names)


def test_every_option_has_a_section() -> None:
    for path, option in USES:
        own = {name for parameter in COMMANDS[path].params for name in parameter.opts}
        assert section_of(long_name(option), own)


def test_an_option_has_one_type_of_value() -> None:
    """A file is a file in all commands, and a number a number; the values of a choice may differ."""
    kinds: dict[str, dict[str, str]] = {}
    for path, option in USES:
        kind = "flag" if option.is_flag else option.type.name.removesuffix(" range")
        kind = {"path": "file", "directory": "file", "choice": "text", "format": "text"}.get(kind, kind)
        kinds.setdefault(long_name(option), {}).setdefault(kind, path)
    assert {name: values for name, values in kinds.items() if len(values) > 1} == {}


def test_an_option_is_repeatable_everywhere_or_by_a_rule() -> None:
    repeatable: dict[str, set[bool]] = {}
    for _, option in USES:
        repeatable.setdefault(long_name(option), set()).add(option.multiple)
    mixed = {name for name, values in repeatable.items() if len(values) > 1}
    assert mixed <= REPEATABLE_ONLY_IN.keys()
    assert all(repeatable[name] != {False} for name in REPEATABLE_ONLY_IN)


def test_several_values_of_an_option_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """A shell replaces a pattern such as ``runs/*.run`` by the names of the files."""
    with pytest.raises(SystemExit) as stop:
        main(["import", "--runs", "a.run", "b.run", "c.run", "--texts", "texts.tsv"])
    assert stop.value.code == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "--runs takes one value, but several follow it: a.run, b.run, c.run. Repeat --runs" in message


@pytest.mark.parametrize("path", COMMANDS)
def test_an_option_named_twice_is_an_error(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    single = [
        option
        for option in COMMANDS[path].params
        if isinstance(option, click.Option) and not option.multiple and option.nargs == 1
    ]
    for option in single:
        value = [] if option.is_flag else ["1"]
        with pytest.raises(SystemExit) as stop:
            main([*path.split(), long_name(option), *value, long_name(option), *value])
        assert stop.value.code == 2
        assert "can be used only once, but it is named 2 times" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "level"),
    [
        (["-q", "list", "prompts"], logging.WARNING),
        (["list", "-q", "prompts"], logging.WARNING),
        (["list", "prompts", "--quiet"], logging.WARNING),
        (["list", "prompts"], logging.INFO),
        (["list", "prompts", "-v"], logging.DEBUG),
        (["-q", "list", "prompts", "-v"], logging.DEBUG),
    ],
)
def test_the_log_level_may_be_chosen_anywhere(arguments: list[str], level: int) -> None:
    main(arguments)
    assert logging.getLogger("exam_pp.cli").getEffectiveLevel() == level


def completions(*words: str) -> list[str]:
    complete = ShellComplete(cli, {}, "exam-pp", "_EXAM_PP_COMPLETE")
    *before, incomplete = words
    return [item.value for item in complete.get_completions(before, incomplete)]


def test_the_shell_completes_commands_options_prompts_and_models() -> None:
    assert completions("eval") == ["evaluate"]
    assert completions("evaluate", "cov") == ["cover"]
    assert "--min-grade" in completions("evaluate", "cover", "--min")
    assert "QuestionSelfRatedUnanswerablePromptWithChoices" in completions(
        "grade", "--prompt-class", "QuestionSelf"
    )
    assert completions("grade", "--model", "bund") == ["bundled"]
    assert completions("evaluate", "cover", "--grader", "google/flan-t5-x") == [
        "google/flan-t5-xl", "google/flan-t5-xxl",
    ]  # fmt: skip


def test_help_begins_with_an_example_and_has_sections() -> None:
    command = COMMANDS["evaluate cover"]
    text = command.get_help(click.Context(command, info_name="cover"))
    headings = ["Score systems by", "Examples:", "The command scores", "Input:", "Filter:", "Method:",
                "Statistics:", "Output:", "Checks and messages:"]  # fmt: skip
    positions = [text.index(heading) for heading in headings]
    assert positions == sorted(positions)
