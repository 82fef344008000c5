"""Rankings of facets (``query/facet``) as rankings of their title query."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Literal

from exam_pp.results import RunLine

FacetRankings = Literal["title", "keep", "facet"]
"""The place of the ranking of a facet.

``title``: the rankings of all facets become one ranking of the query. ``keep``: the rankings are stored with
the query, each with the id of its facet. ``facet``: a facet is a query of its own.
"""


def title_query(query_id: str, known: Collection[str], *, guess: bool) -> str:
    """The title query of ``query`` or ``query/facet``."""
    title = query_id
    while title not in known and "/" in title:
        title = title.rpartition("/")[0]
    if title in known:
        return title
    return (query_id.partition("/")[0] or query_id) if guess else query_id


def merged_ranking(
    rankings: Mapping[str, Sequence[RunLine]], query_id: str, facets: Collection[str] = ()
) -> Sequence[RunLine]:
    """Merge the rankings of a query and its facets: the first passage of each, the second of each, and so on.

    The query comes first, then its facets. A passage counts at the first place at which it occurs. Scores are
    ignored, because systems score each facet on its own scale.

    ``facets``: Ids of facets in the order of the query; other facets follow in the order of ``rankings``.
    Returns the lines, best first, with ranks from 1 and scores *n*, *n* - 1 ... 1. If no facet has a ranking,
    the unchanged lines of the query.
    """
    if rankings.keys() <= {query_id}:
        return rankings.get(query_id, ())
    order = dict.fromkeys((query_id, *facets, *rankings))
    ordered = (best_first(rankings[key]) for key in order if key in rankings)
    merged: dict[str, RunLine] = {}
    for line in chain.from_iterable(zip_longest(*ordered)):
        if line is not None:
            merged.setdefault(line.passage_id, line)
    return [
        line._replace(query_id=query_id, rank=rank, score=float(len(merged) - rank + 1))
        for rank, line in enumerate(merged.values(), 1)
    ]


def best_first(lines: Iterable[RunLine]) -> list[RunLine]:
    """Order the lines of a ranking by rank, equal ranks by descending score, then as they are."""
    return sorted(lines, key=lambda line: (line.rank, -line.score))
