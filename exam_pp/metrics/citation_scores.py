"""Citation support: whether the passages that an answer cites support its statements.

Source: Open RAG Eval's documentation of its metrics, section Citation Metric; and the support evaluation of
the TREC 2024 RAG track, which considers only the first citation of each sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from exam_pp.data_model import SUPPORT_LABELS, SupportLabel

SUPPORT_VALUES: Mapping[SupportLabel, float] = dict(zip(SUPPORT_LABELS, (0.0, 0.5, 1.0), strict=True))
"""The values of the labels of a citation."""

CitationRule = Literal["all", "first"]
"""``all``: every citation of a part counts. ``first``: only the first one, as in the TREC RAG track."""


class CitationScores(NamedTuple):
    """Weighted precision and recall of the citations of an answer, and their harmonic mean, in 0..1."""

    precision: float
    recall: float
    f1: float


def citation_scores(parts: Sequence[Mapping[str, float]], rule: CitationRule = "all") -> CitationScores:
    """Score the citations of an answer.

    With the rule ``all``, precision is the mean over the distinct citations of their mean value in the parts
    that cite them, and recall the mean over the parts of the mean value of their citations; a part without
    citations has the value 0. With ``first``, the value of a part is that of its first citation; precision is
    the mean value of the parts with a citation, recall that of all parts. Precision without citations,
    recall without parts, and F1 of two zeros are 0.

    >>> citation_scores([{"A": 1.0, "B": 0.5}, {"A": 0.0}, {}])
    CitationScores(precision=0.5, recall=0.25, f1=0.3333333333333333)
    >>> citation_scores([{"A": 1.0, "B": 0.5}, {"A": 0.0}, {}], "first")
    CitationScores(precision=0.5, recall=0.3333333333333333, f1=0.4)
    """
    if rule == "first":
        firsts = [next(iter(part.values())) for part in parts if part]
        return _scores(_mean(firsts), sum(firsts) / len(parts) if parts else 0.0)
    of_citation: dict[str, list[float]] = {}
    for part in parts:
        for citation, value in part.items():
            of_citation.setdefault(citation, []).append(value)
    precision = _mean([_mean(values) for values in of_citation.values()])
    return _scores(precision, _mean([_mean(list(part.values())) for part in parts]))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _scores(precision: float, recall: float) -> CitationScores:
    both = precision + recall
    return CitationScores(precision, recall, 2 * precision * recall / both if both else 0.0)
