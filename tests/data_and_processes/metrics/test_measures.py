"""Nugget scores: the example of the paper, published scores of a real run, edge cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exam_pp.metrics.measures import NUGGET_METRICS
from tests.metrics.test_measures import NAMES, shares


def test_scores_of_a_real_run_are_the_published_ones(shared_data: Path) -> None:
    """TREC RAG 2024, 301 topics: nuggetizer's metrics of nuggetizer's assignments.

    Importance and assignment hold labels outside the vocabulary (40 and 26 of 6,142 nuggets).
    """

    def read(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (shared_data / "rag24" / name).read_text("utf-8").splitlines()]

    published = {row["qid"]: row for row in read("metrics.command-r-plus.jsonl")}
    topics = read("assignments.command-r-plus.jsonl")
    totals: dict[str, float] = dict.fromkeys(NUGGET_METRICS, 0.0)
    for topic in topics:
        scores = shares([(n["importance"], n["assignment"]) for n in topic["nuggets"]])
        for metric in NUGGET_METRICS:
            value = scores.get(metric, 0.0)
            assert value == pytest.approx(published[topic["qid"]][NAMES[metric]], abs=1e-9)
            totals[metric] += value
    assert len(topics) == 301
    for metric, total in totals.items():
        assert total / 301 == pytest.approx(published["all"][NAMES[metric]], abs=1e-9)
