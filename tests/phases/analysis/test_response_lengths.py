"""Scores against the lengths of responses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.analysis.response_lengths import (
    LengthComparison,
    compare_lengths,
    pareto_front,
    response_lengths,
)
from exam_pp.phases.evaluation import rubric as evaluate
from exam_pp.reports.analysis.response_lengths import length_picture, length_report
from tests.conftest import passage


def test_lengths_and_the_pareto_front(tiny_passages: Path) -> None:
    """bm25 has one passage of three words for one of two queries."""
    lengths = response_lengths(tiny_passages)
    assert lengths == {"bm25": 1.5}

    evaluation = evaluate.cover(tiny_passages)
    report = length_report(compare_lengths(evaluation, lengths))
    mean = next(row.mean for row in standings(evaluation.scores))
    assert list(report.blocks[0].rows) == [["bm25", 1.5, mean, "yes"]]  # type: ignore[union-attr]


def test_the_picture_marks_the_front() -> None:
    points = {"short": (10.0, 0.5), "long": (20.0, 0.75), "worse": (30.0, 0.6)}
    picture = length_picture(LengthComparison("V_strict", points, pareto_front(points)))
    assert picture.description == (
        "3 systems: V_strict against words (mean over queries). Highest: long (words (mean over queries) 20, "
        "V_strict 0.75). Systems on the Pareto front: short, long."
    )


def test_equal_points_are_on_the_front_and_dominated_points_are_not() -> None:
    """A point is dominated by a system that is as short and better, or as good and shorter."""
    points = {"a": (10, 0.5), "same": (10, 0.5), "worse": (10, 0.25), "longer": (11, 0.5), "best": (20, 0.75)}

    assert pareto_front(points) == ["a", "same", "best"]


def test_a_rank_0_anywhere_counts_for_all_queries(write_jsonl: Callable[[str, list[Any]], Path]) -> None:
    """Cutoff 1 includes only rank 0, which is in the first query; the length is a mean over both queries."""
    lines: list[Any] = [
        [f"q{rank}", [passage("p", paragraph_data={"rankings": [
            {"method": "s", "paragraphId": "p", "queryId": f"q{rank}", "rank": rank, "score": 1.0}
        ]})]]
        for rank in (0, 1)
    ]  # fmt: skip
    path = write_jsonl("ranks.jsonl", lines)
    words = len(lines[0][1][0]["text"].split())

    assert response_lengths(path, cutoff=1) == {"s": words / 2}
    assert response_lengths(path, cutoff=2) == {"s": words}
