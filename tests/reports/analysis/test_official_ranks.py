"""Leaderboards with official ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.phases.analysis.correlation import (
    OfficialRanks,
    correlation,
    query_correlation,
    ranked,
    with_ranks,
)
from exam_pp.phases.evaluation.leaderboards import leaderboard
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.rendering.document import Paragraph, Table
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.correlation import query_correlation_report
from exam_pp.reports.analysis.legacy_tsv import (
    published_correlations,
    published_query_correlations,
)
from exam_pp.reports.evaluation.leaderboards import (
    leaderboard_report,
    per_query_report,
    published_leaderboard,
    rank_column,
    rank_notes,
)
from exam_pp.results import OVERALL_SYSTEM, Score

RANKS = OfficialRanks("official.json", {"a": 1.0, "b": 2.0, "c": 3.5})
VALUES = {"a": 0.9, "b": 0.5, "c": 0.4, "new": 0.7, OVERALL_SYSTEM: 1.0}


def make_evaluation(*metrics: str) -> Evaluation:
    return Evaluation(
        [
            Score(s, q, m, v + d)
            for m in metrics
            for s, v in VALUES.items()
            for q, d in (("1", 0.1), ("2", -0.1))
        ]
    )


def test_nine_columns_and_the_correlations() -> None:
    """The layout of the published board of cover with correlations."""
    evaluation = make_evaluation("Cover(min_grade=4)@20", "nCover(min_grade=4)@20")
    text = published_leaderboard(evaluation, with_ranks(evaluation, RANKS))
    lines = [line.split("\t") for line in text.splitlines()]

    assert lines[0] == [
        "method", "exam", "+/-", "exam-std", "n-exam", "+/-", "n-exam-std",
        "orig_TREC_leaderboard_rank", "orig_EXAM_leaderboard_rank",
    ]  # fmt: skip
    assert lines[2] == ["a", "0.900", "+/-", "0.100", "0.900", "+/-", "0.100", "1", "1"]
    assert [line[0] for line in lines[1:]] == ["_overall_", "a", "b", "c", "new", "spearman", "kendall"]
    assert lines[-1] == ["kendall", "1.000", "", "", "1.000", "", "", "", ""]


def test_an_official_leaderboard_of_scores_is_ranked_first(tmp_path: Path) -> None:
    """Scores read as ranks would reverse the order of the systems."""
    official = tmp_path / "judgments.tsv"
    official.write_text("system\tnDCG@10\tnDCG@10 stderr\na\t0.8\t0.1\nb\t0.5\t0.1\nelsewhere\t0.4\t0.1\n")
    actual = ranked(make_evaluation("RR"), official)

    assert actual.official.ranks == {"a": 1, "b": 2, "elsewhere": 3}
    assert [note.replace(str(official), "official") for note in rank_notes(actual)] == [
        "official has scores, so its systems are ranked by nDCG@10.",
        "Only in the leaderboard: c, new.",
        "Only in official: elsewhere.",
    ]


def test_the_published_tables_of_correlations(tmp_path: Path) -> None:
    """Columns for all queries and for single queries; measures are named without their threshold."""
    computed = tmp_path / "question-4.tsv"
    computed.write_text(render(per_query_report(make_evaluation("RR(rel=4)", "nDCG@10"), ""), "tsv"))
    official = tmp_path / "official.json"
    official.write_text('{"a": 1, "b": 3, "c": 2}')

    assert published_correlations(correlation(computed, official)).splitlines() == [
        "# rank correlation with official.json",
        "method\tmin_rating\ttrec_eval_metric\tspearman\tkendall",
        "question-4\t4\tRR\t0.500\t0.333",
        "question-4\t\tnDCG@10\t0.500\t0.333",
    ]
    by_query = query_correlation(computed, computed)
    for results, first in ([by_query], "measure"), ([by_query, by_query], "leaderboard"):
        assert render(query_correlation_report(*results), "tsv").startswith(f"{first}\t")
    lines = published_query_correlations(by_query).splitlines()
    assert lines[:2] == [
        "qrels\tquery\tmin_rating\ttrec_eval_metric\tspearman\tkendall", "question-4\t1\t4\tRR\t1.000\t1.000",
    ]  # fmt: skip


def test_systems_without_official_rank_get_an_approximate_rank() -> None:
    evaluation = make_evaluation("RR")
    extra = rank_column(with_ranks(evaluation, RANKS))
    report = leaderboard_report(leaderboard(evaluation), "t", extra=extra)
    table, correlations = report.blocks[:2]
    assert isinstance(table, Table)
    assert isinstance(correlations, Table)

    assert [(row[0], row[-1]) for row in table.rows] == [
        ("a", "1"), ("new", "≈1"), ("b", "2"), ("c", "3.5"),
    ]  # fmt: skip
    assert correlations.title == "Correlation with the official ranks of 3 systems"
    assert correlations.columns == ["correlation", "RR"]
    assert correlations.rows == [["Spearman", pytest.approx(1)], ["Kendall tau-b", 1.0]]
    for_scripts = leaderboard_report(leaderboard(evaluation), "t", audience="scripts", extra=extra)
    assert for_scripts.blocks[1] == Paragraph(
        "Correlation with the official ranks of 3 systems: RR: Spearman 1.000, Kendall tau-b 1.000."
    )
