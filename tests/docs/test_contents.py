"""Documentation: listings have their pages, links exist, and shown files are valid."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from exam_pp.banks import BankLine
from exam_pp.data_model import parse_line
from exam_pp.store.games_files import parse_games

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_examples_of_the_data_model_are_read_and_written() -> None:
    page = (ROOT / "docs" / "reference" / "data-model.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```json\n(.*?)```", page, flags=re.DOTALL)
    passages, _outside, bank, games, _manifest = map(json.loads, blocks)
    assert json.loads(parse_line(json.dumps(passages)).dump()) == passages
    assert BankLine.model_validate(bank).model_dump(mode="json", exclude_unset=True) == bank
    query = parse_games(json.dumps(games).encode(), "docs/reference/data-model.md", 1)
    assert json.loads(query.model_dump_json(by_alias=True, exclude_unset=True)) == games


def test_the_package_of_the_index_is_never_installed() -> None:
    """`pip install exam_pp` fetches the package of other authors."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    named = [
        name
        for name in files.split()
        if name.endswith((".md", ".py", ".sh", ".toml", ".ipynb", "/run", "/demo", "/test", ".txt"))
        and name not in {"CHANGELOG.md", "pyproject.toml", "tests/docs/test_contents.py"}
        and re.search(
            r"(pip install|uv add)[^\n]*\bexam_pp(\[|\b(?!-))", (ROOT / name).read_text(encoding="utf-8")
        )
    ]
    assert named == []
