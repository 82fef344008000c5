"""HTML pages: all text is escaped, and no external resource is loaded."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from exam_pp.provenance import Provenance
from exam_pp.rendering.document import Block, Heading, Paragraph, Quote, Report, Table
from exam_pp.rendering.render import render

HOSTILE = '</td><script>alert("x")</script><img src=x onerror=alert(1)> & "quotes" \'single\''


class Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def page_with(text: str) -> Texts:
    blocks: list[Block] = [
        Heading(text), Paragraph(text), Quote(text, text), Table([text], [[text], [1], [None]], title=text),
    ]  # fmt: skip
    parser = Texts()
    parser.feed(render(Report(text, blocks), "html"))
    parser.close()
    return parser


@pytest.mark.parametrize(
    ("text", "shown"),
    [(HOSTILE, HOSTILE), ("a\x1b\x00\x0b\uffff", "a" + 4 * "\ufffd")],
    ids=["markup", "not XML"],
)
def test_hostile_text_is_text(text: str, shown: str) -> None:
    page = page_with(text)
    assert page.tags == page_with("plain").tags
    assert sum(shown in found for found in page.texts) == 9


def test_cells() -> None:
    page = render(Report("", [Table(["a", "b"], [["x", 0.5], [None, None]])]), "html")
    assert re.findall("<tr><td.*</tr>", page) == [
        '<tr><td>x</td><td class="number">0.500</td></tr>', '<tr><td></td><td class="number"></td></tr>',
    ]  # fmt: skip
    assert set(re.findall(r"https?:[^\s\"']*", page)) <= {"http://www.w3.org/2000/svg"}


def test_the_policy_allows_only_the_page_s_own_script_and_style() -> None:
    page = render(Report("t", []), "html")
    match = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert match
    policy = dict(part.split(" ", 1) for part in match[1].split("; "))
    for name in ("script", "style"):
        text = page.split(f"<{name}>")[1].split(f"</{name}>")[0]
        assert policy[f"{name}-src"] == f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
    for name in ("default-src", "connect-src", "form-action", "base-uri", "trusted-types"):
        assert policy[name] == "'none'"
    assert not re.search(r"<[^>]+ (style|on\w+)=", page.split("<body")[1].split("<script>")[0])


@pytest.mark.parametrize(
    "word", ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "import("]
)
def test_the_script_makes_no_markup_and_no_connection(word: str) -> None:
    assert word not in render(Report("t", []), "html").split("<script>")[1]


def test_sections_notes_and_provenance() -> None:
    blocks: list[Block] = [Paragraph("a"), Paragraph("b"), Heading("One"), Paragraph("c"), Heading("Two")]
    page = render(Report("t", blocks, Provenance(models=("m",))), "html")
    parts = (
        '<ul class="notes">\n<li>a</li>\n<li>b</li>\n</ul>', "<p>c</p>", '<a href="#s2">Two</a>',
        '<h2 id="s2">Two</h2>',
    )  # fmt: skip
    assert [part for part in parts if part not in page] == []
    assert page.count('<section class="panel"') == 3
    assert re.search(r"<footer><p>Made by exam_pp .*model m\.</p></footer>", page)
    assert "<nav" not in render(Report("t", [Heading("One")]), "html")


def test_numbers_with_errors_and_intervals_are_numeric_columns() -> None:
    table = Table(
        ["a", "b", "c", "d"], [["0.5 ± 0.1", "0.5 [0.4, 0.6]", "0.512ab", "2 apples a day"], ["", "", "", ""]]
    )
    page = render(Report("t", [table]), "html")
    assert re.findall(r'<th scope="col"( class="number")?>', page) == [' class="number"'] * 3 + [""]


HEAT_MAP = Table(
    ["row", "1"], [["x", 4], ["y", None]], shades={(0, 1): 5}, boxed={(0, 1)}, box="four or more",
    hints={1: HOSTILE}, details={(0, 0): [("text", HOSTILE)], (0, 1): [("answer", "yes")]},
)  # fmt: skip


def test_heat_maps() -> None:
    """Shades with a legend, boxes with their meaning, and the texts behind cells."""
    page = render(Report("t", [HEAT_MAP]), "html")
    parts = (
        '<th scope="row">x</th><td class="number boxed shade-5">4</td>',
        '<li><span class="rating shade-5">4</span></li>', "four or more</li>", "<dt>answer</dt><dd>yes</dd>",
    )  # fmt: skip
    assert [part for part in parts if part not in page] == []
    assert HOSTILE not in page


@pytest.mark.parametrize("form", ["text", "md", "tsv", "json", "latex"])
def test_other_formats_show_the_table_without_shades(form: str) -> None:
    plain = Table(["row", "1"], [["x", 4], ["y", None]], boxed={(0, 1)})
    assert render(Report("t", [HEAT_MAP]), form) == render(Report("t", [plain]), form)
