"""Pictures of HTML reports in a browser: their labels fit, in narrow windows and both themes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exam_pp.rendering.document import Report
from exam_pp.rendering.pictures.grids import confusion, heatmap, win_matrix
from exam_pp.rendering.pictures.points import (
    Cloud,
    Level,
    Line,
    Point,
    clouds,
    lines,
    mean_difference,
    scatter,
)
from exam_pp.rendering.pictures.rows import Bar, Box, box_plot, dot_plot, share_bars
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
    counts = [[1000, 20], [3, 40_000]]
    boxes = [Box(name, 0.5, 0.4, 0.6, (0.3, 0.5, 0.7), (0.1, 0.9), [0.0]) for name in SYSTEMS]
    blocks = [
        dot_plot(bars, "nDCG@10", "Intervals"),
        heatmap(SYSTEMS[:5], ["enwiki:Tide", "q2"], [[0.5, 1.0]] * 5, "nDCG@10", "Small heatmap"),
        heatmap(SYSTEMS, SYSTEMS, [[n / 75 for n in range(75)]] * 75, "nDCG@10", "Large heatmap"),
        scatter(points, "words", "V", "Points"),
        mean_difference(
            [(n / 9, n % 3 - 1.0) for n in range(19)],
            Level(0.1, -0.1, 0.3),
            Level(-1.5),
            Level(1.7, 1.4, 2),
            "Differences",
            items=19,
        ),
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
        confusion(["4–5", "0+1+2+3"], ["0", "ungraded"], counts, "Counts", row_noun="a", column_noun="b"),
        box_plot(boxes, "nDCG@10", "Boxes", "95 % intervals"),
        share_bars(boxes[:5], "share of questions", "Shares"),
    ]
    path = tmp_path / "pictures.html"
    path.write_text(render(Report("Pictures", blocks), "html"), encoding="utf-8")
    return path


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1600])
def test_labels_fit(page_of_pictures: Path, browser: Any, width: int, theme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=theme)
    page.goto(page_of_pictures.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(LABELS_OUTSIDE) == []
    sizes = page.evaluate(
        "[...document.querySelectorAll('svg')].map((svg) => svg.getBoundingClientRect().width)"
    )
    assert len(sizes) == 11
    assert all(150 <= size <= 1100 for size in sizes)
    page.close()
