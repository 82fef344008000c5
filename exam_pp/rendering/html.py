"""Rendering of reports as self-contained HTML pages; text is escaped, and a policy forbids connections."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from html import escape
from itertools import count
from typing import TypeGuard
from urllib.parse import quote

from exam_pp.highlight import Span, split_at_spans
from exam_pp.rendering.cells import format_row, is_numeric
from exam_pp.rendering.document import (
    Block,
    Heading,
    Image,
    Link,
    Paragraph,
    Picture,
    Quote,
    Report,
    Table,
    TextBlock,
)
from exam_pp.rendering.pictures.svg import WIDTH, svg

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 110rem; margin: 2rem auto; padding: 0 1rem;
 overflow-wrap: break-word; }}
h1, h2, h3, p, td, cite, blockquote {{ unicode-bidi: plaintext; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; margin: 1rem 0; }}
caption {{ text-align: left; font-weight: 600; }}
th, td {{ border-bottom: 1px solid #8886; padding: .25rem .6rem; text-align: left; vertical-align: top; }}
p, blockquote {{ max-width: 60rem; }} td:not(.number) {{ min-width: 5rem; }}
.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
.boxed {{ background: #5b93; outline: 1px solid #5b98; }}
nav {{ columns: 20rem; }} nav ul {{ margin: 0; }} h2, h3 {{ break-after: avoid; }}
figure {{ margin: 1rem 0; }} img {{ max-width: 100%; background: #fff; }}
.picture {{ max-width: 100%; height: auto; }} .picture.wide {{ min-width: 38rem; }}
blockquote {{ border-left: 3px solid #8888; margin: 1rem 0; padding-left: 1rem; white-space: pre-wrap; }}
</style>
</head>
<body>
"""


_SECTIONS = 4
"""Minimum number of sections for a table of contents at the top of a page."""


def page(report: Report) -> Iterator[str]:
    """Yield the parts of the page; the last one ends with a line end."""
    yield _HEAD.format(title=escape(report.title or "exam-pp"))
    for number, block in enumerate(_blocks(report)):
        yield f"\n{block}" if number else block
    yield "\n</body>\n</html>\n"


def _blocks(report: Report) -> Iterator[str]:
    if report.title:
        yield f"<h1>{escape(report.title)}</h1>"
    sections = [block for block in report.blocks if _is_section(block)]
    if len(sections) >= _SECTIONS:
        links = [f'<li><a href="#s{n}">{escape(block.text)}</a></li>' for n, block in enumerate(sections, 1)]
        yield "\n".join(["<nav><ul>", *links, "</ul></nav>"])
    numbers, pictures = count(1), count(1)
    for block in report.content:
        if _is_section(block):
            yield f'<h2 id="s{next(numbers)}">{escape(block.text)}</h2>'
        elif isinstance(block, Picture):
            yield _picture(block, f"p{next(pictures)}")
        else:
            yield _block(block)


def _is_section(block: Block) -> TypeGuard[Heading]:
    return isinstance(block, Heading) and block.level == 1


def _block(block: TextBlock) -> str:
    match block:
        case Table():
            return _table(block)
        case Paragraph(text):
            return f"<p>{escape(text)}</p>"
        case Quote(text, label, marks):
            cite = f"<cite>{escape(label)}</cite>\n" if label else ""
            return f"<blockquote>{cite}{_marked(text, marks)}</blockquote>"
        case Heading(text, level):
            tag = f"h{min(level, 5) + 1}"
            return f"<{tag}>{escape(text)}</{tag}>"
        case Link(text, target):
            return f'<p><a href="{escape(quote(target))}">{escape(text)}</a></p>'
        case Image(png, caption):
            data = b64encode(png).decode()
            return (
                f'<figure><img src="data:image/png;base64,{data}" alt="{escape(caption)}">'
                f"<figcaption>{escape(caption)}</figcaption></figure>"
            )


def _picture(picture: Picture, name: str) -> str:
    title = escape(picture.title)
    # Wide pictures scroll in narrow windows, which needs the focus for the keyboard.
    focus = f' tabindex="0" role="group" aria-label="{title}"' if picture.width > WIDTH else ""
    return (
        f'<figure><div class="scroll"{focus}>{svg(picture, name)}</div>'
        f"<figcaption><strong>{title}.</strong> {escape(picture.caption)}</figcaption></figure>"
    )


def _marked(text: str, marks: Sequence[Span]) -> str:
    return "".join(
        f"<mark>{escape(piece)}</mark>" if inside else escape(piece)
        for piece, inside in split_at_spans(text, marks)
    )


def _table(table: Table) -> str:
    numeric = [is_numeric(table, column) for column in range(len(table.columns))]
    header = "".join(
        f'<th scope="col"{_class("number" * number)}>{escape(name)}</th>'
        for name, number in zip(table.columns, numeric, strict=True)
    )
    rows = [
        "".join(_cell(table, i, j, "number" * numeric[j]) for j in range(len(row)))
        for i, row in enumerate(table.rows)
    ]
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table>{caption}\n<thead><tr>{header}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _cell(table: Table, row: int, column: int, css_class: str) -> str:
    text = escape(format_row(table, row)[column])
    if (row, column) in table.bold:
        text = f"<strong>{text}</strong>"
    return f"<td{_class(css_class, 'boxed' * ((row, column) in table.boxed))}>{text}</td>"


def _class(*names: str) -> str:
    joined = " ".join(name for name in names if name)
    return f' class="{joined}"' if joined else ""
