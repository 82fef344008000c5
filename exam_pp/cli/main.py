"""``exam-pp``: a group whose commands are imported only when they are called."""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import click

from exam_pp.cli.groups import Group
from exam_pp.errors import ExamError, StoppedError
from exam_pp.wording import in_one_line

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "interchange": {
        "import": ("import_passages", "Build a passages file from runs, texts, judgments and answers."),
        "export": ("export", "Write runs, answers, nugget assignments and labels for other tools."),
        "convert": ("convert", "Convert files between formats, and say what could not be carried."),
        "schema": ("schema", "Print the JSON Schema of a file format."),
    },
    "passages": {
        "merge": ("merge", "Unite passages files: parts of one grading, or gradings of the same passages."),
        "split": ("split", "Cut a passages file into parts, or into one file for every query."),
        "sample": ("sample", "Draw queries and passages at random."),
        "filter": ("filter", "Keep some queries, systems, passages or grades."),
        "rename": ("rename", "Give models, prompt classes and systems other names."),
        "strip": ("strip", "Drop grades, texts, replies ... before a file is shared."),
    },
    "banks": {
        "generate": ("generate", "Let a model write a test bank: questions or nuggets for every query."),
        "nuggetize": ("nuggetize", "Let a model make nuggets of relevant passages (AutoNuggetizer)."),
        "bank": ("bank", "Import, export, inspect and edit test banks, and find bad questions."),
    },
    "grading": {
        "grade": ("grade", "Let a model grade every passage against every bank entry."),
        "verify-answers": (
            "verify_answers",
            "Let a model compare extracted answers with the gold answers.",
        ),
        "reread": ("reread", "Read stored replies again, without a model."),
        "doctor": ("doctor", "Examine the machine and an engine: do replies depend on the batch?"),
        "list": ("list", "List prompts and models."),
        "show": ("show", "Show a prompt in full."),
    },
    "review": {
        "verify": ("verify", "Reports for people who check how the model graded."),
        "review": ("review", "One HTML page to read, correct and comment on grades."),
        "apply-edits": ("apply_edits", "Add the ratings of people to a graded file."),
    },
    "evaluation": {
        "evaluate": ("evaluate", "Scores, qrels and leaderboards from grades or judgments."),
    },
    "analysis": {
        "analyze": ("analyze", "Compare leaderboards, graders and settings: correlation, agreement, sweeps."),
        "diff": ("diff", "Compare two gradings: grades, labels and systems that move."),
    },
    "sql": {
        "query": ("query", "SQL over graded files, banks, runs and leaderboards."),
        "db": ("db", "Put graded files into a database of DuckDB, or into Parquet files."),
    },
    "validation": {
        "validate": ("validate", "Check files: their format, and whether what they say makes sense."),
    },
}
"""Rooms of ``exam_pp/cli/``, each with its commands: name to (module in that room, one-line help)."""

COMMANDS = {
    name: (f"exam_pp.cli.{room}.{module}", words)
    for room, commands in SECTIONS.items()
    for name, (module, words) in commands.items()
}
"""Command name to (module, one-line help)."""

TITLES = {"banks": "Test banks", "sql": "SQL"}
"""Headings of rooms in ``--help`` that are not the room's name with a capital letter."""


class LazyGroup(Group):
    """Knows its commands by name; imports one when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the phases."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module; its click command is called ``command``."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(COMMANDS[cmd_name][0])
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a reader that has gone (`exam-pp ... | head`) is no error, but ends it."""
        try:
            result: object = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _forget_stdout()
            raise click.exceptions.Exit(141) from None
        return result

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in ``--help``, without importing a single command."""
        width = max(map(len, COMMANDS))
        for room, commands in SECTIONS.items():
            with formatter.section(TITLES.get(room, room.capitalize())):
                formatter.write_dl([(name.ljust(width), words) for name, (_, words) in commands.items()])


_OF_NAMES = {errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.ELOOP}
"""What is wrong with a name, or with the folders on the way, before anything is opened."""


class _OneLine(logging.Formatter):
    """Messages hold ids and file names, which may hold anything."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(in_one_line, super().format(record).split("\n")))


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="exam_pp", message="%(prog)s %(version)s")
@click.option("-q", "--quiet", is_flag=True, help="Only warnings and errors on standard error.")
def cli(quiet: bool) -> None:
    """Grade retrieved and generated passages against a test bank, and evaluate systems with it."""
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine())
    level = logging.WARNING if quiet else logging.INFO
    logging.basicConfig(level=level, handlers=[handler], force=True)
    # Libraries that log every request or download at INFO would drown our own messages.
    for library in ("httpx", "huggingface_hub", "transformers", "filelock", "urllib3"):
        logging.getLogger(library).setLevel(logging.ERROR)


def main(arguments: list[str] | None = None) -> None:
    """Run a command; exit code 0, 1 for a problem that the user can solve, 2 for wrong usage.

    130 is a run that was interrupted (Ctrl-C), 143 one that SIGTERM stopped, 141 one whose reader has
    gone; a command may have further codes of its own.
    """
    try:
        with _heeding_sigterm():
            code = cli.main(args=arguments, prog_name="exam-pp", standalone_mode=False)
        if isinstance(code, int) and code:  # what click makes of its Exit
            sys.exit(code)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt) as stop:
        words = str(stop.__cause__ or stop)  # click makes its Abort of Ctrl-C
        click.echo(f"exam-pp: {words or 'interrupted.'}", err=True)
        sys.exit(130)
    except ExamError as error:
        click.echo(f"exam-pp: {in_one_line(str(error))}", err=True)
        _forget_stdout()
        sys.exit(error.exit_code)
    except OSError as error:
        if error.filename is not None and error.errno in _OF_NAMES:
            click.echo(f"exam-pp: {in_one_line(str(error.filename))}: {error.strerror}.", err=True)
        elif error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EIO}:
            click.echo(f"exam-pp: Standard output cannot be written: {error.strerror}.", err=True)
        else:
            raise
        _forget_stdout()
        sys.exit(1)


@contextmanager
def _heeding_sigterm() -> Iterator[None]:
    """Inside this block SIGTERM ends the command as an error does: no half output, no leftovers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_signal: int, _frame: object) -> None:
        raise StoppedError("stopped by SIGTERM.")

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _forget_stdout() -> None:
    """What could not be written is not tried again when the interpreter ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
