"""The result of an evaluation: scores, bounds and notes; columns of several results, system names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from exam_pp.errors import SelectionError
from exam_pp.metrics.measures import MeasureName, Range
from exam_pp.provenance import combined
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM, Score, Scores
from exam_pp.text.wording import MAX_LISTED, counted, listed

if TYPE_CHECKING:
    import nanoarrow
    import pandas

    from exam_pp.metrics.fair_sample import DecidedUnits
    from exam_pp.provenance import Provenance


G = TypeVar("G")

PathLike = str | Path
MissingQueries = Literal["zero", "skip"]
"""A query without results of a system: it scores 0, or it is not in the means of the system."""


@dataclass(frozen=True)
class Corrections:
    """Scores with ratings of people in place of a judge's: what these decided.

    ``by`` says who rated, for readers. ``judge_alone`` has the scores without them,
    ``queries`` the units of a measure with a row for each of ``systems``; none if its scores are no sums over
    entries.
    """

    by: str
    systems: Sequence[str]
    judge_alone: Callable[[], Evaluation]
    queries: Callable[[str], Sequence[DecidedUnits]]

    @classmethod
    def between(
        cls,
        by: str,
        systems: Sequence[str],
        of_judge: Callable[[], G],
        scored: Callable[[G], Evaluation],
        units: Callable[[G, str], Iterable[DecidedUnits]],
    ) -> Corrections:
        """The corrections of the grades of the judge, which are read once, and only if they are needed."""
        alone = cache(of_judge)
        return cls(by, systems, cache(lambda: scored(alone())), cache(lambda of: [*units(alone(), of)]))


@dataclass
class Evaluation:
    """Scores of systems for each query, with bounds and notes.

    Attributes:
        scores: A score for each system, query and metric.
        notes: Sentences on anything that affects the numbers, such as skipped queries.
        best_case: Scores with the highest grades that ungraded pairs could have: upper bounds, or the higher
            one of two cases (``MeasureName.has_bounds``). Empty if all pairs are graded or the metric has
            neither.
        worst_case: The same with the lowest grades. A score with only an upper bound is its own lower bound.
        ranges: Metric to its lowest and highest possible score, if its name leaves them open
            (``MeasureName.range``).
        provenance: Grader, bank, cutoff, threshold and number of queries; None if they are unknown.
        corrections: What people decided of the scores; None if there are no ratings of people in them.
        lacking: System to its number of queries without results, which score 0.
        of_answers: Whether the systems are generated answers that count as a whole.
    """

    scores: list[Score] | Scores = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    best_case: list[Score] | Scores = field(default_factory=list)
    worst_case: list[Score] | Scores = field(default_factory=list)
    ranges: dict[str, Range] = field(default_factory=dict)
    provenance: Provenance | None = field(default=None, compare=False)
    corrections: Corrections | None = field(default=None, compare=False)
    lacking: Mapping[str, int] = field(default_factory=dict, compare=False)
    of_answers: bool = field(default=False, compare=False)

    @property
    def systems(self) -> list[str]:
        """Names of all systems, in order of appearance."""
        return list(dict.fromkeys(score.system for score in self.scores))

    def range_of(self, metric: str) -> Range | None:
        """The lowest and highest possible score of a metric.

        Args:
            metric: Name of the metric.

        Returns:
            Both ends; None if they are unknown.
        """
        return self.ranges.get(metric) or MeasureName(metric).range

    def of_metrics(self, *metrics: str) -> Evaluation:
        """The same evaluation with these metrics only."""
        scores, best, worst = (
            [score for score in scores if score.metric in metrics]
            for scores in (self.scores, self.best_case, self.worst_case)
        )
        return replace(self, scores=scores, best_case=best, worst_case=worst)

    def to_pandas(self) -> pandas.DataFrame:
        """The scores as a data frame; see :meth:`Tabular.to_pandas <exam_pp.results.Tabular.to_pandas>`."""
        return Scores(self.scores).to_pandas()

    def to_arrow(self) -> nanoarrow.Array:
        """The scores as an Arrow array; see :meth:`Tabular.to_arrow <exam_pp.results.Tabular.to_arrow>`."""
        return Scores(self.scores).to_arrow()


def check_names(query_ids: Iterable[str] = (), systems: Iterable[str] = ()) -> None:
    """Raise :class:`SelectionError` for the query id ``all`` and the system name ``_overall_``, if used."""
    for names, reserved, noun, use in (
        (query_ids, ALL_QUERIES, "query id", "the mean over queries"),
        (systems, OVERALL_SYSTEM, "system name", "the upper bound"),
    ):
        if reserved in names:
            raise SelectionError(f"The {noun} {reserved!r} is reserved for {use}; rename it in the input.")


def counted_names(names: Sequence[str], singular: str, plural: str) -> str:
    """A count with its noun and the first names: ``3 queries (a, b, c)``."""
    return f"{counted(len(names), singular, plural)} ({listed(names)})"


def noted_names(names: Sequence[str], text: str, singular: str, plural: str) -> Iterator[str]:
    """A note with the counted names in place of ``{}``; no note without names."""
    if names:
        yield text.replace("{}", counted_names(names, singular, plural), 1)


def lacking(systems: Collection[str], rankings: Mapping[str, Container[str]]) -> dict[str, list[str]]:
    """System to the queries (with the systems that have results) that it has no results for.

    Systems that have results for all queries are left out.
    """
    queries: dict[str, list[str]] = {}
    for query_id, having in rankings.items():
        for system in systems:
            if system not in having:
                queries.setdefault(system, []).append(query_id)
    return queries


def missing_query_notes(missing: Mapping[str, Sequence[str]]) -> list[str]:
    """Notes on the queries for which each system has no results; a single note if there are many."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for system, query_ids in missing.items():
        if query_ids:
            groups.setdefault(tuple(query_ids), []).append(system)
    if len(groups) > MAX_LISTED:
        systems = [system for group in groups.values() for system in group]
        affected = counted_names(systems, "system", "systems")
        return [f"No results from {affected} for some queries: scored as empty rankings."]
    return [
        f"No results from {', '.join(systems)} for {counted_names(query_ids, 'query', 'queries')}: scored as "
        "an empty ranking."
        for query_ids, systems in groups.items()
    ]


def joined_notes(named: Sequence[tuple[str, Iterable[str]]]) -> list[str]:
    """The notes of all names without duplicates; a note of some names only starts with these."""
    names: dict[str, list[str]] = {}
    for name, notes in named:
        for note in notes:
            names.setdefault(note, []).append(name)
    return [
        note if len(having) == len(named) else f"{', '.join(having)}: {note}"
        for note, having in names.items()
    ]


def grader_columns(evaluations: Mapping[str, Evaluation]) -> Evaluation:
    """The scores of all graders, with the grader in the name of a measure: ``nDCG@10[GRADER]``.

    A single evaluation keeps its names. Notes that all evaluations have appear once; other notes name their
    grader.
    """
    return _together(evaluations, lambda metric, grader: f"{metric}[{grader}]")


def threshold_columns(evaluations: Mapping[int, Evaluation]) -> Evaluation:
    """The scores at all thresholds, with the threshold in the name of a measure: ``RR(min_grade=4)``.

    Measures that several evaluations do not share keep their names, such as ``RR(rel=4)``. Notes are joined
    as by :func:`grader_columns`.
    """
    metrics = Counter(
        metric
        for evaluation in evaluations.values()
        for metric in dict.fromkeys(score.metric for score in evaluation.scores)
    )

    def name(metric: str, threshold: str) -> str:
        return _with_threshold(metric, threshold) if metrics[metric] > 1 else metric

    return _together({f"min_grade={grade}": of for grade, of in evaluations.items()}, name)


def _with_threshold(metric: str, threshold: str) -> str:
    """``nDCG@10`` as ``nDCG(min_grade=4)@10``."""
    measure, at, cutoff = metric.partition("@")
    head, tail = (measure[:-1], ",") if measure.endswith(")") else (measure, "(")
    return f"{head}{tail}{threshold}){at}{cutoff}"


def _together(evaluations: Mapping[str, Evaluation], name: Callable[[str, str], str]) -> Evaluation:
    if len(evaluations) == 1:
        return next(iter(evaluations.values()))
    origin = combined(evaluation.provenance for evaluation in evaluations.values())
    together = Evaluation(Scores(), [], Scores(), Scores(), provenance=origin)

    def named(scores: Iterable[Score], condition: str) -> Iterable[Score]:
        return (score._replace(metric=name(score.metric, condition)) for score in scores)

    for condition, evaluation in evaluations.items():
        together.scores.extend(named(evaluation.scores, condition))
        # Bounds need all scores: without bounds of its own, a score is its own bound.
        together.worst_case.extend(named(evaluation.worst_case or evaluation.scores, condition))
        together.best_case.extend(named(evaluation.best_case or evaluation.scores, condition))
        together.ranges |= {name(metric, condition): of for metric, of in evaluation.ranges.items()}
    if not any(evaluation.best_case for evaluation in evaluations.values()):
        together.worst_case, together.best_case = [], []
    shared = [
        note
        for note in next(iter(evaluations.values())).notes
        if all(note in evaluation.notes for evaluation in evaluations.values())
    ]
    together.notes = shared + [
        f"{condition}: {note}"
        for condition, evaluation in evaluations.items()
        for note in evaluation.notes
        if note not in shared
    ]
    return together


V = TypeVar("V")

_CUT = re.compile(r"…|\.\.\.")


def matched_names(left: Collection[str], right: Collection[str]) -> dict[str, str]:
    """Map names of ``right`` to names of ``left`` where either is truncated with ``…`` or ``...``.

    Two names match if one can be a truncation of the other and the match is unique. Names that are equal on
    both sides are not in the result.
    """
    only_left = [name for name in left if name not in right]
    only_right = [name for name in right if name not in left]
    candidates = {name: [match for match in only_left if _could_be(name, match)] for name in only_right}
    return {
        name: matches[0]
        for name, matches in candidates.items()
        if len(matches) == 1 and sum(matches[0] in names for names in candidates.values()) == 1
    }


def _could_be(left: str, right: str) -> bool:
    """Whether one of the names can be a truncation of the other; False if neither is truncated."""
    left_parts, right_parts = _CUT.split(left), _CUT.split(right)
    if len(left_parts) > 1 and len(right_parts) > 1:
        return left_parts[0].startswith(right_parts[0]) or right_parts[0].startswith(left_parts[0])
    if len(left_parts) == len(right_parts) == 1:
        return False
    cut, full = (left_parts, right) if len(left_parts) > 1 else (right_parts, left)
    return re.fullmatch(".*".join(map(re.escape, cut)), full, re.DOTALL) is not None


def renamed(values: Mapping[str, V], names: Mapping[str, str]) -> dict[str, V]:
    """The values with their keys replaced by ``names``; other keys are kept."""
    return {names.get(name, name): value for name, value in values.items()}
