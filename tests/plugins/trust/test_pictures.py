"""Pictures of the plug-in, read by an XML parser."""

from __future__ import annotations

import re

import pytest

from exam_pp.plugins.trust.pictures import (
    Level,
    confusion,
    mean_difference,
)
from exam_pp.rendering.document import Picture
from tests.rendering import test_pictures as pictures
from tests.rendering.test_pictures import tree


def all_charts(name: str) -> list[Picture]:
    """Every chart, with ``name`` wherever a file or a user can put a name."""
    other = f"{name}2"
    return [
        confusion([name, other], [name], [[1], [2]], name, row_noun=name, column_noun=name, boxed={(0, 0)}),
        mean_difference(
            [(1, 0.5), (2, -1)], Level(0.1, -0.2, 0.4), Level(-1, -2, 0), Level(1.2), name, items=3
        ),
    ]


def test_names_are_text_in_the_picture_and_announced() -> None:
    for picture in all_charts("name"):
        pictures.test_every_label_begins_inside_of_the_picture(picture)
        pictures.test_the_text_alternative_is_announced(picture)
    for picture in all_charts(pictures.HOSTILE):
        pictures.test_hostile_names_are_text(picture)


CONFUSION = confusion(
    ["0", "1"], ["0", "1"], [[90, 10], [0, 1]], "Title", row_noun="before", column_noun="after",
    boxed={(0, 0), (1, 1)},
)  # fmt: skip
DIFFERENCES = mean_difference([(1.0, 0.0), (2.0, 2.0)], Level(1, 0, 2), None, Level(3), "d", items=9)


@pytest.mark.parametrize(
    ("picture", "labels", "description", "caption"),
    [
        (
            CONFUSION, ["90", "10"],
            "before with after: 91 of 101 in the boxed cells. 0 with 0: 90; 0 with 1: 10; 1 with 1: 1.", "",
        ),
        (DIFFERENCES, [], "Bias 1.000. Upper limit 3.000.", "2 of 9 items"),
    ],
)  # fmt: skip
def test_labels_descriptions_and_captions(
    picture: Picture, labels: list[str], description: str, caption: str
) -> None:
    pictures.test_labels_descriptions_and_captions(picture, labels, description, caption)


def test_little_data() -> None:
    pictures.test_little_data(lambda: confusion([], [], [], "t", row_noun="r", column_noun="c"))


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


def test_colours_of_cells() -> None:
    """A larger share of a row has a stronger colour."""
    assert pictures.cells(CONFUSION) == {(0, 0): 5, (0, 1): 0, (1, 0): 0, (1, 1): 5}
