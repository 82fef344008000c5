"""Pictures of tables as shaded cells: heatmaps, confusion matrices and shares of wins."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from exam_pp.rendering.document import Picture
from exam_pp.rendering.pictures.svg import (
    CARD,
    FG,
    HEAT,
    LINE_HEIGHT,
    ON_HEAT,
    WIDE,
    WIDTH,
    defined,
    element,
    escaped,
    label,
    margin,
    path,
    row_height,
    text_width,
    thinned,
)
from exam_pp.rendering.short_names import shortened
from exam_pp.text.wording import counted


def cell_grid(
    rows: Sequence[str],
    columns: Sequence[str],
    shades: Sequence[Sequence[float]],
    texts: Sequence[Sequence[str]],
    boxed: Collection[tuple[int, int]] = (),
) -> tuple[str, float, float]:
    """The shapes, width and height of a grid of cells; ``shades`` are from 0 to 1, or NaN for empty cells."""
    grid = _CellGrid.of(rows, columns)
    shapes = [
        *grid.row_names(),
        *grid.column_names(),
        grid.fills(shades),
        grid.lines(),
        grid.boxes(boxed),
        *grid.texts(shades, texts),
        grid.titles(),
    ]
    return "".join(shapes), grid.width, grid.height


@dataclass(frozen=True)
class _CellGrid:
    """The names and sizes of a grid, and its shapes, from the lowest layer to the highest.

    ``left`` and ``top`` are the corner of the first cell, ``cell`` is the width of cells and ``pitch`` their
    height. ``is_upright`` is true if the names of columns are turned.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    left: float
    top: float
    cell: float
    pitch: float
    is_upright: bool

    @classmethod
    def of(cls, rows: Sequence[str], columns: Sequence[str]) -> _CellGrid:
        left = margin(rows) + 12
        space = (WIDTH if len(columns) <= 20 else WIDE) - left - 8
        cell = min(max(44.0, margin(columns, 74) + 6), space / (len(columns) or 1))
        pitch = min(26.0, row_height(len(rows)) + (8 if len(rows) <= 12 else 0))
        is_upright = any(text_width(name) > cell - 2 for name in columns)
        top = margin(columns, 110) + 10 if is_upright else 20.0
        return cls(rows, columns, left, top, cell, pitch, is_upright)

    @property
    def width(self) -> float:
        """Width of the picture."""
        return self.left + self.cell * len(self.columns) + 8

    @property
    def height(self) -> float:
        """Height of the picture."""
        return self.top + self.pitch * len(self.rows) + 6

    def x(self, column: float) -> float:
        """The left edge of a column; the middle of the first is at 0.5."""
        return self.left + self.cell * column

    def y(self, row: float) -> float:
        """The top edge of a row; the middle of the first is at 0.5."""
        return self.top + self.pitch * row

    def row_names(self) -> Iterator[str]:
        """The names on the left."""
        for number in thinned(len(self.rows), self.pitch):
            name = self.rows[number]
            yield label(self.left - 6, self.y(number + 0.5) + 4, name, self.left - 12, text_anchor="end")

    def column_names(self) -> Iterator[str]:
        """The names on top."""
        if not self.is_upright:
            for number, name in enumerate(self.columns):
                yield label(self.x(number + 0.5), self.top - 6, name, text_anchor="middle")
            return
        for number in thinned(len(self.columns), self.cell):
            turn = f"translate({self.x(number + 0.5) + 4:.1f} {self.top - 6:.1f}) rotate(-90)"
            yield label(0, 0, self.columns[number], self.top - 10, transform=turn)

    def fills(self, shades: Sequence[Sequence[float]]) -> str:
        """The colours of the cells."""
        runs: list[list[str]] = [[] for _ in HEAT]
        for y, row in enumerate(shades):
            for start, length, fill in _runs(row):
                runs[fill].append(f"M{start} {y}h{length}")
        # A run of cells is a thick line in units of cells, which takes a tenth of the bytes of rectangles.
        fills = [path("".join(cells), colour) for cells, colour in zip(runs, HEAT, strict=True) if cells]
        place = f"translate({self.left:.2f} {self.y(0.5):.2f}) scale({self.cell:.4f} {self.pitch:.4f})"
        return element("g", "".join(fills), transform=place, stroke_width=1, shape_rendering="crispEdges")

    def lines(self) -> str:
        """The lines between cells, unless the cells are small."""
        if min(self.cell, self.pitch) < 8:
            return ""
        wide, tall = self.cell * len(self.columns), self.pitch * len(self.rows)
        lines = [f"M{self.x(n):.1f} {self.top}v{tall:.1f}" for n in range(len(self.columns) + 1)]
        lines += [f"M{self.left} {self.y(n):.1f}h{wide:.1f}" for n in range(len(self.rows) + 1)]
        return path("".join(lines), CARD)

    def boxes(self, boxed: Collection[tuple[int, int]]) -> str:
        """Frames around the cells of these (row, column)."""
        boxes = "".join(
            f"M{self.x(x):.1f} {self.y(y):.1f}h{self.cell:.1f}v{self.pitch:.1f}h{-self.cell:.1f}z"
            for y, x in sorted(boxed)
        )
        return path(boxes, FG) if boxes else ""

    def texts(self, shades: Sequence[Sequence[float]], texts: Sequence[Sequence[str]]) -> Iterator[str]:
        """The texts in coloured cells, if every text has room."""
        if self.pitch < LINE_HEIGHT or any(text_width(text) > self.cell - 2 for row in texts for text in row):
            return
        for y, row in enumerate(texts):
            for x, text in enumerate(row):
                level = _level(shades[y][x])
                if level is not None:
                    place = self.x(x + 0.5), self.y(y + 0.5) + 4
                    yield label(*place, text, text_anchor="middle", fill=ON_HEAT[level])

    def titles(self) -> str:
        """Strips that show the full name of a column under the pointer."""
        tall = self.pitch * len(self.rows)
        strips = [
            element(
                "rect", element("title", escaped(name)), x=self.x(n), y=self.top, width=self.cell, height=tall
            )
            for n, name in enumerate(self.columns)
        ]
        return element("g", "".join(strips), fill="none", pointer_events="all")


def _runs(row: Sequence[float]) -> Iterator[tuple[int, int, int]]:
    """Yield start, length and level of neighbouring cells with the same level; NaN has no level."""
    levels = list(map(_level, row))
    start = 0
    for end in range(1, len(levels) + 1):
        if end == len(levels) or levels[end] != levels[start]:
            level = levels[start]
            if level is not None:
                yield start, end - start, level
            start = end


def _level(shade: float) -> int | None:
    return min(len(HEAT) - 1, int(shade * len(HEAT))) if defined(shade) else None


_MAX_CELLS = 25_000
_MAX_COLUMNS = 800
"""Maximum sizes of a heatmap; beyond them, neighbouring columns are averaged."""


def heatmap(
    systems: Sequence[str],
    queries: Sequence[str],
    values: Sequence[Sequence[float | None]],
    measure: str,
    title: str,
    *,
    decimals: int = 3,
) -> Picture:
    """Draw the values of systems (rows) on queries (columns) as coloured cells.

    The best systems are on top and the easiest queries on the left, by their means. Cells without a value
    stay empty. With more than 25,000 cells or 800 queries, a column is the mean of neighbouring queries.
    ``decimals`` are those of means; cells have one less.
    """
    rows = sorted(zip(systems, values, strict=True), key=lambda row: (_falling(row[1]), row[0]))
    columns = {number: [row[number] for row in values] for number in range(len(queries))}
    order = sorted(columns, key=lambda number: (_falling(columns[number]), queries[number]))
    known = [value for row in values for value in row if defined(value)]
    low, high = min([0.0, *known]), max(known, default=0.0)
    size = math.ceil(max(1, len(order) * len(rows) / _MAX_CELLS, len(order) / _MAX_COLUMNS))
    groups = [order[start : start + size] for start in range(0, len(order), size)]
    means = [[_mean([row[place] for place in group]) for group in groups] for _, row in rows]
    names = [queries[group[0]] + ("" if len(group) == 1 else f" … {queries[group[-1]]}") for group in groups]
    shades = [[(value - low) / ((high - low) or 1.0) for value in row] for row in means]
    texts = [[f"{value:.{decimals - 1}f}" if defined(value) else "" for value in row] for row in means]
    grid, width, height = cell_grid([name for name, _ in rows], names, shades, texts)
    if not known:
        return Picture(title, f"No values of {measure}.", "", width, height, grid)
    legend, height = _legend(f"{low:.3g}", f"{high:.3g}", height), height + 22
    judged = [number for number in order if not math.isnan(_mean(columns[number]))]
    easiest, hardest = (
        f"{queries[n]}, mean {_mean(columns[n]):.{decimals}f}" for n in (judged[0], judged[-1])
    )
    description = (
        f"{measure} of {counted(len(rows), 'system')} on {counted(len(order), 'query')}, from "
        f"{min(known):.3g} to {high:.3g}. Best system: {rows[0][0]}, mean {_mean(rows[0][1]):.{decimals}f}. "
        f"Easiest query: {easiest}. Hardest query: {hardest}."
    )
    caption = "Rows: systems, the best on top. Columns: queries, the easiest on the left." + (
        f" A column is the mean of up to {size} queries." if size > 1 else ""
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


def win_matrix(systems: Sequence[str], shares: Sequence[Sequence[float]], title: str) -> Picture:
    """Draw the shares of games that the system of a row won against that of a column; NaN stays empty."""
    texts = [["" if math.isnan(share) else f"{100 * share:.0f}" for share in row] for row in shares]
    short = shortened(systems)
    grid, width, height = cell_grid(short, short, shares, texts)
    description = f"{title}, in %: {', '.join(systems)}."
    caption = "Rows: the winner. Columns: its opponent. The rest of both shares are ties."
    return Picture(title, description, caption, width, height, grid)


def _legend(low: str, high: str, y: float) -> str:
    x = 16 + text_width(low)
    swatches = [
        element("rect", x=x + 18 * level, y=y + 4, width=18, height=12, fill=colour)
        for level, colour in enumerate(HEAT)
    ]
    return label(8, y + 14, low) + "".join(swatches) + label(x + 18 * len(HEAT) + 6, y + 14, high)


def _mean(values: Sequence[float | None]) -> float:
    """Mean of the defined values; NaN if all are undefined."""
    known = [value for value in values if defined(value)]
    return fmean(known) if known else math.nan


def _falling(values: Sequence[float | None]) -> float:
    """Sort key for falling means; lists without a mean come last."""
    mean = _mean(values)
    return math.inf if math.isnan(mean) else -mean
