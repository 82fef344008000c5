"""The order of a run's passages: trec_eval's, in which the rank column never counts.

Runs are read as scores. Passages are ordered by score in single precision, and ties by descending passage id.
All measures and the fusion of runs use this order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray


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
