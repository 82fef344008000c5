"""Leaderboards and official ranks: Spearman's ρ, Kendall's τ-b, τ-AP, top-k overlap; side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Literal

import numpy as np

from exam_pp.defaults import SAMPLES
from exam_pp.errors import SelectionError
from exam_pp.formats.scores import contains_scores, read_means, read_query_scores
from exam_pp.metrics.correlation import (
    Correlation,
    approximate_ranks,
    central_intervals,
    correlate,
    correlation_samples,
    ranks_of,
    resample_systems,
    true_means,
)
from exam_pp.metrics.leaderboard import standings
from exam_pp.metrics.uncertainty import Interval, ScoreMatrix, intervals, score_matrices
from exam_pp.phases.evaluation.result import Evaluation, PathLike, matched_names, renamed
from exam_pp.provenance import Provenance, file_names
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.store.trec.ranks import read_ranks
from exam_pp.text.wording import counted, listed

Resampled = Literal["queries", "systems"]

_COEFFICIENTS = 4
"""The coefficients of a :class:`Correlation`: Spearman's ρ, Kendall's τ-b, τ-AP and top-k overlap."""
_THRESHOLD = re.compile(r"\((?:rel|min_grade)=(-?\d+)\)")


@dataclass(frozen=True)
class OfficialRanks:
    """Official ranks: system to rank, 1 is best.

    ``measure`` is the measure by which the systems are ranked; empty if the file has ranks, not scores.
    """

    source: PathLike
    ranks: Mapping[str, float]
    measure: str = ""


@dataclass(frozen=True)
class MeasureCorrelation:
    """The correlation of one measure of a leaderboard with official ranks.

    ``intervals`` are 95 % intervals of the four coefficients; empty if they were not requested.
    """

    measure: str
    correlation: Correlation
    intervals: Sequence[Interval | None] = ()


@dataclass(frozen=True)
class Correlations:
    """The correlation of every measure of a leaderboard with official ranks.

    ``scores`` is measure to system to score. ``matched`` is official name to leaderboard name, for systems
    whose name is truncated in one of the files. ``top`` is k of the top-k overlap. ``resampled``, ``samples``
    and ``seed`` describe the intervals.
    """

    leaderboard: PathLike
    official: OfficialRanks
    measures: Sequence[MeasureCorrelation]
    scores: Mapping[str, Mapping[str, float]]
    matched: Mapping[str, str]
    top: int
    resampled: Resampled | None
    samples: int
    seed: int

    @property
    def provenance(self) -> Provenance:
        """The compared files."""
        return _compared(self.leaderboard, self.official.source)


@dataclass(frozen=True)
class QueryCorrelations:
    """Correlation of the scores of a leaderboard with official scores.

    ``queries`` is measure to query to correlation. ``means`` is measure to the mean of each coefficient over
    the queries where it is defined, or None. ``reference`` is the official measure.
    """

    leaderboard: PathLike
    official: PathLike
    reference: str
    queries: Mapping[str, Mapping[str, Correlation]]
    means: Mapping[str, Sequence[float | None]]
    top: int

    @property
    def provenance(self) -> Provenance:
        """The compared files, and the number of queries."""
        queries = {query_id for of_measure in self.queries.values() for query_id in of_measure}
        return replace(_compared(self.leaderboard, self.official), queries=len(queries))


def _compared(leaderboard: PathLike, official: PathLike) -> Provenance:
    return Provenance(leaderboards=file_names(leaderboard), official=file_names(official))


def correlation(
    leaderboard: PathLike,
    official: PathLike | OfficialRanks,
    *,
    scores: Mapping[str, Mapping[str, float]] | None = None,
    top: int = 5,
    intervals: Resampled | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Correlations:
    """Correlate every measure of a leaderboard with official ranks.

    A truncated system name (with ``...``) matches a full name if the match is unambiguous.
    """
    reference = official if isinstance(official, OfficialRanks) else read_official(official)
    scores = scores_by_measure(leaderboard) if scores is None else scores
    systems = {system for means in scores.values() for system in means}
    matched = matched_names(systems, reference.ranks)
    ranks = renamed(reference.ranks, matched)
    common = systems & ranks.keys()
    if len(common) < 2:
        raise SelectionError(
            f"{leaderboard} ({listed(sorted(systems))}) and {reference.source} ({listed(sorted(ranks))}) "
            f"have {counted(len(common), 'system')} in common, but a correlation needs two. Use the same "
            "names of systems in both files."
        )
    resampled = _resampled(leaderboard, scores, ranks, intervals, top, samples, seed) if intervals else {}
    measures = [
        MeasureCorrelation(measure, correlate(means, ranks, top), resampled.get(measure, ()))
        for measure, means in scores.items()
    ]
    return Correlations(leaderboard, reference, measures, scores, matched, top, intervals, samples, seed)


def _resampled(
    leaderboard: PathLike,
    scores: Mapping[str, Mapping[str, float]],
    ranks: Mapping[str, float],
    resampled: Resampled,
    top: int,
    samples: int,
    seed: int,
) -> dict[str, list[Interval | None]]:
    """Measure to the intervals of the four coefficients."""
    matrices = score_matrices(read_query_scores(leaderboard)) if resampled == "queries" else {}
    if resampled == "queries" and any(
        name not in matrices or len(matrices[name].query_ids) < 2 for name in scores
    ):
        raise SelectionError(
            f"{leaderboard} has no scores of single queries, which --intervals queries needs. Write it with "
            "--per-query, or use --intervals systems."
        )
    return {
        name: coefficient_intervals(matrices.get(name, means), ranks, top=top, samples=samples, seed=seed)
        for name, means in scores.items()
    }


def coefficient_intervals(
    scores: Mapping[str, float] | ScoreMatrix,
    ranks: Mapping[str, float],
    *,
    top: int = 5,
    samples: int = SAMPLES,
    seed: int = 0,
) -> list[Interval | None]:
    """Compute 95 % intervals of Spearman's ρ, Kendall's τ-b, τ-AP and top-k overlap.

    For a matrix of scores, they are those over all queries that could have been asked, from draws of the
    systems' true means (:func:`~exam_pp.metrics.correlation.true_means`), on the queries that all systems
    have scores for. A mapping of system to mean is resampled by system. Intervals are None for fewer than
    four systems with a rank (resampled: five), and for a single query.
    """
    systems = list(scores.systems if isinstance(scores, ScoreMatrix) else scores)
    rows = [row for row, system in enumerate(systems) if system in ranks]
    official = [-ranks[systems[row]] for row in rows]
    if len(rows) < 2:
        return [None] * _COEFFICIENTS
    if not isinstance(scores, ScoreMatrix):
        drawn = resample_systems(scores, ranks, samples=samples, seed=seed)
        return intervals(correlation_samples(*drawn, top), len(rows))
    values = scores.values[rows]
    values = values[:, ~np.isnan(values).any(axis=0)]
    means = true_means(values, official, samples=samples, seed=seed)
    return central_intervals(correlation_samples(means, official, top))


def query_correlation(leaderboard: PathLike, official: PathLike, *, top: int = 5) -> QueryCorrelations:
    """Correlate scores with official scores on every query, for every measure.

    Both files must have the scores of each query. The first measure of ``official`` is the reference. Raises
    :class:`~exam_pp.errors.SelectionError` if a file has only means, or the files have no query in common.
    """
    by_measure, official_by_measure = _by_query(leaderboard), _by_query(official)
    reference, official_scores = next(iter(official_by_measure.items()))
    correlations: dict[str, dict[str, Correlation]] = {}
    means: dict[str, list[float | None]] = {}
    for measure, queries in by_measure.items():
        correlations[measure] = {
            query_id: correlate(scores, ranks_of(official_scores[query_id]), top)
            for query_id, scores in queries.items()
            if query_id in official_scores
        }
        if not correlations[measure]:
            raise SelectionError(f"{leaderboard} and {official} have no query in common.")
        columns = zip(*(row[1:] for row in correlations[measure].values()), strict=True)
        defined = [[value for value in column if value is not None] for column in columns]
        means[measure] = [fmean(column) if column else None for column in defined]
    return QueryCorrelations(leaderboard, official, reference, correlations, means, top)


def _by_query(path: PathLike) -> dict[str, dict[str, dict[str, float]]]:
    """Read measure to query to system to score; raises SelectionError if the file has only means."""
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for score in read_query_scores(path):
        if score.system != OVERALL_SYSTEM:
            queries = scores.setdefault(score.metric, {})
            queries.setdefault(score.query_id, {})[score.system] = score.value
    if not scores:
        raise SelectionError(f"{path} has no scores of single queries. Write it with --per-query.")
    return scores


def read_official(path: PathLike) -> OfficialRanks:
    """Read official ranks; in a file of scores, the first measure ranks the systems.

    Raises :class:`~exam_pp.errors.DataError` for a file that has neither.
    """
    if not contains_scores(path):
        return OfficialRanks(path, read_ranks(path))
    measure, scores = next(iter(scores_by_measure(path).items()))
    return OfficialRanks(path, ranks_of(scores), measure)


def split_threshold(measure: str) -> tuple[str, int | None]:
    """Split a measure into name and threshold: ``RR(rel=4)`` into ``RR`` and 4; None without threshold."""
    match = _THRESHOLD.search(measure)
    return _THRESHOLD.sub("", measure), int(match[1]) if match else None


def scores_by_measure(path: PathLike) -> dict[str, dict[str, float]]:
    """Read measure to system to mean score from a leaderboard file, without the upper bound."""
    scores: dict[str, dict[str, float]] = {}
    for score in read_means(path):
        if score.system != OVERALL_SYSTEM:
            scores.setdefault(score.metric, {})[score.system] = score.value
    return scores


@dataclass(frozen=True)
class ComparedLeaderboards:
    """Leaderboards to compare.

    ``leaderboards`` is name to system to score; ``standard_errors`` is name to system to standard error, if
    it is known.
    ``ranks`` is system to official rank; empty without official ranks. ``provenance`` has the names of the
    files.
    """

    leaderboards: Mapping[str, Mapping[str, float]]
    standard_errors: Mapping[str, Mapping[str, float]]
    ranks: Mapping[str, float]
    provenance: Provenance = field(default_factory=Provenance)

    @property
    def order(self) -> list[str]:
        """Systems by official rank, then systems without a rank by their score in the first leaderboard."""
        first = next(iter(self.leaderboards.values()))
        systems = dict.fromkeys(system for scores in self.leaderboards.values() for system in scores)
        last = float("inf")
        return sorted(systems, key=lambda s: (self.ranks.get(s, last), -first.get(s, -last), s))


def compare_leaderboards(
    leaderboards: Sequence[PathLike], official: PathLike | None = None
) -> ComparedLeaderboards:
    """Read the measures of several leaderboards for a comparison (EXAM++, figure 2)."""
    named: dict[str, dict[str, float]] = {}
    standard_errors: dict[str, dict[str, float]] = {}
    ranks: Mapping[str, float] = {}
    files = compared = list(dict.fromkeys(map(Path, leaderboards)))
    if official is not None:
        reference = read_official(official)
        ranks = reference.ranks
        if reference.measure:
            files = list(dict.fromkeys([*files, Path(official)]))
    read = {file: scores_by_measure(file) for file in files}
    measures = [measure for by_measure in read.values() for measure in by_measure]
    stems = [file.stem for file in files]
    for file, by_measure in read.items():
        known = {
            (row.metric, row.system): row.stderr for row in standings(read_query_scores(file)) if row.stderr
        }
        for measure, scores in by_measure.items():
            source = file.stem if stems.count(file.stem) == 1 else str(file)
            name = measure if measures.count(measure) == 1 else f"{source}: {measure}"
            named[name] = scores
            standard_errors[name] = {s: known[measure, s] for s in scores if (measure, s) in known}
    systems = [
        {system for scores in by_measure.values() for system in scores}
        for by_measure in (read[file] for file in compared)
    ]
    if ranks and not any(names & ranks.keys() for names in systems):
        raise SelectionError(
            f"{official} and the leaderboards have no system in common. Check that they use the same names "
            "of systems."
        )
    # A pair is enough, because other leaderboards may be of other systems.
    if not ranks and len(systems) > 1 and not any(a & b for a, b in combinations(systems, 2)):
        raise SelectionError(
            "The leaderboards have no system in common. Check that they use the same names of systems."
        )
    origin = Provenance(leaderboards=file_names(*leaderboards), official=file_names(official))
    return ComparedLeaderboards(named, standard_errors, ranks, origin)


@dataclass(frozen=True)
class RankedEvaluation:
    """An evaluation with the official ranks of its systems.

    ``correlations`` is metric to the correlation with the official ranks. ``own_ranks`` are the ranks of the
    systems by the first metric. ``approximate_ranks`` are for systems without an official rank: each
    gets the official rank of the next better system by the first metric.
    """

    evaluation: Evaluation
    official: OfficialRanks
    correlations: Mapping[str, Correlation]
    own_ranks: Mapping[str, float]
    approximate_ranks: Mapping[str, float]

    @property
    def systems(self) -> list[str]:
        """The systems without the upper bound ``_overall_``."""
        return [system for system in self.evaluation.systems if system != OVERALL_SYSTEM]


def ranked(evaluation: Evaluation, official: PathLike) -> RankedEvaluation:
    """Read official ranks (a file of ranks or scores) and correlate an evaluation with them.

    Raises :class:`~exam_pp.errors.DataError` for an invalid file and
    :class:`~exam_pp.errors.SelectionError` if no system of the evaluation has an official rank.
    """
    reference = read_official(official)
    if not reference.ranks.keys() & (set(evaluation.systems) - {OVERALL_SYSTEM}):
        raise SelectionError(
            f"{official} has no rank for any evaluated system. Check that it uses the same names of systems."
        )
    return with_ranks(evaluation, reference)


def with_ranks(evaluation: Evaluation, official: OfficialRanks) -> RankedEvaluation:
    """Correlate every metric of an evaluation with official ranks."""
    means: dict[str, dict[str, float]] = {}
    for row in standings(evaluation.scores):
        by_system = means.setdefault(row.metric, {})
        if row.system != OVERALL_SYSTEM:
            by_system[row.system] = row.mean
    first = next(iter(means.values()))
    return RankedEvaluation(
        evaluation,
        official,
        {metric: correlate(by_system, official.ranks) for metric, by_system in means.items()},
        ranks_of(first),
        approximate_ranks(first, official.ranks),
    )
