"""Build the documentation site from docs/ with Zensical; every warning is an error.

Usage: scripts/site [FOLDER]

FOLDER (default: site) gets the HTML pages, which need no server; a site that was there before is replaced.
The pages are staged in a temporary folder: there, pages of other folders (CHANGELOG.md, ...) and notebooks
become pages of the site, listings of the code are added, and formulas become MathML, which browsers show
without a script.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import nbformat
from latex2mathml.converter import convert

from scripts.listings import with_listings

ROOT = Path(__file__).resolve().parents[1]
ELSEWHERE = {
    "CHANGELOG.md": "docs/project/changelog.md",
    "CONTRIBUTING.md": "docs/project/contributing.md",
    "data/demo/README.md": "docs/reference/demo-collection.md",
}
"""Files outside docs/ that are pages of the site, to their paths in it."""
WORKERS = "https://unpkg.com/iframe-worker/shim"
"""The theme loads this script, so that the search works from disk; ours needs no other server."""
NOT_SEARCHED = ("CHANGELOG.md",)
"""Pages whose results would hide those of the pages that explain things."""
_MARK = ".made-by-exam_pp"
"""A file of every site, so that no other folder is replaced."""
_LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)")
_CODE = re.compile(r"^(?P<fence>`{3,}).*?^(?P=fence)$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_DISPLAY = re.compile(r"^\$\$\n?(.+?)\n?\$\$$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<![\\$\w])\$(?=\S)([^$\n]+?)(?<=\S)\$(?![\w$])")


def staged_path(source: str) -> str:
    """Where a file of the repository is in the staged folder."""
    return str(Path(ELSEWHERE.get(source, source)).with_suffix(".md")) if _is_page(source) else source


def _is_page(source: str) -> bool:
    return source.endswith((".md", ".ipynb"))


def with_staged_links(text: str, source: str) -> str:
    """The text of a page with links to the staged paths."""
    here = os.path.dirname(staged_path(source))  # noqa: PTH120 - relative paths with ..

    def moved(match: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(os.path.dirname(source), match[1]))  # noqa: PTH118, PTH120
        return os.path.relpath(staged_path(target), here)

    return _outside_code(text, lambda prose: _LINK.sub(moved, prose))


def with_mathml(text: str) -> str:
    """The text of a page with its formulas, ``$...$`` and ``$$...$$``, as MathML."""

    def block(match: re.Match[str]) -> str:
        return f'<div class="formula">{convert(match[1].strip(), display="block")}</div>'

    # Markdown ends a paragraph at a line that begins with `math`, but not at one that begins with `span`.
    def inline(match: re.Match[str]) -> str:
        return f"<span>{convert(match[1])}</span>"

    def converted(prose: str) -> str:
        return _INLINE.sub(inline, _DISPLAY.sub(block, prose))

    return _outside_code(text, converted)


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])


def notebook_page(path: Path) -> str:
    """A notebook as a page."""
    parts = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            data = output.get("data", {"text/plain": output.get("text", "")})
            parts.append(f"```text\n{data['text/plain'].rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def stage(folder: Path) -> None:
    """Write the pages, pictures and the configuration of the site into a folder."""
    shutil.copy(ROOT / "docs" / "zensical.toml", folder)
    files = [path for path in (ROOT / "docs").rglob("*") if path.is_file() and path.suffix != ".toml"]
    for path in [*files, *(ROOT / name for name in ELSEWHERE)]:
        source = str(path.relative_to(ROOT))
        target = folder / staged_path(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not _is_page(source):
            shutil.copy(path, target)
            continue
        text = path.read_text(encoding="utf-8")
        page = notebook_page(path) if path.suffix == ".ipynb" else with_listings(text)
        head = "---\nsearch:\n  exclude: true\n---\n\n" if source in NOT_SEARCHED else ""
        target.write_text(head + with_mathml(with_staged_links(page, source)), encoding="utf-8")


def without_other_servers(site: Path) -> None:
    """Let the pages load the script of `WORKERS` from the site."""
    for page in site.rglob("*.html"):
        script = os.path.relpath(site / "javascripts" / "file_worker.js", page.parent)
        page.write_text(page.read_text(encoding="utf-8").replace(WORKERS, script), encoding="utf-8")


def with_own_search(site: Path) -> None:
    """Let the pages search with ``docs/javascripts/search.js`` in place of the worker of the theme."""
    (worker,) = (site / "assets" / "javascripts" / "workers").glob("search.*.js")
    (site / "javascripts" / "search.js").replace(worker)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "site")
    folder: Path = parser.parse_args().folder
    if folder.exists() and any(folder.iterdir()) and not (folder / _MARK).exists():
        print(
            f"{folder} is no site that this script made, and is left alone: name another folder.",
            file=sys.stderr,
        )
        return 1
    with tempfile.TemporaryDirectory() as name:
        staged = Path(name)
        stage(staged)
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        failed = subprocess.run(command, cwd=staged, check=False).returncode
        if not failed:
            without_other_servers(staged / "site")
            with_own_search(staged / "site")
            (staged / "site" / _MARK).touch()
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(staged / "site", folder)
    return failed


if __name__ == "__main__":
    sys.exit(main())
