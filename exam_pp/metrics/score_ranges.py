"""The ranges of measures: the lowest and highest score that each of them can give."""

from __future__ import annotations

import re

from exam_pp.errors import DataError
from exam_pp.metrics.measures import MEASURES, measure_named
from exam_pp.results import Score

Range = tuple[float, float]
"""The lowest and highest possible score of a measure."""

ROUNDING = 1e-9
"""Scores outside of the range by at most this are rounding errors, or by this share of an end above 1."""

SHARES_BELOW_0 = frozenset({"Rubric", "Rubric_strict", "HealthBench"})
"""Shares that weights below 0 lower; the bank says by how much. Their names leave the range open."""

SHARES = frozenset(
    {
        # exam_pp
        "Cover", "nCover", "SoftCover", "Answered", "sentence_support", *(MEASURES.keys() - SHARES_BELOW_0),
        "citation_precision", "citation_recall", "FactualConsistency", "FactualConsistency_parts",
        # ir-measures, with other names that it knows
        "Accuracy", "Judged", "P", "Precision", "R", "Recall", "Rprec", "RPrec", "SetP", "SetR", "Success",
        "StRecall",
        # trec_eval; names at a cutoff are without it
        "recall", "success", "set_P", "set_recall",
    }
)  # fmt: skip
"""Measures that are shares, such as those of entries or of passages; readers see them in percent."""

OTHER_FROM_0_TO_1 = frozenset(
    {
        # exam_pp
        "citation_F1", "ROUGE-1", "ROUGE-2", "ROUGE-L",
        # ir-measures, with other names that it knows
        "AP", "MAP", "AP_top", "Bpref", "BPref", "Compat", "ERR", "IPrec", "RBP", "RR", "MRR", "SetAP",
        "SetF", "SetRelP", "infAP", "nDCG", "NDCG", "AP_IA", "MAP_IA", "ERR_IA", "nERR_IA", "NRBP", "nNRBP",
        "P_IA", "alpha_nDCG", "α_nDCG",
        # trec_eval; names at a cutoff are without it
        "map", "map_cut", "bpref", "ndcg", "ndcg_cut", "recip_rank", "set_map", "set_F", "set_relative_P",
        "iprec_at_recall",
    }
)  # fmt: skip
"""Measures whose scores are also from 0 to 1, but are no shares."""

OTHER_RANGES = frozenset(
    {
        # Sums, counts and lengths
        "L", "alpha_DCG", "α_DCG", "NumQ", "NumRel", "NumRelRet", "NumRet", "num_q", "num_rel", "num_rel_ret",
        "num_ret", "utility",
        # The highest label is not in the name.
        "MeanLabel",
        # Rescaled with a baseline, scores are below 0 without a limit.
        "BERTScore",
        *SHARES_BELOW_0,
        # Other packages compute these, in units of their own.
        "BPM", "INSQ", "INST", "NERR8", "NERR9", "NERR10", "NERR11", "SDCG",
    }
)  # fmt: skip
"""Measures with another range, which their names leave open."""

_BY_RELEVANT = frozenset({"AP", "AP_top", "R", "Rprec", "nDCG"})
"""Measures that divide by what is relevant, so that a label can raise and lower their score."""

_GRADER = re.compile(r"\[.*\]$")
_OVER_REPEATS = re.compile(r"(?:mean|adjusted)\((.*)\)$")
_CUTOFF = re.compile(r"_\d+(?:\.\d+)?$")


def range_of(metric: str) -> Range | None:
    """The range of a measure by its name, such as 0 to 1 of ``nDCG@10``; None if the name leaves it open.

    Of repeats, the ranges of ``mean(M)`` and ``adjusted(M)`` are that of the measure M.

    >>> range_of("Cover(min_grade=4)@20[human:ann]"), range_of("P_10"), range_of("adjusted(RR)")
    ((0.0, 1.0), (0.0, 1.0), (0.0, 1.0))
    """
    return (0.0, 1.0) if _is_in(SHARES, metric) or _is_in(OTHER_FROM_0_TO_1, metric) else None


def is_share(metric: str) -> bool:
    """Whether a measure is a share, which readers see in percent; nDCG, for example, is not.

    >>> is_share("P@10"), is_share("nDCG@10")
    (True, False)
    """
    return _is_in(SHARES, metric) or _is_in(SHARES_BELOW_0, metric)


def _is_in(measures: frozenset[str], metric: str) -> bool:
    head = _head(metric)
    return head in measures or _CUTOFF.sub("", head) in measures


def has_bounds(metric: str) -> bool:
    """Whether the lowest and the highest labels of ungraded passages give the lowest and highest score.

    >>> has_bounds("P@10"), has_bounds("nDCG@10")
    (True, False)
    """
    return _head(metric) not in _BY_RELEVANT


def has_other_range(metric: str) -> bool:
    """Whether a measure is known to have another range than 0 to 1, whatever the scores of a file are."""
    return _head(metric) in OTHER_RANGES


def lower_is_better(metric: str) -> bool:
    """Whether a measure counts what is wrong, so that the best system has the lowest score."""
    measure = measure_named(_head(metric))
    return measure is not None and measure.lower_is_better


def range_of_differences(bounds: Range | None) -> Range | None:
    """The lowest and highest possible difference of two scores of a measure."""
    return None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])


def _head(metric: str) -> str:
    name = _GRADER.sub("", metric)
    while over_repeats := _OVER_REPEATS.match(name):
        name = over_repeats[1]
    return name.partition("@")[0].partition("(")[0]


def is_outside(value: float, bounds: Range) -> bool:
    """Whether a score is outside of the range of its measure by more than a rounding error."""
    low, high = bounds
    return not low - ROUNDING * max(1.0, abs(low)) <= value <= high + ROUNDING * max(1.0, abs(high))


def check_range(score: Score, bounds: Range | None, file: str | None = None) -> None:
    """Raise :class:`~exam_pp.errors.DataError` for a score outside of the range of its measure."""
    if bounds is not None and is_outside(score.value, bounds):
        raise DataError(
            f"{score.metric} is from {bounds[0]:g} to {bounds[1]:g}, but the score of {score.system} for the "
            f"query {score.query_id!r} is {score.value:g}; divide the scores, or rename the measure.",
            file=file,
        )
