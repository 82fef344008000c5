"""Figures as PNG or SVG, in colours that colour-blind readers can distinguish."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from warnings import catch_warnings, simplefilter, warn_explicit

from exam_pp.errors import MissingExtraError, OutputError
from exam_pp.wording import counted, for_xml

if TYPE_CHECKING:
    from matplotlib.axes import Axes

log = logging.getLogger(__name__)

_NO_GLYPH = "missing from font"
"""Part of matplotlib's warning about a character that the font does not have."""

# The palette of Okabe and Ito, "Color universal design" (2008).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = "osD^vPX"
_LINES = ("-", "--", "-.", ":")
_MAX_NAMED = 40
"""Maximum number of points with names; names of more points would overlap."""


class Box(NamedTuple):
    """The distribution of a system's scores.

    Attributes:
        system: Name of the system.
        mean: Mean.
        low: Lower end of the interval of the mean; None without an interval.
        high: Upper end of the interval of the mean; None without an interval.
        quartiles: Lower quartile, median and upper quartile.
        whiskers: Ends of the whiskers.
        outliers: Scores outside the whiskers.
    """

    system: str
    mean: float
    low: float | None
    high: float | None
    quartiles: tuple[float, float, float]
    whiskers: tuple[float, float]
    outliers: Sequence[float] = ()


class Panel(NamedTuple):
    """The boxes of a measure; if ``is_share`` is true, bars of the means."""

    measure: str
    boxes: Sequence[Box]
    is_share: bool = False


class Level(NamedTuple):
    """A value that a line marks; ``low`` and ``high`` are None without an interval."""

    value: float
    low: float | None = None
    high: float | None = None


class DifferencePanel(NamedTuple):
    """Differences of two graders against their means, with the bias and the limits of agreement."""

    title: str
    points: Sequence[tuple[float, float]]
    bias: Level
    lower: Level | None = None
    upper: Level | None = None


Figure = Callable[["Axes"], None]
"""A function that draws a figure on matplotlib axes."""
Drawing = tuple[Figure, tuple[float, float]]
"""A figure and its size in inches."""


class Bar(NamedTuple):
    """A system's score and its interval; ``low`` and ``high`` are None without an interval."""

    system: str
    value: float
    low: float | None = None
    high: float | None = None


def figure_format(path: str | Path) -> str:
    """Return ``png`` or ``svg`` by the suffix of a path; raises OutputError for other suffixes."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in ("png", "svg"):
        raise OutputError(f"{path}: the name of a figure must end with .png or .svg.")
    return suffix


def check_figure(path: str | Path) -> None:
    """Raise OutputError for the name of a figure, MissingExtraError if matplotlib is not installed."""
    figure_format(path)
    if find_spec("matplotlib") is None:
        raise MissingExtraError("A figure", "plots")


def draw(figure: Figure, form: str, *, size: tuple[float, float] = (7.0, 4.5)) -> bytes:
    """Draw a figure and return the bytes of the file, which are the same for the same data.

    Raises MissingExtraError if matplotlib is not installed.
    """
    with _style() as matplotlib_figure:
        drawing = matplotlib_figure(figsize=size, layout="constrained")
        figure(drawing.subplots())
        stream = BytesIO()
        metadata = {"Date": None} if form == "svg" else {"Software": None}
        with catch_warnings(record=True) as warnings:
            simplefilter("always")
            drawing.savefig(stream, format=form, dpi=150, metadata=metadata)
    missing = {str(warning.message) for warning in warnings if _NO_GLYPH in str(warning.message)}
    if missing and form == "png":
        log.warning(
            "The font of the figure lacks %s, drawn as empty boxes. Write an .svg file instead.",
            counted(len(missing), "character"),
        )
    for warning in warnings:
        if str(warning.message) not in missing:
            warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    drawn = stream.getvalue()
    return for_xml(drawn.decode()).encode() if form == "svg" else drawn


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
        # matplotlib would parse names of systems such as "$5" as mathematics.
        "text.parse_math": False,
    }
    with rc_context(settings):  # type: ignore[arg-type]
        yield MatplotlibFigure


def png(drawing: Drawing) -> bytes:
    """Draw a figure as PNG."""
    return draw(drawing[0], "png", size=drawing[1])


def leaderboard(bars: Sequence[Bar], measure: str) -> Drawing:
    """Plot scores from best (top) to worst with intervals; the height depends on the number of systems."""

    def figure(axes: Axes) -> None:
        heights = range(len(bars), 0, -1)
        values = [bar.value for bar in bars]
        if any(bar.low is not None for bar in bars):
            low = [bar.value - bar.low if bar.low is not None else 0.0 for bar in bars]
            high = [bar.high - bar.value if bar.high is not None else 0.0 for bar in bars]
            widths = [[max(0.0, width) for width in side] for side in (low, high)]
            axes.errorbar(values, heights, xerr=widths, fmt="o", color=COLOURS[0], capsize=2, markersize=4)
        else:
            axes.plot(values, heights, "o", color=COLOURS[0], markersize=5)
        axes.set_yticks(list(heights), [bar.system for bar in bars])
        axes.set_ylim(0.4, len(bars) + 0.6)
        axes.set_xlabel(measure)

    return figure, (7.0, max(2.0, 0.9 + 0.22 * len(bars)))


def distributions(panels: Sequence[Panel]) -> Drawing:
    """Plot a panel for each measure: boxes with means and intervals, or bars of shares."""
    heights = [0.9 + 0.3 * len(panel.boxes) for panel in panels]

    def figure(axes: Axes) -> None:
        parent = axes.figure
        assert parent is not None
        axes.remove()
        grid = parent.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
        for row, panel in zip(grid, panels, strict=True):
            _panel(row[0], panel)

    return figure, (7.0, max(2.0, sum(heights)))


def mean_differences(panels: Sequence[DifferencePanel]) -> Drawing:
    """Draw a Bland-Altman plot for each panel: points, bias and limits of agreement with their intervals."""
    columns = 1 if len(panels) == 1 else 2
    rows = -(-len(panels) // columns)

    def figure(axes: Axes) -> None:
        parent = axes.figure
        assert parent is not None
        axes.remove()
        grid = parent.subplots(rows, columns, squeeze=False)
        places = [place for row in grid for place in row]
        for place, panel in zip(places, panels, strict=False):
            _mean_difference(place, panel)
        for place in places[len(panels) :]:
            place.remove()

    return figure, (7.0, 4.5 if columns == 1 else 3.0 * rows)


def _mean_difference(axes: Axes, panel: DifferencePanel) -> None:
    for line, colour, style in (
        (panel.bias, COLOURS[1], "-"),
        (panel.lower, COLOURS[2], "--"),
        (panel.upper, COLOURS[2], "--"),
    ):
        if line is None:
            continue
        axes.axhline(line.value, color=colour, linestyle=style, linewidth=1.5)
        axes.annotate(
            f"{line.value:z.2f}", (1.0, line.value), xycoords=("axes fraction", "data"),
            xytext=(2, 0), textcoords="offset points", va="center", fontsize=7,
        )  # fmt: skip
        if line.low is not None and line.high is not None:
            axes.axhspan(line.low, line.high, color=colour, alpha=0.12, linewidth=0)
    means, differences = zip(*panel.points, strict=True)
    axes.scatter(means, differences, s=9, color=COLOURS[0], alpha=0.5, linewidths=0)
    axes.set_title(panel.title, fontsize=8)
    axes.set_xlabel("mean of both")
    axes.set_ylabel("difference")


def _panel(axes: Axes, panel: Panel) -> None:
    for height, box in zip(range(len(panel.boxes), 0, -1), panel.boxes, strict=True):
        if panel.is_share:
            axes.barh(height, box.mean, height=0.6, color=COLOURS[5])
        else:
            first, middle, third = box.quartiles
            axes.hlines(
                [height, height], [box.whiskers[0], third], [first, box.whiskers[1]], color=COLOURS[0]
            )
            axes.barh(
                height, third - first, left=first, height=0.6, facecolor="#cfe3f0", edgecolor=COLOURS[0]
            )
            axes.vlines(middle, height - 0.3, height + 0.3, color=COLOURS[0], linewidth=2)
            axes.plot(
                box.outliers, [height] * len(box.outliers), "o", color=COLOURS[0], markersize=3,
                fillstyle="none",
            )  # fmt: skip
        sides = None
        if box.low is not None and box.high is not None:
            sides = [[max(0.0, box.mean - box.low)], [max(0.0, box.high - box.mean)]]
        axes.errorbar(box.mean, height, xerr=sides, fmt="D", color=COLOURS[1], capsize=2, markersize=4)
    axes.set_yticks(range(len(panel.boxes), 0, -1), [box.system for box in panel.boxes])
    axes.set_ylim(0.4, len(panel.boxes) + 0.6)
    axes.set_xlabel(f"{panel.measure} (share of questions)" if panel.is_share else panel.measure)
    if panel.is_share:
        axes.set_xlim(0, 1.02)


def against_ranks(
    scores: Mapping[str, float], ranks: Mapping[str, float], approximate: Mapping[str, float], measure: str
) -> Figure:
    """Plot scores against official ranks, best rank on the right; ``approximate`` ranks are drawn hollow."""

    def figure(axes: Axes) -> None:
        groups = [(ranks, COLOURS[0], "official rank"), (approximate, "none", "≈ approximate rank")]
        for group_ranks, face, label in groups:
            systems = [system for system in scores if system in group_ranks]
            if systems:
                axes.scatter(
                    [group_ranks[s] for s in systems], [scores[s] for s in systems],
                    s=22, facecolors=face, edgecolors=COLOURS[face == "none"], label=label,
                )  # fmt: skip
                _name_points(axes, [(s, group_ranks[s], scores[s]) for s in systems])
        axes.invert_xaxis()
        axes.set_xlabel("official rank (1 is best)")
        axes.set_ylabel(measure)
        if any(system in approximate for system in scores):
            axes.legend(frameon=False)

    return figure


def against_length(points: Mapping[str, tuple[float, float]], front: Sequence[str], measure: str) -> Figure:
    """Plot scores against response lengths, with the systems on the Pareto front connected."""

    def figure(axes: Axes) -> None:
        rest = [point for system, point in points.items() if system not in front]
        best = sorted(points[system] for system in front)
        axes.plot(*zip(*best, strict=True), "--o", color=COLOURS[1], markersize=5, label="Pareto front")
        if rest:
            lengths, scores = zip(*rest, strict=True)
            axes.scatter(lengths, scores, s=22, color=COLOURS[0], label="other systems")
        _name_points(axes, [(system, *point) for system, point in points.items()])
        axes.set_xlabel("response length in words (mean over queries)")
        axes.set_ylabel(measure)
        axes.legend(frameon=False)

    return figure


def _name_points(axes: Axes, points: Sequence[tuple[str, float, float]]) -> None:
    if len(points) > _MAX_NAMED:
        return
    axes.margins(0.12, 0.08)  # names stay inside the frame
    for number, (name, x, y) in enumerate(sorted(points, key=lambda point: point[1:])):
        above = number % 2 == 0
        axes.annotate(
            name, (x, y), xytext=(0, 5 if above else -11), textcoords="offset points", fontsize=6, ha="center"
        )


def curves(lines: Mapping[str, Sequence[tuple[float, float]]], x: str, y: str) -> Figure:
    """Plot a line for each name, with different colours, markers and dashes."""

    def figure(axes: Axes) -> None:
        for number, (name, points) in enumerate(lines.items()):
            axes.plot(
                *zip(*points, strict=True), label=name, color=COLOURS[number % len(COLOURS)], markersize=4,
                marker=_MARKERS[number % len(_MARKERS)],
                linestyle=_LINES[number // len(COLOURS) % len(_LINES)],
            )  # fmt: skip
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.set_xticks(sorted({position for points in lines.values() for position, _ in points}))
        axes.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))

    return figure


def scaled_leaderboards(
    leaderboards: Mapping[str, Mapping[str, float]],
    order: Sequence[str],
    errors: Mapping[str, Mapping[str, float]] | None = None,
) -> Figure:
    """Plot scaled leaderboards over systems in ``order``, with error bars (EXAM++, figure 2)."""

    def figure(axes: Axes) -> None:
        positions = {system: position for position, system in enumerate(order)}
        for number, (name, scores) in enumerate(leaderboards.items()):
            shown = [system for system in order if system in scores]
            stderrs = (errors or {}).get(name, {})
            axes.errorbar(
                [positions[s] for s in shown], [scores[s] for s in shown],
                yerr=[stderrs.get(s, 0.0) for s in shown] if stderrs else None,
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
    """Plot a symmetric matrix of coefficients, with the value in each cell."""

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


def win_matrix(names: Sequence[str], shares: Sequence[Sequence[float]]) -> Drawing:
    """Plot the shares of games that the row's system won against the column's; NaN cells are empty."""

    def figure(axes: Axes) -> None:
        image = axes.imshow(shares, cmap="cividis", vmin=0, vmax=1)
        for i, row in enumerate(shares if len(names) <= _MAX_NAMED else ()):
            for j, share in enumerate(row):
                if not isnan(share):
                    colour = "black" if share > 0.5 else "white"
                    axes.text(j, i, f"{100 * share:.0f}", ha="center", va="center", fontsize=7, color=colour)
        places = range(len(names))
        axes.set_xticks(places, names, rotation=40, ha="right", rotation_mode="anchor", fontsize=7)
        axes.set_yticks(places, names, fontsize=7)
        axes.set_xlabel("against")
        axes.grid(visible=False)
        assert axes.figure is not None
        axes.figure.colorbar(image, ax=axes, label="share of games won (cells: %)")

    side = max(4.0, 2.0 + 0.35 * len(names))
    return figure, (side + 1.0, side)


def _cell(values: Mapping[tuple[str, str], float | None], row: str, column: str) -> float:
    if row == column:
        return 1.0
    value = values.get((row, column), values.get((column, row)))
    return float("nan") if value is None else value
