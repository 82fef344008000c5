"""Similarity of two texts, ROUGE (Lin, 2004) and BERTScore (Zhang et al., ICLR 2020); spread over repeats.

Spread of a score over repeated runs: mean, variance, coefficient of variation and mean/(1+sd).

Source: the consistency metrics of Open RAG Eval (Vectara, 2025).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import pvariance, variance
from typing import TYPE_CHECKING, Any, NamedTuple

from exam_pp.errors import MissingExtraError
from exam_pp.metrics.leaderboard import exact_mean

if TYPE_CHECKING:
    import numpy


@dataclass(frozen=True)
class RepeatSpread:
    """How much the values of repeated runs differ.

    ``variation``: Coefficient of variation: standard deviation / mean; lower is more consistent. None for the
    mean 0.
    """

    mean: float
    variance: float
    variation: float | None
    adjusted: float


def spread(values: Sequence[float], *, sample: bool = False) -> RepeatSpread:
    """Compute the spread of the values of one score over repeated runs.

    >>> over_three_runs = spread([0.5, 0.7, 0.9])
    >>> round(over_three_runs.mean, 4), round(over_three_runs.variance, 4)
    (0.7, 0.0267)
    >>> round(over_three_runs.variation, 4), round(over_three_runs.adjusted, 4)
    (0.2333, 0.6017)
    >>> round(spread([0.5, 0.7, 0.9], sample=True).variance, 4)
    0.04
    >>> spread([0.0, 0.0]).variation is None
    True
    """
    if len(values) < 2 or not all(map(math.isfinite, values)):
        raise ValueError(f"a spread needs two finite values, not {list(values)}")
    squared = float(variance(values) if sample else pvariance(values))
    deviation, average = math.sqrt(squared), exact_mean(list(values))
    variation = deviation / average if average else None
    return RepeatSpread(average, squared, variation, average / (1 + deviation))


ROUGE = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L"}
"""Names in the package rouge-score, and names in reports."""


class Overlap(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f1: float


BASELINES: Mapping[tuple[str, int], Overlap] = {
    ("bert-base-multilingual-cased", 9): Overlap(0.6320527, 0.6320019, 0.63146895),
    ("bert-base-uncased", 9): Overlap(0.35375935, 0.3537393, 0.35219112),
    ("bert-large-uncased", 18): Overlap(0.4278576, 0.42786714, 0.42646673),
    ("distilbert-base-uncased", 5): Overlap(0.6666034, 0.66660464, 0.66620487),
    ("deberta-xlarge-mnli", 40): Overlap(0.5169066, 0.5170288, 0.5150192),
    ("roberta-base", 10): Overlap(0.8146725, 0.8146619, 0.814463),
    ("roberta-large", 17): Overlap(0.83150584, 0.8314941, 0.83122575),
    ("xlm-roberta-base", 9): Overlap(0.81658614, 0.8165717, 0.81639785),
    ("xlm-roberta-large", 17): Overlap(0.85291016, 0.8529066, 0.8525485),
}
"""BERTScore of unrelated English texts, by model and layer, from bert-score 0.3.13 (rescale_baseline/en).

The layers are those that bert-score uses by default.
"""


def default_layer(model: str) -> int | None:
    """The layer of a model whose vectors bert-score compares by default; None for unknown models.

    >>> default_layer("FacebookAI/xlm-roberta-large")
    17

    ``model``: Name of the model, with or without its organisation. Returns the number of the layer, from 1.
    """
    name = model.rpartition("/")[2]
    return next((layer for known, layer in BASELINES if known == name), None)


def baseline_of(model: str, layer: int) -> Overlap | None:
    """The baseline of a model and layer, for English texts; None without one."""
    return BASELINES.get((model.rpartition("/")[2], layer))


def rouge(candidate: str, reference: str, *, stem: bool = False) -> dict[str, Overlap] | None:
    """Compute ROUGE-1, ROUGE-2 and ROUGE-L with the package rouge-score.

    Precision is the share of the candidate's n-grams that the reference contains, recall the converse;
    ROUGE-L uses the longest common subsequence of tokens. Tokens are lower-cased runs of the letters a to z
    and digits, as in the original ROUGE, so other scripts and accented letters have no tokens.

    >>> scores = rouge("the cat sat on the mat", "a cat was on the mat")
    >>> [round(value, 3) for value in scores["ROUGE-1"]]
    [0.667, 0.667, 0.667]
    >>> round(scores["ROUGE-2"].f1, 3), round(scores["ROUGE-L"].f1, 3)
    (0.4, 0.667)
    >>> rouge("水", "water") is None
    True

    Returns name to overlap; None if one of the texts has no tokens.
    """
    scorer = _rouge_scorer(stem)
    if not (has_tokens(candidate) and has_tokens(reference)):
        return None
    scores = scorer.score(reference, candidate)
    return {name: Overlap(*map(float, scores[key])) for key, name in ROUGE.items()}


def has_tokens(text: str) -> bool:
    """Whether a text has tokens for ROUGE: letters from a to z, or digits."""
    return any(char.isascii() and char.isalnum() for char in text.lower())


@cache
def _rouge_scorer(stem: bool) -> Any:
    try:
        from rouge_score.rouge_scorer import RougeScorer  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingExtraError("ROUGE", "rouge") from error
    return RougeScorer(list(ROUGE), use_stemmer=stem)


def bert_score(
    candidate: numpy.ndarray[Any, Any],
    candidate_weights: numpy.ndarray[Any, Any],
    reference: numpy.ndarray[Any, Any],
    reference_weights: numpy.ndarray[Any, Any],
    baseline: Overlap | None = None,
) -> Overlap | None:
    """Compute BERTScore from the vectors of tokens, by greedy matching with cosine similarity.

    Recall is the weighted mean, over the reference's tokens, of the highest cosine with any token of the
    candidate; precision is the converse. With a baseline b each number x becomes (x − b) / (1 − b), which may
    be negative.

    >>> import numpy
    >>> vectors = numpy.array([[1.0, 0.0], [0.0, 1.0]])
    >>> bert_score(vectors, numpy.ones(2), vectors[:1], numpy.ones(1))
    Overlap(precision=0.5, recall=1.0, f1=0.6666666666666666)

    ``candidate``: Array of shape (tokens, dimensions). ``reference``: Array of shape (tokens, dimensions).
    Returns precision, recall and F1; None if the weights of a text are all 0.
    """
    import numpy as np  # noqa: PLC0415 - slow to import

    if not (candidate_weights.sum() and reference_weights.sum()):
        return None
    a = candidate / np.linalg.norm(candidate, axis=1, keepdims=True)
    b = reference / np.linalg.norm(reference, axis=1, keepdims=True)
    cosines = a @ b.T
    precision = float(cosines.max(1) @ candidate_weights / candidate_weights.sum())
    recall = float(cosines.max(0) @ reference_weights / reference_weights.sum())
    total = precision + recall
    raw = Overlap(precision, recall, 2 * precision * recall / total if total else 0.0)
    if baseline is None:
        return raw
    return Overlap(*((x - low) / (1 - low) for x, low in zip(raw, baseline, strict=True)))
