"""Run the commands and code of a page as its test does, and write their outputs into the text blocks.

Usage: python -m scripts.run_page PAGE

A text block directly after a block of commands or Python code is its output. Shortened outputs, with a line
of dots, are not changed. `tests/docs` has the runner, the files that pages presume, and the stand-ins for
models.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.docs.pages import ROOT, blocks, has_dots, is_run
from tests.docs.runner import room
from tests.docs.setups import prepare
from tests.example_files import ExampleFiles


def rerun(page: str, text: str, folder: Path, examples: ExampleFiles) -> str:
    """The text of a page with fresh outputs."""
    lines = text.splitlines(keepends=True)
    fresh: list[tuple[int, int, str]] = []
    with room(folder) as runner:
        setup = prepare(page, text, examples)
        for block in filter(is_run, blocks(page, text)):
            setup.act_before(block)
            printed = runner.run(block)
            if block.output is not None and not has_dots(block.output) and not printed.shows(block.output):
                after = block.line + block.text.count("\n")
                start = next(at for at in range(after, len(lines)) if "```text" in lines[at]) + 1
                fresh.append((start, start + block.output.count("\n"), printed.out or printed.err))
    for start, end, output in reversed(fresh):
        lines[start:end] = [output]
    return "".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    path = parser.parse_args().page.resolve()
    with tempfile.TemporaryDirectory() as name:
        examples = ExampleFiles(Path(name) / "examples", ROOT / "data")
        text = rerun(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"), Path(name), examples)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
