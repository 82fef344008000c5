"""Rendering of reports as self-contained HTML pages.

Texts are escaped. The content security policy allows only the page's own script and style, by their hashes,
and no connections. Without the script, all texts are readable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from itertools import count, groupby
from operator import itemgetter
from typing import TypeGuard
from urllib.parse import quote

from exam_pp.rendering.cells import format_rows, is_numeric
from exam_pp.rendering.document import (
    MARKS,
    Bar,
    Bars,
    Block,
    CheckMark,
    Checks,
    Fold,
    Heading,
    Link,
    Paragraph,
    Picture,
    Quote,
    Report,
    Statement,
    Table,
)
from exam_pp.rendering.page_parts import COMMON_STYLE, ELEMENTS_SCRIPT, asset, content_policy, joined_script
from exam_pp.rendering.pictures.svg import WIDTH, Axis, defined, element, svg
from exam_pp.rendering.short_names import is_class_name, long_names, short_forms
from exam_pp.text.highlight import Span, split_at_spans
from exam_pp.text.wording import for_xml

STYLES = (COMMON_STYLE, "report.css")
"""The style sheets of the pages, in the order in which they are joined."""
SCRIPTS = (ELEMENTS_SCRIPT, "names.js", "tables.js", "details.js", "report.js")
"""The files of the pages' script, in the order in which they are joined."""

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body class="report">
<a class="skip" href="#main">Skip to the content</a>
"""

_MEASURED = re.compile(r"[≈<>≤≥~]? ?[-−+]?\d+(\.\d+)?%?[a-z]*( ± ?\d+(\.\d+)?)?( ?\[.*\])?( [a-z]+)?")
"""A number, perhaps with a standard error, an interval or letters."""
_PROSE = 32
"""Characters of the longest cell from which a column has running text, which may wrap."""
_FIRST = 15
"""Rows of a ranking above its fold, so that the overview is about one screen."""
_MEANING: dict[CheckMark, str] = {"good": "in order", "doubt": "a reason for doubt", "fact": "a fact"}


def page(report: Report) -> str:
    """Render the report as a page."""
    style, script, policy = _inlined()
    parts = (
        _HEAD.format(policy=policy, title=escape(report.title or "exam-pp"), style=style),
        f"<header><h1>{_short(report.title)}</h1></header>\n" if report.title else "",
        _contents(report),
        f'<main id="main" tabindex="-1">\n{"".join(_main(report.blocks))}</main>\n',
        ""
        if report.provenance is None
        else f"<footer><p>{escape(report.provenance.sentence)}</p></footer>\n",
        f"<script>{script}</script>\n</body>\n</html>\n",
    )
    return for_xml("".join(parts))


@cache
def _inlined() -> tuple[str, str, str]:
    """Style, script and content security policy."""
    style = "\n".join(map(asset, STYLES))
    script = joined_script(map(asset, SCRIPTS))
    return style, script, content_policy(script, style, {"img-src": "data:"})


def _contents(report: Report) -> str:
    """The navigation: a link to each section, if there are several."""
    sections = [block.text for block in report.blocks if _is_section(block)]
    links = "".join(
        f'<li><a href="#s{number}">{_short(text)}</a></li>\n' for number, text in enumerate(sections, 1)
    )
    navigation = f'<nav class="contents" aria-label="Sections"><ul>\n{links}</ul></nav>\n'
    return navigation if len(sections) > 1 else ""


def _main(blocks: Sequence[Block]) -> Iterator[str]:
    """The overview, the other blocks in sections, and the folded sections."""
    overview = [block for block in blocks if isinstance(block, Bars | Checks)]
    folds = [block for block in blocks if isinstance(block, Fold)]
    yield from (_statement(block) for block in blocks if isinstance(block, Statement))
    if overview:
        shown = (_bars(block) if isinstance(block, Bars) else _checks(block) for block in overview)
        yield f'<div class="overview">\n{"".join(shown)}</div>\n'
    numbers = count(1)
    others = [block for block in blocks if not isinstance(block, Statement | Bars | Checks | Fold)]
    yield from _sections(others, numbers)
    for number, fold in enumerate(folds, 1):
        yield f'<details class="panel fold"><summary><h2>{escape(fold.title)}</h2> '
        # Browsers open the fold of an address that ends with the id of an element inside.
        yield f'<span class="faint">{escape(fold.about)}</span></summary>\n<div id="fold-{number}">\n'
        yield from _runs(fold.blocks, numbers)
        yield "</div></details>\n"


def _sections(blocks: Iterable[Block], numbers: Iterator[int]) -> Iterator[str]:
    """The blocks, with a panel around each section."""
    for number, section in groupby(_numbered(blocks), key=itemgetter(0)):
        label = f' aria-labelledby="s{number}"' if number else ""
        yield f'<section class="panel"{label}>\n'
        yield from _runs((block for _, block in section), numbers, f"s{number}")
        yield "</section>\n"


def _runs(blocks: Iterable[Block], numbers: Iterator[int], name: str = "") -> Iterator[str]:
    """The blocks, with a list of neighbouring paragraphs, and neighbouring tables side by side."""
    for kind, group in groupby(blocks, key=type):
        if kind is Paragraph:
            yield f"{_notes([block.text for block in group if isinstance(block, Paragraph)])}\n"
            continue
        shown = [_heading(block, name) if _is_section(block) else _block(block, numbers) for block in group]
        if kind is Table and len(shown) > 1:
            shown = ['<div class="tables">', *shown, "</div>"]
        yield from (f"{part}\n" for part in shown)


def _numbered(blocks: Iterable[Block]) -> Iterator[tuple[int, Block]]:
    """The blocks with the number of their section, which is 0 before the first heading."""
    number = 0
    for block in blocks:
        number += _is_section(block)
        yield number, block


def _is_section(block: Block) -> TypeGuard[Heading]:
    return isinstance(block, Heading) and block.level == 1


def _notes(texts: Sequence[str]) -> str:
    """A paragraph, or a list of several."""
    if len(texts) == 1:
        return f"<p>{_short(texts[0], ids=False)}</p>"
    items = "\n".join(f"<li>{_short(text, ids=False)}</li>" for text in texts)
    return f'<ul class="notes">\n{items}\n</ul>'


def _heading(heading: Heading, name: str = "") -> str:
    tag = f"h{min(heading.level, 5) + 1}"
    identifier = f' id="{name}"' if name else ""
    return f"<{tag}{identifier}>{_short(heading.text)}</{tag}>"


def _block(block: Block, numbers: Iterator[int]) -> str:
    """A block; ``numbers`` are for the ids of tables and pictures."""
    match block:
        case Table():
            return _table(block, f"t{next(numbers)}")
        case Picture():
            return _picture(block, f"p{next(numbers)}")
        case Paragraph(text):
            return _notes([text])
        case Quote(text, label, marks):
            cite = f"<cite>{_short(label)}</cite>" if label else ""
            return f"<blockquote>{cite}{_marked(text, marks)}</blockquote>"
        case Heading():
            return _heading(block)
        case Link(text, target):
            return f'<p><a href="{escape(quote(target))}">{escape(text)}</a></p>'
        case _:
            raise TypeError(f"{type(block).__name__} is a block of a page, not of a section")


def _marked(text: str, marks: Sequence[Span]) -> str:
    return "".join(
        f"<mark>{escape(piece)}</mark>" if inside else escape(piece)
        for piece, inside in split_at_spans(text, marks)
    )


def _short(text: str, forms: Mapping[str, int] | None = None, *, ids: bool = True) -> str:
    """The escaped text, in which long names show only their start; without ``ids`` only class names do."""
    forms = short_forms([text]) if forms is None else forms
    parts: list[str] = []
    position = 0
    for match in long_names(text):
        name = match[0]
        shown = forms[name] if ids or is_class_name(name) else len(name)
        if shown < len(name):
            start, rest = escape(name[:shown]), escape(name[shown:])
            parts += [
                escape(text[position : match.start()]),
                f'<span class="name" title="{escape(name)}">{start}<span class="rest">{rest}</span></span>',
            ]
            position = match.end()
    return "".join([*parts, escape(text[position:])])


def _picture(picture: Picture, name: str) -> str:
    title = escape(picture.title)
    # Wide pictures scroll in narrow windows, which needs the focus for the keyboard.
    focus = f' tabindex="0" role="group" aria-label="{title}"' if picture.width > WIDTH else ""
    return (
        f'<figure><div class="scroll"{focus}>{svg(picture, name)}</div>'
        f"<figcaption><strong>{title}.</strong> {escape(picture.caption)}</figcaption></figure>"
    )


def _table(table: Table, name: str) -> str:
    _, *cells = format_rows(table)
    forms = short_forms([*table.columns, *(text for row in cells for text in row)])
    kinds = [_kind(table, cells, column) for column in range(len(table.columns))]
    header = "".join(
        f'<th scope="col"{_class(kind)}{_title(table.hints.get(column))}>{_short(text, forms)}</th>'
        for column, (text, kind) in enumerate(zip(table.columns, kinds, strict=True))
    )
    rows = "\n".join(
        f"<tr>{''.join(_cell(table, i, j, _short(text, forms), kinds[j]) for j, text in enumerate(row))}</tr>"
        for i, row in enumerate(cells)
    )
    caption = f"<caption><span>{_short(table.title)}</span></caption>" if table.title else ""
    return (
        f'<div{_class("table", "heat" * bool(table.shades))} id="{name}">{_legend(table, cells)}'
        f'<div class="scroll"><table>{caption}\n<thead><tr>{header}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody></table></div>{_details(table, cells)}</div>"
    )


def _kind(table: Table, cells: Sequence[Sequence[str]], column: int) -> str:
    """The CSS class of a column: ``number``, ``prose`` for running text, or empty."""
    texts = [row[column] for row in cells]
    if is_numeric(table, column) or (any(texts) and all(not t or _MEASURED.fullmatch(t) for t in texts)):
        return "number"
    is_prose = any(len(text) > _PROSE and (" " in text or not text.isascii()) for text in texts)
    return "prose" if is_prose else ""


def _cell(table: Table, row: int, column: int, text: str, kind: str) -> str:
    if (row, column) in table.bold:
        text = f"<strong>{text}</strong>"
    if address := table.links.get((row, column)):
        text = f'<a href="{escape(address)}">{text}</a>'
    shade = table.shades.get((row, column))
    classes = _class(
        kind, "boxed" * ((row, column) in table.boxed), "" if shade is None else f"shade-{shade}"
    )
    if table.shades and column == 0:
        return f'<th scope="row"{classes}>{text}</th>'
    return f"<td{classes}>{text}</td>"


def _legend(table: Table, cells: Sequence[Sequence[str]]) -> str:
    """The texts of the cells of each shade, and the meaning of a box."""
    texts: dict[int, set[str]] = {}
    for (row, column), shade in table.shades.items():
        texts.setdefault(shade, set()).add(cells[row][column])
    if not texts:
        return ""
    items = [
        f'<li><span class="rating shade-{shade}">{escape(", ".join(sorted(texts[shade])))}</span></li>'
        for shade in sorted(texts)
    ]
    if table.boxed and table.box:
        items.append(f'<li><span class="rating boxed">&nbsp;</span> {escape(table.box)}</li>')
    return f'<ul class="legend" aria-label="Colours">{"".join(items)}</ul>'


def _details(table: Table, cells: Sequence[Sequence[str]]) -> str:
    """The texts behind the cells, row by row, which the script shows cell by cell."""
    if not table.details:
        return ""
    rows: dict[int, list[int]] = {}
    for row, column in sorted(table.details):
        rows.setdefault(row, []).append(column)
    parts = [
        f'<div data-row="{row}"><p><strong>{_short(cells[row][0])}</strong></p>'
        + "".join(_cell_details(table, cells, row, column) for column in columns)
        + "</div>"
        for row, columns in rows.items()
    ]
    return (
        f'<details class="behind"><summary>{escape(table.details_title)}</summary>{"".join(parts)}</details>'
    )


def _cell_details(table: Table, cells: Sequence[Sequence[str]], row: int, column: int) -> str:
    head = f"{table.columns[column]}: {cells[row][column]}" if column else ""
    lead = f'<p class="faint">{escape(head)}</p>' if head else ""
    facts = "".join(
        f"<dt>{escape(label)}</dt><dd>{_marked(text, ())}</dd>" for label, text in table.details[row, column]
    )
    return f'<div data-column="{column}">{lead}<dl class="facts">{facts}</dl></div>'


def _title(text: str | None) -> str:
    return f' title="{escape(text)}"' if text else ""


def _class(*names: str) -> str:
    joined = " ".join(name for name in names if name)
    return f' class="{joined}"' if joined else ""


def _unbroken(text: str) -> str:
    """The escaped text; a percent sign stays on the line of its number."""
    return escape(text.replace(" %", "\N{NO-BREAK SPACE}%"))


def _statement(block: Statement) -> str:
    """The statement in a box."""
    headline, rest = _unbroken(block.headline), _unbroken(block.text.removeprefix(block.headline))
    return f'<p class="panel statement"><strong>{headline}</strong>{rest}</p>\n'


def _checks(block: Checks) -> str:
    """A list in which each line begins with its mark."""
    lines = "\n".join(
        f'<li class="{line.mark}"><span class="mark" role="img" aria-label="{_MEANING[line.mark]}">'
        f"{MARKS[line.mark]}</span><span><strong>{_unbroken(line.lead)}</strong>{_unbroken(line.text)}</span></li>"
        for line in block.lines
    )
    return (
        f'<section class="panel"><h2>{_unbroken(block.title)}</h2>\n'
        f'<ul class="checks">\n{lines}\n</ul></section>\n'
    )


def _bars(block: Bars) -> str:
    """The ranking as a table; rows after the first 15 are folded."""
    ends = [end for row in block.rows for end in (row.value, row.low, row.high) if defined(end)]
    axis = Axis.over(ends, 0.0, 100.0)
    rows = [_bars_row(row, axis) for row in block.rows]
    shown, more = rows[:_FIRST], rows[_FIRST:]
    about = f'<p class="faint">{_unbroken(block.about)}</p>\n' if block.about else ""
    folded = (
        f"<details><summary>{len(more)} more</summary>\n{_bars_table(block, more)}</details>\n"
        if more
        else ""
    )
    notes = "".join(f'<p class="faint">{_unbroken(note)}</p>\n' for note in block.notes)
    return (
        f'<section class="panel"><h2>{_unbroken(block.title)}</h2>\n{about}{_bars_table(block, shown)}'
        f"{folded}{notes}</section>\n"
    )


def _bars_table(block: Bars, rows: Sequence[str]) -> str:
    name, score, interval, place = map(_unbroken, block.columns)
    # The drawing is hidden from screen readers, because the next column has its numbers.
    header = (
        f'<th scope="col">{name}</th><th scope="col" class="number">{score}</th><td aria-hidden="true"></td>'
        f'<th scope="col" class="interval">{interval}</th><th scope="col" class="number">{place}</th>'
    )
    body = "\n".join(rows)
    return f'<table class="bars"><thead><tr>{header}</tr></thead>\n<tbody>\n{body}\n</tbody></table>\n'


def _bars_row(row: Bar, axis: Axis) -> str:
    marked = _class("leads" * row.leads, "line" * row.line)
    whisker = ""
    if defined(row.low) and defined(row.high):
        low, high = f"{axis(row.low):.1f}%", f"{axis(row.high):.1f}%"
        whisker = element("line", x1=low, x2=high, y1="50%", y2="50%", **{"class": "whisker"})
    dot = element("circle", cx=f"{axis(row.value):.1f}%", cy="50%", r=5)
    base = element("line", x1="0", x2="100%", y1="50%", y2="50%", **{"class": "base"})
    drawing = element("svg", base + whisker + dot, width="100%", height="18", aria_hidden="true")
    name, score, interval, place = map(_unbroken, row[:4])
    return (
        f'<tr{marked}><th scope="row">{name}</th><td class="number">{score}</td>'
        f'<td class="bar" aria-hidden="true">{drawing}</td><td class="interval">{interval}</td>'
        f'<td class="number">{place}</td></tr>'
    )
