"""Figures: data in, the bytes of a PNG or SVG out. The colours are safe for the colour-blind."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from warnings import catch_warnings, simplefilter, warn_explicit

from exam_pp.errors import MissingExtraError, OutputError
from exam_pp.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

log = logging.getLogger(__name__)

_NO_GLYPH = "missing from font"
"""In what matplotlib warns of."""

# The palette of Okabe and Ito, "Color universal design" (2008).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = "osD^vPX"
_LINES = ("-", "--", "-.", ":")
_MOST_NAMED = 40
"""Points that get their name beside them; more would cover each other."""

Figure = Callable[["Axes"], None]
"""What a figure draws."""
Drawing = tuple[Figure, tuple[float, float]]
"""A figure and its size in inches."""


class Bar(NamedTuple):
    """A system's score; ``low`` and ``high`` are its interval, where there is one."""

    system: str
    value: float
    low: float | None = None
    high: float | None = None


def figure_format(path: str | Path) -> str:
    """``png`` or ``svg``, by the file's name; raises :class:`OutputError` for others."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in ("png", "svg"):
        raise OutputError(f"{path}: figures are written as .png or .svg.")
    return suffix


def draw(figure: Figure, form: str, *, size: tuple[float, float] = (7.0, 4.5)) -> bytes:
    """The figure as a file of that format, the same bytes for the same data.

    Raises :class:`MissingExtraError` without matplotlib.
    """
    with _style() as matplotlib_figure:
        drawing = matplotlib_figure(figsize=size, layout="constrained")
        figure(drawing.subplots())
        stream = BytesIO()
        metadata = {"Date": None} if form == "svg" else {"Software": None}
        with catch_warnings(record=True) as caught:
            simplefilter("always")
            drawing.savefig(stream, format=form, dpi=150, metadata=metadata)
    lacking = {str(found.message) for found in caught if _NO_GLYPH in str(found.message)}
    if lacking and form == "png":
        log.warning(
            "The font of the figure lacks %s, drawn as boxes (.svg keeps them).",
            counted(len(lacking), "character"),
        )
    for found in caught:
        if str(found.message) not in lacking:
            warn_explicit(found.message, found.category, found.filename, found.lineno)
    return stream.getvalue()


@contextmanager
def _style() -> Iterator[Any]:
    try:
        from matplotlib import rc_context  # noqa: PLC0415 - optional, slow to import
        from matplotlib.figure import Figure as MatplotlibFigure  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("A figure", "plots") from error
    settings = {
        "svg.hashsalt": "exam_pp",
        "svg.fonttype": "none",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#dddddd",
        "axes.axisbelow": True,
        # A system may be called "$5" or "a_b": names are never mathematics.
        "text.parse_math": False,
    }
    with rc_context(settings):  # type: ignore[arg-type]
        yield MatplotlibFigure


def png(drawing: Drawing) -> bytes:
    """A figure for a page."""
    return draw(drawing[0], "png", size=drawing[1])


def leaderboard(bars: Sequence[Bar], measure: str) -> Drawing:
    """Scores from best (top) to worst, with intervals; and the size that the number of systems needs."""

    def figure(axes: Axes) -> None:
        places = range(len(bars), 0, -1)
        values = [bar.value for bar in bars]
        if any(bar.low is not None for bar in bars):
            low = [bar.value - bar.low if bar.low is not None else 0.0 for bar in bars]
            high = [bar.high - bar.value if bar.high is not None else 0.0 for bar in bars]
            widths = [[max(0.0, width) for width in side] for side in (low, high)]
            axes.errorbar(values, places, xerr=widths, fmt="o", color=COLOURS[0], capsize=2, markersize=4)
        else:
            axes.plot(values, places, "o", color=COLOURS[0], markersize=5)
        axes.set_yticks(list(places), [bar.system for bar in bars])
        axes.set_ylim(0.4, len(bars) + 0.6)
        axes.set_xlabel(measure)

    return figure, (7.0, max(2.0, 0.9 + 0.22 * len(bars)))


def against_ranks(
    scores: Mapping[str, float], ranks: Mapping[str, float], approximate: Mapping[str, float], measure: str
) -> Figure:
    """Scores against official ranks, best on the right; systems without one at an approximate rank."""

    def figure(axes: Axes) -> None:
        groups = [(ranks, COLOURS[0], "official rank"), (approximate, "none", "≈ approximate rank")]
        for places, face, label in groups:
            named = [system for system in scores if system in places]
            if named:
                axes.scatter(
                    [places[s] for s in named], [scores[s] for s in named],
                    s=22, facecolors=face, edgecolors=COLOURS[face == "none"], label=label,
                )  # fmt: skip
                _name_points(axes, [(s, places[s], scores[s]) for s in named])
        axes.invert_xaxis()
        axes.set_xlabel("official rank (1 is best)")
        axes.set_ylabel(measure)
        if any(system in approximate for system in scores):
            axes.legend(frameon=False)

    return figure


def against_length(points: Mapping[str, tuple[float, float]], front: Sequence[str], measure: str) -> Figure:
    """Scores against the length of responses, with the systems that no shorter one beats (Pareto front)."""

    def figure(axes: Axes) -> None:
        rest = [point for system, point in points.items() if system not in front]
        best = sorted(points[system] for system in front)
        axes.plot(*zip(*best, strict=True), "--o", color=COLOURS[1], markersize=5, label="Pareto front")
        if rest:
            lengths, scores = zip(*rest, strict=True)
            axes.scatter(lengths, scores, s=22, color=COLOURS[0], label="other systems")
        _name_points(axes, [(system, *point) for system, point in points.items()])
        axes.set_xlabel("words of the response (mean over queries)")
        axes.set_ylabel(measure)
        axes.legend(frameon=False)

    return figure


def _name_points(axes: Axes, points: Sequence[tuple[str, float, float]]) -> None:
    if len(points) > _MOST_NAMED:
        return
    axes.margins(0.12, 0.08)  # names stay inside the frame
    for number, (name, x, y) in enumerate(sorted(points, key=lambda point: point[1:])):
        above = number % 2 == 0
        axes.annotate(
            name, (x, y), xytext=(0, 5 if above else -11), textcoords="offset points", fontsize=6, ha="center"
        )


def curves(lines: Mapping[str, Sequence[tuple[float, float]]], x: str, y: str) -> Figure:
    """One line for each name, told apart by colour, marker and dashes."""

    def figure(axes: Axes) -> None:
        for number, (name, points) in enumerate(lines.items()):
            axes.plot(
                *zip(*points, strict=True), label=name, color=COLOURS[number % len(COLOURS)], markersize=4,
                marker=_MARKERS[number % len(_MARKERS)],
                linestyle=_LINES[number // len(COLOURS) % len(_LINES)],
            )  # fmt: skip
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.set_xticks(sorted({place for points in lines.values() for place, _ in points}))
        axes.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))

    return figure


def compared(
    boards: Mapping[str, Mapping[str, float]],
    order: Sequence[str],
    errors: Mapping[str, Mapping[str, float]] | None = None,
) -> Figure:
    """Several boards, each scaled to 0..1, over systems in one order, with error bars (EXAM++, figure 2)."""

    def figure(axes: Axes) -> None:
        places = {system: place for place, system in enumerate(order)}
        for number, (name, scores) in enumerate(boards.items()):
            shown = [system for system in order if system in scores]
            of_board = (errors or {}).get(name, {})
            axes.errorbar(
                [places[s] for s in shown], [scores[s] for s in shown],
                yerr=[of_board.get(s, 0.0) for s in shown] if of_board else None,
                label=name, markersize=4, linewidth=1, capsize=2, elinewidth=0.6,
                color=COLOURS[number % len(COLOURS)], marker=_MARKERS[number % len(_MARKERS)],
                linestyle=_LINES[number // len(COLOURS) % len(_LINES)],
            )  # fmt: skip
        axes.set_xticks(range(len(order)), order, rotation=60, ha="right", rotation_mode="anchor", fontsize=7)
        bars = any((errors or {}).values())
        axes.set_ylabel("score, min–max scaled" + (", ± standard error" if bars else ""))
        axes.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))

    return figure


def heat_map(names: Sequence[str], values: Mapping[tuple[str, str], float | None], label: str) -> Figure:
    """A symmetric matrix of coefficients, each cell with its number."""

    def figure(axes: Axes) -> None:
        known = [value for value in values.values() if value is not None]
        grid = [[_cell(values, row, column) for column in names] for row in names]
        image = axes.imshow(grid, cmap="cividis", vmin=min([0.0, *known]), vmax=1)
        for i, row in enumerate(grid):
            for j, value in enumerate(row):
                if not isnan(value):
                    axes.text(
                        j, i, f"{value:z.2f}", ha="center", va="center", fontsize=8,
                        color="black" if value > 0.5 else "white",
                    )  # fmt: skip
        axes.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor", fontsize=7)
        axes.set_yticks(range(len(names)), names, fontsize=7)
        axes.grid(visible=False)
        assert axes.figure is not None
        axes.figure.colorbar(image, ax=axes, label=label)

    return figure


def _cell(values: Mapping[tuple[str, str], float | None], row: str, column: str) -> float:
    if row == column:
        return 1.0
    value = values.get((row, column), values.get((column, row)))
    return float("nan") if value is None else value
