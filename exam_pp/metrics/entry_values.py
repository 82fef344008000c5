"""Arrays of numbers, and their ratios."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def ratio(part: Floats, whole: Floats | float) -> Floats:
    """``part / whole``; 0 where ``whole`` is 0."""
    whole = np.broadcast_to(np.asarray(whole, dtype=float), part.shape)
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)
