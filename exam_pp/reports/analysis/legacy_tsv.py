"""TSV files of correlations in the layout of the published ones (``*.correlation.tsv``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exam_pp.grade_filter import grader_names
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.analysis.correlation import Correlations, QueryCorrelations, split_threshold
from exam_pp.phases.analysis.official_ranks import RankedEvaluation
from exam_pp.phases.analysis.sweep import Sweep
from exam_pp.rendering.cells import show
from exam_pp.reports.analysis.official_ranks import shown_rank
from exam_pp.results import ALL_QUERIES

_COVER_COLUMNS = {"Cover": ("exam", "exam-std"), "nCover": ("n-exam", "n-exam-std")}
_FIGURES = ("min_rating", "trec_eval_metric", "spearman", "kendall")


def published_leaderboard(found: RankedEvaluation) -> str:
    """One leaderboard: scores, official ranks, ρ and τ below.

    Rubric-Cover has the nine columns of the published board, of which the last is the system's rank by
    the first measure; other measures have three columns each. Systems are sorted by name; those
    without official rank have an approximate one (≈).
    """
    by_key = {(row.system, row.metric): row for row in standings(found.evaluation.scores)}
    metrics = list(found.correlations)
    is_cover = "Cover" in metrics[0]
    header = ["method"]
    for metric in metrics:
        name, error = _COVER_COLUMNS.get(metric.partition("(")[0], (metric, "std-err"))
        header += [name, "+/-", error]
    header += ["orig_TREC_leaderboard_rank", *(["orig_EXAM_leaderboard_rank"] if is_cover else [])]
    lines = [header]
    for system in sorted(found.evaluation.systems):
        line = [system]
        for metric in metrics:
            row = by_key.get((system, metric))
            error = "" if row is None or row.stderr is None else f"{row.stderr:.3f}"
            line += ["" if row is None else f"{row.mean:.3f}", "+/-", error]
        own = found.own_ranks.get(system)
        line += [shown_rank(found, system), *(["" if own is None else f"{own:g}"] if is_cover else [])]
        lines.append(line)
    for name in ("spearman", "kendall"):
        line = [name]
        for of in found.correlations.values():
            line += [_figure(getattr(of, name)), "", ""]
        lines.append([*line, *[""] * (1 + is_cover)])
    return "".join("\t".join(line) + "\n" for line in lines)


def published_correlations(found: Correlations) -> str:
    """A preamble and ``method min_rating trec_eval_metric spearman kendall``.

    The method is the leaderboard's file; the threshold is the one that a measure names, such as RR(rel=4).
    """
    lines = [
        f"# rank correlation with {Path(found.official.source).name}",
        "\t".join(["method", *_FIGURES]),
    ]
    stem = Path(found.leaderboard).name.partition(".")[0]
    lines += [_line([stem], of.measure, of.correlation[1:]) for of in found.measures]
    return "\n".join(lines) + "\n"


def published_query_correlations(found: QueryCorrelations) -> str:
    """``qrels query min_rating trec_eval_metric spearman kendall``; the qrels are the leaderboard's file."""
    lines = ["\t".join(["qrels", "query", *_FIGURES])]
    stem = Path(found.leaderboard).name.partition(".")[0]
    for measure, queries in found.queries.items():
        lines += [_line([stem, query_id], measure, row[1:]) for query_id, row in queries.items()]
        lines.append(_line([stem, ALL_QUERIES], measure, found.means[measure]))
    return "\n".join(lines) + "\n"


def _line(names: list[str], measure: str, figures: Sequence[float | None]) -> str:
    name, threshold = split_threshold(measure)
    shown = [show(figure, 3) for figure in figures[:2]]
    return "\t".join([*names, "" if threshold is None else str(threshold), name, *shown])


def published_sweep(found: Sweep) -> str:
    """A preamble, then method, threshold, metric, ρ and τ."""
    lines = [
        f"# rank correlation with {Path(found.official.source).name}",
        "\t".join(["method", *_FIGURES]),
    ]
    name = grader_names([setting.key for setting in found.settings])
    for setting in found.settings:
        grade = "" if setting.min_grade is None else str(setting.min_grade)
        figures = [_figure(setting.correlation.spearman), _figure(setting.correlation.kendall)]
        lines.append("\t".join([name(setting.key), grade, setting.measure, *figures]))
    return "\n".join(lines) + "\n"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
