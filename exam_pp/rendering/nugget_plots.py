"""Scatter plots of runs and of query/run pairs, with a colour and marker for each type of run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from exam_pp.rendering.plots import COLOURS, Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "os^Dv"
_RUN_COLOURS = (COLOURS[1], COLOURS[4], COLOURS[3], COLOURS[6], COLOURS[2])
_TOPIC_COLOURS = (COLOURS[0], COLOURS[5], COLOURS[2], COLOURS[3], COLOURS[4])

Points = Sequence[tuple[float, float]]


class Cloud(NamedTuple):
    """Points of one type of run, such as RAG: of runs, and of query/run pairs."""

    name: str
    runs: Points
    queries: Points = ()


def scatter(clouds: Sequence[Cloud], x: str, y: str, *, box: str = "", front: Points = ()) -> Figure:
    """Plot runs as large points and query/run pairs as small points (AutoNuggetizer paper, figures 6 and 7).

    ``box`` is a text for the top left corner, ``front`` are the points of a Pareto front.
    """

    def figure(axes: Axes) -> None:
        for number, cloud in enumerate(clouds):
            name = f"{cloud.name} " if cloud.name else ""
            marker = _MARKERS[number % len(_MARKERS)]
            small, large = (colours[number % len(colours)] for colours in (_TOPIC_COLOURS, _RUN_COLOURS))
            _draw(axes, cloud.queries, _Style(f"{name}query/run", marker, small, size=9, alpha=0.35, layer=1))
            _draw(axes, cloud.runs, _Style(f"{name}run", marker, large, size=30, alpha=1, layer=3))
        if front:
            axes.plot(
                *zip(*sorted(front), strict=True), "--", color=COLOURS[6], zorder=2, label="Pareto front"
            )
        if box:
            frame = {"facecolor": "white", "edgecolor": "#888888", "boxstyle": "round"}
            axes.text(0.02, 0.98, box, transform=axes.transAxes, va="top", fontsize=7, zorder=4, bbox=frame)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))

    return figure


class _Style(NamedTuple):
    label: str
    marker: str
    colour: str
    size: float
    alpha: float
    layer: int


def _draw(axes: Axes, points: Points, style: _Style) -> None:
    if points:
        xs, ys = zip(*points, strict=True)
        axes.scatter(
            xs, ys, s=style.size, alpha=style.alpha, label=style.label, color=style.colour,
            marker=style.marker, zorder=style.layer, linewidths=0.3, edgecolors="white",
        )  # fmt: skip
