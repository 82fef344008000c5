"""Passages files with answers that models and people rated by criteria."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.conftest import passage

Rated = Mapping[str, Mapping[str, int | None]]
"""Grader to criterion to rating."""


def answer(query_id: str, system: str, rated: Rated, **info: Any) -> dict[str, Any]:
    """The answer of a system to a query, a single passage, with the ratings of several graders."""
    key = f"{system}/{query_id}"
    ranking = {
        "method": system, "paragraphId": key, "queryId": query_id, "rank": 1, "score": 1.0, "role": "answer",
    }  # fmt: skip
    grades = [
        {
            "llm": grader, "prompt_info": {"prompt_class": "Criteria"} | info, "method": system,
            "ratings": [{"criterion": name, "rating": rating} for name, rating in ratings.items()],
        }
        for grader, ratings in rated.items()
    ]  # fmt: skip
    return passage(key, paragraph_data={"judgments": [], "rankings": [ranking]}, criteria_grades=grades)
