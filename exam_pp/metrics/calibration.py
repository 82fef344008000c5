"""Calibration of probabilities against people's labels: reliability, calibration error, Brier score.

A grader that is calibrated is right in a share p of the pairs to which it gives the probability p.

Sources: Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural networks", ICML 2017, section 2
(ECE, reliability diagram); Naeini, Cooper and Hauskrecht, "Obtaining well calibrated probabilities using
Bayesian binning", AAAI 2015 (the probability of the positive class); Nixon et al., "Measuring calibration in
deep learning", CVPR workshops 2019 (bins of equal counts); Brier, "Verification of forecasts expressed in
terms of probability", Monthly Weather Review 78 (1950); Bröcker and Smith, "Increasing the reliability of
reliability diagrams", Weather and Forecasting 22 (2007) (errors of a calibrated grader).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from exam_pp.defaults import CONFIDENCE, SAMPLES
from exam_pp.metrics.agreement import Estimate
from exam_pp.metrics.entry_values import Floats, Ints
from exam_pp.metrics.uncertainty import intervals, query_counts

BINS = 10
_BLOCK = 1_000_000
"""Random numbers that are drawn at a time."""


class Bin(NamedTuple):
    """Pairs with similar probabilities.

    ``low``: Lower end of the bin; the lowest probability in a bin of equal counts. ``high``: Upper end; the
    highest probability in a bin of equal counts. ``probability``: Mean probability of the pairs.
    """

    low: float
    high: float
    pairs: int
    probability: float
    share: float


@dataclass(frozen=True)
class Calibration:
    """How well probabilities agree with labels.

    ``probability``: Mean probability. ``bias``: Mean probability minus share: positive for a grader that
    promises too much. ``adaptive_bins``: Bins of equal counts; pairs with the same probability are in the
    same bin. ``brier``: Brier score, the mean squared difference of probability and label. ``expected_ece``:
    Mean ECE of a calibrated grader with the same probabilities, which is above 0 because pairs are few.
    ``highest_ece``: ECE that such a grader exceeds with a probability of 1 - confidence.
    """

    pairs: int
    queries: int
    probability: float
    share: float
    bias: Estimate
    bins: Sequence[Bin]
    ece: Estimate
    adaptive_bins: Sequence[Bin]
    adaptive_ece: Estimate
    brier: Estimate
    expected_ece: float
    highest_ece: float


def calibration(
    queries: Sequence[Sequence[tuple[float, bool]]],
    *,
    bins: int = BINS,
    confidence: float = CONFIDENCE,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Calibration | None:
    """Compare probabilities with labels.

    ``queries``: For each query, pairs of probability (0..1) and label. Returns the numbers; None without
    pairs.
    """
    pairs = [(number, *pair) for number, query in enumerate(q for q in queries if q) for pair in query]
    if not pairs:
        return None
    query, p, y = (np.array(column) for column in zip(*pairs, strict=True))
    p, y = p.astype(float), y.astype(float)
    number = int(query.max()) + 1
    drawn = query_counts(number, samples, seed)

    def mean(values: Floats) -> Estimate:
        sums = np.bincount(query, values, number), np.bincount(query, minlength=number)
        means = (drawn @ sums[0]) / (drawn @ sums[1])
        return Estimate(float(values.mean()), intervals(means[:, None], number, confidence)[0])

    def ece(bin_of: Ints) -> Estimate:
        value = float(_errors((p - y)[None], bin_of)[0])
        cells = np.zeros((number, int(bin_of.max()) + 1))
        np.add.at(cells, (query, bin_of), p - y)
        errors = np.abs(drawn @ cells).sum(axis=1) / (drawn @ np.bincount(query, minlength=number))
        return Estimate(value, intervals(errors[:, None], number, confidence)[0])

    equal, adaptive = equal_width(p, bins), equal_counts(p, bins)
    simulated = _calibrated_errors(p, equal, samples, seed)
    return Calibration(
        len(p),
        number,
        float(p.mean()),
        float(y.mean()),
        mean(p - y),
        [
            _bin(p, y, equal == index, (index / bins, (index + 1) / bins))
            for index in np.unique(equal).tolist()
        ],
        ece(equal),
        [_bin(p, y, adaptive == index) for index in np.unique(adaptive).tolist()],
        ece(adaptive),
        mean((p - y) ** 2),
        float(simulated.mean()),
        float(np.percentile(simulated, 100 * confidence)),
    )


def equal_width(probabilities: Floats | Sequence[float], bins: int = BINS) -> Ints:
    """The number of the bin of each probability: bin m has (m / bins, (m + 1) / bins], and bin 0 also 0.

    >>> equal_width([0.0, 0.1, 0.11, 1.0]).tolist()
    [0, 0, 1, 9]
    """
    values = np.asarray(probabilities, dtype=float)
    # A sum of probabilities such as 0.1 + 0.2 is above 0.3, so products are rounded.
    numbers: Ints = np.clip(np.ceil((values * bins).round(9)).astype(np.int64) - 1, 0, bins - 1)
    return numbers


def equal_counts(probabilities: Floats | Sequence[float], bins: int = BINS) -> Ints:
    """The number of the bin of each probability, by its rank; equal probabilities have the same bin.

    >>> equal_counts([0.1, 0.2, 0.3, 0.3, 0.3, 0.9], 3).tolist()
    [0, 0, 1, 1, 1, 2]
    """
    ranks = rankdata(np.asarray(probabilities, dtype=float))
    numbers: Ints = np.asarray((ranks - 0.5) / max(1, len(ranks)) * bins, dtype=np.int64)
    return numbers


def _bin(p: Floats, y: Floats, among: NDArray[np.bool_], ends: tuple[float, float] | None = None) -> Bin:
    inside = p[among]
    low, high = ends or (float(inside.min()), float(inside.max()))
    return Bin(low, high, len(inside), float(inside.mean()), float(y[among].mean()))


def _errors(differences: Floats, bin_of: Ints) -> Floats:
    """ECE of each row of differences of probability and label: |sum in each bin|, over the pairs."""
    in_bin = np.eye(int(bin_of.max()) + 1)[bin_of]
    return np.asarray(np.abs(differences @ in_bin).sum(axis=1) / len(bin_of))


def _calibrated_errors(p: Floats, bin_of: Ints, samples: int, seed: int) -> Floats:
    """ECE of simulated labels that are drawn with the probabilities."""
    rng = np.random.default_rng(seed)
    step = max(1, _BLOCK // len(p))
    blocks = [
        _errors(p - (rng.random((min(step, samples - start), len(p))) < p), bin_of)
        for start in range(0, samples, step)
    ]
    return np.concatenate(blocks)
