"""Pictures of graders: differences and confusion."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from exam_pp.rendering.document import Picture
from exam_pp.rendering.pictures.grids import cell_grid
from exam_pp.rendering.pictures.points import axes, line_path
from exam_pp.rendering.pictures.svg import SERIES, WIDTH, defined, path
from exam_pp.text.wording import counted


class Level(NamedTuple):
    """A value that a line marks; ``low`` and ``high`` are None without an interval."""

    value: float
    low: float | None = None
    high: float | None = None


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
    across, up, shapes = axes(
        [mean for mean, _ in points], heights, 220, "mean of both ratings", "difference"
    )
    description = f"Differences of {counted(items, 'item')}."
    for name, line in lines:
        colour = SERIES[1] if name == "bias" else SERIES[2]
        if defined(line.low) and defined(line.high):
            band = [(x, up(y)) for x, y in ((across.start, line.low), (across.end, line.low))]
            band += [(x, up(y)) for x, y in ((across.end, line.high), (across.start, line.high))]
            shapes += path(line_path(band), "none", fill=colour, fill_opacity=0.15)
        dashes = {} if name == "bias" else {"stroke_dasharray": "5 3"}
        ends_of_line = [(across.start, up(line.value)), (across.end, up(line.value))]
        shapes += path(line_path(ends_of_line), colour, stroke_width=1.5, **dashes)
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
    """Draw a confusion matrix: a stronger colour is a larger share of the row, and cells show their counts.

    ``boxed`` are the (row, column) of the cells that agree.
    """
    shades = [[count / (sum(row) or 1) for count in row] for row in counts]
    texts = [[str(count) for count in row] for row in counts]
    grid, width, height = cell_grid(rows, columns, shades, texts, boxed=boxed)
    total = sum(map(sum, counts))
    agreeing = sum(counts[row][column] for row, column in boxed)
    numbers = [
        f"{row} with {column}: {count}"
        for row, of_row in zip(rows, counts, strict=True)
        for column, count in zip(columns, of_row, strict=True)
        if count
    ]
    description = f"{row_noun} with {column_noun}: {agreeing} of {total} in the boxed cells."
    description += f" {'; '.join(numbers)}." if numbers else ""
    caption = f"Rows: {row_noun}. Columns: {column_noun}. A stronger colour is a larger share of the row."
    return Picture(title, description, caption, width, height, grid)
