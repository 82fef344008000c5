"""Report of a sweep: a table of correlations, and a picture of Kendall's τ over thresholds."""

from __future__ import annotations

from pathlib import Path

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import grader_names
from exam_pp.phases.analysis.sweep import Sweep
from exam_pp.rendering.document import Cell, Paragraph, Picture, Report, Table
from exam_pp.rendering.pictures.points import Line, lines
from exam_pp.reports.analysis.correlation import (
    COEFFICIENTS,
    formatted_interval,
    measure_notes,
    unmatched_notes,
)


def sweep_report(result: Sweep, *, decimals: int = 3) -> Report:
    """A table with a row for every setting; ``min grade`` is empty for measures without threshold."""
    settings = result.settings
    models = len({setting.model for setting in settings}) > 1
    with_intervals = any(setting.intervals for setting in settings)
    rows: list[list[Cell]] = []
    for setting in settings:
        model: list[Cell] = [setting.model] if models else []
        row = [*model, setting.prompt_class, setting.min_grade, setting.measure, setting.correlation.systems]
        intervals = setting.intervals or [None] * len(COEFFICIENTS)
        for value, interval in zip(setting.correlation[1:], intervals, strict=True):
            row += [value] + ([formatted_interval(interval, decimals)] if with_intervals else [])
        rows.append(row)
    columns = [*(["model"] if models else []), "prompt class", "min grade", "measure", "systems"]
    for name in (coefficient.format(result.top) for coefficient in COEFFICIENTS):
        columns += [name] + ([f"{name} interval"] if with_intervals else [])
    official = result.official
    notes = [f"Official ranks: {Path(official.source).name}.", *measure_notes(official), *result.notes]
    if with_intervals and not any(interval for setting in settings for interval in setting.intervals):
        notes.append("Intervals need at least five queries.")
    scored = {system for setting in settings for system in setting.scores}
    notes += unmatched_notes(scored, official.ranks, "the scores", official.source)
    table = Table(columns, rows, decimals=decimals)
    return Report("Correlation by setting", [table, *map(Paragraph, notes)], result.provenance)


def sweep_picture(result: Sweep) -> Picture:
    """A line plot of Kendall's τ over thresholds, with a line for each grader and measure.

    Raises :class:`~exam_pp.errors.SelectionError` if no measure with a threshold has a defined correlation.
    """
    curves: dict[str, dict[str, float]] = {}
    graders = list(dict.fromkeys(setting.key for setting in result.settings))
    grader = grader_names(graders)
    for setting in result.settings:
        if setting.min_grade is not None and setting.correlation.kendall is not None:
            name = f"{grader(setting.key)} {setting.measure}" if len(graders) > 1 else setting.measure
            curves.setdefault(name, {})[str(setting.min_grade)] = setting.correlation.kendall
    if not curves:
        raise SelectionError(
            "The figure needs a defined correlation of a measure with a threshold, such as Cover or RR (nDCG "
            "has no threshold)."
        )
    grades = sorted({int(grade) for values in curves.values() for grade in values})
    return lines(
        [Line(name, values, {}) for name, values in curves.items()],
        [str(grade) for grade in grades],
        "minimum grade",
        "Kendall's tau-b",
        "Correlation with the official ranks",
    )
