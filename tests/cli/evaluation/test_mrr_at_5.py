"""MRR@5 at two thresholds, from direct grades 0 to 2 (equation 3 and Table 4 of RAGElo)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from tests.conftest import passage

WriteJsonl = Callable[[str, list[Any]], Path]

RATINGS = {
    "q1": [0, 1, 2],  # 1/2 for somewhat or very relevant, 1/3 for very relevant
    "q2": [0, 0, 0, 0, 1, 2],  # 1/5 and 0, as the first very relevant document is behind rank 5
    "q3": [2],  # 1 and 1
    "q4": [0, 0, 0, 0, 0, 2],  # 0 and 0
    "q5": [0, 0],  # 0 and 0: the mean is over all queries, also those without relevant documents
}
SOMEWHAT = (1 / 2 + 1 / 5 + 1 + 0 + 0) / 5
VERY = (1 / 3 + 0 + 1 + 0 + 0) / 5
MEASURES = ("-m", "RR(rel=1)@5", "-m", "RR(rel=2)@5", "--format", "json")


@pytest.fixture
def graded(write_jsonl: WriteJsonl) -> Path:
    return write_jsonl(
        "graded.jsonl",
        [
            [query_id, [_document(query_id, rank, rating) for rank, rating in enumerate(ratings, 1)]]
            for query_id, ratings in RATINGS.items()
        ],
    )


def _document(query_id: str, rank: int, rating: int) -> dict[str, Any]:
    key = f"{query_id}-{rank}"
    document = passage(key)
    ranking = {"method": "s", "paragraphId": key, "queryId": query_id, "rank": rank, "score": 1 / rank}
    document["paragraph_data"] = {"judgments": [], "rankings": [ranking]}
    document["exam_grades"] = []
    document["grades"] = [
        {
            "correctAnswered": rating > 0,
            "answer": str(rating),
            "llm": "m",
            "llm_options": {},
            "prompt_info": {"prompt_class": "Reasoner", "is_self_rated": True},
            "self_ratings": rating,
            "prompt_type": "direct_grading",
            "relevance_label": rating,
        }
    ]
    return document


def means(capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    (row,) = json.loads(capsys.readouterr().out)["tables"][0]["rows"]
    return {name: row[name] for name in ("RR@5", "RR(rel=2)@5")}


def test_direct_grades(graded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["-q", "evaluate", "qrels", str(graded), *MEASURES])
    assert means(capsys) == pytest.approx({"RR@5": SOMEWHAT, "RR(rel=2)@5": VERY})


def test_judgments(tmp_path: Path, graded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same through qrels and a run file, as for judgments of people."""
    qrels, runs = tmp_path / "labels.qrels", tmp_path / "runs"
    main(["-q", "convert", str(graded), "--to", "run", "-o", str(runs)])
    main(["-q", "evaluate", "qrels", str(graded), *MEASURES, "--also", f"qrels={qrels!s}"])
    capsys.readouterr()
    main(["-q", "evaluate", "judgments", str(qrels), "--runs", str(runs), *MEASURES])
    assert means(capsys) == pytest.approx({"RR@5": SOMEWHAT, "RR(rel=2)@5": VERY})
