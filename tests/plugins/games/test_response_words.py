"""Lengths of responses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from exam_pp.plugins.games.from_scores import response_words
from tests.conftest import passage


def test_a_rank_0_anywhere_counts_for_all_queries(write_jsonl: Callable[[str, list[Any]], Path]) -> None:
    """Cutoff 1 includes only rank 0, which is in the first query."""
    lines: list[Any] = [
        [f"q{rank}", [passage("p", paragraph_data={"rankings": [
            {"method": "s", "paragraphId": "p", "queryId": f"q{rank}", "rank": rank, "score": 1.0}
        ]})]]
        for rank in (0, 1)
    ]  # fmt: skip
    path = write_jsonl("ranks.jsonl", lines)
    words = len(lines[0][1][0]["text"].split())

    assert response_words(path, cutoff=1) == {"s": {"q0": words, "q1": 0}}
    assert response_words(path, cutoff=2) == {"s": {"q0": words, "q1": words}}
