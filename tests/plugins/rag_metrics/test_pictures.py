"""Pictures of the plug-in, read by an XML parser."""

from __future__ import annotations

import pytest

from exam_pp.plugins.rag_metrics.pictures import Box, box_plot, share_bars
from exam_pp.rendering.document import Picture
from tests.rendering import test_pictures as pictures
from tests.rendering.test_pictures import number, tree


def box(name: str, low: float | None = 0.4, high: float | None = 0.7) -> Box:
    """A box whose mean, median and quartiles are different."""
    return Box(name, 0.55, low, high, (0.3, 0.5, 0.8), (0.1, 0.9), (0.0, 1.0))


def all_charts(name: str) -> list[Picture]:
    """Every chart, with ``name`` wherever a file or a user can put a name."""
    boxes = [box(name), box(f"{name}2")]
    return [box_plot(boxes, name, name, name), share_bars(boxes, name, name, name)]


def test_names_are_text_in_the_picture_and_announced() -> None:
    for picture in all_charts("name"):
        pictures.test_every_label_begins_inside_of_the_picture(picture)
        pictures.test_the_text_alternative_is_announced(picture)
    for picture in all_charts(pictures.HOSTILE):
        pictures.test_hostile_names_are_text(picture)


BOXES = box_plot([box("a"), box("b", None, None)], "F1", "Title", "95 % intervals")
SHARES = share_bars(
    [Box(name, share, None, None, (0, 0, 1), (0, 1)) for name, share in (("a", 1.0), ("b", 0.25))],
    "share", "Questions answered",
)  # fmt: skip


@pytest.mark.parametrize(
    ("picture", "labels", "description", "caption"),
    [
        (
            BOXES, ["a", "b", "F1"],
            "F1 of 2 systems. a: mean 0.550 [0.400, 0.700], median 0.500, quartiles 0.300 and 0.800. b: mean "
            "0.550, median 0.500, quartiles 0.300 and 0.800.",
            "Diamonds: means with 95 % intervals.",
        ),
        (SHARES, ["a", "b"], "share of 2 systems: a 1.000, b 0.250.", ""),
    ],
)  # fmt: skip
def test_labels_descriptions_and_captions(
    picture: Picture, labels: list[str], description: str, caption: str
) -> None:
    pictures.test_labels_descriptions_and_captions(picture, labels, description, caption)


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
