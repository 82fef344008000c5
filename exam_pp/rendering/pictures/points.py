"""Pictures of points on two axes: scatter plots, differences and lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import NamedTuple

from exam_pp.rendering.document import Picture
from exam_pp.rendering.pictures.svg import (
    CARD,
    FG,
    LINE_HEIGHT,
    SERIES,
    WIDE,
    WIDTH,
    Axis,
    cut,
    defined,
    dot,
    element,
    label,
    margin,
    path,
    some,
    text_width,
    thinned,
)
from exam_pp.text.wording import counted

_MAX_TITLED = 400
"""Maximum number of points with a title of their own, which keeps pages small."""
_MAX_NAMED = 40
"""Maximum number of points with a name; of more points, only the marked ones are named."""
_DASHES = ("none", "6 3", "2 3")
"""Dashes of lines; lines with the same colour have different ones."""
Box = tuple[float, float, float, float]
"""Left, top, right and bottom end."""


class Point(NamedTuple):
    """A point of a scatter plot; marked points have another colour."""

    name: str
    x: float | None
    y: float | None
    marked: bool = False


class Level(NamedTuple):
    """A value that a line marks; ``low`` and ``high`` are None without an interval."""

    value: float
    low: float | None = None
    high: float | None = None


class Cloud(NamedTuple):
    """Points of a type of run, such as RAG: run to its point, and the points of its query/run pairs."""

    name: str
    runs: Mapping[str, tuple[float, float]]
    queries: Sequence[tuple[float, float]] = ()


class Line(NamedTuple):
    """A line over named places: place to value, and place to standard error."""

    name: str
    values: Mapping[str, float]
    errors: Mapping[str, float]


def scatter(
    points: Sequence[Point],
    x: str,
    y: str,
    title: str,
    *,
    mark: str = "",
) -> Picture:
    """Draw named points; points with an undefined coordinate are left out."""
    known = [(point, a, b) for point in points if defined(a := point.x) and defined(b := point.y)]
    across, up, shapes = _axes([a for _, a, _ in known], [b for _, _, b in known], 260, x, y)
    places = [(across(a), up(b)) for _, a, b in known]
    for marked, colour, radius in ((False, SERIES[0], 3.5), (True, SERIES[1], 4.5)):
        drawn = [(a, b, row) for (a, b), row in zip(places, known, strict=True) if row[0].marked == marked]
        if len(known) > _MAX_TITLED:
            dots = "".join(f"M{a:.0f} {b:.0f}h0" for a, b, _ in drawn)
            shapes += path(dots, colour, stroke_width=1.5 * radius, stroke_linecap="round")
        else:
            circles = [
                dot(a, b, radius, f"{point.name}: {x} {value:.4g}, {y} {height:.4g}")
                for a, b, (point, value, height) in drawn
            ]
            shapes += element("g", "".join(circles), fill=colour, fill_opacity=0.85)
    special = [point.name for point, _, _ in known if point.marked]
    named = [
        (point.name, place)
        for place, (point, _, _) in zip(places, known, strict=True)
        if point.marked or len(known) <= _MAX_NAMED
    ]
    frame = (across.start, up.end, WIDTH - 4, up.start)
    shapes += "".join(_names_of_points(named[:_MAX_NAMED], places, frame))
    description = f"{counted(len(known), 'system')}: {y} against {x}."
    if known:
        highest, value, height = max(known, key=lambda row: (row[2], row[0].name))
        description += f" Highest: {highest.name} ({x} {value:.4g}, {y} {height:.4g})."
    if mark:
        description += f" {mark[0].upper()}{mark[1:]}: {some(special)}."
    caption = "Each dot is one system." + (f" Orange: {mark}." if mark else "")
    if missing := len(points) - len(known):
        caption += f" Left out, for an undefined value: {counted(missing, 'system')}."
    return Picture(title, description, caption, WIDTH, up.start + 38, shapes)


def mean_difference(
    points: Sequence[tuple[float, float]],
    bias: Level,
    lower: Level | None,
    upper: Level | None,
    title: str,
    *,
    items: int,
) -> Picture:
    """Draw a Bland-Altman plot: differences of two graders against their means.

    ``lower``: Lower limit of agreement; None if it is undefined. ``upper``: Upper limit of agreement; None if
    it is undefined.
    """
    lines = [(name, line) for name, line in (("bias", bias), ("lower", lower), ("upper", upper)) if line]
    ends = [end for _, line in lines for end in line if defined(end)]
    heights = [difference for _, difference in points] + ends
    across, up, shapes = _axes(
        [mean for mean, _ in points], heights, 220, "mean of both ratings", "difference"
    )
    description = f"Differences of {counted(items, 'item')}."
    for name, line in lines:
        colour = SERIES[1] if name == "bias" else SERIES[2]
        if defined(line.low) and defined(line.high):
            band = [(x, up(y)) for x, y in ((across.start, line.low), (across.end, line.low))]
            band += [(x, up(y)) for x, y in ((across.end, line.high), (across.start, line.high))]
            shapes += path(_line(band), "none", fill=colour, fill_opacity=0.15)
        dashes = {} if name == "bias" else {"stroke_dasharray": "5 3"}
        ends_of_line = [(across.start, up(line.value)), (across.end, up(line.value))]
        shapes += path(_line(ends_of_line), colour, stroke_width=1.5, **dashes)
        description += f" {'Bias' if name == 'bias' else f'{name.capitalize()} limit'} {line.value:z.3f}."
    dots = "".join(f"M{across(mean):.1f} {up(difference):.1f}h0" for mean, difference in points)
    shapes += path(dots, SERIES[0], stroke_width=4, stroke_linecap="round", stroke_opacity=0.5)
    caption = (
        "Each dot is one item; dots of an ordinal scale are shifted a little, so that they can be counted."
    )
    caption += " Solid line: bias. Dashed lines: limits of agreement. Bands: 95 % intervals."
    if len(points) < items:
        caption += f" Drawn: {len(points)} of {items} items, drawn at random."
    return Picture(title, description, caption, WIDTH, up.start + 38, shapes)


def clouds(
    groups: Sequence[Cloud],
    x: str,
    y: str,
    title: str,
    *,
    front: Sequence[tuple[float, float]] = (),
    remarks: Sequence[str] = (),
) -> Picture:
    """Draw runs as large and query/run pairs as small dots (Pradeep et al. 2024, figures 6 and 7)."""
    points = [place for group in groups for place in (*group.runs.values(), *group.queries)]
    across, up, shapes = _axes([a for a, _ in points], [b for _, b in points], 260, x, y)
    for colour, group in zip(cycle(SERIES), groups, strict=False):
        small = "".join(f"M{across(a):.1f} {up(b):.1f}h0" for a, b in group.queries)
        shapes += path(small, colour, stroke_width=4, stroke_linecap="round", stroke_opacity=0.45)
    line = path(_line([(across(a), up(b)) for a, b in sorted(front)]), FG, stroke_dasharray="4 3")
    shapes += line if front else ""
    rows = []
    for colour, group in zip(cycle(SERIES), groups, strict=False):
        dots = [
            dot(across(a), up(b), 4.5, f"{run}: {x} {a:.4g}, {y} {b:.4g}")
            for run, (a, b) in group.runs.items()
        ]
        shapes += element("g", "".join(dots), fill=colour, stroke=CARD, stroke_width=0.5)
        name = f"{group.name} run".lstrip()
        rows.append((colour, name + (f", small: {group.name} query/run" if group.queries else "")))
    rows += [(FG, "dashed: Pareto front")] if front else []
    rows += [("none", remark) for remark in remarks]
    legend, height = _legend(rows, up.start + 42)
    runs = counted(sum(len(group.runs) for group in groups), "run")
    description = " ".join([f"{runs}: {y} against {x}.", *(f"{remark}." for remark in remarks)])
    caption = "Large dots: runs. Small dots: query/run pairs."
    return Picture(title, description, caption, WIDTH, height, shapes + legend)


def lines(drawn: Sequence[Line], places: Sequence[str], x: str, y: str, title: str) -> Picture:
    """Draw a line with standard errors for each name over the same places (EXAM++, figure 2)."""
    left, top, bottom = 44.0, 26.0, 246.0
    width = min(WIDE, max(WIDTH, left + LINE_HEIGHT * len(places) + 12))
    pitch = (width - 12 - left) / (len(places) or 1)
    across = {place: left + pitch * (number + 0.5) for number, place in enumerate(places)}
    ends = [
        value + sign * line.errors.get(place, 0.0)
        for line in drawn
        for place, value in line.values.items()
        for sign in (-1, 1)
    ]
    up = Axis.over(ends, bottom, top)
    shapes = up.left(left, width - 12, y)
    is_upright = any(text_width(place) > pitch - 4 for place in places)
    for number in thinned(len(places), pitch):
        place, middle = places[number], across[places[number]]
        turn = f"translate({middle + 4:.1f} {bottom + 6:.1f}) rotate(-90)"
        shapes += (
            label(0, 0, place, 110, text_anchor="end", transform=turn)
            if is_upright
            else label(middle, bottom + 15, place, text_anchor="middle")
        )
    under = bottom + (margin(places, 110) + 24 if is_upright else 32)
    shapes += label((left + width - 12) / 2, under, x, text_anchor="middle")
    rows = []
    for number, line in enumerate(drawn):
        colour, dashes = SERIES[number % len(SERIES)], _DASHES[number // len(SERIES) % len(_DASHES)]
        known = [place for place in places if place in line.values]
        route = [(across[place], up(line.values[place])) for place in known]
        bars = "".join(
            f"M{across[place]:.1f} {up(line.values[place] - line.errors[place]):.1f}"
            f"V{up(line.values[place] + line.errors[place]):.1f}"
            for place in known
            if place in line.errors
        )
        dots = [
            dot(*spot, 3, f"{line.name}, {place}: {line.values[place]:.3f}")
            for spot, place in zip(route, known, strict=True)
        ]
        shapes += path(_line(route), colour, stroke_dasharray=dashes) + path(bars, colour)
        shapes += element("g", "".join(dots), fill=colour)
        rows.append((colour, line.name))
    legend, height = _legend(rows, under + 10)
    description = f"{y} by {x}: {some([line.name for line in drawn])}."
    caption = "Bars: ± standard error." if any(line.errors for line in drawn) else ""
    return Picture(title, description, caption, width, height, shapes + legend)


def _legend(rows: Sequence[tuple[str, str]], top: float) -> tuple[str, float]:
    """A row for each colour and text below a picture, and the height of the picture with it."""
    shapes = [
        element("rect", x=44, y=top + 16 * number, width=10, height=10, fill=colour)
        + label(60, top + 16 * number + 9, text, WIDTH - 64)
        for number, (colour, text) in enumerate(rows)
    ]
    return "".join(shapes), top + 16 * len(rows) + 4


def _axes(
    across: Sequence[float], up: Sequence[float], height: float, x: str, y: str
) -> tuple[Axis, Axis, str]:
    """A horizontal and a vertical axis over the values, with their shapes."""
    left, top, right = 44.0, 26.0, WIDTH - 12
    axes = Axis.over(across, left, right), Axis.over(up, top + height, top)
    return *axes, axes[0].bottom(top + height, top, x) + axes[1].left(left, right, y)


def _line(places: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places) if places else ""


def _names_of_points(
    names: Sequence[tuple[str, tuple[float, float]]],
    places: Sequence[tuple[float, float]],
    frame: Box,
) -> Iterator[str]:
    """Yield labels next to points; a name without free space is left to the title of its point."""
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in places]
    for name, (x, y) in names:
        short = cut(name, 120)
        width = text_width(short) * 10 / 12
        for left, base in (
            (x + 6, y + 4),
            (x - 6 - width, y + 4),
            (x - width / 2, y - 7),
            (x - width / 2, y + 15),
        ):
            box = (left, base - 9, left + width, base + 2)
            inside = frame[0] <= box[0] and frame[1] <= box[1] and box[2] <= frame[2] and box[3] <= frame[3]
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                yield label(left, base, name, 120, font_size=10)
                break


def _overlap(first: Box, second: Box) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]
