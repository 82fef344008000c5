"""Write docs/project/licences.md: the licences of all packages of the locks, and of the files of exam_pp.

Usage: python -m scripts.licences

Run it in the environment .venv-dev after a change of the locks. Licences come from the metadata of installed
packages; those of packages for other platforms are in ELSEWHERE.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.lock import LOCKS, ROOT, blocks, build_requirements

PAGE = ROOT / "docs" / "project" / "licences.md"
ELSEWHERE = {
    "appnope": "BSD-2-Clause",
    "cffi": "MIT-0",
    "colorama": "BSD-3-Clause",
    "httpx2-jsfetch": "BSD-3-Clause",
    "pycparser": "BSD-3-Clause",
    "pywin32": "PSF-2.0",
}
"""Licences of packages for other platforms, from their metadata."""
FILES = {"axe-playwright-python": "MIT", "matplotlib": "Matplotlib (like PSF-2.0)"}
"""Licences of packages whose metadata do not name them, from their licence files."""
NAMES = {
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 3-Clause License": "BSD-3-Clause",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
"""Names in metadata to those of SPDX; BSD without the number of its clauses has none."""


def locked() -> dict[str, str]:
    """Package to its version, or to several ones for different platforms, for all locks and for torch."""
    found: dict[str, list[str]] = {}
    texts = [(ROOT / "scripts" / "locks" / f"{name}.txt").read_text("utf-8") for name in LOCKS]
    first = [block.split()[0] for text in texts for block in blocks(text) if not block.startswith("#")]
    constraints = (ROOT / "constraints.txt").read_text("utf-8")
    for line in dict.fromkeys([*first, *re.findall(r"^torch==.*$", constraints, re.MULTILINE)]):
        name, _, version = line.partition("==")
        found.setdefault(name, []).append(version)
    return {name: ", ".join(versions) for name, versions in found.items()}


def licence(package: str) -> str:
    """The licence of a package, as an expression of SPDX if possible."""
    if package in FILES:
        return FILES[package]
    try:
        metadata = distribution(package).metadata
    except PackageNotFoundError:
        return ELSEWHERE[package]
    classifiers = [line for line in metadata.get_all("Classifier") or [] if line.startswith("License :: OSI")]
    given = [text for key in ("License-Expression", "License") for text in metadata.get_all(key) or []]
    for text in (*given, *(line.split(" :: ")[-1] for line in classifiers)):
        try:
            return canonicalize_license_expression(NAMES.get(text, text))
        except InvalidLicenseExpression:
            continue
    return next(NAMES[line.split(" :: ")[-1]] for line in classifiers)


def needed(requirements: list[str]) -> set[str]:
    """The packages of requirements and of all that these need, as far as they are installed."""
    found: set[str] = set()
    waiting = [(Requirement(line), "") for line in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        if name not in found:
            found.add(name)
            try:
                lines = distribution(name).requires or []
            except PackageNotFoundError:
                continue
            for inner in requirement.extras or {""}:
                waiting += [(Requirement(line), inner) for line in lines]
    return found


def lines_of(project: Mapping[str, Any], extra: str) -> list[str]:
    """The requirements of an extra, including those of the extras that it names."""
    found: list[str] = []
    for line in project["optional-dependencies"][extra]:
        inner = re.fullmatch(r"exam_pp\[(.*)\]", line)
        found += (
            [deep for name in inner[1].split(",") for deep in lines_of(project, name)] if inner else [line]
        )
    return found


def tables() -> dict[str, list[str]]:
    """The lines of both tables."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    versions = locked()
    required = needed(project["dependencies"]) & versions.keys()
    extras = {extra: needed(lines_of(project, extra)) for extra in project["optional-dependencies"]}
    extras["scripts"] = needed(build_requirements())

    def row(package: str) -> str:
        users = ", ".join(extra for extra, packages in extras.items() if package in packages)
        return f"| {package} | {versions[package]} | {licence(package)} | {users or 'other platforms'} |"

    return {
        "required": [
            "| package | version | licence |", "|---|---|---|",
            *(f"| {name} | {versions[name]} | {licence(name)} |" for name in sorted(required)),
        ],
        "extras": [
            "| package | version | licence | needed by |", "|---|---|---|---|",
            *map(row, sorted(versions.keys() - required)),
        ],
    }  # fmt: skip


def main() -> None:
    text = (ROOT / "scripts" / "docs" / "licences.md").read_text("utf-8")
    for marker, lines in tables().items():
        text = text.replace(f"<!-- {marker} -->", "\n".join(lines))
    PAGE.write_text(text, encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
