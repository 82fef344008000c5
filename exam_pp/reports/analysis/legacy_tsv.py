"""Leaderboards and correlations in the layout of the published TSV files (``*.correlation.tsv``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exam_pp.grade_filter import grader_names
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.analysis.correlation import (
    Correlations,
    QueryCorrelations,
    RankedEvaluation,
    split_threshold,
)
from exam_pp.phases.analysis.sweep import Sweep
from exam_pp.rendering.cells import format_cell
from exam_pp.reports.analysis.correlation import formatted_rank
from exam_pp.results import ALL_QUERIES

_COVER_COLUMNS = {"Cover": ("exam", "exam-std"), "nCover": ("n-exam", "n-exam-std")}
_COLUMNS = ("min_rating", "trec_eval_metric", "spearman", "kendall")


def published_leaderboard(result: RankedEvaluation) -> str:
    """A leaderboard with scores and official ranks, and lines with ρ and τ at the end.

    Rubric-Cover has the nine columns of the published leaderboard; the last is the rank of the system by the
    first measure. Other measures have three columns each. Systems are sorted by name; systems without an
    official rank have an approximate rank (≈).
    """
    by_key = {(row.system, row.metric): row for row in standings(result.evaluation.scores)}
    metrics = list(result.correlations)
    is_cover = "Cover" in metrics[0]
    header = ["method"]
    for metric in metrics:
        name, error = _COVER_COLUMNS.get(metric.partition("(")[0], (metric, "std-err"))
        header += [name, "+/-", error]
    header += ["orig_TREC_leaderboard_rank", *(["orig_EXAM_leaderboard_rank"] if is_cover else [])]
    lines = [header]
    for system in sorted(result.evaluation.systems):
        line = [system]
        for metric in metrics:
            row = by_key.get((system, metric))
            error = "" if row is None or row.stderr is None else f"{row.stderr:.3f}"
            line += ["" if row is None else f"{row.mean:.3f}", "+/-", error]
        own = result.own_ranks.get(system)
        line += [formatted_rank(result, system), *(["" if own is None else f"{own:g}"] if is_cover else [])]
        lines.append(line)
    for name in ("spearman", "kendall"):
        line = [name]
        for values in result.correlations.values():
            line += [_formatted(getattr(values, name)), "", ""]
        lines.append([*line, *[""] * (1 + is_cover)])
    return "".join("\t".join(line) + "\n" for line in lines)


def published_correlations(*results: Correlations) -> str:
    """A preamble and the columns ``method min_rating trec_eval_metric spearman kendall``.

    The method is the name of the leaderboard file, and min_rating the threshold in the measure, such as 4 in
    RR(rel=4).
    """
    lines = [
        f"# rank correlation with {Path(results[0].official.source).name}",
        "\t".join(["method", *_COLUMNS]),
    ]
    for result in results:
        stem = Path(result.leaderboard).name.partition(".")[0]
        lines += [_line([stem], item.measure, item.correlation[1:]) for item in result.measures]
    return "\n".join(lines) + "\n"


def published_query_correlations(*results: QueryCorrelations) -> str:
    """The columns ``qrels query min_rating trec_eval_metric spearman kendall``; qrels is the leaderboard."""
    lines = ["\t".join(["qrels", "query", *_COLUMNS])]
    for result in results:
        stem = Path(result.leaderboard).name.partition(".")[0]
        for measure, queries in result.queries.items():
            lines += [_line([stem, query_id], measure, row[1:]) for query_id, row in queries.items()]
            lines.append(_line([stem, ALL_QUERIES], measure, result.means[measure]))
    return "\n".join(lines) + "\n"


def _line(names: list[str], measure: str, coefficients: Sequence[float | None]) -> str:
    name, threshold = split_threshold(measure)
    values = [format_cell(value, 3) for value in coefficients[:2]]
    return "\t".join([*names, "" if threshold is None else str(threshold), name, *values])


def published_sweep(result: Sweep) -> str:
    """A preamble and the columns ``method min_rating trec_eval_metric spearman kendall``."""
    lines = [
        f"# rank correlation with {Path(result.official.source).name}",
        "\t".join(["method", *_COLUMNS]),
    ]
    name = grader_names([setting.key for setting in result.settings])
    for setting in result.settings:
        grade = "" if setting.min_grade is None else str(setting.min_grade)
        values = [_formatted(setting.correlation.spearman), _formatted(setting.correlation.kendall)]
        lines.append("\t".join([name(setting.key), grade, setting.measure, *values]))
    return "\n".join(lines) + "\n"


def _formatted(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
