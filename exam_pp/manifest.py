"""Manifests: what made an output of a command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from exam_pp.data_model import Integer
from exam_pp.records import Record

FORMAT: Literal["exam_pp.manifest.v1"] = "exam_pp.manifest.v1"
SUFFIX = ".manifest.json"
"""The manifest of the file or folder NAME is the file ``NAME.manifest.json`` beside it."""


def manifest_path(output: Path) -> Path:
    """The place of the manifest of a file or folder; raises ValueError for a path without a name."""
    return output.with_name(output.name + SUFFIX)


class NamedContent(Record):
    """A file or folder: its name and a digest of its content.

    ``size``: Number of bytes; of a folder, those of all ``files``. None for a stream. ``sha256``: SHA-256 of
    the bytes, as ``sha256sum`` prints it. For a folder, it is that of the lines that ``sha256sum`` prints for
    ``files``. None if the content was not read again; ``note`` says why. ``parameter``: The option or
    argument that names it, such as ``--bank``; None for a file of a folder, and for a file that another input
    names.
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
