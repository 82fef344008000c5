"""Every shown command runs, or says why not; shown outputs are correct."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from exam_pp.cli.main import cli
from exam_pp.cli.options import InputPath
from tests.docs.checks import CHECKS, EXPECTED, check
from tests.docs.pages import PAGES, ROOT, Block, blocks, commands, is_assignment, is_run, outside_blocks, read
from tests.docs.runner import room
from tests.docs.setups import SETUPS, prepare

RUN = ("sh", "python")
REASONS = {
    "needs a GPU": "the command is for a server with GPUs",
    "needs the network": "it downloads models, data or packages",
    "needs Slurm": "the cluster's scheduler",
    "needs Docker": "images and containers",
    "needs another tool": "the tool is not a dependency of the tests",
    "changes the machine": "it installs packages, or edits files of the user",
    "grades for hours": "a grading or training at its full size",
    "takes minutes": "benchmarks and injected faults, whose figures depend on the machine",
    "rewrites the checkout": "files that are committed",
    "run by another test": "which the reason names",
    "run by .ci/run": "the check, the demo and the tests themselves",
}
"""Reasons for not running a block; a page may add details after a colon."""
SLOW = {
    "docs/coming-from/autojudge.md",
    "docs/coming-from/nuggetizer.md",
    "docs/coming-from/open-rag-eval.md",
    "docs/coming-from/published-workbench.md",
    "docs/coming-from/ragelo.md",
    "docs/how-to/answers.md",
    "docs/how-to/audit.md",
    "docs/how-to/autojudge.md",
    "docs/how-to/canaries.md",
    "docs/how-to/corrected-scores.md",
    "docs/how-to/evaluation.md",
    "docs/how-to/many-gpus.md",
    "docs/how-to/manifests.md",
    "docs/how-to/models.md",
    "docs/how-to/nuggets.md",
    "docs/how-to/panels.md",
    "docs/how-to/querying.md",
    "docs/how-to/test-banks.md",
    "docs/how-to/tournaments.md",
    "docs/how-to/validation.md",
    "docs/how-to/verification.md",
    "docs/reference/data-model.md",
    "docs/reference/python.md",
    "docs/start/gpu-server.md",
    "docs/start/laptop-review.md",
    "docs/start/quickstart.md",
    "docs/start/your-data.md",
}
"""Pages that take more than 1.5 s."""
TRANSCRIPTS = {"README.md", "docs/how-to/verification.md"}
"""Pages with outputs of scripts/demo, in which commands are lines such as ``$ exam-pp``."""
BLOCKS = {page: blocks(page, read(page)) for page in PAGES}
TO_RUN = [page for page in PAGES if any(b.language in RUN and not b.not_run for b in BLOCKS[page])]
NOT_RUN = [block for page in PAGES for block in BLOCKS[page] if block.not_run is not None]
PROGRAM = re.compile(
    r"(\$ )?(exam-pp|auto-judge|auto-judge-evaluate|python3?|pip|uv|scripts/\w+|accelerate|git|srun|sbatch"
    r"|ssh|docker|nix|curl|wget|jq|zcat|hf|vllm|ir_datasets|export|eval|source) +(?![=(])\S"
)


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_in_shell_blocks(page: str) -> None:
    """Not as indented lines, and not in blocks of another or no language."""
    indented = re.findall(r"^ {4,}(\S.*)", outside_blocks(read(page)), flags=re.MULTILINE)
    others = [line for b in BLOCKS[page] if b.language not in RUN for line in b.text.splitlines()]
    commands_elsewhere = [line for line in (*indented, *others) if PROGRAM.match(line.strip())]
    workflows = {line for b in BLOCKS[page] if b.language == "yaml" for line in b.text.splitlines()}
    assert not [
        line
        for line in commands_elsewhere
        if line not in workflows and not (page in TRANSCRIPTS and line.startswith("$ "))
    ]


@pytest.mark.parametrize("page", PAGES)
def test_blocks_have_known_languages(page: str) -> None:
    languages = {block.language for block in BLOCKS[page]}
    assert not languages - {"sh", "python", "text", "json", "toml", "yaml", "ini", "csv", "html", "latex"}


def test_reasons_for_not_running_are_known() -> None:
    """A new reason is a decision: add it to REASONS."""
    assert {block.not_run.partition(":")[0] for block in NOT_RUN if block.not_run} <= set(REASONS)
    assert not [block.place for block in NOT_RUN if block.language not in RUN]
    comments = sum(len(re.findall(r"^ *<!-- not run", read(page), re.MULTILINE)) for page in PAGES)
    assert len(NOT_RUN) == comments, "a comment is not directly before a block"


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
    lines = [line for block in BLOCKS[page] if block.language == "sh" for line in commands(block.text)]
    values = dict(line.partition("=")[::2] for line in lines if is_assignment(line))
    return re.sub(r"\$(\w+)", lambda name: values.get(name[1], "1").strip("\"'"), command)


def _call(words: list[str]) -> Iterator[list[str]]:
    for program in ("exam-pp", "exam_pp"):
        if program in words and (program == "exam-pp" or words[words.index(program) - 1] == "-m"):
            arguments = words[words.index(program) + 1 :]
            if arguments:  # without arguments, exam-pp writes completions for the shell
                yield arguments


@pytest.mark.parametrize("block", NOT_RUN, ids=lambda block: block.place)
def test_commands_that_are_not_run_exist(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of commands, options, choices and required options are checked, but not files."""
    monkeypatch.setattr(InputPath, "convert", lambda _self, value, _parameter, _context: value)
    for words in exam_pp_calls(block):
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


@pytest.mark.parametrize(
    "words",
    [["grade"], ["nothing"], ["list", "prompts", "--no-such"], ["evaluate", "cover", "g", "--format", "x"]],
)
def test_wrong_commands_are_found(words: list[str]) -> None:
    with pytest.raises(click.UsageError):
        parse(words)


@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=[pytest.mark.integration] if p in SLOW else []) for p in TO_RUN]
)
def test_the_page_works(page: str, tmp_path: Path, example_files: Path) -> None:
    differences, printed_lines = [], ""
    with room(tmp_path) as runner:
        setup = prepare(page, read(page), example_files)
        for block in filter(is_run, BLOCKS[page]):
            setup.act_before(block)
            printed = runner.run(block)
            printed_lines += printed.out + printed.err
            if block.output is not None and not printed.shows(block.output):
                lines = difflib.unified_diff(
                    block.output.splitlines(),
                    (printed.out or printed.err).splitlines(),
                    "page",
                    "now",
                    lineterm="",
                )
                differences.append("\n".join([block.place, *lines]))
        check(page, printed_lines)
    assert not differences, "\n".join([f"run python -m scripts.run_page {page}", *differences])


def test_tables_name_pages() -> None:
    assert set(SETUPS) | SLOW | set(EXPECTED) | set(CHECKS) <= set(TO_RUN)
