"""Correlation of leaderboards: Spearman, Kendall τ-b, τ-AP, top-k overlap; meta-evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum, inf, isnan
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exam_pp.defaults import CONFIDENCE, SAMPLES
from exam_pp.metrics.entry_values import Floats
from exam_pp.metrics.uncertainty import NO_SPREAD, Interval, enough_samples


class Correlation(NamedTuple):
    """Correlation of scores with official ranks.

    A correlation is 1 for equal orders and -1 for opposite ones. It is None if all scores or all ranks are
    tied, or if there are fewer than two systems.

    Attributes:
        systems: Number of systems that have both a score and a rank.
        spearman: Spearman's ρ.
        kendall: Kendall's τ-b.
        tau_ap: AP correlation (Yilmaz, Aslam and Robertson, SIGIR 2008).
        top_overlap: Share of the top k systems that both sides have in common, 0..1; None if there are
            not more than k systems.
    """

    systems: int
    spearman: float | None
    kendall: float | None
    tau_ap: float | None
    top_overlap: float | None


def correlate(scores: Mapping[str, float], ranks: Mapping[str, float], top: int = 5) -> Correlation:
    """Correlation of scores (higher is better) with ranks (1 is best), over the systems that have both.

    Tied systems get their average rank. ``top`` is the k of the top-k overlap.
    """
    common = [system for system in scores if system in ranks]
    if not common:
        return Correlation(0, None, None, None, None)
    values = np.array([[scores[system] for system in common]])
    measured = correlation_samples(values, [-ranks[system] for system in common], top)[0].tolist()
    return Correlation(len(common), *(None if isnan(value) else value for value in measured))


def kendall(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kendall's τ-b; None if all values of a list are equal."""
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    from scipy.stats import kendalltau  # noqa: PLC0415 - slow to import

    # A square root adds rounding error, so equal orders would not be exactly 1.
    return round(float(kendalltau(first, second, variant="b").statistic), 12)


def ranks_of(scores: Mapping[str, float]) -> dict[str, float]:
    """System to rank by descending score, best first; ties get their average rank."""
    ranks = average_ranks([-score for score in scores.values()])
    by_system = zip(scores, ranks.tolist(), strict=True)
    return dict(sorted(by_system, key=lambda item: (item[1], item[0])))


def average_ranks(values: ArrayLike) -> Floats:
    """The rank of each value, 1 for the lowest one; equal values get the average of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places])


_Rank = TypeVar("_Rank", bound="float | None")


def int_if_whole(rank: _Rank) -> int | _Rank:
    """A rank as an int, or as a float if a tie makes it fractional; None stays None."""
    return int(rank) if rank is not None and rank == int(rank) else rank


def correlation_samples(scores: Floats, official: Floats | Sequence[float], top: int = 5) -> Floats:
    """Spearman, Kendall τ-b, τ-AP and top-k overlap of many leaderboards at once, samples × 4.

    ``scores`` is samples × systems, higher is better. ``official`` has the same shape, or is a single row
    for all samples. Values are NaN where :func:`correlate` returns None.
    """
    truth = np.broadcast_to(np.asarray(official, dtype=float), scores.shape)
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(scores), _BLOCK)]
    return np.vstack(
        [np.empty((0, 4)), *(_sample_block(scores[block], truth[block], top) for block in blocks)]
    )


_BLOCK = 100
"""Samples per block; with 100, the pairs of 500 systems fit into memory."""


def _sample_block(scores: Floats, official: Floats, top: int) -> Floats:
    above, truth = _signs(scores), _signs(official)
    agreement = above * truth
    better = above > 0
    count, of_truth = better.sum(axis=2), (truth > 0).sum(axis=2)
    # Of two systems with different scores, one is better.
    untied, of_truth_untied = 2 * count.sum(axis=1), 2 * of_truth.sum(axis=1)
    defined = (untied > 0) & (of_truth_untied > 0)
    shares = _over((agreement * better).sum(axis=2), count)
    # Differences of the numbers of better and worse systems are the centred ranks, times -2.
    ranks, reference = above.sum(axis=2, dtype=np.int64), truth.sum(axis=2, dtype=np.int64)
    columns = [
        _over((ranks * reference).sum(axis=1), np.sqrt((ranks**2).sum(axis=1) * (reference**2).sum(axis=1))),
        _over(agreement.sum(axis=(1, 2)), np.sqrt(untied * of_truth_untied)),
        _over(np.nansum(shares, axis=1), (count > 0).sum(axis=1)),
    ]
    overlap = np.full(len(scores), np.nan)
    if scores.shape[1] > top:
        first, second = count < top, of_truth < top
        overlap = _over((first & second).sum(axis=1), np.maximum(first.sum(axis=1), second.sum(axis=1)))
    return np.column_stack([*(np.where(defined, column, np.nan) for column in columns), overlap])


def _signs(values: Floats) -> NDArray[np.int8]:
    """For every two systems of a sample, 1 if the second has the higher score, -1 for the lower, else 0."""
    first, second = values[:, :, None], values[:, None, :]
    return (second > first).view(np.int8) - (second < first).view(np.int8)


def _over(part: Floats, whole: Floats) -> Floats:
    whole = np.asarray(whole, dtype=float)
    shares = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares


def true_means(values: Floats, official: ArrayLike, *, samples: int = SAMPLES, seed: int = 0) -> Floats:
    """Draws of the means that the systems would have over all queries, samples × systems.

    Means over n queries have noise, and noise lowers a correlation. Resampled queries would add noise once
    more. So a hierarchical model takes the noise away: a system's true mean is a linear function of its
    official score, plus a deviation of its own; the mean over n queries adds noise, whose variance is the
    residual mean square of the table of systems and queries, divided by n. Priors are flat.

    Source: Gelman et al., "Bayesian Data Analysis", 3rd edition (2013), chapter 5.

    Args:
        values: Scores, systems × queries, without NaN.
        official: Official score of each system, higher is better; or systems × such columns.
        samples: Number of draws.
        seed: Seed of the draws.

    Returns:
        The draws. They are empty for fewer than two queries, fewer than three systems more than columns, and
        columns without differences of their own. They are also empty if systems differ by the same amount on
        all queries, because their means then have no noise.
    """
    systems, queries = values.shape
    design = np.column_stack([np.ones(systems), official])
    free = systems - design.shape[1]
    if queries < 2 or free < 2 or np.linalg.matrix_rank(design) < design.shape[1]:
        return np.empty((0, systems))
    means = values.mean(axis=1)
    rest = values - means[:, None] - values.mean(axis=0) + values.mean()
    noise = float((rest**2).sum()) / ((systems - 1) * (queries - 1) * queries)
    if noise <= NO_SPREAD**2:
        return np.empty((0, systems))
    inverse = np.linalg.inv(design.T @ design)
    slopes = inverse @ (design.T @ means)
    squares = float(((means - design @ slopes) ** 2).sum())
    own = np.linspace(0, 5 * (squares / free) ** 0.5 + 3 * noise**0.5, 400) ** 2
    log_density = -free / 2 * np.log(own + noise) - squares / (2 * (own + noise))
    density = np.exp(log_density - log_density.max())
    rng = np.random.default_rng(seed)
    drawn = rng.choice(own, (samples, 1), p=density / density.sum())
    error = rng.standard_normal((samples, len(inverse))) @ np.linalg.cholesky(inverse).T
    fitted = (slopes + (drawn + noise) ** 0.5 * error) @ design.T
    weight = drawn / (drawn + noise)
    spread = (weight * noise) ** 0.5
    noisy = spread * rng.standard_normal((samples, systems))
    return np.asarray(fitted + weight * (means - fitted) + noisy)


def resample_systems(
    scores: Mapping[str, float], ranks: Mapping[str, float], *, samples: int = SAMPLES, seed: int = 0
) -> tuple[Floats, Floats]:
    """Scores and negated ranks of resampled systems, samples × systems each.

    Only systems with a score and a rank are resampled. The order of the mappings does not matter.
    """
    common = sorted(scores.keys() & ranks.keys())
    number = enough_samples(len(common), samples)
    drawn = np.random.default_rng(seed).integers(0, len(common), (number, len(common)))
    values = np.array([scores[system] for system in common])
    official = np.array([-ranks[system] for system in common])
    return values[drawn], official[drawn]


def central_intervals(drawn: Floats, confidence: float = CONFIDENCE) -> list[Interval | None]:
    """The central interval of each column of draws, without NaN; None for a column of NaN alone."""
    limits = [(1 - confidence) / 2, (1 + confidence) / 2]
    columns = (column[~np.isnan(column)] for column in drawn.T)
    return [Interval(*np.quantile(known, limits).tolist()) if known.size else None for known in columns]


def approximate_ranks(scores: Mapping[str, float], ranks: Mapping[str, float]) -> dict[str, float]:
    """Ranks for systems without an official rank: the rank of the next better ranked system by score.

    A system above all ranked systems gets the best official rank. A system tied with ranked systems gets
    the worst of their ranks.

    Source: Dietz, "A Workbench for Autograding Retrieve/Generate Systems", SIGIR 2024, table 4 (≈).
    """
    approximate: dict[str, float] = {}
    last = min(ranks.values())
    for system in sorted(scores, key=lambda name: (-scores[name], ranks.get(name, inf), name)):
        if system in ranks:
            last = ranks[system]
        else:
            approximate[system] = last
    return approximate


def min_max_scaled(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores scaled to 0..1 (all 0 if tied), to plot leaderboards of different measures together."""
    low, high = min(scores.values()), max(scores.values())
    return {system: (score - low) / (high - low) if high > low else 0.0 for system, score in scores.items()}


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
