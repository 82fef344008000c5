"""Formulas of the documentation: MathML on the site, LaTeX that GitHub shows."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from scripts.docs_site import ROOT, with_mathml

PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if "$$" in path.read_text(encoding="utf-8")]
_MATH = re.compile(r"<math.*?</math>", re.DOTALL)
_FORMULA = re.compile(
    r"^\$\$\n(.+?)\n\$\$$|(?<![\\$\w])\$(?=\S)([^$\n]+?)(?<=\S)\$(?![\w$])", re.DOTALL | re.MULTILINE
)
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def formulas(path: Path) -> list[str]:
    prose = _CODE.sub("", path.read_text(encoding="utf-8"))
    return [match[1] or match[2] for match in _FORMULA.finditer(prose)]


def test_a_formula_at_the_begin_of_a_line_stays_in_its_paragraph() -> None:
    # Python-Markdown makes a block of its own of a line that begins with <math>.
    first, second = with_mathml("the mean\n$x$ of the scores\n").splitlines()[:2]
    assert first == "the mean"
    assert second.startswith("<span><math")
    assert second.endswith("</math></span> of the scores")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_all_formulas_become_mathml(path: Path) -> None:
    converted = with_mathml(path.read_text(encoding="utf-8"))
    shown = [ET.fromstring(math) for math in _MATH.findall(converted)]
    assert len(shown) == len(formulas(path)) > 0
    assert not [text for math in shown for text in math.itertext() if "\\" in text]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_github_shows_all_formulas(path: Path) -> None:
    # Its Markdown takes a backslash before punctuation for an escape, and | for the end of a table's cell. It
    # refuses some commands.
    assert [
        formula
        for formula in formulas(path)
        if re.search(r"\\[^a-zA-Z ]|\||[<>]|\\operatorname|\\def|\\newcommand", formula)
    ] == []
