"""An option means the same in every command; shell completion."""

from __future__ import annotations

import logging

import click
import pytest
from click.shell_completion import ShellComplete

from exam_pp.cli.main import cli, main
from scripts.command_tree import commands

COMMANDS = commands(cli)


def long_name(option: click.Option) -> str:
    return max(option.opts, key=len)


@pytest.mark.parametrize("path", COMMANDS)
def test_an_option_named_twice_is_an_error(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    single = [
        option
        for option in COMMANDS[path].params
        if isinstance(option, click.Option) and not option.multiple and option.nargs == 1
    ]
    for option in single:
        name, is_key, key = long_name(option).partition(" ")
        words = [name] if option.is_flag else [name, f"{key}=1" if is_key else "1"]
        with pytest.raises(SystemExit) as stop:
            main([*path.split(), *words, *words])
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
    assert completions("grade", "--prompt", "self") == ["self-rated", "self-rated-chat"]
    assert completions("grade", "--model", "lexi") == ["lexical"]
    assert completions("evaluate", "cover", "--grader", "google/flan-t5-x") == [
        "google/flan-t5-xl", "google/flan-t5-xxl",
    ]  # fmt: skip
