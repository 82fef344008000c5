"""Queries with low scores, and the systems that cover entries, by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from exam_pp.phases.evaluation.contents import CoveredEntry, HardQuery, covered_entries, hard_queries
from exam_pp.phases.evaluation.cover import cover_of
from exam_pp.phases.evaluation.selected_grades import read_selected
from tests.conftest import passage, rubric


def ranked(passage_id: str, query: str, ratings: dict[str, int], *systems: str) -> dict[str, Any]:
    rankings = [
        {"method": s, "paragraphId": passage_id, "queryId": query, "rank": 1, "score": 1.0} for s in systems
    ]
    return passage(
        passage_id,
        paragraph_data={"judgments": [], "rankings": rankings},
        exam_grades=[rubric(ratings)] if ratings else [],
    )


def test_weak_spots(write_jsonl: Callable[[str, list[Any]], Path]) -> None:
    """``up`` covers both entries of q1 and one of q2; ``down`` covers one entry of q1 and none of q2."""
    graded = write_jsonl(
        "graded.jsonl",
        [
            [
                "q1",
                [ranked("p1", "q1", {"a": 5, "b": 4}, "up"), ranked("p2", "q1", {"a": 4, "b": 3}, "down")],
            ],
            [
                "q2",
                [
                    ranked("p3", "q2", {"c": 4, "d": 0}, "up"),
                    ranked("p4", "q2", {"c": 0, "d": 1}, "down"),
                    ranked("p5", "q2", {"c": 0}),
                ],
            ],
        ],
    )
    grades = read_selected(graded, None, None, 4, None)

    assert hard_queries(cover_of(grades), grades) == [
        HardQuery("q2", "", 0.25, "up", 0.5),
        HardQuery("q1", "", 0.75, "up", 1.0),
    ]
    assert list(covered_entries(grades, None)) == [
        CoveredEntry("q1", "a", "a", 2, 2, ["up", "down"]),
        CoveredEntry("q1", "b", "b", 2, 1, ["up"]),
        CoveredEntry("q2", "c", "c", 3, 1, ["up"]),
        CoveredEntry("q2", "d", "d", 2, 0, []),
    ]
