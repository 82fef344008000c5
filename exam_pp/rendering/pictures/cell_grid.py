"""Grids of shaded cells with names of rows and columns, as SVG shapes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

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
