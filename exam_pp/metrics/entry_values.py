"""What systems reach on the entries of a query: the numbers below a score, for resampling banks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class EntryValues(NamedTuple):
    """What the systems reach on the bank entries of one query.

    ``values`` is systems × entries, in 0..1; a system's score on the query is the mean of its row with
    ``weights`` (0 for an entry that does not count).
    """

    values: Floats
    weights: Floats

    def scores(self) -> Floats:
        """The score of each system on this query."""
        return ratio(self.values @ self.weights, self.weights.sum())


def ratio(part: Floats, whole: Floats | float) -> Floats:
    """``part / whole``, 0 where the whole is 0."""
    whole = np.broadcast_to(np.asarray(whole, dtype=float), part.shape)
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)
