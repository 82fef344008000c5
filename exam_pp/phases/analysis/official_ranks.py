"""Leaderboards beside official ranks: the published layouts, and approximate ranks for who has none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from exam_pp.errors import SelectionError
from exam_pp.metrics.correlation import approximate_ranks, correlate, ranks_of
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.analysis.correlation import official_ranks, one_sided
from exam_pp.phases.evaluation.rubric import Evaluation, PathLike
from exam_pp.rendering.cells import show
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.results import OVERALL_SYSTEM

_THRESHOLD = re.compile(r"\((?:rel|min_grade)=(-?\d+)\)")
_COVER_COLUMNS = {"Cover": ("exam", "exam-std"), "nCover": ("n-exam", "n-exam-std")}


def ranks_for(evaluation: Evaluation, official: PathLike) -> dict[str, float]:
    """Official ranks (a file of ranks, or of scores) for an evaluation, which notes who is on one side only.

    Raises :class:`~exam_pp.errors.ExamError` for other files, and if none of the systems has a rank.
    """
    ranks, notes = official_ranks(official)
    systems = [system for system in evaluation.systems if system != OVERALL_SYSTEM]
    if not ranks.keys() & set(systems):
        raise SelectionError(
            f"{official} ranks none of the systems that were scored (are they named alike?)."
        )
    evaluation.notes += [*notes, *one_sided(systems, ranks, "the leaderboard", official)]
    return ranks


def published_correlation(evaluation: Evaluation, ranks: Mapping[str, float]) -> str:
    """The published ``*.correlation.tsv`` of one leaderboard: scores, official ranks, ρ and τ below.

    Rubric-Cover has the nine columns of the published board, of which the last is the system's rank by
    the first measure; other measures have three columns each. Systems are sorted by name; those
    without official rank have an approximate one (≈).
    """
    rows = standings(evaluation.scores)
    metrics = list(dict.fromkeys(row.metric for row in rows))
    by_key = {(row.system, row.metric): row for row in rows}
    boards = {m: _board(evaluation, m) for m in metrics}
    own = ranks_of(boards[metrics[0]])
    near = approximate_ranks(boards[metrics[0]], ranks)
    is_cover = "Cover" in metrics[0]
    header = ["method"]
    for metric in metrics:
        name, error = _COVER_COLUMNS.get(metric.partition("(")[0], (metric, "std-err"))
        header += [name, "+/-", error]
    header += ["orig_TREC_leaderboard_rank", *(["orig_EXAM_leaderboard_rank"] if is_cover else [])]
    lines = [header]
    for system in sorted({row.system for row in rows}):
        line = [system]
        for metric in metrics:
            row = by_key.get((system, metric))
            error = "" if row is None or row.stderr is None else f"{row.stderr:.3f}"
            line += ["" if row is None else f"{row.mean:.3f}", "+/-", error]
        line += [_official(system, ranks, near), *([_shown(own.get(system))] if is_cover else [])]
        lines.append(line)
    found = [correlate(board, ranks) for board in boards.values()]
    for name, figures in (
        ("spearman", [one.spearman for one in found]),
        ("kendall", [one.kendall for one in found]),
    ):
        line = [name]
        for figure in figures:
            line += ["" if figure is None else f"{figure:.3f}", "", ""]
        lines.append([*line, *[""] * (1 + is_cover)])
    return "".join("\t".join(line) + "\n" for line in lines)


def published_analysis(report: Report, leaderboard: PathLike, official: PathLike) -> str:
    """The published tables of correlations, from the report of ``correlation`` or ``query_correlation``.

    A preamble and ``method min_rating trec_eval_metric spearman kendall``; of single queries ``qrels query
    min_rating trec_eval_metric spearman kendall``. The method (or qrels) is the leaderboard's file;
    the threshold is the one that a measure names, such as RR(rel=4).
    """
    table = next(block for block in report.blocks if isinstance(block, Table))
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    single = "query" in table.columns
    names = ["qrels", "query"] if single else ["method"]
    lines = [] if single else [f"# rank correlation with {Path(official).name}"]
    lines.append("\t".join([*names, "min_rating", "trec_eval_metric", "spearman", "kendall"]))
    for row in rows:
        found = _THRESHOLD.search(str(row["measure"]))
        measure = _THRESHOLD.sub("", str(row["measure"]))
        figures = [show(row[name], 3) for name in ("Spearman", "Kendall tau-b")]
        query = [str(row["query"])] if single else []
        stem = Path(leaderboard).name.partition(".")[0]
        lines.append("\t".join([stem, *query, found[1] if found else "", measure, *figures]))
    return "\n".join(lines) + "\n"


def with_official_ranks(report: Report, evaluation: Evaluation, ranks: Mapping[str, float]) -> Report:
    """A leaderboard with the column ``official rank``, and the correlations below.

    Systems without one get the rank of the ranked system just above them by the first measure, marked ≈, as
    in the workbench paper's table 4.
    """
    table, *rest = report.blocks
    assert isinstance(table, Table)
    metrics = list(dict.fromkeys(score.metric for score in evaluation.scores))
    boards = {metric: _board(evaluation, metric) for metric in metrics}
    near = approximate_ranks(boards[metrics[0]], ranks)
    rows: list[list[Cell]] = [[*row, _official(str(row[0]), ranks, near)] for row in table.rows]
    notes = []
    for metric, board in boards.items():
        found = correlate(board, ranks)
        if found.spearman is not None and found.kendall is not None:
            notes.append(f"{metric}: Spearman {found.spearman:.3f}, Kendall tau-b {found.kendall:.3f}")
    words = f"With the official ranks of {len(boards[metrics[0]].keys() & ranks.keys())} systems: "
    extended = Table([*table.columns, "official rank"], rows, table.title, table.decimals)
    return Report(
        report.title, [extended, *([Paragraph(words + "; ".join(notes) + ".")] if notes else []), *rest]
    )


def _board(evaluation: Evaluation, metric: str) -> dict[str, float]:
    rows = standings(score for score in evaluation.scores if score.metric == metric)
    return {row.system: row.mean for row in rows if row.system != OVERALL_SYSTEM}


def _official(system: str, ranks: Mapping[str, float], near: Mapping[str, float]) -> str:
    """The official rank, or ≈ and the approximate one; the overall system has neither."""
    return f"≈{near[system]:g}" if system in near else _shown(ranks.get(system))


def _shown(rank: float | None) -> str:
    return "" if rank is None else f"{rank:g}"
