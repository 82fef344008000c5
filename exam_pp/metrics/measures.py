"""Measures: one formula for scores of graded entries, and what the name of any measure says of its scores.

The formula is the weight that is earned as a share of the weight that counts,
``Σ credit × weight(entries that reach the grade) / weight(entries that count)``, where the entries of a
positive weight count. Rubric-Cover, the nugget scores V, W and A, and the scores of rubrics are rows of one
table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import fsum
from operator import or_
from typing import TYPE_CHECKING, cast

from exam_pp.banks import LABEL_RATINGS
from exam_pp.errors import SelectionError, UnknownNameError
from exam_pp.text.wording import did_you_mean

if TYPE_CHECKING:
    from exam_pp.banks import Combine, Entry, TestBank

Steps = tuple[tuple[int, float], ...]
"""Pairs of a grade and the credit for reaching it; the credits of all grades that an entry reaches add up."""

FULL: Steps = ((2, 1.0),)
"""Partial support counts nothing."""
HALF: Steps = ((2, 0.5), (1, 0.5))
"""Partial support counts half."""
CONTRADICTS = -1
"""The grade of an entry that the text contradicts; such an entry earns nothing else."""


def union(masks: Iterable[int]) -> int:
    """The mask of what is in any of the masks."""
    return reduce(or_, masks, 0)


@dataclass(frozen=True)
class Weights:
    """What the entries of a query weigh, by their positions in masks.

    ``of_entries``: The weights; None if each entry counts 1. ``groups``: The masks of the entries that are
    one unit together, and how: it is earned by ``any`` of them, by ``all``, or by each its share (``mean``).
    The entries of a group have the same weight, which is that of the unit.
    """

    of_entries: Sequence[float] | None = None
    groups: Sequence[tuple[int, Combine]] = ()

    @classmethod
    def of(cls, entries: Iterable[Entry], weights: Sequence[float]) -> Weights:
        """The weights of entries in order, with the groups of these entries."""
        groups: dict[str, int] = {}
        combine: dict[str, Combine] = {}
        for position, entry in enumerate(entries):
            if entry.group is not None:
                groups[entry.group] = groups.get(entry.group, 0) | 1 << position
                combine[entry.group] = entry.combine
        return cls(
            weights if groups or any(weight != 1 for weight in weights) else None,
            [(mask, combine[group]) for group, mask in groups.items()],
        )

    def size(self, mask: int) -> float:
        """The number of entries in a mask, or their total weight."""
        weights = self.of_entries
        if weights is None:
            return mask.bit_count()
        alone = mask & ~self._in_groups if self.groups else mask
        sizes = [weight for bit, weight in enumerate(weights) if alone >> bit & 1]
        for of_group, combine in self.groups:
            found, weight = mask & of_group, weights[of_group.bit_length() - 1]
            if combine == "mean":
                sizes.append(weight * found.bit_count() / of_group.bit_count())
            elif found and (combine == "any" or found == of_group):
                sizes.append(weight)
        return fsum(sizes)

    def units(self, entries: int) -> list[tuple[float, Combine, list[int]]]:
        """What counts once among the first ``entries``: its weight, how it is earned, and its positions."""
        alone: list[tuple[int, Combine]] = [
            (1 << bit, "any") for bit in range(entries) if not self._in_groups >> bit & 1
        ]
        units = []
        for mask, combine in (*alone, *self.groups):
            positions = [bit for bit in range(entries) if mask >> bit & 1]
            weight = 1 if self.of_entries is None else self.of_entries[positions[0]]
            units.append((weight, combine, positions))
        return units

    @cached_property
    def _in_groups(self) -> int:
        return union(mask for mask, _ in self.groups)

    @cached_property
    def negative(self) -> int:
        """The mask of the entries that an answer should avoid."""
        return union(1 << bit for bit, weight in enumerate(self.of_entries or ()) if weight < 0)

    @cached_property
    def wanted(self) -> int:
        """The mask of the entries with a positive weight; -1, all bits, if every entry has one."""
        unwanted = union(1 << bit for bit, weight in enumerate(self.of_entries or ()) if weight <= 0)
        return ~unwanted

    def whole(self, mask: int) -> float:
        """The total of the positive weights in a mask: the highest sum that can be earned."""
        return self.size(mask & ~self.negative)

    @property
    def lowest(self) -> float:
        """The lowest score: that of all mistakes and nothing else; 0 without positive weights."""
        whole = self.whole(-1) if self.negative else 0.0
        return self.size(self.negative) / whole if whole else 0.0

    def extremes(self, reached: int, open_: int) -> tuple[int, int]:
        """What is reached at the lowest and at the highest score, if the grades of ``open_`` are unknown."""
        return reached | open_ & self.negative, reached | open_ & ~self.negative


@dataclass(frozen=True)
class Measure:
    """A measure of graded entries: what they earn, and what they weigh.

    Args:
        name: The name in leaderboards.
        steps: Label to the credit for it, such as ``{"met": 1, "partly_met": 0.25}``; or pairs of a grade and
            the credit for reaching it, which add up.
        words: Importance to weight, and None to that of all other importances (default: 0). Default: entries
            have the weights of the bank.
        meaning: A sentence for readers.
        clip: Scores below 0 are 0, and above 1 are 1.
        from_one: The score of a query whose weights are all negative is 1 less what is lost.
        empty: The score of a query where nothing counts; None: it has no score.
        clip_mean: The mean over the queries is shown from 0 to 1.
        lower_is_better: The score counts mistakes.
    """

    name: str
    steps: Steps | Mapping[str, float]
    words: Mapping[str | None, float] | None = None
    meaning: str = ""
    clip: bool = False
    from_one: bool = False
    empty: float | None = 0.0
    clip_mean: bool = False
    lower_is_better: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.steps, Mapping):
            object.__setattr__(self, "steps", _steps_of(self.steps))

    def weights(self, entries: Iterable[Entry]) -> Weights:
        """The weights of entries, in order."""
        entries = list(entries)
        if self.words is None:
            return Weights.of(entries, [entry.weight for entry in entries])
        other = self.words.get(None, 0.0)
        return Weights.of(entries, [self.words.get(entry.importance, other) for entry in entries])

    @property
    def grades(self) -> list[int]:
        """The grades that earn a credit."""
        return [grade for grade, _ in self.by_grade]

    @property
    def by_grade(self) -> Steps:
        """Pairs of a grade and the credit for reaching it."""
        return cast("Steps", self.steps)

    def earned(self, rating: int) -> float:
        """What an entry with this rating earns."""
        return fsum(
            credit
            for grade, credit in self.by_grade
            if (rating == grade if grade == CONTRADICTS else rating >= grade)
        )

    def credit(self, reached: Mapping[int, int], position: int) -> float:
        """What the entry at a position of the masks earns."""
        return fsum(credit for grade, credit in self.by_grade if reached[grade] >> position & 1)

    def share(self, reached: Mapping[int, int], weights: Weights, whole: float) -> float | None:
        """The score for the masks of the entries that reach each grade; None if nothing counts.

        ``whole``: :meth:`Weights.whole` of the entries that count. Sums are exact and divided once, so that
        equal scores are equal floats.

        Two vital nuggets, of which the second has partial support, and an okay nugget without support. W is
        ``(Σ vital + 0.5 × Σ okay) / (number of vital + 0.5 × number of okay)`` = 1.5 / 2.5:

        >>> W = next(measure for measure in NUGGET_MEASURES if measure.name == "W")
        >>> W.share({2: 0b001, 1: 0b011}, Weights([1.0, 1.0, 0.5]), 2.5)
        0.6
        """
        earned = fsum([credit * weights.size(reached[grade]) for grade, credit in self.by_grade])
        start = 0.0
        if not whole and self.from_one:
            start, whole = 1.0, -weights.size(weights.negative)
        if not whole:
            return None
        score = start + earned / whole
        return min(1.0, max(0.0, score)) if self.clip else score


def _steps_of(of_labels: Mapping[str, float]) -> Steps:
    """The steps of credits by label; raises :class:`~exam_pp.errors.ExamError` for labels without credits."""
    if unknown := [label for label in of_labels if label not in LABEL_RATINGS]:
        known = ", ".join(LABEL_RATINGS)
        raise UnknownNameError(f"No label named {unknown[0]!r}. The labels are {known}.")
    steps, below = [], 0.0
    for rating, credit in sorted((LABEL_RATINGS[label], credit) for label, credit in of_labels.items()):
        if rating == 0 and credit:
            raise SelectionError("A label that nothing is earned with, such as not_met, has a credit.")
        steps.append((rating, credit - below if rating > 0 else credit))
        below = max(rating, 0) and credit
    return tuple(step for step in steps if step[0])


_VITAL: Mapping[str | None, float] = {"vital": 1.0}
_VITAL_AND_HALF_OKAY: Mapping[str | None, float] = {"vital": 1.0, "okay": 0.5}
_ALL: Mapping[str | None, float] = {None: 1.0}

NUGGET_MEASURES = (
    Measure("V_strict", FULL, _VITAL, "Share of the vital nuggets that an answer supports."),
    Measure("V", HALF, _VITAL, "V_strict, where partial support counts half."),
    Measure("W_strict", FULL, _VITAL_AND_HALF_OKAY, "Share of all nuggets; okay nuggets count half."),
    Measure("W", HALF, _VITAL_AND_HALF_OKAY, "W_strict, where partial support counts half."),
    Measure("A_strict", FULL, _ALL, "Share of all nuggets that an answer supports."),
    Measure("A", HALF, _ALL, "A_strict, where partial support counts half."),
)
"""V, W and A in the order of the paper's tables; the first is the primary measure.

Source: Pradeep et al., "Initial Nugget Evaluation Results for the TREC 2024 RAG Track with the AutoNuggetizer
Framework" (2024), section 3.5.
"""
NUGGET_METRICS = tuple(measure.name for measure in NUGGET_MEASURES)
RUBRIC_MEASURES = (
    Measure(
        "Rubric",
        HALF,
        meaning="Weight that an answer earns or loses, as a share of the positive weights; partly met counts "
        "half.",
    ),
    Measure("Rubric_strict", FULL, meaning="Rubric, where partly met counts nothing."),
    Measure(
        "Rubric_clipped",
        FULL,
        meaning="Rubric_strict, from 0 to 1; without positive weights, 1 less what is lost.",
        clip=True,
        from_one=True,
    ),
    Measure(
        "HealthBench",
        FULL,
        meaning="Rubric_strict, of which only the mean is from 0 to 1; no score without positive weights.",
        empty=None,
        clip_mean=True,
    ),
)
"""Scores of criteria with weights of any sign.

The first is the ternary score of ResearchRubrics and of RAGDoll, the second their binary score, the third
that of the package rubric, the last that of HealthBench.
"""
EXPECTED_ANSWERS = (
    Measure(
        "Supported", HALF, meaning="Share of the weight of what an answer supports; partial counts half."
    ),
    Measure(
        "Contradicted",
        ((CONTRADICTS, 1.0),),
        meaning="Share of the weight of what an answer contradicts; lower is better.",
        lower_is_better=True,
    ),
)
"""The supportive and the contradictory score of DRAGUN."""
COVERAGE_MEASURES = (
    Measure("Coverage", FULL, _ALL, "Share of the questions that an answer answers."),
    Measure(
        "Coverage_weighted",
        FULL,
        {"vital": 2.0, "okay": 1.0, None: 1.0},
        "Coverage, where vital questions count twice.",
    ),
)
"""The nugget coverage of ARGUE, of groups of answers."""
MEASURES = {
    measure.name: measure
    for measure in (*NUGGET_MEASURES, *RUBRIC_MEASURES, *EXPECTED_ANSWERS, *COVERAGE_MEASURES)
}
"""Name to measure."""
_OWN: dict[str, Measure] = {}


def measure_named(name: str) -> Measure | None:
    """The measure of a score by its name, also one that a user declared and that was computed."""
    return MEASURES.get(name) or _OWN.get(name)


def known_measures(measures: Iterable[Measure | str]) -> list[Measure]:
    """The measures by their names, each once.

    Raises :class:`~exam_pp.errors.ExamError` for a name that is unknown, or that is of another measure.
    """
    known = {}
    for each in measures:
        if isinstance(each, str) and each not in MEASURES:
            hint = did_you_mean(each, MEASURES, "`exam-pp list measures` shows all.")
            raise UnknownNameError(f"No measure named {each!r}. {hint}")
        measure = MEASURES[each] if isinstance(each, str) else each
        if MEASURES.get(measure.name, measure) != measure:
            raise SelectionError(
                f"The name {measure.name} is that of a measure of exam_pp: give yours another."
            )
        _OWN[measure.name] = measure
        known[measure.name] = measure
    return list(known.values())


def measures_of(bank: TestBank) -> Sequence[Measure]:
    """The measures that fit a bank: of questions with answers, of criteria, or of nuggets."""
    if bank.has_references or "mean" in bank.combined:
        return EXPECTED_ANSWERS
    if bank.has_criteria:
        return RUBRIC_MEASURES[:2]
    if bank.combined:
        has_words = any(entry.importance for line in bank.lines for entry in line.items)
        return COVERAGE_MEASURES[: 1 + has_words]
    return NUGGET_MEASURES


LENGTH = "L"
"""Length of an answer in white-space separated words."""


def answer_length(text: str) -> int:
    """The measure L of a text."""
    return len(text.split())


Range = tuple[float, float]
"""The lowest and highest possible score of a measure."""

SHARE_DECIMALS = 1
"""Decimals of scores in percent."""

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


class MeasureName(str):
    """The name of a measure in scores, and what it says of them.

    Cutoffs, parameters and graders change nothing, nor does ``mean(M)`` or ``adjusted(M)`` of repeats.

    >>> name = MeasureName("Cover(min_grade=4)@20[human:ann]")
    >>> name.range, name.is_share, name.has_bounds, name.lower_is_better
    ((0.0, 1.0), True, True, False)
    >>> MeasureName("P_10").range, MeasureName("adjusted(RR)").range, MeasureName("nDCG@10").has_bounds
    ((0.0, 1.0), (0.0, 1.0), False)
    """

    @cached_property
    def _head(self) -> str:
        name = _GRADER.sub("", self)
        while over_repeats := _OVER_REPEATS.match(name):
            name = over_repeats[1]
        return name.partition("@")[0].partition("(")[0]

    def _is_in(self, measures: frozenset[str]) -> bool:
        return self._head in measures or _CUTOFF.sub("", self._head) in measures

    @property
    def range(self) -> Range | None:
        """The range of the scores, such as 0 to 1 of ``nDCG@10``; None if the name leaves it open."""
        return (0.0, 1.0) if self._is_in(SHARES) or self._is_in(OTHER_FROM_0_TO_1) else None

    @property
    def has_other_range(self) -> bool:
        """Whether the range is known to be another one than 0 to 1, whatever the scores of a file are."""
        return self._head in OTHER_RANGES

    @property
    def is_share(self) -> bool:
        """Whether scores are shares, which readers see in percent; those of nDCG, for example, are not."""
        return self._is_in(SHARES) or self._is_in(SHARES_BELOW_0)

    @property
    def in_percent(self) -> str:
        """The name above numbers in percent."""
        return f"{self} %"

    @property
    def is_normalised(self) -> bool:
        """Whether the upper bound ``_overall_`` is 1 by definition."""
        return self.startswith("nCover(")

    @property
    def has_bounds(self) -> bool:
        """Whether the lowest and highest labels of ungraded passages give the lowest and highest score."""
        return self._head not in _BY_RELEVANT

    @property
    def lower_is_better(self) -> bool:
        """Whether scores count what is wrong, so that the best system has the lowest."""
        measure = measure_named(self._head)
        return measure is not None and measure.lower_is_better


def range_of_differences(bounds: Range | None) -> Range | None:
    """The lowest and highest possible difference of two scores of a measure."""
    return None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
