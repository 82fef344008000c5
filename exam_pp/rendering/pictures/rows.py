"""Pictures with a row for each system: intervals, and ranks before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from exam_pp.rendering.document import Picture
from exam_pp.rendering.pictures.svg import (
    MUTED,
    SERIES,
    WIDTH,
    Axis,
    defined,
    element,
    escaped,
    label,
    margin,
    row_height,
    some,
    thinned,
)
from exam_pp.text.wording import counted


class Bar(NamedTuple):
    """A system's score and its interval; ``low`` and ``high`` are None without an interval."""

    system: str
    value: float
    low: float | None = None
    high: float | None = None


class Slope(NamedTuple):
    """A system's ranks before and after; 1 is best, and tied systems have the same rank."""

    system: str
    before: float
    after: float


def dot_plot(
    bars: Sequence[Bar], measure: str, title: str, whiskers: str = "", *, decimals: int = 3
) -> Picture:
    """Draw a row for each system, with a dot at its value and a whisker from ``low`` to ``high``."""
    bars = [bar for bar in bars if defined(bar.value)]
    pitch, top = row_height(len(bars)), 8.0
    left = margin(bar.system for bar in bars) + 10
    bottom = top + pitch * len(bars) + 4
    ends = [end for bar in bars for end in (bar.value, bar.low, bar.high) if defined(end)]
    axis = Axis.over(ends, left, WIDTH - 10)
    rows, labels = [], []
    for number, bar in enumerate(bars):
        y = top + pitch * (number + 0.5)
        mark = element("title", escaped(f"{bar.system}: {_with_interval(bar, decimals)}"))
        if defined(bar.low) and defined(bar.high):
            mark += element("line", x1=axis(bar.low), x2=axis(bar.high), y1=y, y2=y, stroke_width=1.5)
        rows.append(element("g", mark + element("circle", cx=axis(bar.value), cy=y, r=min(4, pitch / 2))))
    for number in thinned(len(bars), pitch):
        y = top + pitch * (number + 0.5) + 4
        labels.append(label(left - 8, y, bars[number].system, left - 10, text_anchor="end"))
    shapes = axis.bottom(bottom, top, measure) + "".join(labels)
    shapes += element("g", "".join(rows), fill=SERIES[0], stroke=SERIES[0])
    best = sorted(bars, key=lambda bar: (-bar.value, bar.system))
    ranked = f" Best: {best[0].system}, {_with_interval(best[0], decimals)}." if best else ""
    ranked += f" Worst: {best[-1].system}, {_with_interval(best[-1], decimals)}." if len(best) > 1 else ""
    description = f"{counted(len(bars), 'system')} by {measure}.{ranked}"
    caption = f"Dots: means of {measure}." + (f" Lines: {whiskers}." if whiskers else "")
    return Picture(title, description, caption, WIDTH, bottom + 38, shapes)


def slopes(ranked: Sequence[Slope], before: str, after: str, title: str) -> Picture:
    """Draw a line for each system from its rank before (left) to its rank after (right).

    Tied systems have separate rows with the same rank. ``before`` and ``after`` name the sides.
    """
    pitch, top = row_height(len(ranked)), 30.0
    left = sorted(ranked, key=lambda row: (row.before, row.after, row.system))
    right = sorted(ranked, key=lambda row: (row.after, row.before, row.system))
    side = margin((row.system for row in ranked), 120) + margin(["99.5"]) + 12
    room = side - margin(["99.5"]) - 8
    heights = {row.system: top + pitch * (number + 0.5) for number, row in enumerate(right)}
    shapes = label(side, 14, before, side, text_anchor="end") + label(WIDTH - side, 14, after, side)
    lines: dict[str, list[str]] = {MUTED: [], SERIES[2]: [], SERIES[1]: []}
    for number, row in enumerate(left):
        mark = element("title", escaped(f"{row.system}: {row.before:g} → {row.after:g}"))
        colour = MUTED if row.before == row.after else SERIES[2 if row.after < row.before else 1]
        y = top + pitch * (number + 0.5)
        mark += element("line", x1=side + 6, y1=y, x2=WIDTH - side - 6, y2=heights[row.system])
        lines[colour].append(element("g", mark))
    for colour, marks in lines.items():
        shapes += element("g", "".join(marks), stroke=colour, stroke_width=min(2, pitch / 4))
    for number in thinned(len(ranked), pitch):
        y, a, b = top + pitch * (number + 0.5) + 4, left[number], right[number]
        for x, rank, anchor in ((side, a.before, "end"), (WIDTH - side, b.after, "start")):
            shapes += label(x, y, f"{rank:g}", fill=MUTED, text_anchor=anchor)
        shapes += label(room, y, a.system, room - 4, text_anchor="end")
        shapes += label(WIDTH - room, y, b.system, room - 4)
    moved = sorted(ranked, key=lambda row: (-abs(row.after - row.before), row.system))
    changed = [f"{row.system} {row.before:g} → {row.after:g}" for row in moved if row.after != row.before]
    description = (
        f"Ranks of {counted(len(ranked), 'system')}, {before} and {after}; {len(changed)} "
        f"with another rank{': ' if changed else ''}{some(changed)}."
    )
    caption = "Each line is one system. Green: a better rank; orange: a worse rank; grey: the same rank."
    return Picture(title, description, caption, WIDTH, top + pitch * len(ranked) + 8, shapes)


def _with_interval(bar: Bar, decimals: int) -> str:
    value = f"{bar.value:.{decimals}f}"
    if defined(bar.low) and defined(bar.high):
        value += f" [{bar.low:.{decimals}f}, {bar.high:.{decimals}f}]"
    return value
