"""Protection of all input files of a command from all of its outputs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from exam_pp.provenance import Provenance
    from exam_pp.store.inputs import Running

WITH_MANIFESTS = f"{__name__}.with_manifests"
"""Key of the context: whether outputs get manifests."""


class NamedInput(NamedTuple):
    """A file or folder that a parameter of a command names.

    ``files`` are the files of a model; None for other files and folders.
    """

    path: Path
    parameter: click.Parameter
    files: tuple[Path, ...] | None = None

    def protected(self) -> list[Path]:
        """The paths that no output may replace."""
        if str(self.path) == "-":
            return []
        return _with_runs(self.path) if self.files is None else list(self.files)


class NamedOutput(NamedTuple):
    """A file or folder that a command writes, and the parameter that names it."""

    path: Path
    parameter: click.Parameter


@dataclass
class CommandFiles:
    """The files that the arguments of a command name, and, while it runs, those that it reads and writes.

    ``outputs`` have their real paths as keys. ``report`` is the provenance of the report that the command
    wrote; None without a report.
    """

    context: click.Context
    inputs: list[NamedInput] = field(default_factory=list)
    outputs: dict[Path, NamedOutput] = field(default_factory=dict)
    report: Provenance | None = None
    running: Running = field(init=False)


def note_input(context: click.Context | None, path: Path, parameter: click.Parameter | None) -> None:
    """Note an input file, a folder of input files or standard input (``-``) of the running command."""
    if context is not None and parameter is not None:
        _files(context).inputs.append(NamedInput(path, parameter))


def note_output(context: click.Context, path: Path, option: click.Parameter) -> None:
    """Note a path that the running command will write for an option."""
    from os.path import realpath  # a link to itself is an error of check_output

    _, first = _files(context).outputs.setdefault(Path(realpath(path)), NamedOutput(path, option))
    if first is not option:
        raise click.BadParameter(f"{path} is also the file of {first.opts[-1]}.", context, option)


@contextmanager
def guarded(context: click.Context) -> Iterator[CommandFiles]:
    """Check all outputs of a command against all of its inputs, and protect the inputs while it runs.

    The block gets the files of the command, with those that it has written so far.
    """
    from exam_pp.store.files import check_output
    from exam_pp.store.inputs import reading

    files = _files(context)
    _note_journal(context)
    _note_model_files(context)
    with reading(file for given in files.inputs for file in given.protected()) as files.running:
        for path, option in files.outputs.values():
            # Others are folders, whose files the command checks.
            if path.is_file() or (path.parent.is_dir() and not path.is_dir()):
                check_output(path, option=option.opts[0])
        yield files


def note_report(provenance: Provenance | None) -> None:
    """Note what made the numbers of a report that the running command writes."""
    context = click.get_current_context(silent=True)
    if context is not None and _files(context).report is None:
        _files(context).report = provenance


def _note_journal(context: click.Context) -> None:
    """Note the journals of a command that asks a model; ``--journal`` has a default next to the output."""
    option = next((option for option in context.command.params if option.name == "journal"), None)
    if option is None:
        return
    from exam_pp.store.files import is_stream
    from exam_pp.store.passages.journal import journal_files, journal_path

    journal, output = context.params.get("journal"), context.params.get("output")
    if journal is None and output is not None and not is_stream(output):
        journal = journal_path(output)
    for path in journal_files(journal) if journal is not None else ():
        note_output(context, path, option)


def _note_model_files(context: click.Context) -> None:
    """Note the files of a local model, whose option also has other values."""
    from exam_pp.store.inputs import model_files

    value = context.params.get("model")
    if isinstance(value, str) and Path(value).exists() and (files := model_files(value)) is not None:
        option = next(option for option in context.command.params if option.name == "model")
        _files(context).inputs.append(NamedInput(Path(value), option, files))


def _with_runs(path: Path) -> list[Path]:
    """The path, and the run files in it if it is a folder."""
    if not path.is_dir():
        return [path]
    from exam_pp.store.trec.runs import runs_of_folder

    return [path, *runs_of_folder(path)]


def _files(context: click.Context) -> CommandFiles:
    files: CommandFiles = context.meta.setdefault(__name__, CommandFiles(context))
    return files
