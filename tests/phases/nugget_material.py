"""Small graded answers and banks for tests of nugget scores."""

from __future__ import annotations

from typing import Any

from exam_pp.banks import LABEL_RATINGS
from tests.conftest import passage

LABELS = {
    "S": "support",
    "P": "partial_support",
    "N": "not_support",
    "C": "contradict",
    "M": "met",
    "H": "partly_met",
    "O": "not_met",
}
RATINGS = LABEL_RATINGS
IMPORTANCE = {"v": "vital", "o": "okay", "?": "failed"}


def bank_line(query_id: str, importance: str) -> dict[str, Any]:
    """A query with nuggets n1, n2 ...; one letter each: v(ital), o(kay), ? (unknown)."""
    return {
        "query_id": query_id,
        "test_collection": "tiny",
        "query_text": f"the query {query_id}",
        "items": [
            {
                "query_id": query_id,
                "nugget_id": f"{query_id}/n{number}",
                "nugget_text": f"nugget {number} of {query_id}",
                "importance": IMPORTANCE[letter],
            }
            for number, letter in enumerate(importance, 1)
        ],
    }


def assigned(query_id: str, labels: str, model: str = "judge", **keys: Any) -> dict[str, Any]:
    """Assignments of n1, n2 ...; a letter each, S(upport), P(artial), N(ot), C(ontradict), - (ungraded).

    Of criteria: M(et), H(alf met), O (not).
    """
    result = {f"{query_id}/n{n}": LABELS.get(letter) for n, letter in enumerate(labels, 1)}
    given = {key: label for key, label in result.items() if label}
    return {
        "correctAnswered": [key for key, label in given.items() if RATINGS[label] > 0],
        "wrongAnswered": [key for key, label in given.items() if RATINGS[label] <= 0],
        "answers": [list(pair) for pair in given.items()],
        "llm_response_errors": {
            key: {"response": "historical", "prompt": "", "failure_reason": "the reply is no known label"}
            for key, label in result.items()
            if not label
        },
        "llm": model,
        "llm_options": {},
        "exam_ratio": 0.0,
        "prompt_info": {"prompt_class": "NuggetAssignment"},
        "self_ratings": [{"nugget_id": key, "self_rating": RATINGS[label]} for key, label in given.items()],
        "prompt_type": "nugget",
        "assignments": [{"nugget_id": key, "assignment": label} for key, label in given.items()],
        **keys,
    }


def answer(
    system: str, query_id: str, labels: str, words: str = "One two three.", *, part: int = 0, **models: str
) -> dict[str, Any]:
    """An answer as a passage; ``models`` are further graders with their labels."""
    passage_id = f"{system}/{query_id}" + (f"#{part}" if part else "")
    ranking = {
        "method": system, "paragraphId": passage_id, "queryId": query_id, "rank": part or 1, "score": 1.0,
    }  # fmt: skip
    grades = [assigned(query_id, labels)] if labels else []
    grades += [assigned(query_id, given, model.replace("_", ":")) for model, given in models.items()]
    return passage(
        passage_id,
        text=words,
        paragraph_data={"judgments": [], "rankings": [ranking]},
        exam_grades=grades,
    )
