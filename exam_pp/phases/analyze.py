"""Analyze: how a leaderboard agrees with an official one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from exam_pp.errors import SelectionError
from exam_pp.metrics.correlation import correlate, ranks_of
from exam_pp.reports.document import Cell, Paragraph, Report, Table
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.store.leaderboards import read_ranks
from exam_pp.store.scores import holds_scores, read_scores

PathLike = str | Path


def correlation(leaderboard: PathLike, official: PathLike, *, top: int = 5, decimals: int = 4) -> Report:
    """One row for every measure of the leaderboard: Spearman, Kendall τ-b, τ-AP, top-k overlap.

    Args:
        leaderboard: Scores of systems: what ``evaluate`` writes as TSV or JSON, or a table with a header.
        official: Ranks (JSON or TSV), or another leaderboard of scores, of which the first measure counts.
        top: k of the top-k overlap.
        decimals: How figures are shown.

    Systems on one side only are listed in the report. Raises
    :class:`~exam_pp.errors.SelectionError` if fewer than two systems are on both sides.
    """
    ranks, notes = _official(official)
    columns = ["measure", "systems", "Spearman", "Kendall tau-b", "tau-AP", f"top-{top} overlap"]
    boards = _by_measure(leaderboard)
    systems = {system for board in boards.values() for system in board}
    common = systems & ranks.keys()
    if len(common) < 2:
        raise SelectionError(
            f"{leaderboard} and {official} have {len(common)} system{'s' * (len(common) != 1)} in common; a "
            "correlation needs two (are they named alike?)."
        )
    rows: list[list[Cell]] = [[name, *correlate(board, ranks, top)] for name, board in boards.items()]
    if any(row[2] is None for row in rows):
        notes.append("No correlation is shown where one side ties all systems.")
    notes += _one_sided(systems, ranks, leaderboard, official)
    table = Table(columns, rows, decimals=decimals)
    return Report("Leaderboard correlation", [table, *map(Paragraph, notes)])


def _official(path: PathLike) -> tuple[dict[str, float], list[str]]:
    if not holds_scores(path):
        return read_ranks(path), []
    boards = _by_measure(path)
    measure = next(iter(boards))
    note = f"{path} holds scores: its systems are ranked by {measure}."
    return ranks_of(boards[measure]), [note]


def _by_measure(path: PathLike) -> dict[str, dict[str, float]]:
    boards: dict[str, dict[str, float]] = {}
    for score in read_scores(path):
        if score.system != OVERALL_SYSTEM:
            boards.setdefault(score.metric, {})[score.system] = score.value
    return boards


def _one_sided(
    systems: set[str], ranks: Mapping[str, float], leaderboard: PathLike, official: PathLike
) -> list[str]:
    notes = []
    for only, where in ((systems - ranks.keys(), leaderboard), (ranks.keys() - systems, official)):
        if only:
            notes.append(f"Only in {where}: {', '.join(sorted(only))}.")
    return notes
