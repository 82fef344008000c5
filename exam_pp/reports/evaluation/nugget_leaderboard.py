"""Tables of nugget scores in the layout of the AutoNuggetizer paper."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from exam_pp.metrics.leaderboard import Standing
from exam_pp.metrics.measures import LENGTH
from exam_pp.phases.evaluation.leaderboards import Standings
from exam_pp.phases.evaluation.nugget_leaderboard import NuggetLeaderboard
from exam_pp.phases.evaluation.nugget_scores import ALL_NUGGETS, EMPTY_ANSWERS
from exam_pp.phases.evaluation.result import joined_notes, noted_names
from exam_pp.provenance import combined
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.reports.evaluation.leaderboards import (
    SCRIPT_DECIMALS,
    Column,
    leaderboard_pictures,
    metric_columns,
)
from exam_pp.text.wording import counted, listed

_DECIMALS = 4


def nugget_report(leaderboard: NuggetLeaderboard, *, formatted: bool = True, narrow: bool = False) -> Report:
    """A table with a row per run, best first by V_strict of the first condition (Tables 6 to 8 of the paper).

    With several conditions, column names start with the name of the condition. With ``narrow``, the first
    table has only the first metric of each condition, and a table for each condition follows. With
    ``formatted``, standard errors are not shown in tables, tables end with the rows Min, Median and Max, and
    every condition has pictures.
    """
    several, decimals = len(leaderboard.conditions) > 1, _DECIMALS if formatted else SCRIPT_DECIMALS
    shown = 1 if narrow and several else None
    below = [*leaderboard.sanity, *(leaderboard.extremes if formatted else ())]
    conditions = [
        (name, replace(standings, rows={**standings.rows, **_rows(number, below)}))
        for number, (name, standings) in enumerate(leaderboard.conditions)
    ]
    types = leaderboard.types
    lengths = {row.system: row.mean for _, row in reversed(below) if row.metric == LENGTH}
    lengths |= leaderboard.lengths
    of_length = [LENGTH] if leaderboard.lengths else []
    of_conditions = [(name, _columns(standings, formatted)) for name, standings in conditions]
    columns = [
        (f"{name} {column}" if several else column, cell)
        for name, of_condition in of_conditions
        for column, cell in of_condition[:shown]
    ]
    names_below = dict.fromkeys(row.system for _, row in below)
    rows: list[list[Cell]] = [
        [
            system,
            *([types.get(system)] if types else []),
            *(cell(system) for _, cell in columns),
            *(_length(lengths.get(system), formatted=formatted) for _ in of_length),
        ]
        for system in [*leaderboard.systems, *names_below]
    ]
    first = ["Run ID", *(["Task"] if types else [])]
    tables = [Table([*first, *(name for name, _ in columns), *of_length], rows, decimals=decimals)]
    for number, (name, of_condition) in enumerate(of_conditions):
        # A table of one column would only repeat the first table.
        if shown and len(of_condition) > 1:
            runs = leaderboard.conditions[number][1].systems
            systems = [*runs, *dict.fromkeys(row.system for of, row in below if of == number)]
            rows = [[system, *(cell(system) for _, cell in of_condition)] for system in systems]
            tables.append(Table(["Run ID", *(column for column, _ in of_condition)], rows, name, decimals))
    notes = joined_notes(
        [(name, [*_query_notes(each), *each.all_notes]) for name, each in leaderboard.conditions]
    )
    if ALL_NUGGETS in names_below:
        notes.append(
            f"{ALL_NUGGETS} supports every nugget, {EMPTY_ANSWERS} none; no other row includes them."
        )
    if "Max" in names_below:
        notes.append("Min, Median and Max are over the runs of each query, averaged over the queries.")
    untyped = [system for system in leaderboard.systems if types and system not in types]
    notes += noted_names(untyped, "No run type for {}.", "run", "runs")
    pictures = [
        picture
        for name, standings in (leaderboard.conditions if formatted else ())
        for picture in leaderboard_pictures(standings, name if several else "")
    ]
    provenance = combined(standings.provenance for _, standings in leaderboard.conditions)
    warnings = [note for _, standings in leaderboard.conditions for note in standings.notes]
    return Report(leaderboard.title, [*tables, *map(Paragraph, notes), *pictures], provenance, warnings)


def _columns(standings: Standings, formatted: bool) -> list[Column]:
    """The columns of all metrics; the mean of the first metric comes first."""
    return [
        column
        for metric in standings.metrics
        for column in metric_columns(standings, metric, formatted=formatted, decimals=_DECIMALS, errors=False)
    ]


def _rows(condition: int, below: Iterable[tuple[int, Standing]]) -> dict[tuple[str, str], Standing]:
    return {(row.system, row.metric): row for number, row in below if number == condition}


def _length(value: float | None, *, formatted: bool) -> Cell:
    """L with two decimals, as in the paper."""
    return f"{value:6.2f}" if formatted and value is not None else value


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
