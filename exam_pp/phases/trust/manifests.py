"""The manifest of a file, and whether it still describes the file."""

from __future__ import annotations

from dataclasses import dataclass
from os.path import realpath
from pathlib import Path
from typing import Literal

from exam_pp.errors import DataError
from exam_pp.store.files import STDIO, size_and_sha256
from exam_pp.store.manifests import SUFFIX, Manifest, manifest_path, read_manifest

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
