"""Pictures of the plug-in in a browser: their labels fit, in narrow windows and both themes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exam_pp.plugins.trust.pictures import (
    Level,
    confusion,
    mean_difference,
)
from tests.data_and_processes.browser.test_pictures import check_labels, page_of


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1600])
def test_labels_fit(tmp_path: Path, browser: Any, width: int, theme: str) -> None:
    counts = [[1000, 20], [3, 40_000]]
    points = [(n / 9, n % 3 - 1.0) for n in range(19)]
    pictures = [
        mean_difference(
            points, Level(0.1, -0.1, 0.3), Level(-1.5), Level(1.7, 1.4, 2), "Differences", items=19
        ),
        confusion(["4–5", "0+1+2+3"], ["0", "ungraded"], counts, "Counts", row_noun="a", column_noun="b"),
    ]
    check_labels(page_of(pictures, tmp_path), browser, width, theme, pictures=2)
