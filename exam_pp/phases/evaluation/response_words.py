"""Lengths of responses: the words of each system's passages within the cutoff, by query."""

from __future__ import annotations

import sys

from exam_pp.data_model import Role
from exam_pp.defaults import CUTOFF
from exam_pp.metrics.grade_masks import GradedQuery
from exam_pp.phases.evaluation.inputs import Passages, views


def response_words(
    passages: Passages, *, cutoff: int | None = CUTOFF, role: Role | None = None
) -> dict[str, dict[str, int]]:
    """Count the words of the response of each system to each query.

    ``cutoff``: Number of ranks of each system that count. None: all. Returns system to query id to the number
    of words, for all queries of the file; 0 without results.
    """
    ranked: dict[str, GradedQuery] = {}
    lengths: dict[tuple[str, int], int] = {}
    first_ranks: dict[str, int] = {}
    for line in views(passages, role):
        query = ranked.setdefault(line.query_id, GradedQuery(line.query_id, {}))
        for passage in line.passages:
            query.add(passage, [], soft=False, closed=False)
            lengths[line.query_id, len(query.passages) - 1] = len(passage.text.split())
            for ranking in passage.rankings:
                first = first_ranks.get(ranking.method, 1)
                first_ranks[ranking.method] = 0 if ranking.rank == 0 else first
    depth = sys.maxsize if cutoff is None else cutoff
    return {
        system: {
            query_id: sum(lengths[query_id, index] for index in query.top(system, first_rank, depth))
            for query_id, query in ranked.items()
        }
        for system, first_rank in first_ranks.items()
    }
