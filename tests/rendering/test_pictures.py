"""Pictures of HTML reports: their marks, positions and texts, read by an XML parser."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.rendering.document import Picture, Report
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
from exam_pp.rendering.pictures.svg import HEAT, Axis, svg, svg_file, text_width
from exam_pp.rendering.render import render

HOSTILE = "<b>&\"'</svg>\n\x00]]>"


def tree(picture: Picture) -> ET.Element:
    return ET.fromstring(svg(picture, "p1"))


def texts(picture: Picture) -> list[str]:
    """The labels, without their titles."""
    return [(node[0].tail if len(node) else node.text) or "" for node in tree(picture).iter("text")]


def cells(picture: Picture) -> dict[tuple[int, int], int]:
    """(Row, column) of every cell to its level."""
    levels = {}
    for path in tree(picture).iter("path"):
        if path.get("stroke") in HEAT:
            for x, y, length in re.findall(r"M(\d+) (\d+)h(\d+)", path.get("d", "")):
                for column in range(int(x), int(x) + int(length)):
                    assert (int(y), column) not in levels
                    levels[int(y), column] = HEAT.index(path.get("stroke", ""))
    return levels


def number(node: ET.Element, name: str) -> float:
    return float(node.get(name, "nan"))


def all_charts(name: str) -> list[Picture]:
    """Every chart, with ``name`` wherever a file or a user can put a name."""
    other = f"{name}2"
    return [
        dot_plot([Bar(name, 0.5, 0.4, 0.6), Bar(other, 0.2)], name, name, name),
        heatmap([name, other], [name, other], [[0.5, None], [0.1, 1.0]], name, name),
        confusion([name, other], [name], [[1], [2]], name, row_noun=name, column_noun=name, boxed={(0, 0)}),
        scatter([Point(name, 1, 2, True), Point(other, 2, 1)], name, name, name, mark=name),
        clouds([Cloud(name, {name: (1, 2)}, [(2, 1)])], name, name, name, front=[(1, 2)], remarks=[name]),
        lines([Line(name, {name: 0.5, other: 1.0}, {name: 0.1})], [name, other], name, name, name),
        win_matrix([name, other], [[math.nan, 0.5], [0.25, math.nan]], name),
        mean_difference(
            [(1, 0.5), (2, -1)], Level(0.1, -0.2, 0.4), Level(-1, -2, 0), Level(1.2), name, items=3
        ),
        box_plot([box(name), box(other)], name, name, name),
        share_bars([box(name), box(other)], name, name, name),
    ]


def box(name: str, low: float | None = 0.4, high: float | None = 0.7) -> Box:
    """A box whose mean, median and quartiles are different."""
    return Box(name, 0.55, low, high, (0.3, 0.5, 0.8), (0.1, 0.9), (0.0, 1.0))


@pytest.mark.parametrize("picture", all_charts(HOSTILE), ids=lambda picture: picture.shapes[:4])
def test_hostile_names_are_text(picture: Picture) -> None:
    page = render(Report(HOSTILE, [picture]), "html")
    assert "<b>" not in page
    assert page.count("</svg>") == 1
    assert any("<b>&\"'" in text for node in tree(picture).iter() if (text := node.text))


@pytest.mark.parametrize("picture", all_charts("name"), ids=lambda picture: picture.shapes[:4])
def test_every_label_begins_inside_of_the_picture(picture: Picture) -> None:
    places = [(number(node, "x"), number(node, "y")) for node in tree(picture).iter("text")]
    assert [(x, y) for x, y in places if not (0 <= x <= picture.width and 0 <= y <= picture.height)] == []


@pytest.mark.parametrize("picture", all_charts("name"), ids=lambda picture: picture.shapes[:4])
def test_the_text_alternative_is_announced(picture: Picture) -> None:
    root = tree(picture)
    named = {node.get("id"): node.text for node in root if node.get("id")}
    announced = [named[name] for name in root.get("aria-labelledby", "").split()]
    assert (root.get("role"), announced) == ("img", [picture.title, picture.description])


DOTS = dot_plot(
    [Bar("a", 0.9, 0.7, 1.0), Bar("b", 0.5), Bar("undefined", math.nan), Bar("c", 0.1, 0.0, 0.4)],
    "nDCG@10", "Title", "95 % intervals",
)  # fmt: skip
BOXES = box_plot([box("a"), box("b", None, None)], "F1", "Title", "95 % intervals")
SHARES = share_bars(
    [Box(name, share, None, None, (0, 0, 1), (0, 1)) for name, share in (("a", 1.0), ("b", 0.25))],
    "share", "Questions answered",
)  # fmt: skip
HEATMAP = heatmap(
    ["weak", "strong"], ["hard", "easy", "missing"], [[0.0, 0.2, None], [0.4, 1.0, math.nan]], "nDCG@10",
    "Title",
)  # fmt: skip
CONFUSION = confusion(
    ["0", "1"], ["0", "1"], [[90, 10], [0, 1]], "Title", row_noun="before", column_noun="after",
    boxed={(0, 0), (1, 1)},
)  # fmt: skip
WINS = win_matrix(["a", "b"], [[math.nan, 0.75], [0.125, math.nan]], "Share of games won")
SCATTER = scatter(
    [Point("short", 10, 0.5, True), Point("long", 30, 0.4), Point("best", 20, 0.9, True),
     Point("none", None, 0.1), Point("nan", 1, math.nan)],
    "words", "score", "Title", mark="on the front",
)  # fmt: skip
CLOUDS = clouds(
    [Cloud("RAG", {"a": (10, 0.5), "b": (20, 0.9)}, [(9, 0.4), (11, 0.6)]), Cloud("AG", {"c": (30, 0.7)})],
    "L", "V", "Title", front=[(20, 0.9), (10, 0.5)], remarks=["τ run: 0.5"],
)  # fmt: skip
DIFFERENCES = mean_difference([(1.0, 0.0), (2.0, 2.0)], Level(1, 0, 2), None, Level(3), "d", items=9)


@pytest.mark.parametrize(
    ("picture", "labels", "description", "caption"),
    [
        (
            DOTS, ["a", "b", "c", "nDCG@10"],
            "3 systems by nDCG@10. Best: a, 0.900 [0.700, 1.000]. Worst: c, 0.100 [0.000, 0.400].",
            "95 % intervals",
        ),
        (
            BOXES, ["a", "b", "F1"],
            "F1 of 2 systems. a: mean 0.550 [0.400, 0.700], median 0.500, quartiles 0.300 and 0.800. b: mean "
            "0.550, median 0.500, quartiles 0.300 and 0.800.",
            "Diamonds: means with 95 % intervals.",
        ),
        (SHARES, ["a", "b"], "share of 2 systems: a 1.000, b 0.250.", ""),
        (
            HEATMAP, ["1.00", "0.40", "0.20", "0.00"],
            "nDCG@10 of 2 systems on 3 queries, from 0 to 1. Best system: strong, mean 0.700. Easiest query: "
            "easy, mean 0.600. Hardest query: hard, mean 0.200.",
            "",
        ),
        (
            CONFUSION, ["90", "10"],
            "before with after: 91 of 101 in the boxed cells. 0 with 0: 90; 0 with 1: 10; 1 with 1: 1.", "",
        ),
        (WINS, ["75", "12"], "", ""),
        (
            SCATTER, ["short", "long", "best"],
            "3 systems: score against words. Highest: best (words 20, score 0.9). On the front: short, best.",
            "Left out, for an undefined value: 2 systems.",
        ),
        (
            CLOUDS, ["RAG run, small: RAG query/run", "AG run", "dashed: Pareto front", "τ run: 0.5"],
            "3 runs: V against L. τ run: 0.5.", "",
        ),
        (DIFFERENCES, [], "Bias 1.000. Upper limit 3.000.", "2 of 9 items"),
    ],
    ids=["dots", "boxes", "shares", "heat map", "confusion", "wins", "scatter", "clouds",
         "differences"],
)  # fmt: skip
def test_labels_descriptions_and_captions(
    picture: Picture, labels: list[str], description: str, caption: str
) -> None:
    assert Counter(labels) <= Counter(texts(picture))
    assert description in picture.description
    assert caption in picture.caption


def test_dots_and_whiskers() -> None:
    dots, whiskers = (list(tree(DOTS).iter(tag)) for tag in ("circle", "line"))
    places = [(number(dot, "cx"), number(dot, "cy")) for dot in dots]
    assert len(places) == 3
    assert places == sorted(places, key=lambda place: -place[0]) == sorted(places, key=lambda place: place[1])
    ends = [(number(whisker, "x1"), number(whisker, "x2")) for whisker in whiskers]
    assert ends[0][0] < places[0][0] < ends[0][1]
    assert ends[1][0] < places[2][0] < ends[1][1]
    assert len(ends) == 2


def test_boxes_whiskers_outliers_and_means() -> None:
    """From left to right: outlier, whisker, box with median, whisker, outlier."""
    of_a, of_b = [node for node in tree(BOXES).iter("g") if node.find("title") is not None][:2]
    (rect,) = of_a.findall("rect")
    left, right = number(rect, "x"), number(rect, "x") + number(rect, "width")
    before, after, median = of_a.findall("line")
    first, last = of_a.findall("circle")
    assert number(before, "x2") == pytest.approx(left, abs=0.11)
    assert number(after, "x1") == pytest.approx(right, abs=0.11)
    assert left < number(median, "x1") == number(median, "x2") < right
    assert number(first, "cx") < number(before, "x1") < left
    assert right < number(after, "x2") < number(last, "cx")
    assert number(of_b.findall("circle")[0], "cy") > number(first, "cy")


def test_bars_of_shares_begin_at_zero() -> None:
    whole, quarter = tree(SHARES).iter("rect")
    assert number(whole, "x") == number(quarter, "x")
    assert number(quarter, "width") == pytest.approx(number(whole, "width") / 4, abs=0.1)


def test_heatmap() -> None:
    """Best system on top, easiest query on the left, empty cells for undefined values."""
    assert cells(HEATMAP) == {(0, 0): 5, (0, 1): 2, (1, 0): 1, (1, 1): 0}
    shown = texts(HEATMAP)
    assert shown.index("strong") < shown.index("weak")
    assert shown.index("easy") < shown.index("hard") < shown.index("missing")


@pytest.mark.parametrize(("systems", "queries"), [(75, 300), (300, 500), (1, 1), (1000, 1), (3, 30_000)])
def test_large_heatmaps_are_small_files(systems: int, queries: int) -> None:
    values = [[(row * 37 + column * 61) % 101 / 100 for column in range(queries)] for row in range(systems)]
    rows, columns = [f"s{n}" for n in range(systems)], [f"q{n}" for n in range(queries)]
    picture = heatmap(rows, columns, values, "nDCG", "Title")
    size = math.ceil(max(systems * queries / 25_000, queries / 800))
    assert len(cells(picture)) == systems * math.ceil(queries / size)
    assert (f"mean of up to {size} queries" in picture.caption) == (size > 1)
    assert len(svg(picture, "p1").encode()) < 300_000


@pytest.mark.parametrize("count", [60, 61, 100, 500])
def test_many_names_are_thinned(count: int) -> None:
    drawn = tree(dot_plot([Bar(f"system {n}", 1 - n / count) for n in range(count)], "nDCG", "Title"))
    heights = [number(node, "y") for node in drawn.iter("text") if (node.text or "").startswith("system")]
    assert min(b - a for a, b in pairwise(heights)) > 11.8
    assert len(list(drawn.iter("circle"))) == count


def test_colours_of_cells() -> None:
    """A larger share has a stronger colour; a cell without a game is empty."""
    assert cells(CONFUSION) == {(0, 0): 5, (0, 1): 0, (1, 0): 0, (1, 1): 5}
    assert set(cells(WINS)) == {(0, 1), (1, 0)}


def test_scatter() -> None:
    dots = {node[0].text: node for node in tree(SCATTER).iter("circle")}
    assert list(dots) == [
        "long: words 30, score 0.4", "short: words 10, score 0.5", "best: words 20, score 0.9",
    ]  # fmt: skip
    long, short, best = dots.values()
    assert number(short, "cx") < number(best, "cx") < number(long, "cx")
    assert number(best, "cy") < number(short, "cy") < number(long, "cy")


def test_clouds_of_two_types_and_their_front() -> None:
    """Figures 6 and 7 of the AutoNuggetizer paper: a colour for each type, small dots for single queries."""
    drawn = tree(CLOUDS)
    dots = {node[0].text: node for node in drawn.iter("circle")}
    assert list(dots) == ["a: L 10, V 0.5", "b: L 20, V 0.9", "c: L 30, V 0.7"]
    a, b, _ = dots.values()
    paths = [path.get("d", "") for path in drawn.iter("path")]
    assert f"M{number(a, 'cx')} {number(a, 'cy')}L{number(b, 'cx')} {number(b, 'cy')}" in paths
    assert [len(re.findall("h0", path)) for path in paths if "h0" in path] == [2]


def test_lines_over_systems_have_error_bars() -> None:
    """Figure 2 of EXAM++: a line skips the places that it lacks, and colours repeat with dashes."""
    picture = lines(
        [Line("m", {"a": 1.0, "c": 0.0}, {"a": 0.25}), *(Line(f"m{n}", {"b": 0.5}, {}) for n in range(6))],
        ["a", "b", "c"], "system", "score", "Title",
    )  # fmt: skip
    drawn = tree(picture)
    dots = {node[0].text: node for node in drawn.iter("circle")}
    first, last = dots["m, a: 1.000"], dots["m, c: 0.000"]
    assert number(first, "cx") < number(dots["m0, b: 0.500"], "cx") < number(last, "cx")
    paths = {path.get("d", ""): path for path in drawn.iter("path")}
    assert f"M{number(first, 'cx')} {number(first, 'cy')}L{number(last, 'cx')} {number(last, 'cy')}" in paths
    (bar,) = (route for route in paths if re.fullmatch(r"M[\d.]+ [\d.]+V[\d.]+", route))
    low, high = map(float, re.findall(r"[\d.]+", bar)[1:])
    assert (low + high) / 2 == pytest.approx(number(first, "cy"), abs=0.1)
    assert "6 3" in {path.get("stroke-dasharray") for path in paths.values()}
    assert texts(picture)[-7:] == ["m", *(f"m{n}" for n in range(6))]


def test_a_file_stacks_pictures_in_colours_that_converters_know() -> None:
    first, second = dot_plot([Bar("a", 0.5)], "m", "First"), dot_plot([Bar("b", 1.0)], "m", "Second")
    text = svg_file([first, second])
    root = ET.fromstring(text)
    assert not re.search(r'"(var\(|currentColor|Canvas|GrayText)', text)
    assert [(group[0].text, group.get("transform")) for group in root if group.tag.endswith("}g")] == [
        ("First", "translate(0 24.0)"),
        ("Second", f"translate(0 {48 + first.height:.1f})"),
    ]
    assert root.get("viewBox") == f"0 0 440 {48 + first.height + second.height:g}"


def test_a_name_that_looks_like_a_colour_stays() -> None:
    name = 'var(--c1,red) "var(--c1,red)"'
    assert name in ET.fromstring(svg_file([dot_plot([Bar(name, 0.5)], "m", name)]))[1][0].text  # type: ignore[operator]


def test_many_points_are_one_path() -> None:
    points = [Point(f"e{n}", n % 37, n % 41, n % 10 == 0) for n in range(3000)]
    picture = scatter(points, "x", "y", "Title")
    marks = [len(re.findall("h0", path.get("d", ""))) for path in tree(picture).iter("path")]
    assert sorted(marks)[-2:] == [300, 2700]
    assert len(picture.shapes) < 60_000


def test_names_of_points_do_not_overlap() -> None:
    points = [Point(f"system {n}", n % 6 + n / 100, n // 6 + n / 50) for n in range(36)]
    drawn = tree(scatter(points, "x", "y", "Title"))
    boxes = [
        (number(node, "x"), number(node, "y"), number(node, "x") + text_width(node.text or "") * 10 / 12)
        for node in drawn.iter("text")
        if (node.text or "").startswith("system")
    ]
    assert len(boxes) > 10
    for n, (left, y, right) in enumerate(boxes):
        assert not any(abs(y - b) < 10 and left < c and a < right for a, b, c in boxes[:n])


@pytest.mark.parametrize(
    "draw",
    [
        lambda: dot_plot([], "m", "t"),
        lambda: dot_plot([Bar("a", math.nan)], "m", "t"),
        lambda: dot_plot([Bar("a", 1.7e308), Bar("b", -1.7e308)], "m", "t"),
        lambda: heatmap(["a", "b"], ["q", "r"], [[1.7e308, 1.7e308], [-1.7e308, 0.0]], "m", "t"),
        lambda: heatmap([], [], [], "m", "t"),
        lambda: heatmap(["a"], ["q"], [[None]], "m", "t"),
        lambda: confusion([], [], [], "t", row_noun="r", column_noun="c"),
        lambda: scatter([], "x", "y", "t"),
        lambda: scatter([Point("a", 1, 1)], "x", "y", "t"),
        lambda: clouds([], "x", "y", "t"),
        lambda: lines([], [], "x", "y", "t"),
    ],
)
def test_little_data(draw: Callable[[], Picture]) -> None:
    picture = draw()
    assert "nan" not in svg(picture, "p1").replace(picture.description, "")
    assert tree(picture).get("viewBox") == f"0 0 {picture.width:g} {picture.height:g}"


@given(st.floats(-1e9, 1e9), st.floats(0, 1e9))
def test_ticks_are_on_the_axis(low: float, span: float) -> None:
    axis = Axis.over([low, low + span], 0, 100)
    assert 2 <= len(set(axis.ticks)) <= 7
    assert all(-1e-6 <= axis(tick) <= 100 + 1e-6 for tick in axis.ticks)


def test_differences_have_lines_at_bias_and_limits() -> None:
    """Lines and bands are at the positions of their values on the axis of the points."""
    paths = [node.get("d", "") for node in tree(DIFFERENCES).iter("path")]
    band, bias, upper = (
        sorted({float(y) for _, y in re.findall(r"([\d.]+) ([\d.]+)", path)})
        for path in paths if path.count("L")
    )  # fmt: skip
    dots = next(path for path in paths if path.endswith("h0"))
    low, high = (float(y) for _, y in re.findall(r"M([\d.]+) ([\d.]+)h0", dots))

    assert band == pytest.approx([high, low], abs=0.11)
    assert bias == pytest.approx([(low + high) / 2], abs=0.11)
    assert upper == pytest.approx([high - (low - high) / 2], abs=0.11)
