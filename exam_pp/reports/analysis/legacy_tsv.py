"""Correlations in the layout of the published TSV files (``*.correlation.tsv``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exam_pp.grade_filter import grader_names
from exam_pp.phases.analysis.correlation import Correlations, QueryCorrelations, split_threshold
from exam_pp.phases.analysis.sweep import Sweep
from exam_pp.rendering.cells import format_cell
from exam_pp.results import ALL_QUERIES

_COLUMNS = ("min_rating", "trec_eval_metric", "spearman", "kendall")


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
