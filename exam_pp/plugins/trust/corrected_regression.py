"""Predictions of people's labels by regression on the judge's ratings, and scores that are weighted sums.

A score is Σ c h over units: pairs, or entries that were drawn as a whole. People's values h are known for the
drawn units, which have the probabilities π. With predictions ŷ for all units,

    x = Σ c ŷ + Σ_drawn (c / π) (h − ŷ),     Var(x) ≈ Σ_drawn (c / π)² (h − ŷ)² (1 − π).

The second sum corrects whatever is wrong with ŷ, so no assumption about the judge is needed; good predictions
make the variance small. ŷ is from least squares of h with the weights c / π on an indicator of each rating of
the judge, or on its score of a whole entry. A judge that says nothing thus costs nothing: ŷ is then the mean
label.

Sources: Särndal, Swensson and Wretman, "Model Assisted Survey Sampling" (1992), sections 6.4 and 6.5
(regression estimator); Angelopoulos, Duchi and Zrnic, "PPI++: Efficient prediction-powered inference",
arXiv:2311.01453 (2023), here with an intercept.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exam_pp.metrics.entry_values import Bools, Floats
from exam_pp.plugins.trust.corrected_groups import FEWEST_ERRORS, PairGroups

FEWEST_LABELS = 5
"""Ratings with fewer labels share a cell of the regression with the next ones."""


def rating_cells(ratings: Floats, labelled: Bools) -> Floats:
    """Indicators of the judge's ratings, units × cells.

    A rating with fewer than :data:`FEWEST_LABELS` labels shares a cell with the next higher ones, and the
    highest ones with those below. A single cell stands for the labels alone.
    """
    highest, labels = [], 0
    for rating in np.unique(ratings):
        labels += int((labelled & (ratings == rating)).sum())
        if labels >= FEWEST_LABELS:
            highest.append(rating)
            labels = 0
    cells = np.searchsorted(highest[:-1], ratings)
    return np.asarray(cells[:, None] == np.arange(max(1, len(highest))), dtype=float)


def score_line(scores: Floats, labelled: Bools) -> Floats:
    """An intercept and the judge's scores of whole entries, units × 2.

    The scores are 0 if fewer than :data:`FEWEST_LABELS` labelled ones differ from the most frequent one.
    """
    counts = np.unique(scores[labelled], return_counts=True)[1]
    enough = counts.sum() - counts.max() >= FEWEST_LABELS
    return np.stack([np.ones(len(scores)), enough * scores], axis=-1)


def predictions(design: Floats, labels: Floats, weights: Floats) -> Floats:
    """Xβ for all units, with β by weighted least squares of the labels on X.

    ``design``: X, units × columns. ``labels``: Units × values; NaN for units without a label. ``weights``: Of
    the squares, by unit.
    """
    known = ~np.isnan(labels).any(axis=1)
    root = np.sqrt(weights[known])[:, None]
    fitted: Floats = design @ np.linalg.lstsq(design[known] * root, labels[known] * root, rcond=None)[0]
    return fitted


def fitted(pairs: PairGroups) -> PairGroups:
    """The pairs with predictions ŷ in place of the judge's values.

    The two sides of a difference have regressions of their own, for the judge may favour a system. Few
    entries fit the line better than it predicts others, so their errors are multiplied by the mean ratio of
    an error with and without the entry in the fit, n / (n − columns). Their sum is 0, so that the estimate
    stays.
    """
    pulls = np.einsum("sg,sgm->gm", pairs.weights, pairs.members).ravel()
    ratings, known = pairs.ratings_or_values.ravel(), pairs.labelled.ravel()
    chances = pairs.probability.ravel()
    values, errors = (array.reshape(len(pairs.levels), -1).T for array in (pairs.judged, pairs.errors))
    result, factor = values.copy(), 1.0
    for sign in (-1, 1):
        side = (np.sign(pulls) == sign) & ~np.isnan(ratings)
        # Fewer errors say too little of how the judge errs.
        if np.count_nonzero(errors[side].any(axis=1)) >= FEWEST_ERRORS:
            labels = np.where(known[:, None], values + errors, np.nan)[side]
            design = (score_line if pairs.together else rating_cells)(ratings[side], known[side])
            result[side] = predictions(design, labels, np.abs(pulls / chances)[side])
            if pairs.together and chances.min() < 1:
                count = known[side].sum()
                factor = count / (count - design.any(axis=0).sum())
    predicted = pairs.with_values(result.T.reshape(pairs.judged.shape))
    return replace(predicted, errors=factor * predicted.errors)
