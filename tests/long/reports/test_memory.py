"""The memory of verification reports."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import pytest

from exam_pp.cli.review.verification.base import Selection
from exam_pp.cli.review.verification.grading import Grading
from exam_pp.cli.review.verification.spurious import Spurious
from exam_pp.packed import LazySequence
from exam_pp.rendering.document import Report
from exam_pp.rendering.render import rendered
from tests.reports.review.verification.material import (
    BANK,
    REPORTS,
    passage,
    query,
    rated,
    summary,
    table,
)


def _peak_memory(queries: int, kind: Callable[[], Selection]) -> int:
    """The peak memory in bytes of a report on this many queries, until it is written."""
    gc.collect()
    gc.freeze()  # keeps the collections below fast
    tracemalloc.start()
    report = kind()
    for number in range(queries):
        passages = [passage(f"p{n}", rated({"q/a": 5}), relevance=[0], text="word " * 100) for n in range(20)]
        checked = query(*passages, bank=BANK)
        report.add(replace(checked, query_id=f"q{number}", text=f"query {number}"))
        del checked, passages
        gc.collect()  # else the peak depends on when garbage is collected
    assert summary(report)
    shown = REPORTS[type(report)]
    for _ in rendered(Report("t", LazySequence(lambda: shown.blocks(report))), "text"):
        pass
    for _ in rendered(Report("t", [table(report)]), "json"):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    gc.unfreeze()
    return peak


@pytest.mark.parametrize("kind", [Grading, lambda: Spurious(limit=5)], ids=["grading", "spurious"])
def test_memory_does_not_grow_with_the_queries(
    kind: Callable[[], Selection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exam_pp.packed._IN_MEMORY", 1)
    _peak_memory(20, kind)  # imports and fills caches, which would count in the first measurement
    assert _peak_memory(80, kind) < 1.3 * _peak_memory(20, kind)
