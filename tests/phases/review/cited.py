"""An answer with three citations, of which the file has two passages, graded by one model."""

from __future__ import annotations

from typing import Any

FULL, PARTIAL, NO = "full_support", "partial_support", "no_support"


def answer_lines() -> list[Any]:
    """The line of a passages file: the passages A and B, and a part that cites A, B and a missing passage."""
    ranking = {
        "method": "rag", "paragraphId": "rag/q#1", "queryId": "q", "rank": 1, "score": 1.0,
        "role": "answer", "citations": ["A", "B", "gone"],
    }  # fmt: skip
    grades = {
        "llm": "judge", "prompt_info": {"prompt_class": "CitationSupport"},
        "supports": [
            {"citation": "A", "support": FULL, "answer": "full_support"},
            {"citation": "B", "support": PARTIAL, "answer": "I say: partial_support"},
        ],
    }  # fmt: skip
    part = {
        "paragraph_id": "rag/q#1", "text": "bees dance and wasps sting",
        "paragraph_data": {"judgments": [], "rankings": [ranking]}, "support_grades": [grades], "x": {"b": 1},
    }  # fmt: skip
    sources = [{"paragraph_id": "A", "text": "bees dance"}, {"paragraph_id": "B", "text": "bees sting"}]
    return [["q", [*sources, part]]]
