"""The systems that cover entries, by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from exam_pp.phases.evaluation.contents import CoveredEntry, covered_entries
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


def test_covered_entries(write_jsonl: Callable[[str, list[Any]], Path]) -> None:
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

    assert list(covered_entries(grades, None)) == [
        CoveredEntry("q1", "a", "a", ["up", "down"]),
        CoveredEntry("q1", "b", "b", ["up"]),
        CoveredEntry("q2", "c", "c", ["up"]),
        CoveredEntry("q2", "d", "d", []),
    ]
