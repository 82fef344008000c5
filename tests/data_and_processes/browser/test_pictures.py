"""Pictures of HTML reports in a browser: their labels fit, in narrow windows and both themes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from exam_pp.rendering.document import Picture, Report
from exam_pp.rendering.pictures.grids import heatmap, win_matrix
from exam_pp.rendering.pictures.points import Cloud, Line, Point, clouds, lines, scatter
from exam_pp.rendering.pictures.rows import Bar, dot_plot
from exam_pp.rendering.render import render

SYSTEMS = [f"WWW-team-{n}-run_with+long.name" for n in range(75)]
LABELS_OUTSIDE = """() => [...document.querySelectorAll("svg")].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter((label) => {
    const box = label.getBoundingClientRect();
    return box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1;
  }).map((label) => label.textContent);
})"""


@pytest.fixture
def page_of_pictures(tmp_path: Path) -> Path:
    bars = [Bar(name, 1 - n / 75, 0.9 - n / 75, 1.1) for n, name in enumerate(SYSTEMS)]
    points = [Point(name, 1000 + n, n % 7) for n, name in enumerate(SYSTEMS[:30])]
    blocks = [
        dot_plot(bars, "nDCG@10", "Intervals"),
        heatmap(SYSTEMS[:5], ["enwiki:Tide", "q2"], [[0.5, 1.0]] * 5, "nDCG@10", "Small heatmap"),
        heatmap(SYSTEMS, SYSTEMS, [[n / 75 for n in range(75)]] * 75, "nDCG@10", "Large heatmap"),
        scatter(points, "words", "V", "Points"),
        clouds(
            [Cloud(name, {name: (n, n)}, [(n + 1, n)]) for n, name in enumerate(SYSTEMS[:9])], "L", "V", "C"
        ),
        lines(
            [Line(name, dict.fromkeys(SYSTEMS, n / 9), {}) for n, name in enumerate(SYSTEMS[:9])],
            SYSTEMS,
            "system",
            "score",
            "Lines",
        ),
        win_matrix(SYSTEMS[:9], [[n / 9 for n in range(9)]] * 9, "Wins"),
    ]
    return page_of(blocks, tmp_path)


def page_of(pictures: Sequence[Picture], folder: Path) -> Path:
    """A page with the pictures."""
    path = folder / "pictures.html"
    path.write_text(render(Report("Pictures", pictures), "html"), encoding="utf-8")
    return path


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1600])
def test_labels_fit(page_of_pictures: Path, browser: Any, width: int, theme: str) -> None:
    check_labels(page_of_pictures, browser, width, theme, pictures=7)


def check_labels(path: Path, browser: Any, width: int, theme: str, *, pictures: int) -> None:
    """The labels of all pictures of a page are inside of them, and the pictures inside of the window."""
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=theme)
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(LABELS_OUTSIDE) == []
    sizes = page.evaluate(
        "[...document.querySelectorAll('svg')].map((svg) => svg.getBoundingClientRect().width)"
    )
    assert len(sizes) == pictures
    assert all(150 <= size <= 1100 for size in sizes)
    page.close()
