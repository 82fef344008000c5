"""Tables of nugget scores in the layout of the AutoNuggetizer paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from exam_pp.metrics.measures import LENGTH
from exam_pp.phases.evaluation.leaderboards import Standings
from exam_pp.phases.evaluation.nugget_leaderboard import ExtraRow, NuggetLeaderboard
from exam_pp.phases.evaluation.nugget_scores import ALL_NUGGETS, EMPTY_ANSWERS
from exam_pp.phases.evaluation.result import counted_names
from exam_pp.provenance import combined
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.reports.evaluation.leaderboard_pictures import leaderboard_pictures
from exam_pp.reports.evaluation.leaderboards import (
    SCRIPT_DECIMALS,
    metric_columns,
    uncertainty_cells,
    uncertainty_columns,
)
from exam_pp.text.wording import counted, listed

TITLE = "Nugget scores"
_DECIMALS = 4


def nugget_report(leaderboard: NuggetLeaderboard, *, formatted: bool = True, narrow: bool = False) -> Report:
    """A table with a row per run, best first by V_strict of the first condition (Tables 6 to 8 of the paper).

    With several conditions, column names start with the name of the condition. With ``narrow``, the first
    table has only the first metric of each condition, and a table for each condition follows. With
    ``formatted``, standard errors are not shown in tables, tables end with the rows Min, Median and Max, and
    every condition has pictures.
    """
    narrow = narrow and len(leaderboard.conditions) > 1
    decimals = _DECIMALS if formatted else SCRIPT_DECIMALS
    columns = ["Run ID", *(["Task"] if leaderboard.types else [])]
    for name, standings in leaderboard.conditions:
        prefix = f"{name} " if len(leaderboard.conditions) > 1 else ""
        columns += [
            prefix + column
            for column in metric_columns(standings, formatted=formatted)[: 1 if narrow else None]
        ]
    rows: list[list[Cell]] = []
    for system in leaderboard.systems:
        row: list[Cell] = [system, *([leaderboard.types.get(system)] if leaderboard.types else [])]
        for _, standings in leaderboard.conditions:
            row += _cells(standings, system, formatted)[: 1 if narrow else None]
        if leaderboard.lengths:
            row.append(_length(leaderboard.lengths.get(system), formatted=formatted))
        rows.append(row)
    extra = [*leaderboard.sanity, *(leaderboard.extremes if formatted else ())]
    for row_below in extra:
        row = [row_below.name, *([None] if leaderboard.types else [])]
        for values, (_, standings) in zip(row_below.values, leaderboard.conditions, strict=True):
            row += _value_cells(standings, values, formatted)[: 1 if narrow else None]
        if leaderboard.lengths:
            length = next((values[LENGTH] for values in row_below.values if LENGTH in values), None)
            row.append(_length(length, formatted=formatted))
        rows.append(row)
    if leaderboard.lengths:
        columns.append(LENGTH)
    tables = [Table(columns, rows, decimals=decimals)]
    if narrow:
        tables += [
            _table(name, standings, [(row.name, row.values[number]) for row in extra], formatted)
            for number, (name, standings) in enumerate(leaderboard.conditions)
            # A table of one column would only repeat the first table.
            if len(metric_columns(standings, formatted=formatted)) > 1
        ]
    notes = [*_notes(leaderboard), *_row_notes(extra)]
    if leaderboard.types and (
        untyped := [system for system in leaderboard.systems if system not in leaderboard.types]
    ):
        notes.append(f"No run type for {counted_names(untyped, 'run', 'runs')}.")
    provenance = combined(standings.provenance for _, standings in leaderboard.conditions)
    shown = [
        picture
        for name, standings in (leaderboard.conditions if formatted else ())
        for picture in leaderboard_pictures(standings, name if len(leaderboard.conditions) > 1 else "")
    ]
    warnings = [note for _, standings in leaderboard.conditions for note in standings.notes]
    return Report(TITLE, [*tables, *map(Paragraph, notes), *shown], provenance, warnings)


def _cells(standings: Standings, system: str, formatted: bool) -> list[Cell]:
    """The cells of the columns :func:`metric_columns`; the mean of the first metric comes first."""
    cells: list[Cell] = []
    for metric in standings.metrics:
        row = standings.rows.get((system, metric))
        cells += [row and row.mean] if formatted else [row and row.mean, row and row.stderr]
        cells += uncertainty_cells(
            standings.uncertainty, system, metric, formatted=formatted, decimals=_DECIMALS
        )
    return cells


def _value_cells(standings: Standings, values: Mapping[str, float], formatted: bool) -> list[Cell]:
    """The cells of the columns :func:`metric_columns` for values without uncertainty."""
    cells: list[Cell] = []
    for metric in standings.metrics:
        columns = uncertainty_columns(standings.uncertainty, metric, formatted=formatted)
        cells += [values.get(metric), *([] if formatted else [None]), *(None for _ in columns)]
    return cells


def _table(
    name: str, standings: Standings, below: Sequence[tuple[str, Mapping[str, float]]], formatted: bool
) -> Table:
    """A table of a single condition, best run first, with the rows ``below``."""
    rows = [[system, *_cells(standings, system, formatted)] for system in standings.systems]
    rows += [[row, *_value_cells(standings, values, formatted)] for row, values in below if values]
    decimals = _DECIMALS if formatted else SCRIPT_DECIMALS
    return Table(["Run ID", *metric_columns(standings, formatted=formatted)], rows, name, decimals)


def _length(value: float | None, *, formatted: bool) -> Cell:
    """L with two decimals, as in the paper."""
    return f"{value:6.2f}" if formatted and value is not None else value


def _row_notes(rows: Sequence[ExtraRow]) -> Iterator[str]:
    names = {row.name for row in rows}
    if ALL_NUGGETS in names:
        yield f"{ALL_NUGGETS} supports every nugget, {EMPTY_ANSWERS} none; no other row includes them."
    if "Max" in names:
        yield "Min, Median and Max are over the runs of each query, averaged over the queries."


def _notes(leaderboard: NuggetLeaderboard) -> Iterator[str]:
    """The notes of all conditions without duplicates; a note on some conditions starts with their names."""
    names: dict[str, list[str]] = {}
    for name, standings in leaderboard.conditions:
        for note in [*_query_notes(standings), *standings.all_notes]:
            names.setdefault(note, []).append(name)
    for note, having in names.items():
        yield note if len(having) == len(leaderboard.conditions) else f"{', '.join(having)}: {note}"


def _query_notes(standings: Standings) -> Iterator[str]:
    """Notes on the number of queries of the means, which may differ between runs of score files."""
    counts: dict[str, dict[str, int]] = {}
    for row in standings.rows.values():
        if row.queries:
            counts.setdefault(row.metric, {})[row.system] = row.queries
    largest = {metric: max(counts[metric].values()) for metric in standings.metrics if metric in counts}
    number = max(largest.values(), default=0)
    if not number:
        yield f"Sorted by {standings.metrics[0]}."
        return
    fewer = ", ".join(f"{metric} {count}" for metric, count in largest.items() if count < number)
    means = f"Means over {counted(number, 'query')}{f' ({fewer})' if fewer else ''}"
    yield f"{means}, sorted by {standings.metrics[0]}."
    incomplete = {
        system: f"{system} has {metric} of {count} of {largest[metric]}"
        for metric in reversed(largest)
        for system, count in counts[metric].items()
        if count < largest[metric]
    }
    if incomplete:
        systems = listed(list(incomplete.values()), "; ")
        yield f"Some means are over fewer queries: {systems}."
