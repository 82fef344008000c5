"""The commands and options of pages and of help texts exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec

import click
import pytest

from exam_pp.cli.main import cli
from exam_pp.cli.options import InputPath
from exam_pp.errors import ExamError
from tests.cli.test_help_examples import EXAMPLES
from tests.docs.pages import PAGES, ROOT, Block, blocks, commands, is_assignment, read

BLOCKS = {page: blocks(page, read(page)) for page in PAGES}
NOT_RUN = [block for page in PAGES for block in BLOCKS[page] if block.not_run]
HELP = [Block(path, 1, "sh", line) for line, path in EXAMPLES.items()]


def exam_pp_calls(block: Block) -> Iterator[list[str]]:
    """The arguments of every call of exam-pp in a block, also behind launchers."""
    for command in commands(block.text):
        line = re.sub(r"\d?>&\d", "", with_variables(block.page, command))
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&<>()")
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, "|"]:
            if re.fullmatch(r"[|;&<>()]+", word):
                yield from _call(words)
                words = []
            elif re.search(r"(^|\s)exam-pp\s", word):  # a command in quotes, as for ssh
                yield from _call(shlex.split(word))
            else:
                words.append(word)


def with_variables(page: str, command: str) -> str:
    """The command with the values of variables that the page sets; others are 1."""
    shell = [block for block in BLOCKS.get(page, []) if block.language == "sh"]
    lines = [line for block in shell for line in commands(block.text)]
    values = dict(line.partition("=")[::2] for line in lines if is_assignment(line))
    return re.sub(r"\$(\w+)", lambda name: values.get(name[1], "1").strip("\"'"), command)


def _call(words: list[str]) -> Iterator[list[str]]:
    for program in ("exam-pp", "exam_pp"):
        if program in words and (program == "exam-pp" or words[words.index(program) - 1] == "-m"):
            arguments = words[words.index(program) + 1 :]
            if arguments:  # without arguments, exam-pp writes completions for the shell
                yield arguments


@pytest.mark.parametrize("block", NOT_RUN + HELP, ids=lambda block: block.place)
def test_shown_commands_exist(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of commands, options, choices and required options are checked, but not files."""
    monkeypatch.setattr(InputPath, "convert", lambda _self, value, _parameter, _context: value)
    for words in exam_pp_calls(block):
        with suppress(ExamError):  # a file does not exist
            parse(words)
    for module in re.findall(r"python3? -m (\S+)", block.text):
        assert find_spec(module) or module == "venv"
    for script in re.findall(r"(?<!\S)(scripts/\S+)", block.text):
        assert (ROOT / script).exists()


def parse(words: list[str]) -> None:
    context = cli.make_context("exam-pp", list(words))
    command: click.Command = cli
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None
        command = found
        context = command.make_context(name, rest, parent=context)
