"""Inputs of the running command: they are never overwritten, and a changed input is noticed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from exam_pp.errors import DataError


class _Version(NamedTuple):
    """A file as it was when it was opened; another file, or a changed one, has other values."""

    device: int
    inode: int
    size: int
    modified_ns: int


class _Reading:
    """The inputs of one command."""

    def __init__(self, inputs: Iterable[str | Path]) -> None:
        self.named = {os.path.realpath(path): _inode(path) for path in inputs}
        self.versions: dict[str, _Version] = {}

    def has(self, real: str, inode: tuple[int, int] | None) -> bool:
        """Whether a file is one of the named inputs, or was opened."""
        if real in self.named or real in self.versions:
            return True
        opened = ((path, version[:2]) for path, version in self.versions.items())
        # The file system can give the inode of a deleted file to a new file.
        return inode is not None and any(
            inode == known and _inode(path) == known for path, known in (*self.named.items(), *opened)
        )


_commands: list[_Reading] = []
"""The commands that run, from the outer to the inner."""


@contextmanager
def reading(inputs: Iterable[str | Path] = ()) -> Iterator[None]:
    """Protect the inputs of a command inside the block.

    No output may be one of ``inputs``, or another file that was read in the block. A file that is read twice
    must be unchanged, or :class:`DataError` is raised. Blocks can be nested.
    """
    command = _Reading(inputs)
    _commands.append(command)
    try:
        yield
    finally:
        _commands.remove(command)


def is_input(path: Path, inputs: Iterable[str | Path] = ()) -> bool:
    """Whether a path is one of ``inputs`` or of those of the running command, also by a link of any kind."""
    real, inode = os.path.realpath(path), _inode(path)
    if any(command.has(real, inode) for command in _commands):
        return True
    return inode is not None and any(_inode(source) == inode for source in inputs if str(source) != "-")


def _inode(path: str | Path) -> tuple[int, int] | None:
    """Device and inode of an existing file, else None."""
    try:
        state = os.stat(path)  # noqa: PTH116 - a path may be a string
    except (OSError, ValueError):
        return None
    return state.st_dev, state.st_ino


def note_opened(path: str | Path, state: os.stat_result) -> None:
    """Note the version of a file that is opened; raises :class:`DataError` if an earlier one was opened."""
    if not _commands or not stat.S_ISREG(state.st_mode):
        return
    version = _Version(state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
    # The outer block is that of the whole command.
    if _commands[0].versions.setdefault(os.path.realpath(path), version) != version:
        raise DataError(
            "was replaced or changed while this command read it. Run the command again.", file=str(path)
        )


def forget(path: Path) -> None:
    """Forget the version of a file that the command itself has written."""
    for command in _commands:
        command.versions.pop(os.path.realpath(path), None)
