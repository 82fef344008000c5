"""Reading and writing of manifests, and digests of the files and folders that they name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from exam_pp.errors import DataError
from exam_pp.manifest import FORMAT, SUFFIX, Manifest, NamedContent, manifest_path
from exam_pp.store.files import read_text, size_and_sha256, write_text
from exam_pp.store.parsing import data_error, parse_json

_BEGIN = 2**10
"""The format is named within this many bytes."""


def visible_entries(folder: Path) -> list[Path]:
    """The files and folders in a folder by name, without hidden ones and the manifests of the others."""
    manifests = {manifest_path(path) for path in folder.iterdir()}
    return sorted({path for path in folder.iterdir() if not path.name.startswith(".")} - manifests)


def read_manifest(path: str | Path) -> Manifest:
    """Read a manifest."""
    values = parse_json(read_text(path), path)
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise DataError(f'is not a manifest: its key "format" must be {FORMAT!r}.', file=str(path))
    try:
        return Manifest.model_validate(values)
    except ValidationError as error:
        raise data_error(error, path) from error


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
