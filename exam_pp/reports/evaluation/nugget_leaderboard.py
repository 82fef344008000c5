"""Nugget scores as tables in the layout of the AutoNuggetizer paper, conditions side by side."""

from __future__ import annotations

from collections.abc import Iterator

from exam_pp.metrics.nuggets import LENGTH
from exam_pp.phases.evaluation.leaderboards import Standings
from exam_pp.phases.evaluation.nugget_leaderboard import NuggetLeaderboard
from exam_pp.phases.evaluation.result import some
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.reports.evaluation.leaderboards import SCRIPT_DECIMALS, metric_columns
from exam_pp.reports.evaluation.uncertainty import uncertainty_cells
from exam_pp.wording import counted, listed

TITLE = "Nugget scores"
_DECIMALS = 4


def nugget_report(found: NuggetLeaderboard, *, formatted: bool = True, narrow: bool = False) -> Report:
    """A row for every run, best first by V_strict of the first condition (Tables 6 to 8 of the paper).

    Several conditions are groups of columns whose names start with the condition's. ``narrow`` sets only
    their first metrics side by side, and gives every condition a table of its own below. Standard errors
    are not shown to people.
    """
    narrow = narrow and len(found.boards) > 1
    decimals = _DECIMALS if formatted else SCRIPT_DECIMALS
    columns = ["Run ID", *(["Task"] if found.types else [])]
    for name, board in found.boards:
        prefix = f"{name} " if len(found.boards) > 1 else ""
        columns += [
            prefix + column for column in metric_columns(board, formatted=formatted)[: 1 if narrow else None]
        ]
    rows: list[list[Cell]] = []
    for system in found.systems:
        row: list[Cell] = [system, *([found.types.get(system)] if found.types else [])]
        for _, board in found.boards:
            row += _cells(board, system, formatted)[: 1 if narrow else None]
        if found.lengths:
            row.append(_length(found.lengths.get(system), formatted=formatted))
        rows.append(row)
    if found.lengths:
        columns.append(LENGTH)
    tables = [Table(columns, rows, decimals=decimals)]
    if narrow:
        tables += [
            _table(name, board, formatted)
            for name, board in found.boards
            if len(metric_columns(board, formatted=formatted)) > 1
        ]
    notes = list(_notes(found))
    if found.types and (untyped := [system for system in found.systems if system not in found.types]):
        notes.append(f"No type for {some(untyped, 'run', 'runs')}.")
    return Report(TITLE, [*tables, *map(Paragraph, notes)])


def _cells(board: Standings, system: str, formatted: bool) -> list[Cell]:
    """The cells under :func:`metric_columns`, the mean of the first metric first."""
    cells: list[Cell] = []
    for metric in board.metrics:
        row = board.rows.get((system, metric))
        cells += [row and row.mean] if formatted else [row and row.mean, row and row.stderr]
        cells += uncertainty_cells(board.uncertainty, system, metric, formatted=formatted, decimals=_DECIMALS)
    return cells


def _table(name: str, board: Standings, formatted: bool) -> Table:
    """A table of one condition alone, its best run first."""
    rows = [[system, *_cells(board, system, formatted)] for system in board.systems]
    decimals = _DECIMALS if formatted else SCRIPT_DECIMALS
    return Table(["Run ID", *metric_columns(board, formatted=formatted)], rows, name, decimals)


def _length(value: float | None, *, formatted: bool) -> Cell:
    """With two decimals, as in the paper."""
    return f"{value:6.2f}" if formatted and value is not None else value


def _notes(found: NuggetLeaderboard) -> Iterator[str]:
    """The notes of all conditions, once each; what is not true of all of them says of which."""
    names: dict[str, list[str]] = {}
    for name, board in found.boards:
        for note in [*_about(board), *board.uncertainty.notes, *board.notes]:
            names.setdefault(note, []).append(name)
    for note, of in names.items():
        yield note if len(of) == len(found.boards) else f"{', '.join(of)}: {note}"


def _about(board: Standings) -> Iterator[str]:
    """How many queries the means are over; scores of files may be of other queries for every run."""
    counts: dict[str, dict[str, int]] = {}
    for row in board.rows.values():
        if row.queries:
            counts.setdefault(row.metric, {})[row.system] = row.queries
    most = {metric: max(counts[metric].values()) for metric in board.metrics if metric in counts}
    number = max(most.values(), default=0)
    if not number:
        yield f"Sorted by {board.metrics[0]}."
        return
    fewer = ", ".join(f"{metric} {count}" for metric, count in most.items() if count < number)
    means = f"Means over {counted(number, 'query')}{f' ({fewer})' if fewer else ''}"
    yield f"{means}, sorted by {board.metrics[0]}."
    short = {
        system: f"{system} has {metric} of {count} of {most[metric]}"
        for metric in reversed(most)
        for system, count in counts[metric].items()
        if count < most[metric]
    }
    if short:
        systems = listed(list(short.values()), "; ")
        yield f"Not over the same queries: {systems}. Such a mean is over its own queries alone."
