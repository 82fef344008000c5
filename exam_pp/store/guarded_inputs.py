"""Inputs and outputs of the running command: inputs are never overwritten, and a changed input is noticed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from exam_pp.errors import DataError

_MODEL_FILES = (".safetensors", ".bin", ".json", ".model", ".txt", ".jinja", ".py", ".gguf")
"""Suffixes of the files of a checkpoint."""


_Version = tuple[int, int, int, int]
"""Device, inode, size and time of a file when it was opened; another file, or a changed one, has others."""


class Running:
    """The inputs of one command, and the files that it has written."""

    def __init__(self, inputs: Iterable[str | Path]) -> None:
        self.named = {os.path.realpath(path): _inode(path) for path in inputs}
        self.versions: dict[str, _Version] = {}
        self.opened: dict[str, Path] = {}
        self.written: dict[str, None] = {}

    def has(self, real: str, inode: tuple[int, int] | None) -> bool:
        """Whether a file is one of the named inputs, or was opened."""
        if real in self.named or real in self.versions:
            return True
        opened = ((path, version[:2]) for path, version in self.versions.items())
        # The file system can give the inode of a deleted file to a new file.
        return inode is not None and any(
            inode == known and _inode(path) == known for path, known in (*self.named.items(), *opened)
        )


_commands: list[Running] = []
"""The commands that run, from the outer to the inner."""


@contextmanager
def reading(inputs: Iterable[str | Path] = ()) -> Iterator[Running]:
    """Protect the inputs of a command inside the block.

    No output may be one of ``inputs``, or another file that was read in the block. A file that is read twice
    must be unchanged, or :class:`DataError` is raised. Blocks can be nested.
    """
    command = Running(inputs)
    _commands.append(command)
    try:
        yield command
    finally:
        _commands.remove(command)


def model_files(model: str) -> tuple[Path, ...] | None:
    """The files of a local model that no output may replace; None for a name that is no path of a model."""
    path = Path(model)
    if path.suffix.lower() == ".gguf":
        return (path,) if path.is_file() else None
    if not path.is_dir():
        return None
    # Other files in the folder, such as gradings, may be outputs.
    return tuple(sorted(file for file in path.rglob("*") if file.suffix in _MODEL_FILES and file.is_file()))


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
    version = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
    real = os.path.realpath(path)
    # The outer block is that of the whole command.
    _commands[0].opened.setdefault(real, Path(path))
    if _commands[0].versions.setdefault(real, version) != version:
        raise DataError(
            "was replaced or changed while this command read it. Run the command again.", file=str(path)
        )


def forget(path: Path) -> None:
    """Forget a file that was opened, because the command itself writes it."""
    real = os.path.realpath(path)
    for command in _commands:
        command.versions.pop(real, None)
        command.opened.pop(real, None)


def note_written(path: Path) -> None:
    """Note that the command has completely written a file."""
    forget(path)
    for command in _commands:
        command.written[os.path.realpath(path)] = None
