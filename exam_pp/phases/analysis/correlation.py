"""Analyze: how a leaderboard agrees with an official one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from statistics import fmean
from typing import Literal

from exam_pp.errors import SelectionError
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
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM
from exam_pp.store.trec.ranks import read_ranks
from exam_pp.store.trec.scores import holds_scores, read_query_scores, read_scores

PathLike = str | Path
Resampled = Literal["queries", "systems"]

FIGURES = ("Spearman", "Kendall tau-b", "tau-AP", "top-{} overlap")
"""Names of the four figures, in the order of :class:`Correlation`."""


def correlation(
    leaderboard: PathLike,
    official: PathLike,
    *,
    top: int = 5,
    decimals: int = 4,
    intervals: Resampled | None = None,
    samples: int = 2000,
    seed: int = 0,
) -> Report:
    """One row for every measure of the leaderboard: Spearman, Kendall τ-b, τ-AP, top-k overlap.

    Args:
        leaderboard: Scores of systems: what ``evaluate`` writes as TSV or JSON, or a table with a header.
        official: Ranks (JSON or TSV), or another leaderboard of scores, of which the first measure counts.
        top: k of the top-k overlap.
        decimals: How figures are shown.
        intervals: Also 95 % intervals, by resampling the queries (the leaderboard must hold the scores of
            single queries) or the systems.
        samples: Number of bootstrap samples.
        seed: Of the samples.

    A name that one side cut (``...``) is the one that begins so. Systems on one side only are listed in the
    report. Raises :class:`~exam_pp.errors.SelectionError` if fewer than two systems are on both sides.
    """
    ranks, notes = official_ranks(official)
    columns = ["measure", "systems"]
    for name in FIGURES:
        columns += [name.format(top)] + ([f"{name.format(top)} interval"] if intervals else [])
    boards = scores_by_measure(leaderboard)
    systems = {system for board in boards.values() for system in board}
    cut = matched_names(systems, ranks)
    ranks = renamed(ranks, cut)
    notes += [f"{theirs} is taken for {ours}." for theirs, ours in cut.items()]
    common = systems & ranks.keys()
    if len(common) < 2:
        raise SelectionError(
            f"{leaderboard} and {official} have {len(common)} system{'s' * (len(common) != 1)} in common; a "
            "correlation needs two (are they named alike?)."
        )
    resampled = _resampled(leaderboard, boards, ranks, intervals, top, samples, seed) if intervals else {}
    rows: list[list[Cell]] = []
    for name, board in boards.items():
        found = correlate(board, ranks, top)
        row: list[Cell] = [name, found.systems]
        for index, figure in enumerate(found[1:]):
            row += [figure] + ([shown_interval(resampled[name][index], decimals)] if intervals else [])
        rows.append(row)
    if any(row[2] is None for row in rows):
        notes.append("No correlation is shown where one side ties all systems.")
    if intervals:
        notes.append(f"Intervals: 95 %, {samples} bootstrap samples of {intervals} (seed {seed}).")
    notes += one_sided(systems, ranks, leaderboard, official)
    table = Table(columns, rows, decimals=decimals)
    return Report("Leaderboard correlation", [table, *map(Paragraph, notes)])


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
        return [None] * len(FIGURES)
    if not isinstance(board, ScoreMatrix):
        drawn = resample_systems(board, ranks, samples=samples, seed=seed)
        return correlation_intervals(correlation_samples(*drawn, top))
    if len(board.query_ids) < 2:
        return [None] * len(FIGURES)
    rows = [row for row, system in enumerate(board.systems) if system in ranks]
    means = bootstrap_means(board.values[rows], samples=samples, seed=seed).round(12)
    official = [-ranks[board.systems[row]] for row in rows]
    return correlation_intervals(correlation_samples(means, official, top))


def shown_interval(interval: Interval | None, decimals: int) -> str:
    """An interval for people; nothing where there is none."""
    return "" if interval is None else f"[{interval.low:z.{decimals}f}, {interval.high:z.{decimals}f}]"


def query_correlation(
    leaderboard: PathLike, official: PathLike, *, top: int = 5, decimals: int = 4
) -> Report:
    """For every measure and query, how the systems' scores agree with their official scores on that query.

    Both files hold scores of single queries; of the official one, the first measure counts. A last row
    ``all`` is the mean over the queries where a figure is defined. Raises
    :class:`~exam_pp.errors.SelectionError` if a file has means only, or they share no query.
    """
    ours, theirs = _by_query(leaderboard), _by_query(official)
    reference = next(iter(theirs))
    rows: list[list[Cell]] = []
    for measure, queries in ours.items():
        found: list[Correlation] = []
        for query_id, board in queries.items():
            if query_id in theirs[reference]:
                found.append(correlate(board, ranks_of(theirs[reference][query_id]), top))
                rows.append([measure, query_id, *found[-1]])
        figures = list(zip(*(row[1:] for row in found), strict=True))
        means = [[figure for figure in column if figure is not None] for column in figures]
        rows.append([measure, ALL_QUERIES, None, *(fmean(column) if column else None for column in means)])
        if not found:
            raise SelectionError(f"{leaderboard} and {official} have no query in common.")
    notes = [
        f"Official scores: {reference} of {official}.",
        "all: the mean over the queries on which both sides order the systems.",
    ]
    names = [name.format(top) for name in FIGURES]
    table = Table(["measure", "query", "systems", *names], rows, decimals=decimals)
    return Report("Correlation by query", [table, *map(Paragraph, notes)])


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


def boards(leaderboard: PathLike, official: PathLike) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Measure to system to score, and system to official rank, as :func:`correlation` reads them."""
    return scores_by_measure(leaderboard), official_ranks(official)[0]


def official_ranks(path: PathLike) -> tuple[dict[str, float], list[str]]:
    """System to official rank, with a note where the file holds scores: its first measure ranks then.

    Raises :class:`~exam_pp.errors.DataError` for a file that is neither.
    """
    if not holds_scores(path):
        return read_ranks(path), []
    boards = scores_by_measure(path)
    measure = next(iter(boards))
    note = f"{path} holds scores: its systems are ranked by {measure}."
    return ranks_of(boards[measure]), [note]


def scores_by_measure(path: PathLike) -> dict[str, dict[str, float]]:
    """Measure to system to score, of a leaderboard file, without the overall system."""
    boards: dict[str, dict[str, float]] = {}
    for score in read_scores(path):
        if score.system != OVERALL_SYSTEM:
            boards.setdefault(score.metric, {})[score.system] = score.value
    return boards


def one_sided(
    systems: Collection[str], ranks: Collection[str], leaderboard: PathLike, official: PathLike
) -> list[str]:
    """A note for each side that has systems of its own; ``leaderboard`` and ``official`` name the sides."""
    notes = []
    for only, where in ((set(systems) - set(ranks), leaderboard), (set(ranks) - set(systems), official)):
        if only:
            notes.append(f"Only in {where}: {', '.join(sorted(only))}.")
    return notes
