"""HTML pages: all text is escaped, and no external resource is loaded."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

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


def test_hostile_text_is_escaped() -> None:
    hostile, plain = page_with(HOSTILE), page_with("plain")
    assert hostile.tags == plain.tags
    assert sum(HOSTILE in text for text in hostile.texts) == 9


@given(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r\x00"), min_size=1))
def test_no_text_makes_a_tag(text: str) -> None:
    # A long name has an element for its end.
    assert [tag for tag in page_with(text).tags if tag != "span"] == [
        tag for tag in page_with("plain").tags if tag != "span"
    ]


def test_cells() -> None:
    page = render(Report("", [Table(["a", "b"], [["x", 0.5], [None, None]])]), "html")
    assert '<tr><td>x</td><td class="number">0.500</td></tr>' in page
    assert '<tr><td></td><td class="number"></td></tr>' in page
    assert "default-src 'none'" in page
    assert "http:" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https:" not in page
