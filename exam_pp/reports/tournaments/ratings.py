"""Ratings of systems by games: leaderboard, numbers of games, win matrix and head-to-head comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan

from exam_pp.metrics.head_to_head import HeadToHead, WinMatrix
from exam_pp.metrics.uncertainty import Interval
from exam_pp.phases.evaluation.leaderboards import Standings
from exam_pp.phases.tournaments.ratings import Ratings
from exam_pp.rendering.document import Block, Cell, Paragraph, Picture, Report, Table
from exam_pp.rendering.pictures.grids import win_matrix
from exam_pp.reports.evaluation.leaderboards import ExtraColumn, leaderboard_report

_SHADES = 6


def ratings_report(
    standings: Standings,
    boards: Mapping[str, Ratings],
    compared: Mapping[str, Sequence[HeadToHead]] | None = None,
    *,
    formatted: bool = True,
    extra: ExtraColumn | None = None,
) -> Report:
    """The leaderboard, then the games, the win matrix and the compared pairs of each judge.

    ``boards``: Judge to ratings; a single judge may have an empty name.
    """
    report = leaderboard_report(standings, "Ratings by games", formatted=formatted, extra=extra, decimals=1)
    blocks: list[Block] = []
    for judge, board in boards.items():
        tables = [_games_table(board), win_matrix_table(board.matrix)]
        pairs = (compared or {}).get(judge)
        if pairs:
            tables.append(head_to_head_table(pairs, formatted=formatted))
        blocks += [replace(table, title=f"{table.title}, {judge}") if judge else table for table in tables]
    if any((compared or {}).values()):
        blocks.append(Paragraph(_TEST_NOTE))
    return replace(report, blocks=[*report.blocks, *blocks])


_TEST_NOTE = (
    "Head to head: shares of the games of two systems, with intervals over queries (Gaffke's bound, if no "
    "other query has more games than the largest here). The two-sided sign test counts a query for the "
    "system that won more of its games, and drops ties; Holm corrects for all compared pairs."
)


def _games_table(board: Ratings) -> Table:
    columns = ["system", "games", "won", "tied", "lost"]
    with_spread = any(row.spread is not None for row in board.records)
    rows: list[list[Cell]] = [
        [row.system, row.games, row.won, row.tied, row.lost, *([row.spread] if with_spread else [])]
        for row in board.records
    ]
    width = len(columns) + with_spread
    rows += [[system, 0, *[None] * (width - 2)] for system in board.unrated]
    if with_spread:
        columns.append("sd of Elo over tournaments")
    return Table(columns, rows, title="Games", decimals=1)


def win_matrix_table(matrix: WinMatrix) -> Table:
    """Shares of games that the row's system won against the column's, and the mean of each row."""
    rows: list[list[Cell]] = []
    shades: dict[tuple[int, int], int] = {}
    for number, (system, shares, average) in enumerate(
        zip(matrix.systems, matrix.shares.tolist(), matrix.averages, strict=True)
    ):
        rows.append([system, *map(_defined, shares), _defined(average)])
        for column, share in enumerate(shares, start=1):
            if not isnan(share):
                shades[number, column] = min(_SHADES - 1, int(share * _SHADES))
    return Table(
        ["system", *matrix.systems, "mean"],
        rows,
        title="Share of games that the system of the row won (the rest of both shares are ties)",
        shades=shades,
    )


def win_matrix_picture(matrix: WinMatrix) -> Picture:
    """The win matrix as a heat map."""
    return win_matrix(matrix.systems, matrix.shares.tolist(), "Share of games won")


def head_to_head_table(pairs: Sequence[HeadToHead], *, formatted: bool = True) -> Table:
    """A row for each pair: shares of games with intervals, and the sign test."""
    columns = ["system", "against", "games", "queries"]
    for name in ("won", "tied", "lost"):
        columns += [name] if formatted else [name, f"{name} low", f"{name} high"]
    rows: list[list[Cell]] = []
    for pair in pairs:
        cells: list[Cell] = [pair.system_a, pair.system_b, pair.games, pair.queries]
        for share, interval in (
            (pair.won, pair.won_interval),
            (pair.tied, pair.tied_interval),
            (pair.lost, pair.lost_interval),
        ):
            cells += [_share(share, interval)] if formatted else [share, *interval]
        rows.append([*cells, pair.p, pair.adjusted_p])
    columns += ["p (sign test)", "p (Holm)"]
    return Table(
        columns, rows, title="Head to head", decimals=3, significant={len(columns) - 2, len(columns) - 1}
    )


def _share(share: float, interval: Interval) -> str:
    return f"{share:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def _defined(value: float) -> float | None:
    return None if isnan(value) else value
