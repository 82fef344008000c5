"""The overview at the top of HTML pages: a statement, a ranking with bars, and checks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from exam_pp.rendering.document import MARKS, Bar, Bars, CheckMark, Checks, Statement
from exam_pp.rendering.pictures.svg import Axis, defined, element

_FIRST = 15
"""Rows of a ranking above its fold, so that the overview is about one screen."""
_MEANING: dict[CheckMark, str] = {"good": "in order", "doubt": "a reason for doubt", "fact": "a fact"}


def _escaped(text: str) -> str:
    """The escaped text; a percent sign stays on the line of its number."""
    return escape(text.replace(" %", "\N{NO-BREAK SPACE}%"))


def statement(block: Statement) -> str:
    """The statement in a box."""
    headline, rest = _escaped(block.headline), _escaped(block.text.removeprefix(block.headline))
    return f'<p class="panel statement"><strong>{headline}</strong>{rest}</p>\n'


def checks(block: Checks) -> str:
    """A list in which each line begins with its mark."""
    lines = "\n".join(
        f'<li class="{line.mark}"><span class="mark" role="img" aria-label="{_MEANING[line.mark]}">'
        f"{MARKS[line.mark]}</span><span><strong>{_escaped(line.lead)}</strong>{_escaped(line.text)}</span></li>"
        for line in block.lines
    )
    return (
        f'<section class="panel"><h2>{_escaped(block.title)}</h2>\n'
        f'<ul class="checks">\n{lines}\n</ul></section>\n'
    )


def bars(block: Bars) -> str:
    """The ranking as a table; rows after the first 15 are folded."""
    ends = [end for row in block.rows for end in (row.value, row.low, row.high) if defined(end)]
    axis = Axis.over(ends, 0.0, 100.0)
    rows = [_row(row, axis) for row in block.rows]
    shown, more = rows[:_FIRST], rows[_FIRST:]
    about = f'<p class="faint">{_escaped(block.about)}</p>\n' if block.about else ""
    folded = (
        f"<details><summary>{len(more)} more</summary>\n{_table(block, more)}</details>\n" if more else ""
    )
    notes = "".join(f'<p class="faint">{_escaped(note)}</p>\n' for note in block.notes)
    return (
        f'<section class="panel"><h2>{_escaped(block.title)}</h2>\n{about}{_table(block, shown)}'
        f"{folded}{notes}</section>\n"
    )


def _table(block: Bars, rows: Sequence[str]) -> str:
    name, score, interval, place = map(_escaped, block.columns)
    # The drawing is hidden from screen readers, because the next column has its numbers.
    header = (
        f'<th scope="col">{name}</th><th scope="col" class="number">{score}</th><td aria-hidden="true"></td>'
        f'<th scope="col" class="interval">{interval}</th><th scope="col" class="number">{place}</th>'
    )
    body = "\n".join(rows)
    return f'<table class="bars"><thead><tr>{header}</tr></thead>\n<tbody>\n{body}\n</tbody></table>\n'


def _row(row: Bar, axis: Axis) -> str:
    classes = " ".join(name for name, given in (("leads", row.leads), ("line", row.line)) if given)
    marked = f' class="{classes}"' if classes else ""
    whisker = ""
    if defined(row.low) and defined(row.high):
        low, high = f"{axis(row.low):.1f}%", f"{axis(row.high):.1f}%"
        whisker = element("line", x1=low, x2=high, y1="50%", y2="50%", **{"class": "whisker"})
    dot = element("circle", cx=f"{axis(row.value):.1f}%", cy="50%", r=5)
    base = element("line", x1="0", x2="100%", y1="50%", y2="50%", **{"class": "base"})
    drawing = element("svg", base + whisker + dot, width="100%", height="18", aria_hidden="true")
    name, score, interval, place = map(_escaped, row[:4])
    return (
        f'<tr{marked}><th scope="row">{name}</th><td class="number">{score}</td>'
        f'<td class="bar" aria-hidden="true">{drawing}</td><td class="interval">{interval}</td>'
        f'<td class="number">{place}</td></tr>'
    )
