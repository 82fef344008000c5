"""An option means the same in every command; old spellings and shell completion."""

from __future__ import annotations

import logging
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from exam_pp.cli.main import cli, main
from exam_pp.cli.option_sections import OLD_SPELLINGS
from scripts.command_tree import commands

COMMANDS = commands(cli)


def long_name(option: click.Option) -> str:
    return [name for name in option.opts if name.startswith("--")][-1]


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


@pytest.mark.parametrize("old", OLD_SPELLINGS)
def test_old_spellings_are_options_of_some_command(old: str) -> None:
    """An old spelling leads to an option, and no command has both."""
    for new in OLD_SPELLINGS[old]:
        name = new.split(" ")[0]
        having = [
            {long_name(option) for option in command.params if isinstance(option, click.Option)}
            for command in COMMANDS.values()
        ]
        assert any(name in names and old not in names for names in having)


def test_an_old_spelling_works_with_a_warning(
    tmp_path: Path, demo_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bank = demo_data / "questions.jsonl"
    for option in ("--to", "--format"):
        main(["bank", "export", str(bank), option, "csv", "-o", str(tmp_path / f"{option}.csv")])
        assert ("--format is now called --to" in capsys.readouterr().err) == (option == "--format")
    assert (tmp_path / "--to.csv").read_bytes() == (tmp_path / "--format.csv").read_bytes()


def test_an_old_name_of_another_command_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    """``sample --queries`` is now ``--max-queries``, but ``generate questions`` never had this option."""
    with pytest.raises(SystemExit):
        main(["generate", "questions", "queries.jsonl", "--queries", "queries.jsonl"])
    error = capsys.readouterr().err
    assert "No such option '--queries'" in error
    assert "is now called" not in error


def test_an_old_flag_becomes_a_value(write_graded: Path, tmp_path: Path) -> None:
    for name, options in {
        "old": ["--texts", "--human"],
        "new": ["--remove", "texts", "--remove=human"],
    }.items():
        main(["-q", "strip", str(write_graded), *options, "-o", str(tmp_path / name)])
    assert (tmp_path / "old").read_bytes() == (tmp_path / "new").read_bytes()


@pytest.fixture
def write_graded(tmp_path: Path, demo_data: Path) -> Path:
    output = tmp_path / "passages.jsonl"
    runs, texts = str(demo_data / "runs" / "bm25.run"), str(demo_data / "passages.tsv")
    main(["-q", "import", "--runs", runs, "--texts", texts, "--top", "1", "-o", str(output)])
    return output


@pytest.mark.parametrize(
    ("arguments", "level"),
    [
        (["-q", "list", "prompts"], logging.WARNING),
        (["list", "-q", "prompts"], logging.WARNING),
        (["list", "prompts", "--quiet"], logging.WARNING),
        (["list", "prompts"], logging.INFO),
        (["list", "prompts", "-v"], logging.DEBUG),
    ],
)
def test_the_log_level_may_be_chosen_anywhere(arguments: list[str], level: int) -> None:
    main(arguments)
    assert logging.getLogger("exam_pp.cli").getEffectiveLevel() == level


def test_quiet_and_verbose_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["-q", "list", "prompts", "-v"])
    assert stop.value.code == 2
    assert "either -q or -v" in capsys.readouterr().err


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
