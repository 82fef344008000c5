"""Rank correlation of leaderboards with an official one: Spearman, Kendall τ-b, τ-AP, top-k overlap."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal

from exam_pp.errors import SelectionError
from exam_pp.formats.scores import holds_scores, read_means, read_query_scores
from exam_pp.metrics.correlation import (
    Correlation,
    correlate,
    correlation_intervals,
    correlation_samples,
    ranks_of,
    resample_systems,
)
from exam_pp.metrics.uncertainty import Interval, ScoreMatrix, bootstrap_means, score_matrices
from exam_pp.phases.evaluation.system_names import matched_names, renamed
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.store.trec.ranks import read_ranks

PathLike = str | Path
Resampled = Literal["queries", "systems"]

_FIGURES = 4
"""Spearman, Kendall τ-b, τ-AP and top-k overlap: the figures of a :class:`Correlation`."""
_THRESHOLD = re.compile(r"\((?:rel|min_grade)=(-?\d+)\)")


@dataclass(frozen=True)
class OfficialRanks:
    """An official leaderboard: system to rank, 1 is best.

    ``measure`` is the measure by which the systems of a file of scores are ranked; empty for ranks.
    """

    source: PathLike
    ranks: Mapping[str, float]
    measure: str = ""


@dataclass(frozen=True)
class MeasureCorrelation:
    """The correlation of one measure of a leaderboard with official ranks.

    ``intervals`` are 95 % intervals of the four figures, where they were asked for.
    """

    measure: str
    correlation: Correlation
    intervals: Sequence[Interval | None] = ()


@dataclass(frozen=True)
class Correlations:
    """The correlation of every measure of a leaderboard with official ranks.

    ``scores`` has the score of every system by measure. ``matched`` has the official names that one side cut,
    and the leaderboard's names for them. ``top`` is k of the top-k overlap. ``resampled``, ``samples`` and
    ``seed`` are those of the intervals.
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


@dataclass(frozen=True)
class QueryCorrelations:
    """Measure to query to the correlation of the systems' scores with their official scores on the query.

    ``means`` has, for every measure, the mean of each figure over the queries where it is defined, or None.
    ``reference`` is the official measure.
    """

    leaderboard: PathLike
    official: PathLike
    reference: str
    queries: Mapping[str, Mapping[str, Correlation]]
    means: Mapping[str, Sequence[float | None]]
    top: int


def correlation(
    leaderboard: PathLike,
    official: PathLike | OfficialRanks,
    *,
    boards: Mapping[str, Mapping[str, float]] | None = None,
    top: int = 5,
    intervals: Resampled | None = None,
    samples: int = 2000,
    seed: int = 0,
) -> Correlations:
    """The correlation of every measure of a leaderboard with official ranks.

    Args:
        leaderboard: Scores of systems: what ``evaluate`` writes as TSV or JSON, or a table with a header.
        official: Ranks (JSON or TSV), or another leaderboard of scores, of which the first measure counts.
        boards: Measure to system to score, in place of what the file says; the path only names them then.
        top: k of the top-k overlap.
        intervals: Also 95 % intervals, by resampling the queries (the leaderboard must hold the scores of
            single queries) or the systems.
        samples: Number of bootstrap samples.
        seed: Of the samples.

    A name that one side cut (``...``) is the one that begins so. Raises
    :class:`~exam_pp.errors.SelectionError` if fewer than two systems are on both sides.
    """
    reference = official if isinstance(official, OfficialRanks) else read_official(official)
    boards = scores_by_measure(leaderboard) if boards is None else boards
    systems = {system for board in boards.values() for system in board}
    matched = matched_names(systems, reference.ranks)
    ranks = renamed(reference.ranks, matched)
    common = systems & ranks.keys()
    if len(common) < 2:
        raise SelectionError(
            f"{leaderboard} and {reference.source} have {len(common)} system{'s' * (len(common) != 1)} in "
            "common; a correlation needs two (are they named alike?)."
        )
    found = _resampled(leaderboard, boards, ranks, intervals, top, samples, seed) if intervals else {}
    measures = [
        MeasureCorrelation(measure, correlate(board, ranks, top), found.get(measure, ()))
        for measure, board in boards.items()
    ]
    return Correlations(leaderboard, reference, measures, boards, matched, top, intervals, samples, seed)


def _resampled(
    leaderboard: PathLike,
    boards: Mapping[str, Mapping[str, float]],
    ranks: Mapping[str, float],
    resampled: Resampled,
    top: int,
    samples: int,
    seed: int,
) -> dict[str, list[Interval | None]]:
    """Measure to the intervals of the four figures."""
    matrices = score_matrices(read_query_scores(leaderboard)) if resampled == "queries" else {}
    if resampled == "queries" and any(
        name not in matrices or len(matrices[name].query_ids) < 2 for name in boards
    ):
        raise SelectionError(
            f"{leaderboard} holds no scores of single queries, which intervals over queries need: write it "
            "with --per-query, or resample the systems."
        )
    return {
        name: figure_intervals(matrices.get(name, board), ranks, top=top, samples=samples, seed=seed)
        for name, board in boards.items()
    }


def figure_intervals(
    board: Mapping[str, float] | ScoreMatrix,
    ranks: Mapping[str, float],
    *,
    top: int = 5,
    samples: int = 2000,
    seed: int = 0,
) -> list[Interval | None]:
    """95 % intervals of Spearman, Kendall τ-b, τ-AP and top-k overlap of a board with official ranks.

    Resampled are the queries of a matrix of scores, or the systems of a board of means. Fewer than two
    queries, or systems that are on both sides, give no interval.
    """
    systems = board.systems if isinstance(board, ScoreMatrix) else board
    if sum(system in ranks for system in systems) < 2:
        return [None] * _FIGURES
    if not isinstance(board, ScoreMatrix):
        drawn = resample_systems(board, ranks, samples=samples, seed=seed)
        return correlation_intervals(correlation_samples(*drawn, top))
    if len(board.query_ids) < 2:
        return [None] * _FIGURES
    rows = [row for row, system in enumerate(board.systems) if system in ranks]
    means = bootstrap_means(board.values[rows], samples=samples, seed=seed).round(12)
    official = [-ranks[board.systems[row]] for row in rows]
    return correlation_intervals(correlation_samples(means, official, top))


def query_correlation(leaderboard: PathLike, official: PathLike, *, top: int = 5) -> QueryCorrelations:
    """For every measure and query, how the systems' scores agree with their official scores on that query.

    Both files hold scores of single queries; of the official one, the first measure counts. Raises
    :class:`~exam_pp.errors.SelectionError` if a file has means only, or they share no query.
    """
    ours, theirs = _by_query(leaderboard), _by_query(official)
    reference = next(iter(theirs))
    found: dict[str, dict[str, Correlation]] = {}
    means: dict[str, list[float | None]] = {}
    for measure, queries in ours.items():
        found[measure] = {
            query_id: correlate(board, ranks_of(theirs[reference][query_id]), top)
            for query_id, board in queries.items()
            if query_id in theirs[reference]
        }
        if not found[measure]:
            raise SelectionError(f"{leaderboard} and {official} have no query in common.")
        figures = zip(*(row[1:] for row in found[measure].values()), strict=True)
        defined = [[figure for figure in column if figure is not None] for column in figures]
        means[measure] = [fmean(column) if column else None for column in defined]
    return QueryCorrelations(leaderboard, official, reference, found, means, top)


def _by_query(path: PathLike) -> dict[str, dict[str, dict[str, float]]]:
    """Measure to query to system to score."""
    boards: dict[str, dict[str, dict[str, float]]] = {}
    for score in read_query_scores(path):
        if score.system != OVERALL_SYSTEM:
            queries = boards.setdefault(score.metric, {})
            queries.setdefault(score.query_id, {})[score.system] = score.value
    if not boards:
        raise SelectionError(f"{path} holds no scores of single queries; write it with --per-query.")
    return boards


def read_official(path: PathLike) -> OfficialRanks:
    """Official ranks, or scores, by whose first measure the systems are ranked then.

    Raises :class:`~exam_pp.errors.DataError` for a file that is neither.
    """
    if not holds_scores(path):
        return OfficialRanks(path, read_ranks(path))
    boards = scores_by_measure(path)
    measure = next(iter(boards))
    return OfficialRanks(path, ranks_of(boards[measure]), measure)


def split_threshold(measure: str) -> tuple[str, int | None]:
    """A measure's name without its threshold, and the threshold: RR and 4 of ``RR(rel=4)``."""
    found = _THRESHOLD.search(measure)
    return _THRESHOLD.sub("", measure), int(found[1]) if found else None


def scores_by_measure(path: PathLike) -> dict[str, dict[str, float]]:
    """Measure to system to score, of a leaderboard file, without the overall system."""
    boards: dict[str, dict[str, float]] = {}
    for score in read_means(path):
        if score.system != OVERALL_SYSTEM:
            boards.setdefault(score.metric, {})[score.system] = score.value
    return boards
