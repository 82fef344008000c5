"""Run a notebook from its first cell and write its outputs into it.

Usage: python scripts/run_notebook.py docs/notebooks/leaderboard.ipynb [--check]

`--check` writes nothing and lists the cells with a changed output (exit code 1).
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]


def run(path: Path) -> Any:
    """The notebook with fresh outputs; raises CellExecutionError for the first cell that fails."""
    notebook = nbformat.read(path, as_version=4)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    folder = {"metadata": {"path": str(path.parent.resolve())}}
    return NotebookClient(notebook, resources=folder, record_timing=False).execute()


def texts(notebook: Any) -> list[str]:
    """The text output of each cell."""
    return ["".join(map(_text, cell.get("outputs", ()))) for cell in notebook.cells]


def _text(output: Any) -> str:
    if output["output_type"] == "stream":
        return str(output["text"])
    return str(output["data"]["text/plain"]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    before = texts(nbformat.read(arguments.notebook, as_version=4))
    fresh = run(arguments.notebook)
    if not arguments.check:
        nbformat.write(fresh, arguments.notebook)
        return 0
    changed = [
        number for number, (old, new) in enumerate(zip(before, texts(fresh), strict=True)) if old != new
    ]
    for number in changed:
        print(f"cell {number} prints\n{texts(fresh)[number]}", file=sys.stderr)
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main())
