"""Manifests of the outputs of the running command."""

from __future__ import annotations

import logging
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click

import exam_pp
from exam_pp.cli.command_line import SECRET, is_given, parameter_name
from exam_pp.cli.guard import CommandFiles, NamedInput
from exam_pp.cli.options import InputPath, OutputPath, UncheckedPath
from exam_pp.errors import DataError, OutputError
from exam_pp.llm.masking import MASK, find_secrets
from exam_pp.llm.transport import address
from exam_pp.store.files import check_output
from exam_pp.store.locks import is_temporary
from exam_pp.store.manifests import (
    FORMAT,
    Manifest,
    NamedContent,
    OptionValue,
    combined_content,
    file_content,
    folder_content,
    is_manifest,
    manifest_path,
    write_manifest,
)

log = logging.getLogger(__name__)

PACKAGES = {
    **{name: name for name in ("numpy", "scipy", "duckdb", "nltk", "rapidfuzz", "pandas", "openai")},
    **{name: name for name in ("torch", "transformers", "tokenizers", "ctranslate2")},
    "ir-measures": "ir_measures",
    "pytrec-eval-terrier": "pytrec_eval",
}
"""Packages that numbers or texts may depend on, and their modules; a manifest names the imported ones."""
_MAX_WEIGHTS = 2 * 2**30
"""Files of a model above this size in bytes are named without a digest, which would take many seconds."""
DATA_SET = "irds:"
"""Prefix of names of data sets in place of files."""
_PROBLEMS = (DataError, OutputError, OSError, ValueError)
"""Errors of a manifest, which are warnings; a signal stops the command."""
PACKAGE = Path(exam_pp.__file__).parent
"""The files of exam_pp, such as templates, are known by its version."""


def write_manifests(files: CommandFiles, parameters: Iterable[click.Parameter]) -> None:
    """Write a manifest beside every output that a command has written.

    ``parameters``: Those that the command used. A manifest that cannot be written is a warning, because the
    output is complete.
    """
    written = [Path(path) for path in files.running.written]
    outputs = [output for output in files.outputs.values() if output.parameter.name != "journal"]
    try:
        contents = [
            content.model_copy(update={"parameter": parameter_name(output.parameter)})
            for output in outputs
            for content in _contents(output.path, written)
        ]
        facts = _facts(files, parameters) if contents else {}
    except _PROBLEMS as error:
        log.warning("The outputs have no manifests: %s", error)
        return
    for content in contents:
        try:
            write_manifest(Manifest(format=FORMAT, output=content, **facts), _place(Path(content.path)))
        except _PROBLEMS as error:
            log.warning("%s has no manifest: %s", content.path, error)


def _contents(path: Path, written: Iterable[Path]) -> Iterator[NamedContent]:
    """An output that was written: a file, or a folder with its written files."""
    real = Path(os.path.realpath(path))
    if real.is_file():
        if real in written:
            yield file_content(path, str(path))
        return
    files = [path / file.name for file in sorted(written) if file.parent == real and file.is_file()]
    if files and Path.cwd().is_relative_to(real):  # the place beside the folder is outside of the user's work
        yield from (file_content(file, str(file)) for file in files)
    elif files:
        yield folder_content(path, files)


def _place(output: Path) -> Path:
    """The path of the manifest; raises :class:`OutputError` if it would replace another file."""
    place = manifest_path(output)
    if place.is_symlink() or (place.exists() and not is_manifest(place)):
        raise OutputError(f"{place} is not a manifest and is kept; rename it.")
    return check_output(place)


def _facts(files: CommandFiles, parameters: Iterable[click.Parameter]) -> dict[str, Any]:
    """The fields of the manifests of all outputs."""
    report = {} if files.report is None else dict(files.report.values)
    report.pop("exam_pp", None)
    return {
        "exam_pp": exam_pp.__version__,
        "command": files.context.command_path.partition(" ")[2],
        "options": list(_options(files, parameters)),
        "inputs": list(_inputs(files)),
        "report": report,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": dict(_packages()),
    }


def _packages() -> Iterator[tuple[str, str]]:
    for name, module in PACKAGES.items():
        if module in sys.modules:
            try:
                yield name, version(name)
            except PackageNotFoundError:
                continue


def _options(files: CommandFiles, parameters: Iterable[click.Parameter]) -> Iterator[OptionValue]:
    """The options and arguments that are not files."""
    context, read = files.context, {str(given.path) for given in files.inputs}
    for parameter in parameters:
        name = parameter.name or ""
        if isinstance(parameter.type, OutputPath) or name not in context.params:
            continue
        value = context.params[name]
        if isinstance(parameter.type, InputPath | UncheckedPath):
            values = map(str, value if isinstance(value, tuple) else [value])
            value = [each for each in values if each not in read and each != "None"]
            if isinstance(parameter.type, InputPath):
                # Several banks are merged in a temporary file, whose name is random.
                value = [each for each in value if each.startswith(DATA_SET)]
            if not value:
                continue
        if parameter_name(parameter).endswith("base-url"):
            value = (
                [_address(context, url) for url in value]
                if isinstance(value, tuple)
                else _address(context, value)
            )
        plain = MASK if SECRET.search(name) and value else _plain(value)
        yield OptionValue(name=parameter_name(parameter), value=plain, default=not is_given(context, name))


def _address(context: click.Context, url: str | None) -> str | None:
    """The URL of the endpoint, also that of the environment, without user, password and parameters."""
    if url is None and str(context.params.get("pipeline")).startswith("openai"):
        url = os.environ.get("OPENAI_BASE_URL")
    return address(url) if url else url


def _plain(value: Any) -> Any:
    """A value as JSON has it, without keys of the environment."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, tuple | list | set | frozenset):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return find_secrets(os.environ.get("OPENAI_API_KEY", "").strip(), "").mask(str(value))


def _inputs(files: CommandFiles) -> Iterator[NamedContent]:
    """The inputs in the order of the command's help, then other files that were opened, by name."""
    opened = sorted(files.running.opened.items(), key=lambda item: str(item[1]))
    order = [parameter.name for parameter in files.context.command.params]
    for given in sorted(files.inputs, key=lambda given: order.index(given.parameter.name)):
        yield _named(given).model_copy(update={"parameter": parameter_name(given.parameter)})
    named = {os.path.realpath(path) for given in files.inputs for path in given.protected()}
    own = [
        Path(os.path.realpath(path))
        for path in (*(output.path for output in files.outputs.values()), PACKAGE)
    ]
    for real, path in opened:
        is_own = is_temporary(Path(real)) or any(Path(real).is_relative_to(place) for place in own)
        if real not in named and not is_own and path.is_file():
            yield file_content(path, str(path))


def _named(given: NamedInput) -> NamedContent:
    """An input of an option or argument."""
    path, name = given.path, str(given.path)
    if given.files is not None and path.is_file():
        return _weights(path, path)
    if given.files is not None:
        return combined_content(name, [_weights(file, path) for file in given.files])
    if path.is_dir():
        files = [file for file in given.protected() if file != path]
        return combined_content(name, [file_content(file, _within(file, path)) for file in files])
    return file_content(path, name)


def _within(file: Path, folder: Path) -> str:
    return file.relative_to(folder).as_posix() if file != folder else file.name


def _weights(file: Path, model: Path) -> NamedContent:
    size = file.stat().st_size
    if size <= _MAX_WEIGHTS:
        return file_content(file, _within(file, model))
    return NamedContent(path=_within(file, model), size=size, note="only the size: weights above 2 GB")
