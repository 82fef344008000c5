"""Pictures of graders: differences, calibration, confusion, coefficients of pairs, ranks."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from exam_pp.rendering.document import Picture
from exam_pp.rendering.pictures.grids import cell_grid
from exam_pp.rendering.pictures.points import axes, line_path
from exam_pp.rendering.pictures.svg import SERIES, WIDTH, defined, dot, element, path, some
from exam_pp.rendering.short_names import shortened
from exam_pp.text.wording import counted


class Level(NamedTuple):
    """A value that a line marks; ``low`` and ``high`` are None without an interval."""

    value: float
    low: float | None = None
    high: float | None = None


class ReliabilityBin(NamedTuple):
    """A bin of a reliability diagram: its ends, number of pairs, mean probability and share by people."""

    low: float
    high: float
    pairs: int
    probability: float
    share: float


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


def reliability_diagram(bins: Sequence[ReliabilityBin], title: str, *, ece: float | None = None) -> Picture:
    """Draw the share by people against the probability, with the diagonal of a calibrated grader.

    Source: the reliability diagram of Guo et al., "On calibration of modern neural networks", ICML 2017.
    """
    name = "mean probability of the bin"
    across, up, shapes = axes([0.0, 1.0], [0.0, 1.0], 300, name, "share of pairs that people label so")
    diagonal = [(across(0.0), up(0.0)), (across(1.0), up(1.0))]
    shapes += path(line_path(diagonal), SERIES[2], stroke_width=1.5, stroke_dasharray="5 3")
    known = [each for each in bins if defined(each.probability) and defined(each.share)]
    gaps = "".join(
        f"M{across(each.probability):.1f} {up(each.probability):.1f}V{up(each.share):.1f}" for each in known
    )
    shapes += path(gaps, SERIES[1], stroke_width=2)
    most = max((each.pairs for each in known), default=1)
    dots = [
        dot(
            across(each.probability),
            up(each.share),
            3 + 6 * (each.pairs / most) ** 0.5,
            f"{each.low:.3g} to {each.high:.3g}: {counted(each.pairs, 'pair')}, probability "
            f"{each.probability:.3f}, share {each.share:.3f}",
        )
        for each in known
    ]
    shapes += element("g", "".join(dots), fill=SERIES[0], fill_opacity=0.85)
    description = f"{counted(sum(each.pairs for each in known), 'pair')} in {counted(len(known), 'bin')}."
    if ece is not None:
        description += f" Expected calibration error {ece:.3f}."
    if known:
        worst = max(known, key=lambda each: (abs(each.share - each.probability), each.low))
        description += f" Largest gap: probability {worst.probability:.3f}, share {worst.share:.3f}."
    caption = "Each dot is a bin; its size grows with the number of pairs. Dashed: a calibrated grader."
    caption += " Orange: the difference from it."
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


def matrix(names: Sequence[str], values: Mapping[tuple[str, str], float | None], title: str) -> Picture:
    """Draw the coefficients of every two of ``names``; ``values`` has each pair once, in any order."""
    cells = [[values.get((a, b), values.get((b, a))) if a != b else None for b in names] for a in names]
    shades = [[math.nan if value is None else max(0.0, value) for value in row] for row in cells]
    texts = [["" if value is None else f"{value:z.2f}" for value in row] for row in cells]
    short = shortened(names)  # cut in the middle, two prompt classes may look the same
    grid, width, height = cell_grid(short, short, shades, texts)
    pairs = [f"{a} and {b} {value:z.2f}" for (a, b), value in values.items() if value is not None]
    caption = "A stronger colour is a higher coefficient; an empty cell is undefined."
    return Picture(title, f"{title}: {', '.join(pairs) or 'undefined'}.", caption, width, height, grid)


def rank_grid(
    systems: Sequence[str],
    columns: Sequence[str],
    ranks: Sequence[Sequence[int | None]],
    title: str,
) -> Picture:
    """Draw the ranks of systems (rows) on several leaderboards (columns); empty cells have no rank."""
    last = max((rank for row in ranks for rank in row if rank is not None), default=1)
    shades = [[math.nan if rank is None else 1 - (rank - 1) / last for rank in row] for row in ranks]
    texts = [["" if rank is None else str(rank) for rank in row] for row in ranks]
    grid, width, height = cell_grid(shortened(systems), shortened(columns), shades, texts)
    rows = [
        f"{system} {', '.join('no rank' if rank is None else str(rank) for rank in row)}"
        for system, row in zip(systems, ranks, strict=True)
    ]
    description = f"Ranks on the leaderboards of {', '.join(columns)}: {some(rows)}."
    caption = "Rows: systems. Columns: leaderboards. A stronger colour is a better rank."
    return Picture(title, description, caption, width, height, grid)
