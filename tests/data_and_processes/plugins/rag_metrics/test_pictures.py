"""Pictures of the plug-in in a browser: their labels fit, in narrow windows and both themes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exam_pp.plugins.rag_metrics.pictures import Box, box_plot, share_bars
from tests.data_and_processes.browser.test_pictures import SYSTEMS, check_labels, page_of


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1600])
def test_labels_fit(tmp_path: Path, browser: Any, width: int, theme: str) -> None:
    boxes = [Box(name, 0.5, 0.4, 0.6, (0.3, 0.5, 0.7), (0.1, 0.9), [0.0]) for name in SYSTEMS]
    pictures = [
        box_plot(boxes, "nDCG@10", "Boxes", "95 % intervals"),
        share_bars(boxes[:5], "share of questions", "Shares"),
    ]
    check_labels(page_of(pictures, tmp_path), browser, width, theme, pictures=2)
