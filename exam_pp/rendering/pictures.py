"""Pictures for HTML reports: heatmaps, intervals, curves, scatter plots, confusion matrices and slopes."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple, TypeGuard

from exam_pp.rendering.document import Picture
from exam_pp.rendering.plots import Bar
from exam_pp.rendering.svg import (
    BACKGROUND,
    FG,
    HEAT,
    LINE_HEIGHT,
    MUTED,
    SERIES,
    Axis,
    cut,
    element,
    escaped,
    label,
    margin,
    text_width,
    thinned,
)
from exam_pp.wording import counted

_WIDTH = 440.0
_WIDE = 860.0
"""Width of heatmaps with many columns."""
_MAX_CELLS = 25_000
"""Maximum number of cells of a heatmap; beyond it, neighbouring columns are averaged."""
_MAX_TITLED = 400
"""Maximum number of points with a title of their own, which keeps pages small."""
_MAX_NAMED = 40
"""Maximum number of points with a name; of more points, only the marked ones are named."""


class CurvePoint(NamedTuple):
    """A value of a curve; ``low`` is the lower end of its band, None without a band."""

    x: float
    y: float
    low: float | None = None


class Slope(NamedTuple):
    """A system's ranks before and after; 1 is best, and tied systems have the same rank."""

    system: str
    before: float
    after: float


def dot_plot(bars: Sequence[Bar], measure: str, title: str, whiskers: str = "") -> Picture:
    """Draw a row for each system, with a dot at its value and a whisker from ``low`` to ``high``.

    Args:
        bars: Systems with values, from top to bottom; those with an undefined value are left out.
        measure: Name of the axis.
        title: Title of the picture.
        whiskers: What the whiskers are, for the caption.
    """
    bars = [bar for bar in bars if _defined(bar.value)]
    pitch, top = _pitch(len(bars)), 8.0
    left = margin(bar.system for bar in bars) + 10
    bottom = top + pitch * len(bars) + 4
    ends = [end for bar in bars for end in (bar.value, bar.low, bar.high) if _defined(end)]
    axis = Axis.over(ends, left, _WIDTH - 10)
    rows, labels = [], []
    for number, bar in enumerate(bars):
        y = top + pitch * (number + 0.5)
        mark = element("title", escaped(f"{bar.system}: {_with_interval(bar)}"))
        if _defined(bar.low) and _defined(bar.high):
            mark += element("line", x1=axis(bar.low), x2=axis(bar.high), y1=y, y2=y, stroke_width=1.5)
        rows.append(element("g", mark + element("circle", cx=axis(bar.value), cy=y, r=min(4, pitch / 2))))
    for number in thinned(len(bars), pitch):
        y = top + pitch * (number + 0.5) + 4
        labels.append(label(left - 8, y, bars[number].system, left - 10, text_anchor="end"))
    shapes = axis.bottom(bottom, top, measure) + "".join(labels)
    shapes += element("g", "".join(rows), fill=SERIES[0], stroke=SERIES[0])
    best = sorted(bars, key=lambda bar: (-bar.value, bar.system))
    ranked = f" Best: {best[0].system}, {_with_interval(best[0])}." if best else ""
    ranked += f" Worst: {best[-1].system}, {_with_interval(best[-1])}." if len(best) > 1 else ""
    description = f"{counted(len(bars), 'system')} by {measure}.{ranked}"
    caption = f"Dots: means of {measure}." + (f" Lines: {whiskers}." if whiskers else "")
    return Picture(title, description, caption, _WIDTH, bottom + 38, shapes)


def heatmap(
    systems: Sequence[str],
    queries: Sequence[str],
    values: Sequence[Sequence[float | None]],
    measure: str,
    title: str,
) -> Picture:
    """Draw the values of systems (rows) on queries (columns) as darker or lighter cells.

    The best systems are on top and the easiest queries on the left, by their means. Cells without a value
    stay empty. If there are more than 25,000 cells, a column is the mean of neighbouring queries.
    """
    rows = sorted(zip(systems, values, strict=True), key=lambda row: (_falling(row[1]), row[0]))
    columns = {number: [row[number] for row in values] for number in range(len(queries))}
    order = sorted(columns, key=lambda number: (_falling(columns[number]), queries[number]))
    known = [value for row in values for value in row if _defined(value)]
    low, high = min([0.0, *known]), max(known, default=0.0)
    size = math.ceil(len(order) * len(rows) / _MAX_CELLS) or 1
    groups = [order[start : start + size] for start in range(0, len(order), size)]
    means = [[_mean([row[place] for place in group]) for group in groups] for _, row in rows]
    names = [queries[group[0]] + ("" if len(group) == 1 else f" … {queries[group[-1]]}") for group in groups]
    shades = [[(value - low) / ((high - low) or 1.0) for value in row] for row in means]
    texts = [[f"{value:.2f}" if _defined(value) else "" for value in row] for row in means]
    grid, width, height = _grid([name for name, _ in rows], names, shades, texts)
    if not known:
        return Picture(title, f"No values of {measure}.", "", width, height, grid)
    legend, height = _legend(f"{low:.3g}", f"{high:.3g}", height), height + 22
    judged = [number for number in order if not math.isnan(_mean(columns[number]))]
    easiest, hardest = (f"{queries[n]}, mean {_mean(columns[n]):.3f}" for n in (judged[0], judged[-1]))
    description = (
        f"{measure} of {counted(len(rows), 'system')} on {counted(len(order), 'query')}, from "
        f"{min(known):.3g} to {high:.3g}. Best system: {rows[0][0]}, mean {_mean(rows[0][1]):.3f}. "
        f"Easiest query: {easiest}. Hardest query: {hardest}."
    )
    caption = (
        f"{measure} of each system (rows, best on top) on each query (columns, easiest on the left)."
        + (f" A column is the mean of up to {size} queries." if size > 1 else "")
    )
    return Picture(title, description, caption, width, height, grid + legend)


def confusion(
    rows: Sequence[str],
    columns: Sequence[str],
    counts: Sequence[Sequence[int]],
    title: str,
    *,
    row_noun: str,
    column_noun: str,
    boxed: Collection[tuple[int, int]] = (),
) -> Picture:
    """Draw a confusion matrix: a cell is darker for a larger share of its row, and shows its count.

    ``boxed`` are the (row, column) of the cells that agree.
    """
    shades = [[count / (sum(row) or 1) for count in row] for row in counts]
    texts = [[str(count) for count in row] for row in counts]
    grid, width, height = _grid(rows, columns, shades, texts, boxed=boxed)
    total = sum(map(sum, counts))
    agreeing = sum(counts[row][column] for row, column in boxed)
    description = f"{row_noun} against {column_noun}: {agreeing} of {total} in the boxed cells. " + "; ".join(
        f"{row}: " + ", ".join(f"{count} {column}" for column, count in zip(columns, of_row, strict=True))
        for row, of_row in zip(rows, counts, strict=True)
    )
    caption = f"Rows: {row_noun}. Columns: {column_noun}. A darker cell has a larger share of its row."
    return Picture(title, description + ".", caption, width, height, grid)


def matrix(names: Sequence[str], values: Mapping[tuple[str, str], float | None], title: str) -> Picture:
    """Draw the coefficients of every two of ``names``; ``values`` has each pair once, in any order."""
    cells = [[values.get((a, b), values.get((b, a))) if a != b else None for b in names] for a in names]
    shades = [[math.nan if value is None else max(0.0, value) for value in row] for row in cells]
    texts = [["" if value is None else f"{value:z.2f}" for value in row] for row in cells]
    grid, width, height = _grid(names, names, shades, texts)
    pairs = [f"{a} and {b} {value:z.2f}" for (a, b), value in values.items() if value is not None]
    caption = "A darker cell has a higher coefficient; an empty cell is undefined."
    return Picture(title, f"{title}: {', '.join(pairs) or 'undefined'}.", caption, width, height, grid)


def scatter(
    points: Mapping[str, tuple[float | None, float | None]],
    x: str,
    y: str,
    title: str,
    *,
    marked: Collection[str] = (),
    mark: str = "",
    connected: bool = False,
    noun: str = "system",
) -> Picture:
    """Draw named points; points with an undefined coordinate are left out.

    Args:
        points: Name to horizontal and vertical value.
        x: Name of the horizontal axis.
        y: Name of the vertical axis.
        title: Title of the picture.
        marked: Names of points in another colour and shape.
        mark: What the marked points are, for the caption.
        connected: Connect the marked points by a line, from left to right.
        noun: What a point is, for the caption.
    """
    known = {name: (a, b) for name, (a, b) in points.items() if _defined(a) and _defined(b)}
    left, top, bottom = 44.0, 26.0, 286.0
    across = Axis.over([point[0] for point in known.values()], left, _WIDTH - 12)
    up = Axis.over([point[1] for point in known.values()], bottom, top)
    places = {name: (across(a), up(b)) for name, (a, b) in known.items()}
    special = [name for name in known if name in marked]
    plain = [name for name in known if name not in marked]
    shapes = across.bottom(bottom, top, x) + up.left(left, _WIDTH - 12, y)
    if connected:
        line = "L".join(f"{a:.1f} {b:.1f}" for a, b in sorted(places[name] for name in special))
        shapes += element(
            "path", d=f"M{line}" if line else "", fill="none", stroke=SERIES[1], stroke_dasharray="4 3"
        )
    for names, colour, radius in ((plain, SERIES[0], 3.5), (special, SERIES[1], 4.5)):
        if len(known) > _MAX_TITLED:
            dots = "".join(f"M{places[name][0]:.0f} {places[name][1]:.0f}h0" for name in names)
            shapes += element(
                "path", d=dots, stroke=colour, stroke_width=1.5 * radius, stroke_linecap="round", fill="none"
            )
            continue
        circles = [
            element(
                "circle",
                element("title", escaped(f"{name}: {x} {known[name][0]:.4g}, {y} {known[name][1]:.4g}")),
                cx=places[name][0],
                cy=places[name][1],
                r=radius,
            )
            for name in names
        ]
        shapes += element("g", "".join(circles), fill=colour, fill_opacity=0.85)
    named = [*special, *(plain if len(known) <= _MAX_NAMED else ())][:_MAX_NAMED]
    shapes += "".join(_names_of_points(named, places, (left, top, _WIDTH - 4, bottom)))
    description = f"{counted(len(known), noun)}: {y} against {x}."
    if known:
        highest = max(known, key=lambda name: (known[name][1], name))
        description += f" Highest: {highest} ({x} {known[highest][0]:.4g}, {y} {known[highest][1]:.4g})."
    if mark:
        description += f" {mark.capitalize()}: {_some(special)}."
    caption = f"Each dot is one {noun}." + (f" Orange: {mark}." if mark else "")
    return Picture(title, description, caption, _WIDTH, bottom + 38, shapes)


def curve(
    points: Sequence[CurvePoint], x: str, y: str, title: str, *, band: str = "", enough: float | None = None
) -> Picture:
    """Draw a line through points, and a band from their low ends up to the line.

    Args:
        points: The points; those with an undefined ``y`` are left out.
        x: Name of the horizontal axis.
        y: Name of the vertical axis.
        title: Title of the picture.
        band: What the low ends are, for the caption.
        enough: A value of ``y`` that counts as enough; drawn as a line.
    """
    points = sorted(point for point in points if _defined(point.y))
    left, top, bottom = 44.0, 26.0, 226.0
    lows = [point.low if _defined(point.low) else point.y for point in points]
    level = [] if enough is None else [enough]
    across = Axis.over([point.x for point in points], left, _WIDTH - 12)
    up = Axis.over([*lows, *(point.y for point in points), *level], bottom, top)
    line = [f"{across(point.x):.1f} {up(point.y):.1f}" for point in points]
    under = [f"{across(point.x):.1f} {up(low):.1f}" for point, low in zip(points, lows, strict=True)]
    shapes = across.bottom(bottom, top, x) + up.left(left, _WIDTH - 12, y)
    if points:
        shapes += element(
            "path", d=f"M{'L'.join([*line, *reversed(under)])}Z", fill=SERIES[0], fill_opacity=0.18
        )
        shapes += element("path", d=f"M{'L'.join(line)}", fill="none", stroke=SERIES[0], stroke_width=2)
    if len(points) <= _MAX_TITLED:
        dots = [
            element(
                "circle",
                element("title", escaped(f"{point.x:g}: {point.y:.3f} ({low:.3f})")),
                cx=across(point.x),
                cy=up(point.y),
                r=3,
            )
            for point, low in zip(points, lows, strict=True)
        ]
        shapes += element("g", "".join(dots), fill=SERIES[0])
    description = f"{y} against {x}."
    if points:
        first, last = points[0], points[-1]
        description += f" {first.y:.3f} at {first.x:g}, {last.y:.3f} at {last.x:g}."
    if enough is not None:
        height = up(enough)
        shapes += element(
            "line", x1=left, x2=_WIDTH - 12, y1=height, y2=height, stroke=SERIES[1], stroke_dasharray="4 3"
        )
        # A later point may fall below the level again, so the curve stays above it from this point on.
        below = max((number for number, point in enumerate(points) if point.y < enough), default=-1)
        reached = points[below + 1 :]
        description += f" From {reached[0].x:g}, it is at least {enough:g}." if reached else ""
    caption = f"Line: {y}." + (f" Band: down to {band}." if band else "")
    caption += f" Dashed: {enough:g}." if enough is not None else ""
    return Picture(title, description, caption, _WIDTH, bottom + 38, shapes)


def slopes(ranked: Sequence[Slope], before: str, after: str, title: str) -> Picture:
    """Draw a line for each system from its rank before (left) to its rank after (right).

    Tied systems have separate rows with the same rank. ``before`` and ``after`` name the sides.
    """
    pitch, top = _pitch(len(ranked)), 30.0
    left = sorted(ranked, key=lambda row: (row.before, row.after, row.system))
    right = sorted(ranked, key=lambda row: (row.after, row.before, row.system))
    side = margin((f"{row.system} 99.5" for row in ranked), 160) + 8
    heights = {row.system: top + pitch * (number + 0.5) for number, row in enumerate(right)}
    shapes = label(side, 14, before, side, text_anchor="end") + label(_WIDTH - side, 14, after, side)
    lines: dict[str, list[str]] = {MUTED: [], SERIES[2]: [], SERIES[1]: []}
    for number, row in enumerate(left):
        mark = element("title", escaped(f"{row.system}: {row.before:g} → {row.after:g}"))
        colour = MUTED if row.before == row.after else SERIES[2 if row.after < row.before else 1]
        y = top + pitch * (number + 0.5)
        mark += element("line", x1=side + 6, y1=y, x2=_WIDTH - side - 6, y2=heights[row.system])
        lines[colour].append(element("g", mark))
    for colour, marks in lines.items():
        shapes += element("g", "".join(marks), stroke=colour, stroke_width=min(2, pitch / 4))
    for number in thinned(len(ranked), pitch):
        y, a, b = top + pitch * (number + 0.5) + 4, left[number], right[number]
        shapes += label(side, y, f"{a.system} {a.before:g}", side - 4, text_anchor="end")
        shapes += label(_WIDTH - side, y, f"{b.after:g} {b.system}", side - 4)
    moved = sorted(ranked, key=lambda row: (-abs(row.after - row.before), row.system))
    changed = [f"{row.system} {row.before:g} → {row.after:g}" for row in moved if row.after != row.before]
    description = (
        f"Ranks of {counted(len(ranked), 'system')}, {before} and {after}; {len(changed)} "
        f"with another rank{': ' if changed else ''}{_some(changed)}."
    )
    caption = "Each line is one system. Green: a better rank; orange: a worse rank; grey: the same rank."
    return Picture(title, description, caption, _WIDTH, top + pitch * len(ranked) + 8, shapes)


def _grid(
    rows: Sequence[str],
    columns: Sequence[str],
    shades: Sequence[Sequence[float]],
    texts: Sequence[Sequence[str]],
    boxed: Collection[tuple[int, int]] = (),
) -> tuple[str, float, float]:
    """The shapes, width and height of a grid of cells; ``shades`` are from 0 to 1, or NaN for empty cells."""
    left = margin(rows) + 8
    space = (_WIDTH if len(columns) <= 20 else _WIDE) - left - 8
    cell = min(max(44.0, margin(columns, 74) + 6), space / (len(columns) or 1))
    pitch = min(26.0, _pitch(len(rows)) + (8 if len(rows) <= 12 else 0))
    across = all(text_width(name) <= cell - 2 for name in columns)
    top = 20.0 if across else margin(columns, 90) + 10
    width, height = left + cell * len(columns) + 8, top + pitch * len(rows) + 6
    names = [
        label(left - 6, top + pitch * (number + 0.5) + 4, rows[number], left - 8, text_anchor="end")
        for number in thinned(len(rows), pitch)
    ]
    for number in thinned(len(columns), cell) if not across else range(len(columns)):
        x = left + cell * (number + 0.5)
        if across:
            names.append(label(x, top - 6, columns[number], text_anchor="middle"))
        else:
            turn = f"translate({x + 4:.1f} {top - 6:.1f}) rotate(-90)"
            names.append(label(0, 0, columns[number], top - 10, transform=turn))
    paths: list[list[str]] = [[] for _ in HEAT]
    for y, row in enumerate(shades):
        for start, length, level in _runs(row):
            paths[level].append(f"M{start} {y}h{length}")
    # A run of cells is a thick line in units of cells, which takes a tenth of the bytes of rectangles.
    fills = [
        element("path", d="".join(path), stroke=colour)
        for path, colour in zip(paths, HEAT, strict=True)
        if path
    ]
    place = f"translate({left:.2f} {top + pitch / 2:.2f}) scale({cell:.4f} {pitch:.4f})"
    shapes = element("g", "".join(fills), transform=place, stroke_width=1, shape_rendering="crispEdges")
    if min(cell, pitch) >= 8:
        lines = "".join(
            f"M{left + cell * n:.1f} {top}v{pitch * len(rows):.1f}" for n in range(len(columns) + 1)
        )
        lines += "".join(
            f"M{left} {top + pitch * n:.1f}h{cell * len(columns):.1f}" for n in range(len(rows) + 1)
        )
        shapes += element("path", d=lines, stroke=BACKGROUND)
    for y, x in sorted(boxed):
        shapes += element(
            "rect", x=left + cell * x, y=top + pitch * y, width=cell, height=pitch, fill="none", stroke=FG
        )
    if pitch >= LINE_HEIGHT and all(text_width(text) <= cell - 2 for row in texts for text in row):
        middles = [
            label(left + cell * (x + 0.5), top + pitch * (y + 0.5) + 4, text)
            for y, row in enumerate(texts)
            for x, text in enumerate(row)
            if text
        ]
        # The outline keeps the numbers readable on every fill.
        shapes += element(
            "g",
            "".join(middles),
            text_anchor="middle",
            stroke=BACKGROUND,
            stroke_width=3,
            paint_order="stroke",
        )
    strips = [
        element(
            "rect",
            element("title", escaped(name)),
            x=left + cell * number,
            y=top,
            width=cell,
            height=pitch * len(rows),
        )
        for number, name in enumerate(columns)
    ]
    shapes += element("g", "".join(strips), fill="none", pointer_events="all")
    return "".join(names) + shapes, width, height


def _runs(row: Sequence[float]) -> Iterator[tuple[int, int, int]]:
    """Yield start, length and level of neighbouring cells with the same level; NaN has no level."""
    levels = [min(len(HEAT) - 1, int(shade * len(HEAT))) if _defined(shade) else None for shade in row]
    start = 0
    for end in range(1, len(levels) + 1):
        if end == len(levels) or levels[end] != levels[start]:
            level = levels[start]
            if level is not None:
                yield start, end - start, level
            start = end


def _legend(low: str, high: str, y: float) -> str:
    x = 16 + text_width(low)
    swatches = [
        element("rect", x=x + 18 * level, y=y + 4, width=18, height=12, fill=colour)
        for level, colour in enumerate(HEAT)
    ]
    return label(8, y + 14, low) + "".join(swatches) + label(x + 18 * len(HEAT) + 6, y + 14, high)


def _names_of_points(
    names: Sequence[str],
    places: Mapping[str, tuple[float, float]],
    frame: tuple[float, float, float, float],
) -> Iterator[str]:
    """Yield labels next to points; a name without free space is left to the title of its point."""
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in places.values()]
    for name in names:
        x, y = places[name]
        short = cut(name, 120)
        width = text_width(short) * 10 / 12
        for left, base in (
            (x + 6, y + 4),
            (x - 6 - width, y + 4),
            (x - width / 2, y - 7),
            (x - width / 2, y + 15),
        ):
            box = (left, base - 9, left + width, base + 2)
            inside = box[0] >= frame[0] and box[1] >= frame[1] and box[2] <= frame[2] and box[3] <= frame[3]
            if inside and not any(
                box[0] < right and left_end < box[2] and box[1] < low and high < box[3]
                for left_end, high, right, low in taken
            ):
                taken.append(box)
                yield label(left, base, name, 120, font_size=10)
                break


def _pitch(count: int) -> float:
    """Height of a row; that of many rows is smaller, so that a picture stays below two screens."""
    return 16.0 if count <= 60 else max(3.0, 960 / count)


def _defined(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _mean(values: Sequence[float | None]) -> float:
    """Mean of the defined values; NaN if all are undefined."""
    known = [value for value in values if _defined(value)]
    return fmean(known) if known else math.nan


def _falling(values: Sequence[float | None]) -> float:
    """Sort key for falling means; lists without a mean come last."""
    mean = _mean(values)
    return math.inf if math.isnan(mean) else -mean


def _with_interval(bar: Bar) -> str:
    ends = f" [{bar.low:.3f}, {bar.high:.3f}]" if _defined(bar.low) and _defined(bar.high) else ""
    return f"{bar.value:.3f}{ends}"


def _some(names: Sequence[str]) -> str:
    """The first names, and the number of the others."""
    more = len(names) - 8
    return ", ".join(names[:8]) + (f" and {more} more" if more > 0 else "")
