"""Manifests: what made an output, with digests of the files and folders that they name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path
from typing import Any, Literal

from exam_pp.data_model import Integer
from exam_pp.errors import DataError
from exam_pp.models import Record
from exam_pp.store.files import STDIO, size_and_sha256, write_text
from exam_pp.store.parsing import read_document

FORMAT: Literal["exam_pp.manifest.v1"] = "exam_pp.manifest.v1"
SUFFIX = ".manifest.json"
"""The manifest of the file or folder NAME is the file ``NAME.manifest.json`` beside it."""


def manifest_path(output: Path) -> Path:
    """The place of the manifest of a file or folder; raises ValueError for a path without a name."""
    return output.with_name(output.name + SUFFIX)


class NamedContent(Record):
    """A file or folder: its name and a digest of its content.

    ``size``: Number of bytes; of a folder, those of all ``files``. ``sha256``: SHA-256 of the bytes, as
    ``sha256sum`` prints it. For a folder, it is that of the lines that ``sha256sum`` prints for ``files``.
    None if the content was not read again; ``note`` says why. ``parameter``: The option or argument that
    names it, such as ``--bank``; None for a file of a folder, and for a file that another input names.
    """

    path: str
    size: Integer | None = None
    sha256: str | None = None
    files: list[NamedContent] | None = None
    note: str | None = None
    parameter: str | None = None


class OptionValue(Record):
    """An option or argument that is not a file, with its value.

    ``default`` is true if the user did not name it. Passwords in values are masked.
    """

    name: str
    value: Any = None
    default: bool


class Manifest(Record):
    """The making of one output: the command with all options, its inputs and versions.

    ``options``: All options and arguments that are not files, in the order of the command's help.
    """

    format: Literal["exam_pp.manifest.v1"] = FORMAT
    exam_pp: str
    command: str
    output: NamedContent
    options: list[OptionValue]
    inputs: list[NamedContent]
    report: dict[str, Any]
    python: str
    platform: str
    packages: dict[str, str]

    @property
    def versions(self) -> Iterator[tuple[str, str]]:
        """Names and versions of everything that computed the output."""
        yield "exam_pp", self.exam_pp
        yield "Python", self.python
        yield "platform", self.platform
        yield from self.packages.items()


_BEGIN = 2**10
"""The format is named within this many bytes."""


def visible_entries(folder: Path) -> list[Path]:
    """The files and folders in a folder by name, without hidden ones and the manifests of the others."""
    manifests = {manifest_path(path) for path in folder.iterdir()}
    return sorted({path for path in folder.iterdir() if not path.name.startswith(".")} - manifests)


def read_manifest(path: str | Path) -> Manifest:
    """Read a manifest."""
    return read_document(Manifest, path, FORMAT, "a manifest")


def write_manifest(manifest: Manifest, path: Path) -> None:
    """Write a manifest atomically; raises :class:`OutputError`."""
    write_text(path, manifest.model_dump_json(exclude_unset=True, indent=1) + "\n")


def is_manifest(path: Path) -> bool:
    """Whether a file has the name and the first key of a manifest."""
    try:
        if not (path.name.endswith(SUFFIX) and path.is_file()):
            return False
        with path.open("rb") as stream:
            return f'"format": "{FORMAT}"'.encode() in stream.read(_BEGIN).replace(b'":"', b'": "')
    except OSError:
        return False


def file_content(path: Path, name: str) -> NamedContent:
    """The size and digest of a file, under a name; raises :class:`DataError`."""
    size, sha256 = size_and_sha256(path)
    return NamedContent(path=name, size=size, sha256=sha256)


def folder_content(folder: Path, files: Iterable[Path]) -> NamedContent:
    """The sizes and digests of files in a folder; raises :class:`DataError`."""
    contents = [file_content(file, file.relative_to(folder).as_posix()) for file in sorted(files)]
    return combined_content(str(folder), contents)


def combined_content(name: str, contents: list[NamedContent]) -> NamedContent:
    """The size and digest of a folder; the digest is missing if that of a file is."""
    known = all(content.sha256 for content in contents)
    lines = "".join(f"{content.sha256}  {content.path}\n" for content in contents)
    return NamedContent(
        path=name,
        size=sum(content.size or 0 for content in contents),
        sha256=hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest() if known else None,
        files=contents,
    )


State = Literal["unchanged", "changed", "missing", "unknown"]
"""The present state of the output of a manifest."""


@dataclass(frozen=True)
class Found:
    """A manifest that was found for a file or folder."""

    name: str
    place: Path
    manifest: Manifest
    state: State


def find_manifest(path: Path) -> Found:
    """The manifest of a file or folder; for a file of a folder, that of the folder."""
    if str(path) == STDIO:
        manifest = read_manifest(path)
        target = Path(manifest.output.path)
        state = _state(manifest, target) if _is_within(target, Path()) else "unknown"
        return Found(str(target), path, manifest, state)
    if path.name.endswith(SUFFIX) and path.is_file():
        manifest = read_manifest(path)
        target = path.with_name(path.name.removesuffix(SUFFIX))
        return Found(str(target), path, manifest, _state(manifest, target))
    full = path.absolute()
    for output in (full, full.parent):
        if output.name and (place := manifest_path(output)).is_file():
            manifest = read_manifest(place)
            if output == full or any(file.path == full.name for file in manifest.output.files or ()):
                return Found(str(path), place, manifest, _state(manifest, path))
    raise DataError(
        "has no manifest. Commands write one with `exam-pp --manifest COMMAND ...`.", file=str(path)
    )


def _state(manifest: Manifest, path: Path) -> State:
    output = manifest.output
    if not path.exists():
        return "missing"
    if path.is_dir():
        same = output.files is not None and all(
            _is_within(path / file.path, path)
            and (path / file.path).is_file()
            and size_and_sha256(path / file.path)[1] == file.sha256
            for file in output.files
        )
    else:
        digests = {content.sha256 for content in (output, *(output.files or ()))}
        same = path.is_file() and size_and_sha256(path)[1] in digests
    return "unchanged" if same else "changed"


def _is_within(path: Path, folder: Path) -> bool:
    """Whether a path of a manifest is in a folder: others, such as /proc/kmsg, are not even opened."""
    return Path(realpath(path)).is_relative_to(realpath(folder))
