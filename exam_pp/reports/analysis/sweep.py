"""Correlations of a sweep as a table, and over thresholds as a figure."""

from __future__ import annotations

from pathlib import Path

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import grader_names
from exam_pp.phases.analysis.sweep import Sweep
from exam_pp.rendering import plots
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.reports.analysis.notes import FIGURES, about_ranks, one_sided, shown_interval

_SIZE = (9.0, 4.5)


def sweep_report(found: Sweep, *, decimals: int = 3) -> Report:
    """One row a setting; a blank ``min_grade`` means that the measure has no relevance level."""
    settings = found.settings
    models = len({setting.model for setting in settings}) > 1
    with_intervals = any(setting.intervals for setting in settings)
    rows: list[list[Cell]] = []
    for setting in settings:
        who: list[Cell] = [setting.model] if models else []
        row = [*who, setting.prompt_class, setting.min_grade, setting.measure, setting.correlation.systems]
        intervals = setting.intervals or [None] * len(FIGURES)
        for figure, interval in zip(setting.correlation[1:], intervals, strict=True):
            row += [figure] + ([shown_interval(interval, decimals)] if with_intervals else [])
        rows.append(row)
    columns = [*(["model"] if models else []), "prompt class", "min grade", "measure", "systems"]
    for name in (figure.format(found.top) for figure in FIGURES):
        columns += [name] + ([f"{name} interval"] if with_intervals else [])
    official = found.official
    notes = [f"Official ranks: {Path(official.source).name}.", *about_ranks(official)]
    if with_intervals and not any(interval for setting in settings for interval in setting.intervals):
        notes.append("A single query gives no interval.")
    scored = {system for setting in settings for system in setting.scores}
    notes += one_sided(scored, official.ranks, "the scores", official.source)
    table = Table(columns, rows, decimals=decimals)
    return Report("Correlation of every setting", [table, *map(Paragraph, notes)])


def sweep_figure(found: Sweep) -> plots.Drawing:
    """Kendall's τ over thresholds, a line for each grader and measure.

    Raises :class:`~exam_pp.errors.SelectionError` where nothing depends on a threshold.
    """
    lines: dict[str, list[tuple[float, float]]] = {}
    graders = list(dict.fromkeys(setting.key for setting in found.settings))
    grader = grader_names(graders)
    for setting in found.settings:
        if setting.min_grade is not None and setting.correlation.kendall is not None:
            name = f"{grader(setting.key)} {setting.measure}" if len(graders) > 1 else setting.measure
            lines.setdefault(name, []).append((setting.min_grade, setting.correlation.kendall))
    if not lines:
        raise SelectionError(
            "There is nothing to draw: no correlation is defined for a measure with a threshold (as Cover "
            "and RR have, and nDCG has not)."
        )
    return plots.curves(lines, "minimum grade", "Kendall tau-b with the official ranks"), _SIZE
