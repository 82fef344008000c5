"""Table 5 of Rackauckas et al., "Evaluating RAG-Fusion with RAGElo" (2024), as 3,000 games.

A cell is the percentage of 200 games that the system of the row won against that of the column; the rest of
both cells are ties. The paper has no outcomes of single queries, so those of a pair are in random order.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from exam_pp.grade_filter import GradeKey
from exam_pp.plugins.games.outcomes import Outcome

JUDGE = GradeKey("gpt-4o", "PairwiseAnswerEvaluator")
QUERIES = 200
SYSTEMS = ("RAG BM25", "RAGF BM25", "RAG KNN", "RAGF KNN", "RAG Hybrid", "RAGF Hybrid")
TABLE_5 = (
    (0.0, 14.5, 49.5, 52.5, 29.0, 28.5),
    (49.0, 0.0, 58.5, 51.5, 53.5, 30.5),
    (33.0, 27.0, 0.0, 20.0, 26.0, 31.0),
    (34.5, 30.0, 37.0, 0.0, 30.5, 32.0),
    (41.5, 21.0, 51.5, 48.0, 0.0, 20.5),
    (46.0, 35.0, 49.0, 45.5, 43.5, 0.0),
)
TABLE_6 = {
    "RAGF BM25": 571, "RAGF Hybrid": 550, "RAG Hybrid": 497, "RAG BM25": 487, "RAGF KNN": 470, "RAG KNN": 436,
}  # fmt: skip


def table_5_games() -> list[Outcome]:
    """The outcomes of table 5."""
    rng = np.random.default_rng(1)
    games = []
    for a, b in combinations(range(len(SYSTEMS)), 2):
        won, lost = (round(share * QUERIES / 100) for share in (TABLE_5[a][b], TABLE_5[b][a]))
        scores = [1.0] * won + [0.0] * lost + [0.5] * (QUERIES - won - lost)
        rng.shuffle(scores)
        games += [Outcome(f"q{query}", SYSTEMS[a], SYSTEMS[b], score) for query, score in enumerate(scores)]
    return games
