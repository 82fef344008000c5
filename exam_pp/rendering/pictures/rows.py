"""Pictures with a row for each system: dots with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from exam_pp.rendering.document import Picture
from exam_pp.rendering.pictures.svg import (
    SERIES,
    WIDTH,
    Axis,
    defined,
    element,
    escaped,
    label,
    margin,
    row_height,
    thinned,
)
from exam_pp.text.wording import counted


class SystemRows:
    """Rows of named systems above a common axis.

    ``pitch`` is the height of a row, as a multiple of that of dots.
    """

    def __init__(self, names: Sequence[str], ends: Sequence[float], pitch: float = 1.0) -> None:
        self._names, self._top = names, 8.0
        self.pitch = pitch * row_height(len(names))
        self._left = margin(names) + 10
        self._bottom = self._top + self.pitch * len(names) + 4
        self.axis = Axis.over(ends, self._left, WIDTH - 10)
        self.height = self._bottom + 38

    def y(self, number: int) -> float:
        """The middle of a row."""
        return self._top + self.pitch * (number + 0.5)

    def frame(self, measure: str) -> str:
        """The axis and the names."""
        labels = [
            label(self._left - 8, self.y(n) + 4, self._names[n], self._left - 10, text_anchor="end")
            for n in thinned(len(self._names), self.pitch)
        ]
        return self.axis.bottom(self._bottom, self._top, measure) + "".join(labels)


class Bar(NamedTuple):
    """A system's score and its interval; ``low`` and ``high`` are None without an interval."""

    system: str
    value: float
    low: float | None = None
    high: float | None = None


def dot_plot(
    bars: Sequence[Bar], measure: str, title: str, whiskers: str = "", *, decimals: int = 3
) -> Picture:
    """Draw a row for each system, with a dot at its value and a whisker from ``low`` to ``high``."""
    bars = [bar for bar in bars if defined(bar.value)]
    ends = [end for bar in bars for end in (bar.value, bar.low, bar.high) if defined(end)]
    drawn = SystemRows([bar.system for bar in bars], ends)
    axis, rows = drawn.axis, []
    for number, bar in enumerate(bars):
        y = drawn.y(number)
        mark = element("title", escaped(f"{bar.system}: {_shown(bar, decimals)}"))
        if defined(bar.low) and defined(bar.high):
            mark += element("line", x1=axis(bar.low), x2=axis(bar.high), y1=y, y2=y, stroke_width=1.5)
        rows.append(
            element("g", mark + element("circle", cx=axis(bar.value), cy=y, r=min(4, drawn.pitch / 2)))
        )
    shapes = drawn.frame(measure) + element("g", "".join(rows), fill=SERIES[0], stroke=SERIES[0])
    best = sorted(bars, key=lambda bar: (-bar.value, bar.system))
    ranked = f" Best: {best[0].system}, {_shown(best[0], decimals)}." if best else ""
    ranked += f" Worst: {best[-1].system}, {_shown(best[-1], decimals)}." if len(best) > 1 else ""
    description = f"{counted(len(bars), 'system')} by {measure}.{ranked}"
    caption = f"Dots: means of {measure}." + (f" Lines: {whiskers}." if whiskers else "")
    return Picture(title, description, caption, WIDTH, drawn.height, shapes)


def _shown(bar: Bar, decimals: int) -> str:
    return with_interval(bar.value, bar.low, bar.high, decimals)


def with_interval(value: float, low: float | None, high: float | None, decimals: int = 3) -> str:
    """A value and its interval, if it has one."""
    shown = f"{value:.{decimals}f}"
    if defined(low) and defined(high):
        shown += f" [{low:.{decimals}f}, {high:.{decimals}f}]"
    return shown
