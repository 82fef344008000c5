"""Commands with several kinds of work: their help, refused options, shell completion and manifests."""

from __future__ import annotations

import re

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from exam_pp.cli.command import Command, Kind
from exam_pp.cli.main import cli
from scripts.command_tree import commands, kinds_of

COMMANDS = {path: command for path, command in commands(cli).items() if kinds_of(command)}
KINDS = [(path, kind) for path, command in COMMANDS.items() for kind in kinds_of(command)]


def help_of(path: str, *words: str) -> str:
    done = CliRunner().invoke(cli, [*path.split(), *words], terminal_width=100)
    assert done.exit_code == 0, done.output
    return done.output


def words_of(path: str, kind: str) -> list[str]:
    """The words that choose a kind: an argument, or an option with its value."""
    command = COMMANDS[path]
    assert isinstance(command, Command)
    chooser = next(parameter for parameter in command.params if parameter.name == command.chosen_by)
    return [*([max(chooser.opts, key=len)] if isinstance(chooser, click.Option) else []), kind]


@pytest.mark.parametrize(("path", "kind"), KINDS)
def test_the_help_of_a_kind_has_its_own_text_and_options(path: str, kind: str) -> None:
    command, words = COMMANDS[path], words_of(path, kind)
    assert isinstance(command, Command)
    shown = help_of(path, *words, "--help")
    assert shown == help_of(path, "--help", *words)
    purpose = kinds_of(command)[kind].help.strip().partition("\n\n")[0]
    assert " ".join(purpose.split()) in " ".join(shown.split())
    complete = help_of(path, *words, "--help-all") if "--help-all" in shown else shown
    for parameter in command.params:
        name = max(parameter.opts, key=len)
        if isinstance(parameter, click.Option) and name.startswith("--") and " " not in name:
            described = any(re.match(rf"  (-\w, )?{name}\b", line) for line in complete.splitlines())
            assert described == command.uses(parameter, kind), name


@click.command(
    cls=Command,
    chosen_by="method",
    kinds={
        "words": Kind("Count words.", ("limit", "samples"), {"limit": "Most words."}),
        "lines": Kind("Count lines.", ("queries",), {"limit": "unused"}),
    },
)
@click.argument("source")
@click.option(
    "--measure", "method", type=click.Choice(["words", "lines"]), default="words", help="What to count."
)
@click.option("--name", help="A name.")
@click.option("--limit", type=int, default=3, show_default=True, help="Most rows.")
@click.option("-S samples", "samples", type=int, help="Samples.")
@click.option("--queries", help="Only these queries.")
def by_option(method: str, **options: object) -> None:
    """Count something."""
    click.echo(method)


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(by_option, words, prog_name="count")
    return done.exit_code, done.output


def test_an_option_may_choose_the_kind() -> None:
    assert run("x") == (0, "words\n")
    assert run("x", "--measure", "lines", "--queries", "q") == (0, "lines\n")
    code, error = run("x", "--queries", "q")
    assert code == 2
    assert "--queries has no effect on `count --measure words`." in error
    assert (
        "-S samples has no effect on `count --measure lines`."
        in run("x", "--measure=lines", "-S", "samples=3")[1]
    )
    assert "`count --measure METHOD --help` describes one" in run("--help")[1]


def test_only_the_parameter_that_chooses_names_the_kind() -> None:
    """A file, a system or a query may have the name of a kind."""
    assert "Count something." in run("lines", "--name", "lines", "--help")[1]
    shown = run("lines", "--measure", "words", "--name=lines", "--help")[1]
    assert "Count words." in shown
    assert "Most words.  [default: 3]" in shown
    assert "--queries" not in shown


def completions(*words: str) -> list[str]:
    *before, incomplete = words
    found = ShellComplete(cli, {}, "exam-pp", "_EXAM_PP_COMPLETE").get_completions(before, incomplete)
    return [item.value for item in found]


def test_the_shell_completes_kinds_and_the_options_of_a_kind() -> None:
    assert completions("verify", "gr") == ["grading", "grid"]
    assert "--min-answers" in completions("verify", "grid", "--min")
    assert "--min-answers" not in completions("verify", "grading", "--min")
    assert "--min-answers" in completions("verify", "--min")
    assert completions("generate", "questions", "-S", "") == ["top-ups="]
    assert completions("generate", "queries", "-S", "w") == ["window-tokens="]
