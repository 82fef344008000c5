"""The orders of a run's passages: by rank, and trec_eval's, in which the rank column never counts.

trec_eval orders passages by score in single precision, and ties by descending passage id. All measures of run
files and the fusion of runs use this order. The pool of an import and Rubric-Cover use the ranks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from exam_pp.results import RunLine, best_first
from exam_pp.text.wording import counted


def trec_eval_order(scores: NDArray[np.float64], passage_ids: Collection[str]) -> NDArray[np.intp]:
    """Indices of the passages, best first: by score in single precision, then by descending id."""
    with np.errstate(over="ignore"):  # large scores become infinite, as in trec_eval
        single = scores.astype(np.float32)
    if not (single[1:] >= single[:-1]).any():
        return np.arange(len(single))
    # UTF-8 bytes sort like code points.
    ids = np.array([passage_id.encode("utf-8", "surrogatepass") for passage_id in passage_ids], np.bytes_)
    return np.lexsort((ids, single))[::-1]


def trec_eval_ranking(scores: Mapping[str, float]) -> list[str]:
    """The passages of a query, by their scores, in the order of :func:`trec_eval_order`."""
    passage_ids = list(scores)
    values = np.fromiter(scores.values(), np.float64, len(scores))
    return [passage_ids[index] for index in trec_eval_order(values, passage_ids)]


def order_problem(rankings: Iterable[Sequence[RunLine]], *, ties: bool = True) -> str | None:
    """What to know of a run whose ranks and scores order its passages differently; None if they agree.

    A ranking has the lines of one system and query. Without ``ties``, equal scores may be in any order.
    """
    total = elsewhere = 0
    examples: list[tuple[bool, str]] = []
    for total, ranking in enumerate(rankings, 1):  # noqa: B007 - the number of rankings is used below
        ranked = best_first(ranking)
        scores = {line.passage_id: line.score for line in ranked}
        pairs = [(a, b) for a, b in zip(ranked, trec_eval_ranking(scores), strict=False) if a.passage_id != b]
        for a, b in pairs[:1]:
            elsewhere += len(pairs)
            rises = any(np.float32(x) < np.float32(y) for x, y in pairwise(scores.values()))
            example = f"{a.passage_id} (score {a.score:g}) before {b} (score {scores[b]:g})"
            examples.append((rises, f"{example} at rank {a.rank} of query {a.query_id}"))
    rises, example = max(examples, key=itemgetter(0), default=(False, ""))
    if not (rises or (ties and examples)):
        return None
    return (
        f"the ranks are not trec_eval's order (score, then id, both descending) in {len(examples)} of "
        f"{counted(total, 'ranking')}, for {counted(elsewhere, 'line')}, "
        f"{'since scores rise with the rank' if rises else 'by ties only'}, such as {example}. The pool and "
        "Cover use the ranks, measures of run files trec_eval's order"
    )
