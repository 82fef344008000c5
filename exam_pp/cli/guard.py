"""Protection of all input files of a command from all of its outputs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

_MODEL_FILES = (".safetensors", ".bin", ".json", ".model", ".txt", ".jinja", ".py", ".gguf")
"""Suffixes of the files of a checkpoint."""


@dataclass
class _Files:
    """The files that the arguments of a command name, and for outputs the parameter that names them."""

    inputs: list[Path] = field(default_factory=list)
    outputs: dict[Path, tuple[Path, click.Parameter]] = field(default_factory=dict)


def note_input(context: click.Context | None, path: Path) -> None:
    """Note an input file, or a folder of input files, of the running command."""
    if context is not None:
        _files(context).inputs.append(path)


def note_output(context: click.Context, path: Path, option: click.Parameter) -> None:
    """Note a path that the running command will write for an option.

    Raises:
        BadParameter: The command writes this path for another option.
    """
    from os.path import realpath  # a link to itself is an error of check_output

    _, first = _files(context).outputs.setdefault(Path(realpath(path)), (path, option))
    if first is not option:
        raise click.BadParameter(f"{path} is also the file of {first.opts[-1]}.", context, option)


@contextmanager
def guarded(context: click.Context) -> Iterator[None]:
    """Check all outputs of a command against all of its inputs, and protect the inputs while it runs.

    Raises:
        OutputError: An output, or another file that the command writes, is also an input.
    """
    from exam_pp.store.files import check_output
    from exam_pp.store.inputs import reading

    files = _files(context)
    _note_journal(context)
    _note_model_files(context)
    with reading(file for path in files.inputs for file in _with_runs(path)):
        for path, option in files.outputs.values():
            if path.is_file() or path.parent.is_dir():  # else a folder that the command makes
                check_output(path, option=option.opts[0])
        yield


def _note_journal(context: click.Context) -> None:
    """Note the journals of a command that asks a model; ``--journal`` has a default next to the output."""
    from exam_pp.store.files import is_stream
    from exam_pp.store.passages.journal import journal_files, journal_path

    option = next((option for option in context.command.params if option.name == "journal"), None)
    if option is None:
        return
    journal, output = context.params.get("journal"), context.params.get("output")
    if journal is None and output is not None and not is_stream(output):
        journal = journal_path(output)
    for path in journal_files(journal) if journal is not None else ():
        note_output(context, path, option)


def _note_model_files(context: click.Context) -> None:
    """Note the files of local models and the JSON Schema of replies, whose options also have other values."""
    for name in ("model", "importance_model", "response_format"):
        value = context.params.get(name)
        if not isinstance(value, str):
            continue
        path = Path(value)
        if name == "response_format" or path.suffix.lower() == ".gguf":
            if path.is_file():
                note_input(context, path)
        elif path.is_dir():
            # Other files in the folder, such as gradings, may be outputs.
            for file in path.rglob("*"):
                if file.suffix in _MODEL_FILES and file.is_file():
                    note_input(context, file)


def _with_runs(path: Path) -> list[Path]:
    """The path, and the run files in it if it is a folder."""
    if not path.is_dir():
        return [path]
    from exam_pp.store.trec.runs import runs_of_folder

    return [path, *runs_of_folder(path)]


def _files(context: click.Context) -> _Files:
    files: _Files = context.meta.setdefault(__name__, _Files())
    return files
