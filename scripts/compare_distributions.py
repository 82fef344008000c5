"""Compare a source distribution and the wheels made from it and from a checkout, file by file.

Usage: python scripts/compare_distributions.py SDIST WHEEL_OF_SDIST WHEEL_OF_CHECKOUT

Prints a line for every difference: a tracked file that the source distribution lacks, a file of it that is
not tracked, and a file in which the wheels differ. Fails if it prints any.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Set
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = (".ci/",)
"""Folders that the source distribution lacks on purpose: `exclude` in pyproject.toml."""
ADDED = {"PKG-INFO"}
"""What the build adds to the files of the checkout."""


def sdist_files(sdist: Path) -> set[str]:
    """The files of a source distribution, without its first folder."""
    with tarfile.open(sdist) as archive:
        return {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}


def tracked_files(checkout: Path) -> set[str]:
    """The files that git tracks and that a source distribution should have."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=checkout, capture_output=True, text=True, check=True
    )
    return {name for name in listed.stdout.split("\0") if name and not name.startswith(LEFT_OUT)}


def sdist_differences(sdist: Set[str], tracked: Set[str]) -> Iterator[str]:
    """A line for every file that only one side has."""
    yield from (f"missing in the source distribution: {name}" for name in sorted(tracked - sdist))
    yield from (f"not tracked by git: {name}" for name in sorted(sdist - tracked - ADDED))


def wheel_differences(first: Path, second: Path) -> Iterator[str]:
    """A line for every file that differs between two wheels or that only one of them has."""
    with zipfile.ZipFile(first) as left, zipfile.ZipFile(second) as right:
        names = set(left.namelist()), set(right.namelist())
        yield from (f"in one wheel only: {name}" for name in sorted(names[0] ^ names[1]))
        yield from (
            f"differs between the wheels: {name}"
            for name in sorted(names[0] & names[1])
            if left.read(name) != right.read(name)
        )


def main(sdist: Path, wheel_of_sdist: Path, wheel_of_checkout: Path) -> int:
    lines = [
        *sdist_differences(sdist_files(sdist), tracked_files(ROOT)),
        *wheel_differences(wheel_of_sdist, wheel_of_checkout),
    ]
    print(*lines, sep="\n", end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
