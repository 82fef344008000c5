"""Entry point of ``exam-pp``: list of commands, lazy imports, exit codes and logging."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from exam_pp.cli.command import LazyGroup
from exam_pp.cli.guard import WITH_MANIFESTS
from exam_pp.cli.logs import start_log
from exam_pp.errors import ExamError, ProblemsError, StoppedError
from exam_pp.reports.evaluation.short_names import with_short_names
from exam_pp.text.wording import in_one_line, is_unicode

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "study": {
        "run": ("run", "Import, grade and evaluate systems, and say which one is better."),
    },
    "interchange": {
        "import": ("import_passages", "Build a passages file from runs, texts, judgments and answers."),
        "convert": ("convert", "Convert a file to another format, also of other tools."),
        "fuse": ("fuse", "Fuse runs into the run of a new system by reciprocal rank fusion."),
    },
    "passages": {
        "merge": (
            "merge",
            "Merge passages files (shards, gradings of the same passages), games files, or test banks.",
        ),
        "split": ("split", "Split a passages file into parts, or into one file per query."),
        "sample": ("sample", "Draw a random sample of queries and passages."),
        "filter": (
            "filter",
            "Keep selected queries, systems, passages and grades; remove parts before sharing; rename.",
        ),
    },
    "banks": {
        "generate": (
            "generate",
            "Let a model write test banks (questions or nuggets), answers to queries, or queries.",
        ),
        "nuggetize": ("nuggetize", "Let a model extract nuggets from relevant passages (AutoNuggetizer)."),
        "bank": ("bank", "Import, show and edit test banks, and find bad entries."),
    },
    "grading": {
        "grade": (
            "grade",
            "Let a model grade passages against a test bank, or citations and answers.",
        ),
        "reread": ("reread", "Read ratings from stored replies again, without a model."),
        "list": (
            "list",
            "List prompts, measures, models and their settings, formats and schemas of files.",
        ),
        "show": (
            "show",
            "Show a prompt, a model, a JSON Schema or the manifest of a file in full.",
        ),
    },
    "review": {
        "verify": ("verify", "Write reports to check the grades of a model."),
        "review": ("review", "Write an HTML page to read, correct and comment on grades."),
        "apply": ("apply", "Add what reviewers decided to a graded file, or make games of it."),
    },
    "evaluation": {
        "evaluate": ("evaluate", "Compute scores, qrels and leaderboards from grades or judgments."),
    },
    "analysis": {
        "analyze": ("analyze", "Compare leaderboards, graders and settings: correlation, agreement, sweeps."),
        "diff": ("diff", "Compare two gradings: changed ratings, labels and ranks of systems."),
    },
    "validation": {
        "validate": ("validate", "Check the format and the consistency of files."),
    },
}
"""Packages of ``exam_pp/cli/`` with their commands: name to (module in that package, one-line help)."""

COMMANDS = {
    name: (f"exam_pp.cli.{room}.{module}", purpose)
    for room, commands in SECTIONS.items()
    for name, (module, purpose) in commands.items()
}
"""Command name to (module, one-line help)."""

TITLES = {"banks": "Test banks"}
"""Section headings in ``--help`` that differ from the capitalized package name."""


PATH = ("run", "import", "bank", "grade", "review", "evaluate")
"""Commands that a first evaluation needs, in this order."""


_COMPLETION = 'eval "$(_EXAM_PP_COMPLETE=bash_source exam-pp)"'


class Root(LazyGroup):
    """All commands of ``exam-pp``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; fails for one that is not UTF-8, which no output could name."""
        for argument in args:
            if not (is_unicode(argument) or ctx.resilient_parsing):
                shown = in_one_line(argument)
                raise click.UsageError(f"The argument '{shown}' is not UTF-8. Rename a file of such a name.")
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        if args and args[0].lstrip("-") in ("install-completion", "show-completion"):
            ctx.fail(f"Completion needs a line in the start file of the shell, in bash: {_COMPLETION}")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; exit silently with 141 if the reader of a pipe has gone (`exam-pp ... | head`)."""
        try:
            result: object = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _discard_stdout()
            raise click.exceptions.Exit(141) from None
        return result

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands of the path with their purposes, then the others in groups of a line each."""
        from exam_pp.plugins import plugins

        with formatter.section("The path from files to a leaderboard"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in PATH])
        sections = {TITLES.get(room, room.capitalize()): [*names] for room, names in SECTIONS.items()}
        for plugin in plugins():
            sections.setdefault(plugin.title, []).extend(path for path in plugin.commands if " " not in path)
        others = {title: [name for name in names if name not in PATH] for title, names in sections.items()}
        with formatter.section("Other commands"):
            formatter.write_dl([(title, ", ".join(names)) for title, names in others.items() if names])


_PATH_ERRORS = {errno.ENAMETOOLONG, errno.EACCES, errno.EPERM, errno.ELOOP}
"""Errors of a path that the user can correct."""


@click.group(
    "exam-pp",
    cls=Root,
    members=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--manifest",
    is_flag=True,
    envvar="EXAM_PP_MANIFEST",
    help="Write a manifest beside every output: what made it. The same with EXAM_PP_MANIFEST=1.",
)
@click.version_option(package_name="exam_pp", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context, manifest: bool) -> None:
    """Grade retrieved and generated passages against a test bank, and evaluate systems with the grades.

    In place of a file, - is standard input or standard output. Files whose names end in .gz are compressed.
    In place of a file of queries, irds:NAME is a data set of ir_datasets. `exam-pp COMMAND --help` shows the
    options of a command, with examples.
    """
    context.meta[WITH_MANIFESTS] = manifest
    start_log(context)


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code.

    The exit code is 0 for success, 1 for a problem that the user can solve, 2 for wrong usage, 130 after
    Ctrl-C, 141 if the reader of standard output has gone, and 143 after SIGTERM. A command may have further
    codes.
    """
    _replace_closed_streams()
    try:
        with _sigterm_as_error():
            code = cli.main(args=arguments, prog_name="exam-pp", standalone_mode=False)
        if isinstance(code, int) and code:  # click returns the code of its Exit
            sys.exit(code)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt) as stop:
        message = str(stop.__cause__ or stop)  # click raises Abort from KeyboardInterrupt
        click.echo(f"exam-pp: {message or 'interrupted.'}", err=True)
        sys.exit(130)
    except ExamError as error:
        messages = error.lines() if isinstance(error, ProblemsError) else [str(error)]
        for message in messages:
            click.echo(f"exam-pp: {in_one_line(with_short_names(message))}", err=True)
        _discard_stdout()
        sys.exit(error.exit_code)
    except OSError as error:
        if isinstance(error, io.UnsupportedOperation) and not sys.stdout.writable():
            click.echo("exam-pp: Standard output is closed.", err=True)
        elif error.filename is not None and error.errno in _PATH_ERRORS:
            click.echo(f"exam-pp: {in_one_line(str(error.filename))}: {error.strerror}.", err=True)
        elif error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF}:
            click.echo(f"exam-pp: Standard output cannot be written: {error.strerror}.", err=True)
        else:
            raise
        _discard_stdout()
        sys.exit(1)


def _replace_closed_streams() -> None:
    """Replace standard output and error that are closed, as after ``>&-`` and ``2>&-`` in a shell.

    Messages are then lost, and what is written to standard output is an error.
    """
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    # The next files that are opened would get the descriptors 0 to 2, to which libraries write messages.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open()  # noqa: SIM115 - stays open; not writable
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115


@contextmanager
def _sigterm_as_error() -> Iterator[None]:
    """Raise StoppedError on SIGTERM, so that no partial output and no temporary files are left.

    DuckDB replaces the exception of a signal by a RuntimeError, which becomes the original exception again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    stopped = StoppedError("stopped by SIGTERM.")
    received = False

    def stop(_signal: int, _frame: object) -> None:
        nonlocal received
        received = True
        raise stopped

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise (stopped if received else KeyboardInterrupt()) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _discard_stdout() -> None:
    """Drop output that cannot be written, so that the interpreter does not try again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
