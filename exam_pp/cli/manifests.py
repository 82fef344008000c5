"""Manifests of the outputs of the running command."""

from __future__ import annotations

import logging
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click

import exam_pp
from exam_pp.cli.command_line import SECRET, is_given
from exam_pp.cli.guard import NamedInput, NamedOutput, Ran
from exam_pp.cli.options import InputPath, OutputPath, UncheckedPath
from exam_pp.errors import DataError, OutputError
from exam_pp.llm.masking import MASK, find_secrets
from exam_pp.llm.transport import address
from exam_pp.manifest import (
    FORMAT,
    AskedModel,
    InputContent,
    MadeBy,
    Manifest,
    NamedContent,
    OptionValue,
    OutputContent,
    manifest_path,
)
from exam_pp.store.files import check_output, is_read_once
from exam_pp.store.inputs import is_input
from exam_pp.store.manifests import (
    combined_content,
    file_content,
    folder_content,
    holds,
    is_manifest,
    manifest_of,
    manifest_sha256,
    write_manifest,
)
from exam_pp.store.temporary import is_temporary

log = logging.getLogger(__name__)

PACKAGES = {
    **{name: name for name in ("numpy", "scipy", "duckdb", "nltk", "rapidfuzz", "pandas", "openai")},
    **{name: name for name in ("torch", "transformers", "tokenizers", "ctranslate2")},
    "ir-measures": "ir_measures",
    "pytrec-eval-terrier": "pytrec_eval",
}
"""Packages that numbers or texts may depend on, and their modules; a manifest names the imported ones."""
_NOT_OUTPUTS = frozenset(("journal", "trace", "status_file"))
"""Parameters of files that record how a command ran."""
_MAX_WEIGHTS = 2 * 2**30
"""Files of a model above this size in bytes are named without a digest, which would take many seconds."""
DATA_SET = "irds:"
"""Prefix of names of data sets in place of files."""
_PROBLEMS = (DataError, OutputError, OSError, ValueError)
"""Errors of a manifest, which are warnings; a signal stops the command."""
PACKAGE = Path(exam_pp.__file__).parent
"""The files of exam_pp, such as the bundled model, are known by its version."""


def write_manifests(ran: Ran) -> None:
    """Write a manifest beside every output that a command has written.

    A manifest that cannot be written is a warning, because the output is complete.
    """
    written = [Path(path) for path in ran.running.written]
    outputs = [output for output in ran.outputs if output.parameter.name not in _NOT_OUTPUTS]
    targets = [target for output in outputs for target in _targets(output, written)]
    if not targets:
        return
    try:
        facts = _facts(ran)
    except _PROBLEMS as error:
        log.warning("The outputs have no manifests: %s", error)
        return
    for target in targets:
        try:
            place = _place(target.path)
            output = OutputContent(**_fields(_digested(target)), parameter=target.name)
            write_manifest(Manifest(format=FORMAT, output=output, **facts), place)
        except _PROBLEMS as error:
            log.warning("%s has no manifest: %s", target.path, error)


@dataclass(frozen=True)
class _Target:
    """An output that was written: its path, the option that names it, and for folders the written files."""

    path: Path
    name: str
    files: tuple[Path, ...] | None = None


def _targets(output: NamedOutput, written: Iterable[Path]) -> Iterator[_Target]:
    real = Path(os.path.realpath(output.path))
    name = _name(output.parameter)
    if real.is_file():
        if real in written:
            yield _Target(output.path, name)
        return
    files = tuple(
        output.path / path.name for path in sorted(written) if path.parent == real and path.is_file()
    )
    if files and Path.cwd().is_relative_to(real):  # the place beside the folder is outside of the user's work
        yield from (_Target(file, name) for file in files)
    elif files:
        yield _Target(output.path, name, files)


def _place(output: Path) -> Path:
    """The path of the manifest; raises :class:`OutputError` if it would replace another file."""
    place = manifest_path(output)
    if is_input(place):
        raise OutputError(f"{place} is an input of this command.")
    if place.is_symlink():
        raise OutputError(f"{place} is a symbolic link and is kept; rename it.")
    if place.exists() and not is_manifest(place):
        raise OutputError(f"{place} is not a manifest and is kept; rename it.")
    return check_output(place)


def _digested(target: _Target) -> NamedContent:
    if target.files is None:
        return file_content(target.path, str(target.path))
    return folder_content(target.path, target.files)


def _facts(ran: Ran) -> dict[str, Any]:
    """The fields of the manifests of all outputs."""
    options = list(_options(ran))
    report = {} if ran.report is None else dict(ran.report.values)
    report.pop("exam_pp", None)
    return {
        "exam_pp": exam_pp.__version__,
        "command": ran.context.command_path.partition(" ")[2],
        "options": options,
        "seeds": {option.name: option.value for option in options if option.name.endswith("seed")},
        "inputs": list(_inputs(ran)),
        "asked": list(_asked(ran.context)),
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


def _name(parameter: click.Parameter) -> str:
    """``--bank``, or ``PASSAGES`` for an argument."""
    if isinstance(parameter, click.Argument):
        return parameter.human_readable_name
    return max(parameter.opts, key=len)


def _options(ran: Ran) -> Iterator[OptionValue]:
    """All options and arguments that are not files."""
    context, read = ran.context, {str(given.path) for given in ran.inputs}
    for parameter in context.command.params:
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
        if _name(parameter).endswith("base-url"):
            value = (
                [_address(context, url) for url in value]
                if isinstance(value, tuple)
                else _address(context, value)
            )
        plain = MASK if SECRET.search(name) and value else _plain(value)
        yield OptionValue(name=_name(parameter), value=plain, default=not is_given(context, name))


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


def _asked(context: click.Context) -> Iterator[AskedModel]:
    """The models of the options, with the hashes of the prompts that options name."""
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if parameter.name in {"model", "importance_model"} and isinstance(value, str):
            prompts = dict(_prompts(context)) if parameter.name == "model" else {}
            yield AskedModel(option=_name(parameter), model=_plain(value), prompts=prompts)
        elif parameter.name == "panel" and isinstance(value, Path) and not is_read_once(value):
            yield from _panel(value, _name(parameter), context.params["servers"])


def _panel(path: Path, option: str, servers: tuple[str, ...]) -> Iterator[AskedModel]:
    """The graders of a panel file."""
    from exam_pp.phases.trust.panel_file import read_panel

    for grader in read_panel(path, servers):
        prompts = {prompt.name: prompt.hash for prompt in grader.prompts}
        yield AskedModel(option=option, model=_plain(grader.model.model), prompts=prompts)


def _prompts(context: click.Context) -> Iterator[tuple[str, str]]:
    """Name and hash of each prompt of the options."""
    from exam_pp.phases.grading.prompt_files import read_prompt
    from exam_pp.prompts import PROMPTS

    for name in ("prompt_classes", "prompt_class"):
        value = context.params.get(name)
        for prompt_class in value if isinstance(value, tuple) else [value]:
            if (prompt := PROMPTS.find(prompt_class)) is not None:
                yield prompt.name, prompt.hash
    for path in context.params.get("prompt_files") or ():
        if not is_read_once(path):
            prompt = read_prompt(path)
            yield prompt.name, prompt.hash


def _inputs(ran: Ran) -> Iterator[InputContent]:
    """The inputs in the order of the command's help, then other files that were opened, by name."""
    opened = sorted(ran.running.opened.items(), key=lambda item: str(item[1]))
    order = [parameter.name for parameter in ran.context.command.params]
    for given in sorted(ran.inputs, key=lambda given: order.index(given.parameter.name)):
        yield _with_maker(_named(given), given.path)
    named = {os.path.realpath(path) for given in ran.inputs for path in given.protected()}
    own = [Path(os.path.realpath(path)) for path in (*(output.path for output in ran.outputs), PACKAGE)]
    for real, path in opened:
        is_own = is_temporary(Path(real)) or any(Path(real).is_relative_to(place) for place in own)
        if real not in named and not is_own and path.is_file():
            yield _with_maker(InputContent(**_fields(_content(path, str(path)))), path)


def _named(given: NamedInput) -> InputContent:
    """An input of an option or argument, without its maker."""
    path, name = given.path, str(given.path)
    if name == "-" or not (path.is_file() or path.is_dir()):
        content = NamedContent(path=name, note="a stream, which cannot be read again")
    elif given.files is not None and path.is_file():
        content = _weights(path, path)
    elif given.files is not None:
        content = combined_content(name, [_weights(file, path) for file in given.files])
    elif path.is_dir():
        files = [file for file in given.protected() if file != path]
        content = combined_content(name, [_content(file, _within(file, path)) for file in files])
    else:
        content = _content(path, name)
    return InputContent(**_fields(content), parameter=_name(given.parameter))


def _fields(content: NamedContent) -> dict[str, Any]:
    return content.model_dump(exclude_unset=True)


def _within(file: Path, folder: Path) -> str:
    return file.relative_to(folder).as_posix() if file != folder else file.name


def _weights(file: Path, model: Path) -> NamedContent:
    size = file.stat().st_size
    if size <= _MAX_WEIGHTS:
        return _content(file, _within(file, model))
    return NamedContent(path=_within(file, model), size=size, note="only the size: weights above 2 GB")


def _content(file: Path, name: str) -> NamedContent:
    try:
        return file_content(file, name)
    except DataError as error:  # it was changed while the command ran
        return NamedContent(path=name, note=error.problem)


def _with_maker(content: InputContent, path: Path) -> InputContent:
    """The input with the command that made it, if the manifest of its present content is beside it."""
    found = manifest_of(path) if content.sha256 is not None else None
    if found is None or not holds(found[1], content):
        return content
    maker = MadeBy(command=found[1].command, manifest_sha256=manifest_sha256(found[0]))
    return content.model_copy(update={"made_by": maker})
