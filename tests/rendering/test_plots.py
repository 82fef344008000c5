"""Figures: reproducible bytes, names, axes, formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest

from exam_pp.errors import OutputError
from exam_pp.rendering import plots

SCORES = {"a_b": 0.9, "$5": 0.5, "new": 0.4}
FIGURES: dict[str, Callable[[], plots.Figure]] = {
    "leaderboard": lambda: plots.leaderboard([plots.Bar("a_b", 0.9, 0.8, 1.0), plots.Bar("$5", 0.5)], "RR")[
        0
    ],
    "plain": lambda: plots.leaderboard([plots.Bar("a_b", 0.9)], "RR")[0],
    "ranks": lambda: plots.against_ranks(SCORES, {"a_b": 1, "$5": 2}, {"new": 2}, "RR"),
    "length": lambda: plots.against_length({"a_b": (10, 0.9), "$5": (20, 0.5)}, ["a_b"], "RR"),
    "curves": lambda: plots.curves({f"a_b {n}": [(1, 0.5), (2, 0.6)] for n in range(9)}, "grade", "tau"),
    "compared": lambda: plots.scaled_leaderboards({"one": SCORES, "two": SCORES}, list(SCORES)),
    "compared with errors": lambda: plots.scaled_leaderboards(
        {"one": SCORES}, list(SCORES), {"one": {"a_b": 0.1}}
    ),
    "distributions": lambda: plots.distributions(
        [
            plots.Panel("RR", [plots.Box("a_b", 0.5, 0.4, 0.6, (0.4, 0.5, 0.7), (0.1, 0.9), (0.0,))]),
            plots.Panel("Answered", [plots.Box("$5", 1.0, None, None, (1, 1, 1), (1, 1))], is_share=True),
        ]
    )[0],
    "heat map": lambda: plots.heat_map(["a_b", "$5"], {("a_b", "$5"): None}, "κ"),
}


@pytest.fixture(autouse=True)
def _needs_matplotlib() -> None:
    pytest.importorskip("matplotlib")


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_the_same_every_time(name: str) -> None:
    first, second = (plots.draw(FIGURES[name](), "svg") for _ in range(2))

    assert first == second
    ElementTree.fromstring(first)
    assert b"a_b" in first


def test_png() -> None:
    assert plots.draw(FIGURES["ranks"](), "png").startswith(b"\x89PNG")


@pytest.mark.parametrize(("form", "warned"), [("svg", False), ("png", True)])
def test_names_in_other_scripts(form: str, warned: bool, caplog: pytest.LogCaptureFixture) -> None:
    """SVG keeps text as text; for PNG the font of the figure lacks the characters."""
    data = plots.draw(plots.leaderboard([plots.Bar("\u7cfb\u7edf", 0.5)], "RR")[0], form)

    assert ("\u7cfb\u7edf".encode() in data) is not warned
    assert ("lacks 2 characters" in caplog.text) is warned


class Recorded:
    """Axes that record the calls of their methods."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.figure = self

    def __getattr__(self, name: str) -> Any:
        def call(*_values: Any, **style: Any) -> None:
            self.calls.append((name, style))

        return call


def test_the_best_official_rank_is_on_the_right() -> None:
    axes = Recorded()
    FIGURES["ranks"]()(axes)  # type: ignore[arg-type]

    assert ("invert_xaxis", {}) in axes.calls


@pytest.mark.parametrize(("kappa", "lowest"), [(0.4, 0.0), (-0.25, -0.25), (None, 0.0)])
def test_the_colours_of_a_heat_map_reach_down_to_negative_values(kappa: float | None, lowest: float) -> None:
    axes = Recorded()
    plots.heat_map(["a", "b"], {("a", "b"): kappa}, "κ")(axes)  # type: ignore[arg-type]
    (style,) = [style for name, style in axes.calls if name == "imshow"]

    assert (style["vmin"], style["vmax"]) == (lowest, 1)


def test_names_are_never_mathematics() -> None:
    svg = plots.draw(plots.leaderboard([plots.Bar("$x^2$", 0.5)], "RR")[0], "svg").decode()

    assert ">$x^2$</text>" in svg


def test_an_svg_with_control_characters_in_names_is_xml() -> None:
    bar = plots.Bar("a\x00\x1b[2J\x0c\ufffe é\u202e", 0.5)
    root = ElementTree.fromstring(plots.draw(plots.leaderboard([bar], "RR")[0], "svg"))
    assert "a\ufffd\ufffd[2J\ufffd\ufffd é\u202e" in root.itertext()


def test_other_formats_are_refused() -> None:
    assert plots.figure_format("a.SVG") == "svg"
    with pytest.raises(OutputError, match=r"png .*\.svg"):
        plots.figure_format("a.pdf")
