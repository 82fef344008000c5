"""Pictures of leaderboards: systems with their intervals, and scores by system and query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from exam_pp.metrics.measures import SHARE_DECIMALS, MeasureName
from exam_pp.phases.evaluation.leaderboards import Standings, SystemUncertainty
from exam_pp.rendering.document import Picture
from exam_pp.rendering.pictures.grids import heatmap
from exam_pp.rendering.pictures.rows import Bar, dot_plot
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM, Score


def leaderboard_pictures(standings: Standings, condition: str = "") -> list[Picture]:
    """Intervals and heatmap of the first metric; ``condition`` is put before their titles."""
    several = len({*standings.systems} - {OVERALL_SYSTEM}) > 1
    shown = [leaderboard_picture(standings)] if several else []
    scores = score_heatmap(standings.evaluation.scores, standings.metrics[0] if standings.metrics else "")
    shown += [scores] if scores is not None else []
    if not condition:
        return shown
    return [replace(picture, title=f"{condition}: {picture.title}") for picture in shown]


def leaderboard_picture(standings: Standings) -> Picture:
    """The systems by the first metric with intervals or standard errors."""
    bars = [bar for bar in _bars(standings) if bar.system != OVERALL_SYSTEM]
    metric, whiskers = standings.metrics[0], _interval_label(standings)
    if not whiskers:
        errors = [standings.rows[bar.system, metric].stderr for bar in bars]
        if any(errors):
            whiskers = "± standard error"
            bars = [
                bar if error is None else bar._replace(low=bar.value - error, high=bar.value + error)
                for bar, error in zip(bars, errors, strict=True)
            ]
    if not metric.is_share:
        return dot_plot(bars, metric, f"Systems by {metric}", whiskers)
    bars = [Bar(bar.system, 100 * bar.value, _hundredfold(bar.low), _hundredfold(bar.high)) for bar in bars]
    return dot_plot(bars, metric.in_percent, f"Systems by {metric}", whiskers, decimals=SHARE_DECIMALS)


def score_heatmap(scores: Iterable[Score], metric: str = "") -> Picture | None:
    """A metric of every system on every query; None for fewer than two systems or queries.

    The default is the metric of the first score.
    """
    values: dict[str, dict[str, float]] = {}
    for score in scores:
        metric = metric or score.metric
        if score.metric == metric and score.query_id != ALL_QUERIES and score.system != OVERALL_SYSTEM:
            values.setdefault(score.system, {})[score.query_id] = score.value
    queries = list(dict.fromkeys(query for of_system in values.values() for query in of_system))
    if len(values) < 2 or len(queries) < 2:
        return None
    title = f"{metric} by system and query"
    rows = [[of_system.get(query) for query in queries] for of_system in values.values()]
    name = MeasureName(metric)
    if not name.is_share:
        return heatmap(list(values), queries, rows, metric, title)
    rows = [list(map(_hundredfold, row)) for row in rows]
    return heatmap(list(values), queries, rows, name.in_percent, title, decimals=SHARE_DECIMALS)


def _bars(standings: Standings) -> list[Bar]:
    """The systems by the first metric, best first, with their intervals."""
    metric = standings.metrics[0] if standings.metrics else ""
    rows = [row for row in standings.rows.values() if row.metric == metric]
    bars = []
    for row in sorted(rows, key=lambda row: (-row.mean, row.system)):
        interval = standings.uncertainty.systems.get((row.system, metric), SystemUncertainty())
        bars.append(Bar(row.system, row.mean, interval.low, interval.high))
    return bars


def _interval_label(standings: Standings) -> str:
    """Level and units of the intervals, whose method is in the notes; empty without intervals."""
    if all(bar.low is None for bar in _bars(standings)):
        return ""
    options = standings.statistics
    units = "queries" if options.intervals == "queries" else "queries and entries"
    return f"{100 * options.confidence:g} % intervals over {units}"


def _hundredfold(value: float | None) -> float | None:
    return None if value is None else 100 * value
