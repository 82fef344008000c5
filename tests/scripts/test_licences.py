"""The page of licences has all packages of the locks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.licences import PAGE
from scripts.lock import LOCKS, blocks


def rows() -> dict[str, list[str]]:
    """The other cells of the tables, by the first one."""
    lines = [
        [cell.strip() for cell in line.strip("|").split(" |")]
        for line in PAGE.read_text("utf-8").splitlines()
        if line[:1] == "|"
    ]
    return {first: cells for first, *cells in lines}


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_package_has_a_licence(name: str, repository: Path) -> None:
    found = rows()
    text = (repository / "scripts" / "locks" / f"{name}.txt").read_text("utf-8")
    for block in (block for block in blocks(text) if not block.startswith("#")):
        package, version = block.split()[0].split("==")
        versions, licence, *_ = found[package]
        assert version in versions.split(", "), f"{package}: run python -m scripts.licences"
        assert re.search(r"MIT|BSD|Apache|PSF|MPL|ISC|Matplotlib|GPL", licence)


def test_packages_under_the_gpl_serve_only_tests() -> None:
    found = {name: cells for name, cells in rows().items() if "GPL" in " ".join(cells)}
    assert {name: cells[-1] for name, cells in found.items()} == {"krippendorff": "ci"}
