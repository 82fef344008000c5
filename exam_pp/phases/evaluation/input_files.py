"""Input files of an evaluation with their sizes and SHA-256, and versions of the packages that compute it."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from exam_pp import provenance
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.store.files import size_and_sha256
from exam_pp.store.trec.runs import run_files

PACKAGES = ("numpy", "scipy", "ir-measures")
"""Packages that the numbers of an evaluation may depend on."""


class InputFile(NamedTuple):
    """A file that was read.

    ``sha256``: SHA-256 of its bytes, as ``sha256sum`` prints it; a compressed file is not decompressed.
    """

    role: str
    path: str
    bytes: int
    sha256: str


def input_files(sources: Iterable[tuple[str, PathLike | None]]) -> list[InputFile]:
    """The size and SHA-256 of every input.

    ``sources``: Pairs of role and file or folder; a folder gives a row for each of its run files, None gives
    no row. Returns the rows in the order of ``sources``, the files of a folder in the order of their names.
    """
    files = []
    for role, source in sources:
        if source is not None:
            paths = run_files(source) if Path(source).is_dir() else [Path(source)]
            files += [InputFile(role, str(path), *size_and_sha256(path)) for path in paths]
    return files


def versions() -> dict[str, str]:
    """Name to version: exam_pp, Python, and the installed ones of :data:`PACKAGES`."""
    found = {"exam_pp": provenance.VERSION, "Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
