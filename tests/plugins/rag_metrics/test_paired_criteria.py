"""Paired tests between two systems by criterion: values of SciPy, Holm, missing ratings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import permutation_test, ttest_rel

from exam_pp.cli.main import main
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import AnswerFilter
from exam_pp.plugins.rag_metrics.paired_criteria import paired_criteria
from tests.phases.analysis.criteria_files import answer
from tests.tables import notes_of, rows_of

WriteLines = Callable[[str, list[Any]], Path]


RATINGS = {
    "completeness": ([0, 1, 0, 1, 0, 1, 1, 0], [1, 2, 1, 2, 2, 2, 1, 1]),
    "precision": ([2, 2, 1, 2, 1, 2, 2, 1], [2, 1, 1, 2, 2, 1, 1, 1]),
    "relevance": ([2, 2, 2, 2, 2, 2, 2, 2], [2, 2, 2, 2, 2, 2, 2, 2]),
}


def rated(write_jsonl: WriteLines, **more: Any) -> Path:
    lines = []
    for query in range(8):
        answers = [
            answer(
                f"q{query}",
                system,
                {"human:ann": {name: side[position][query] for name, side in RATINGS.items()}} | more,
            )
            for position, system in enumerate(("RAG", "RAGF"))
        ]
        lines.append([f"q{query}", answers])
    return write_jsonl("rated.jsonl", lines)


def test_values_are_those_of_scipy(write_jsonl: WriteLines) -> None:
    rows = rows_of(paired_criteria(rated(write_jsonl)))

    assert [row["criterion"] for row in rows] == list(RATINGS)
    for row in rows[:2]:
        first, second = RATINGS[row["criterion"]]
        expected = ttest_rel(first, second)
        exact = permutation_test(
            (first, second), lambda a, b: (a - b).mean(), permutation_type="samples", vectorized=False
        )
        assert (row["t"], row["p (t test)"]) == pytest.approx((expected.statistic, expected.pvalue))
        assert row["p"] == pytest.approx(exact.pvalue)
    # Holm: the smallest of three p-values is multiplied by 3; the t test of relevance is undefined, so by 2.
    assert rows[0]["p (Holm)"] == pytest.approx(3 * rows[0]["p"])
    assert rows[0]["p (t test, Holm)"] == pytest.approx(2 * rows[0]["p (t test)"])


def test_the_report_marks_significant_differences(write_jsonl: WriteLines) -> None:
    report = paired_criteria(rated(write_jsonl))
    rows = rows_of(report)

    assert [row["significant"] for row in rows] == ["*", "", ""]
    assert [row["difference"] for row in rows] == [-1.0, 0.25, 0.0]
    assert (rows[2]["t"], rows[2]["p (t test)"], rows[2]["p"]) == (None, None, 1.0)
    assert (
        "relevance: the t test of RAG and RAGF is undefined, because all differences are equal."
        in notes_of(report)
    )
    strict = paired_criteria(rated(write_jsonl), confidence=0.995)
    assert "with its 99.5 % interval (Gaffke's bound" in notes_of(strict)
    assert not any(row["significant"] for row in rows_of(strict))


def test_queries_with_one_rating_are_left_out_and_said(write_jsonl: WriteLines) -> None:
    both = [answer("q1", system, {"gpt": {"a": value}}) for system, value in (("RAG", 1), ("RAGF", 2))]
    path = write_jsonl(
        "rated.jsonl", [["q1", both], ["q2", [answer("q2", "RAG", {"gpt": {"a": 0, "b": 1}})]]]
    )
    result = paired_criteria(path)

    (row,) = rows_of(result)
    assert (row["queries"], row["difference"]) == (1, -1.0)
    assert list(result.warnings) == [
        "a: 1 query has a rating of only one of RAG and RAGF: left out.",
        "RAG and RAGF have no ratings of b for the same query.",
        "a: the t test of RAG and RAGF is undefined, because they have only one query in common.",
    ]


APART = [[q, [answer(q, system, {"gpt": {"a": 1}})]] for q, system in (("q1", "RAG"), ("q2", "B"))]


@pytest.mark.parametrize(
    ("lines", "selection", "message"),
    [
        (None, None, r"2 graders; choose one: --grader 'gpt'.*'human:ann'"),
        (None, AnswerFilter("human:ann", systems=["RAG"]), r"needs two systems.* 1 system .*\(RAG\)"),
        (APART, None, "No two of the systems have ratings by gpt"),
    ],
)
def test_refusals(write_jsonl: WriteLines, lines: Any, selection: Any, message: str) -> None:
    path = write_jsonl("apart.jsonl", lines) if lines else rated(write_jsonl, gpt={"a": 1})
    with pytest.raises(SelectionError, match=message):
        paired_criteria(path, selection=selection)


def test_the_command(write_jsonl: WriteLines, capsys: pytest.CaptureFixture[str]) -> None:
    path = rated(write_jsonl, gpt={"completeness": 1})
    main(
        [
            "analyze",
            "distributions",
            str(path),
            "--grader",
            "human:ann",
            "--system",
            "RAGF",
            "--system",
            "RAG",
        ]
    )
    out = capsys.readouterr().out
    assert "RAGF" in out
    assert "completeness" in out
    assert "model human:ann; prompt Criteria; 8 queries" in " ".join(out.split())
