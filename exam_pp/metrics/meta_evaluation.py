"""Meta-evaluation: Kendall's τ of two conditions over runs, over query/run pairs, and by query."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from typing import NamedTuple

from exam_pp.metrics.correlation import kendall

Cells = Mapping[tuple[str, str], float]
"""(run, query) to score."""


class MetaEvaluation(NamedTuple):
    """Agreement of two conditions; None where a correlation is undefined.

    ``by_run`` is τ-b of the runs' means, ``pooled`` that of all query/run pairs as single observations,
    ``by_query`` the mean over queries of τ-b of the runs on that query. ``queries_used`` counts the queries
    for which τ-b is defined.
    """

    runs: int
    by_run: float | None
    pairs: int
    pooled: float | None
    queries: int
    queries_used: int
    by_query: float | None


def meta_evaluation(
    first_means: Mapping[str, float], second_means: Mapping[str, float], first: Cells, second: Cells
) -> MetaEvaluation:
    """Agreement of two conditions over the runs and queries that both have.

    Source: Pradeep et al., "Initial Nugget Evaluation Results for the TREC 2024 RAG Track with the
    AutoNuggetizer Framework" (2024), section 4 and figure 6.
    """
    runs = [run for run in first_means if run in second_means]
    pairs = [pair for pair in first if pair in second]
    by_query: dict[str, list[tuple[str, str]]] = {}
    for pair in pairs:
        by_query.setdefault(pair[1], []).append(pair)
    per_query = [
        kendall([first[pair] for pair in of_query], [second[pair] for pair in of_query])
        for of_query in by_query.values()
    ]
    defined = [tau for tau in per_query if tau is not None]
    return MetaEvaluation(
        len(runs),
        kendall([first_means[run] for run in runs], [second_means[run] for run in runs]),
        len(pairs),
        kendall([first[pair] for pair in pairs], [second[pair] for pair in pairs]),
        len(by_query),
        len(defined),
        fsum(defined) / len(defined) if defined else None,
    )
