"""Every command protects its inputs from its outputs."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any

import click
import pytest

from exam_pp.cli.guard import guarded
from exam_pp.cli.main import cli
from exam_pp.cli.options import InputPath, OutputPath, UncheckedPath
from exam_pp.errors import OutputError
from exam_pp.store.files import write_text
from scripts.command_tree import commands

COMMANDS = commands(cli)


def path_type(parameter: click.Parameter) -> click.ParamType[Any]:
    """The type of a value, or that of its last part, such as the file after a format."""
    return parameter.type.types[-1] if isinstance(parameter.type, click.Tuple) else parameter.type


def test_every_path_is_an_input_or_an_output() -> None:
    """So a new command cannot forget the check; the file of a study is kept up to date."""
    assert [
        f"{name} {parameter.name}"
        for name, command in COMMANDS.items()
        for parameter in command.params
        if isinstance(path_type(parameter), click.Path | click.File)
        and not isinstance(path_type(parameter), InputPath | OutputPath | UncheckedPath)
    ] == ["run study"]


@pytest.mark.parametrize(
    ("name", "command"),
    [
        (name, command)
        for name, command in COMMANDS.items()
        if any(isinstance(p.type, OutputPath) and p.type.file_okay for p in command.params)
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_output_that_is_an_input_is_refused(name: str, command: click.Command, tmp_path: Path) -> None:
    source, hard, symbolic = (tmp_path / name for name in ("in.run", "hard.svg", "symbolic.svg"))
    source.write_text("precious")
    hard.hardlink_to(source)
    symbolic.symlink_to(source)
    inputs = [p for p in command.params if isinstance(path_type(p), InputPath | UncheckedPath)]
    outputs = [p for p in command.params if isinstance(p.type, OutputPath) and p.type.file_okay]
    for read, written, output in product(inputs, outputs, (hard, symbolic)):
        read_type = path_type(read)
        reads_folders = isinstance(read_type, InputPath) and read_type.dir_okay
        for path in (source, tmp_path) if reads_folders else (source,):
            context = click.Context(command)
            read_type.convert(path, read, context)
            written.type.convert(output, written, context)
            refusal = rf"{output.name} is also an input\. .* with {written.opts[0]}"
            with pytest.raises(OutputError, match=refusal), guarded(context):
                pass


def test_inputs_are_protected_while_a_command_runs(tmp_path: Path) -> None:
    """A command cannot write an input by another way than its options."""
    source = tmp_path / "in"
    source.write_text("precious")

    @click.command()
    @click.argument("source", type=InputPath())
    def command(source: Path) -> None:
        pass

    context = click.Context(command)
    command.params[0].type.convert(source, command.params[0], context)
    with guarded(context), pytest.raises(OutputError, match="also an input"):
        write_text(source, "new")
    write_text(source, "new")


@pytest.mark.parametrize(
    ("model", "output", "is_input"),
    [
        ("model", "model/config.json", True),
        ("model", "model/graded.jsonl", False),
        ("model.gguf", "model.gguf", True),
    ],
)
def test_the_files_of_a_model_are_inputs(model: str, output: str, is_input: bool) -> None:
    Path("model").mkdir()
    for name in ("model/config.json", "model/graded.jsonl", "model.gguf"):
        Path(name).write_text("precious")

    @click.command()
    @click.option("--model")
    @click.option("-o", "output", type=OutputPath())
    def command(output: Path) -> None:
        del output

    context = command.make_context("command", ["--model", model, "-o", output])
    refused = pytest.raises(OutputError, match="also an input") if is_input else nullcontext()
    with refused, guarded(context):
        pass
