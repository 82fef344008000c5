"""Run the shell blocks of a page and write their outputs into the text blocks that follow them.

Usage: python scripts/run_page.py PAGE [--check]

The blocks run in order in an empty folder with a link to data/; `exam-pp` is available as a command.
`--check` writes nothing and lists the outputs that differ (exit code 1). Blocks that need a missing program
(jq) are skipped.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"```sh\n(?P<code>.*?)```\n(?P<shown>\n```text\n(?P<text>.*?)```\n)?", re.DOTALL)
_PROGRAMS = ("jq",)


def output_of(code: str, folder: Path) -> str:
    """The output of a block; exits if the block fails."""
    command = f'exam-pp() {{ {shlex.quote(sys.executable)} -m exam_pp "$@"; }}\nset -eo pipefail\n{code}'
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    if done.returncode not in (0, 141):  # 141: `head` closed the pipe
        sys.exit(f"{code}\n{done.stderr}")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def rerun(page: str, folder: Path) -> tuple[str, list[str]]:
    """The page with fresh outputs, and the blocks whose output has changed."""
    changed: list[str] = []

    def fresh(match: re.Match[str]) -> str:
        code = match["code"]
        if any(re.search(rf"\b{name}\b", code) and shutil.which(name) is None for name in _PROGRAMS):
            return match[0]
        printed = output_of(code, folder)
        if match["shown"] is None:
            return match[0]
        if printed != match["text"]:
            changed.append(f"{code}\nprints\n{printed}")
        return f"```sh\n{code}```\n\n```text\n{printed}```\n"

    return _BLOCK.sub(fresh, page), changed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if an output differs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data").symlink_to(ROOT / "data")
        page, changed = rerun(arguments.page.read_text(encoding="utf-8"), folder)
    if arguments.check:
        print("\n".join(changed), file=sys.stderr)
        return int(bool(changed))
    arguments.page.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
