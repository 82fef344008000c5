"""Pictures of distributions of scores: box plots, and bars of shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from exam_pp.rendering.document import Picture
from exam_pp.rendering.pictures.rows import SystemRows, with_interval
from exam_pp.rendering.pictures.svg import HEAT, SERIES, WIDTH, defined, element, escaped, path, some
from exam_pp.text.wording import counted

_BOX_PITCH = 1.4
"""Height of a row with a box, as a multiple of that of dots."""


class Box(NamedTuple):
    """The distribution of a system's scores.

    ``low``: Lower end of the interval of the mean; None without an interval. ``high``: Upper end of the
    interval of the mean; None without an interval.
    """

    system: str
    mean: float
    low: float | None
    high: float | None
    quartiles: tuple[float, float, float]
    whiskers: tuple[float, float]
    outliers: Sequence[float] = ()


def box_plot(boxes: Sequence[Box], measure: str, title: str, intervals: str = "") -> Picture:
    """Draw a row for each system: a box, its median, whiskers, outliers, and the mean with its interval."""
    ends = [
        end
        for box in boxes
        for end in (*box.whiskers, *box.outliers, box.mean, box.low, box.high)
        if defined(end)
    ]
    rows = SystemRows([box.system for box in boxes], ends, _BOX_PITCH)
    shapes = [rows.frame(measure)]
    for number, box in enumerate(boxes):
        y, half = rows.y(number), rows.pitch * 0.3
        left, middle, right = map(rows.axis, box.quartiles)
        start, stop = map(rows.axis, box.whiskers)
        marks = element("title", escaped(f"{box.system}: {_in_words(box)}"))
        marks += element("line", x1=start, x2=left, y1=y, y2=y) + element(
            "line", x1=right, x2=stop, y1=y, y2=y
        )
        marks += element(
            "rect", x=left, y=y - half, width=max(0.5, right - left), height=2 * half, fill=HEAT[0]
        )
        marks += element("line", x1=middle, x2=middle, y1=y - half, y2=y + half, stroke_width=2.5)
        marks += "".join(
            element("circle", cx=rows.axis(value), cy=y, r=min(2, half), fill="none")
            for value in box.outliers
        )
        shapes.append(element("g", marks, stroke=SERIES[0]) + _mean(rows, number, box))
    means = " ".join(f"{box.system}: {_in_words(box)}." for box in boxes[:8])
    more = f" And {len(boxes) - 8} more." if len(boxes) > 8 else ""
    caption = (
        "Boxes: quartiles and median. Lines: the furthest scores within 1.5 interquartile ranges of the box. "
        "Circles: scores beyond them. Diamonds: means" + (f" with {intervals}." if intervals else ".")
    )
    return Picture(title, f"{measure} of {counted(len(boxes), 'system')}. {means}{more}", caption, WIDTH,
                   rows.height, "".join(shapes))  # fmt: skip


def share_bars(boxes: Sequence[Box], measure: str, title: str, intervals: str = "") -> Picture:
    """Draw a bar for each system, from 0 to its mean, with the interval; the axis ends at 1."""
    rows = SystemRows([box.system for box in boxes], [0.0, 1.0], _BOX_PITCH)
    shapes = [rows.frame(measure)]
    for number, box in enumerate(boxes):
        start, stop = rows.axis(0.0), rows.axis(box.mean)
        bar = element("title", escaped(f"{box.system}: {_share(box)}")) + element(
            "rect", x=start, y=rows.y(number) - rows.pitch * 0.3, width=stop - start, height=rows.pitch * 0.6
        )
        shapes.append(element("g", bar, fill=HEAT[3]) + _mean(rows, number, box))
    shares = some([f"{box.system} {_share(box)}" for box in boxes])
    caption = "Bars: shares." + (f" Lines: {intervals}." if intervals else "")
    return Picture(
        title, f"{measure} of {counted(len(boxes), 'system')}: {shares}.", caption, WIDTH, rows.height,
        "".join(shapes),
    )  # fmt: skip


def _mean(rows: SystemRows, number: int, box: Box) -> str:
    """A diamond at the mean, and a line for its interval."""
    x, y, size = rows.axis(box.mean), rows.y(number), min(4.0, rows.pitch / 4)
    line = ""
    if defined(box.low) and defined(box.high):
        line = element("line", x1=rows.axis(box.low), x2=rows.axis(box.high), y1=y, y2=y, stroke_width=2)
    diamond = f"M{x - size:.1f} {y:.1f}L{x:.1f} {y - size:.1f}L{x + size:.1f} {y:.1f}L{x:.1f} {y + size:.1f}z"
    return element("g", line + path(diamond, SERIES[1], fill=SERIES[1]), stroke=SERIES[1])


def _in_words(box: Box) -> str:
    first, middle, third = box.quartiles
    return f"mean {_share(box)}, median {middle:.3f}, quartiles {first:.3f} and {third:.3f}"


def _share(box: Box) -> str:
    return with_interval(box.mean, box.low, box.high)
