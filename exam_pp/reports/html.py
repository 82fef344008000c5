"""A report as one HTML page that loads nothing: every text is escaped, and a policy forbids connections."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from urllib.parse import quote

from exam_pp.reports.document import Block, Heading, Image, Link, Paragraph, Quote, Report, Table
from exam_pp.reports.highlight import Span, pieces
from exam_pp.reports.render import is_numeric, show

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
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; margin: 1rem 0; }}
caption {{ text-align: left; font-weight: 600; }}
th, td {{ border-bottom: 1px solid #8886; padding: .25rem .6rem; text-align: left; vertical-align: top; }}
td.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
figure {{ margin: 1rem 0; }} img {{ max-width: 100%; background: #fff; }}
blockquote {{ border-left: 3px solid #8888; margin: 1rem 0; padding-left: 1rem; white-space: pre-wrap; }}
</style>
</head>
<body>
"""


def page(report: Report) -> str:
    """The page as text, ending with a line end."""
    blocks = [f"<h1>{escape(report.title)}</h1>"] if report.title else []
    blocks += [_block(block) for block in report.blocks]
    head = _HEAD.format(title=escape(report.title or "exam-pp"))
    return head + "\n".join(blocks) + "\n</body>\n</html>\n"


def _block(block: Block) -> str:
    match block:
        case Table():
            return _table(block)
        case Paragraph(words):
            return f"<p>{escape(words)}</p>"
        case Quote(words, label, marks):
            cite = f"<cite>{escape(label)}</cite>\n" if label else ""
            return f"<blockquote>{cite}{_marked(words, marks)}</blockquote>"
        case Heading(words, level):
            tag = f"h{min(level, 5) + 1}"
            return f"<{tag}>{escape(words)}</{tag}>"
        case Link(words, target):
            return f'<p><a href="{escape(quote(target))}">{escape(words)}</a></p>'
        case Image(png, caption):
            data = b64encode(png).decode()
            return (
                f'<figure><img src="data:image/png;base64,{data}" alt="{escape(caption)}">'
                f"<figcaption>{escape(caption)}</figcaption></figure>"
            )


def _marked(text: str, marks: Sequence[Span]) -> str:
    return "".join(
        f"<mark>{escape(piece)}</mark>" if inside else escape(piece) for piece, inside in pieces(text, marks)
    )


def _table(table: Table) -> str:
    numeric = [is_numeric(table, column) for column in range(len(table.columns))]
    header = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.columns)
    opening = ['<td class="number">' if number else "<td>" for number in numeric]
    rows = [
        "".join(
            f"{tag}{escape(show(cell, table.decimals))}</td>" for tag, cell in zip(opening, row, strict=True)
        )
        for row in table.rows
    ]
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    body = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<div class="scroll"><table>{caption}\n<thead><tr>{header}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )
