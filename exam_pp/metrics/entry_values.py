"""Scores of systems on single bank entries, from which banks are resampled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class EntryValues(NamedTuple):
    """Scores of the systems on the bank entries of a query.

    ``values`` is systems × entries, in 0..1. A system's score on the query is the mean of its row, weighted
    by ``weights`` (0 for an ignored entry).
    """

    values: Floats
    weights: Floats

    def scores(self) -> Floats:
        """Score of each system on the query."""
        return ratio(self.values @ self.weights, self.weights.sum())


def ratio(part: Floats, whole: Floats | float) -> Floats:
    """``part / whole``; 0 where ``whole`` is 0."""
    whole = np.broadcast_to(np.asarray(whole, dtype=float), part.shape)
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)
