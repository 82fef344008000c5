"""Pictures of tables as shaded cells: heatmaps, confusion matrices and coefficients of pairs."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from statistics import fmean

from exam_pp.rendering.document import Picture
from exam_pp.rendering.pictures.cell_grid import cell_grid
from exam_pp.rendering.pictures.svg import HEAT, defined, element, label, some, text_width
from exam_pp.rendering.short_names import shortened
from exam_pp.wording import counted

_MAX_CELLS = 25_000
_MAX_COLUMNS = 800
"""Maximum sizes of a heatmap; beyond them, neighbouring columns are averaged."""


def heatmap(
    systems: Sequence[str],
    queries: Sequence[str],
    values: Sequence[Sequence[float | None]],
    measure: str,
    title: str,
) -> Picture:
    """Draw the values of systems (rows) on queries (columns) as coloured cells.

    The best systems are on top and the easiest queries on the left, by their means. Cells without a value
    stay empty. With more than 25,000 cells or 800 queries, a column is the mean of neighbouring queries.
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
    texts = [[f"{value:.2f}" if defined(value) else "" for value in row] for row in means]
    grid, width, height = cell_grid([name for name, _ in rows], names, shades, texts)
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


def win_matrix(systems: Sequence[str], shares: Sequence[Sequence[float]], title: str) -> Picture:
    """Draw the shares of games that the system of a row won against that of a column; NaN stays empty."""
    texts = [["" if math.isnan(share) else f"{100 * share:.0f}" for share in row] for row in shares]
    short = shortened(systems)
    grid, width, height = cell_grid(short, short, shares, texts)
    description = f"{title}, in %: {', '.join(systems)}."
    caption = "Rows: the winner. Columns: its opponent. The rest of both shares are ties."
    return Picture(title, description, caption, width, height, grid)


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
