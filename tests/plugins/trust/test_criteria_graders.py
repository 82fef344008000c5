"""Human against model: ratings of answers by criteria, rank correlation and differences of two graders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import kendalltau, spearmanr

from exam_pp.cli.main import main
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import AnswerFilter
from exam_pp.metrics.agreement import cohen_kappa, confusion_counts
from exam_pp.plugins import offered
from exam_pp.plugins.trust.graders import (
    comparisons,
    criteria_graders,
    difference_pictures,
    graders,
    graders_report,
)
from tests.conftest import passage, rubric
from tests.phases.analysis.criteria_files import answer
from tests.tables import notes_of, pictures_of, tables_of

WriteLines = Callable[[str, list[Any]], Path]

pytestmark = pytest.mark.skipif(
    not offered("ratings by criteria"), reason="the plug-in rag_metrics is deleted"
)
MODEL = {"q1": {"RAG": (2, 1), "RAGF": (2, 2)}, "q2": {"RAG": (0, 1), "RAGF": (1, 2)}, "q3": {"RAG": (1, 0)}}
HUMAN = {"q1": {"RAG": (1, 1), "RAGF": (2, 1)}, "q2": {"RAG": (0, 0), "RAGF": (2, 2)}, "q3": {"RAG": (1, 1)}}


@pytest.fixture
def rated(write_jsonl: WriteLines) -> Path:
    def by(ratings: tuple[int, int]) -> dict[str, int | None]:
        return dict(zip(("accuracy", "completeness"), ratings, strict=True))

    lines = [
        [
            query,
            [
                answer(query, system, {"human:ann": by(HUMAN[query][system]), "gpt": by(ratings)})
                for system, ratings in systems.items()
            ],
        ]
        for query, systems in MODEL.items()
    ]
    return write_jsonl("rated.jsonl", lines)


def flat(ratings: dict[str, dict[str, tuple[int, int]]], *criteria: int) -> list[int]:
    return [of[criterion] for query in ratings.values() for of in query.values() for criterion in criteria]


def test_ratings_are_flattened_over_criteria(rated: Path) -> None:
    """Equation 2 of the paper on all columns, and by criterion; the values are SciPy's."""
    result = criteria_graders(rated)
    tables = tables_of(graders_report(result))
    rows = [list(row) for row in tables["Rank correlation"].rows]

    kappa = cohen_kappa(confusion_counts(flat(MODEL, 0, 1), flat(HUMAN, 0, 1)))
    assert list(tables["Every two graders"].rows[0][:5]) == ["gpt", "human:ann", "all", 10, kappa]
    assert [row[2:5] for row in rows] == [
        ["all", 10, 3], ["accuracy", 5, 3], ["completeness", 5, 3],
    ]  # fmt: skip
    for row, criteria in zip(rows, [(0, 1), (0,), (1,)], strict=False):
        tau = kendalltau(flat(MODEL, *criteria), flat(HUMAN, *criteria))
        rho = spearmanr(flat(MODEL, *criteria), flat(HUMAN, *criteria))
        assert [row[7], row[9], row[10], row[12]] == pytest.approx(
            [tau.statistic, tau.pvalue, rho.statistic, rho.pvalue]
        )


def test_differences_are_model_minus_human(rated: Path) -> None:
    result = criteria_graders(rated)
    rows = tables_of(graders_report(result))["Differences (Bland-Altman)"].rows
    differences = [a - b for a, b in zip(flat(MODEL, 0, 1), flat(HUMAN, 0, 1), strict=True)]

    assert sum(differences) == 1
    assert list(rows[0][:5]) == ["gpt", "human:ann", "all", 10, 0.1]
    assert rows[0][6] == pytest.approx((sum((d - 0.1) ** 2 for d in differences) / 9) ** 0.5)
    assert list(pictures_of(graders_report(result))) == [
        f"Differences: gpt − human:ann{name}"
        for name in ("", ", accuracy", ", completeness")
    ]  # fmt: skip


def test_ungraded_criteria_and_later_ratings(write_jsonl: WriteLines) -> None:
    """An ungraded criterion is no item; the later rating counts, unless it is ungraded."""
    first = answer("q", "RAG", {"gpt": {"a": 1, "b": None}, "human:ann": {"a": 1, "b": 1}})
    again = answer("q", "RAG", {"gpt": {"a": 2}})["criteria_grades"]
    last = answer("q", "RAG", {"gpt": {"a": None}})["criteria_grades"]
    first["criteria_grades"] += [*again, *last]
    rows = comparisons(criteria_graders(write_jsonl("rated.jsonl", [["q", [first]]])))

    assert [item[1:3] for item in rows["gpt", "human:ann", "all"]] == [(2, 1)]


@pytest.mark.parametrize(
    "ratings",
    [
        [({"a": 1}, {"b": 1})],
        [({"a": 1}, {"a": 1})],
        [({"a": 1, "b": 1}, {"a": 0, "b": 1})],
        [({"a": 0, "b": 1}, {"a": 2, "b": 2})],
        [({"a": 2, "b": 2}, {"a": 2, "b": 2})],
    ],
    ids=["no common items", "one item", "model constant", "human constant", "ties only"],
)
def test_undefined_numbers_are_empty(
    write_jsonl: WriteLines, ratings: list[tuple[dict[str, int], dict[str, int]]]
) -> None:
    lines = [
        [f"q{number}", [answer(f"q{number}", "RAG", {"gpt": model, "human:ann": human})]]
        for number, (model, human) in enumerate(ratings)
    ]
    result = criteria_graders(write_jsonl("rated.jsonl", lines))
    report = graders_report(result)
    is_alone = ratings == [({"a": 1}, {"b": 1})]

    assert ("have rated no common items" in notes_of(report)) == is_alone
    assert tables_of(report)["Rank correlation"].rows[0][-6] is None
    assert (not difference_pictures(result)) == is_alone


@pytest.mark.parametrize(
    ("graders_of_file", "keys", "message"),
    [
        ({"gpt": {"a": 1}}, {}, "needs two graders.* 1 grader with ratings of answers by criteria"),
        ({}, {}, r"no ratings of answers by criteria; make them with `exam-pp grade --prompt criteria"),
        ({"gpt": {"a": 1}, "m": {"a": 1}}, {"models": ["ann"]}, r"grades by 'ann' \(graders: gpt, m\)"),
        ({"gpt": {"a": None}}, {}, r"match the filter.* --grader 'gpt' --prompt 'Criteria'"),
        (
            {"gpt": {"a": 1}},
            {"selection": AnswerFilter(systems=["X"])},
            r"answers of 1 system \(X\); it has those of 1 system \(RAG\)",
        ),
    ],
)  # fmt: skip
def test_too_few_graders(
    write_jsonl: WriteLines, graders_of_file: Any, keys: dict[str, Any], message: str
) -> None:
    path = write_jsonl("rated.jsonl", [["q", [answer("q", "RAG", graders_of_file)]]])
    with pytest.raises(SelectionError, match=message):
        criteria_graders(path, **keys)


def test_two_versions_of_a_prompt_are_not_mixed(write_jsonl: WriteLines) -> None:
    both = answer("q", "RAG", {"gpt": {"a": 1}}, prompt_hash="one")
    both["criteria_grades"] += answer("q", "RAG", {"gpt": {"a": 2}}, prompt_hash="two")["criteria_grades"]
    path = write_jsonl("rated.jsonl", [["q", [both]]])
    with pytest.raises(SelectionError, match=r"2 versions of the prompt.*--grades hash: one, two"):
        criteria_graders(path)


def test_only_some_graders_and_people_last(write_jsonl: WriteLines) -> None:
    """Ratings of entries: a model against a person, among three graders; bias of the first."""

    def graded(passage_id: str, first: int, second: int, third: int) -> dict[str, Any]:
        sets = [
            rubric({"q/a": rating}, llm=name)
            for name, rating in (("human:ann", first), ("model", second), ("zero", third))
        ]
        return passage(passage_id, exam_grades=sets)

    path = write_jsonl("three.jsonl", [["q", [graded("p1", 1, 3, 0), graded("p2", 2, 5, 0)]]])

    two = graders(path, models=["human:ann", "model"], per_entry=True)
    (row,) = tables_of(graders_report(two))["Differences (Bland-Altman)"].rows
    assert list(row[:4]) == ["model", "human:ann", 2, 2.5]
    assert len(comparisons(graders(path))) == 3
    with pytest.raises(SelectionError, match="'bob'"):
        graders(path, models=["bob"])


def test_the_command(rated: Path, tmp_path: Path) -> None:
    figure, output = tmp_path / "differences.svg", tmp_path / "out.json"
    main([
        "analyze", "graders", str(rated), "--by", "criterion", "--grader", "gpt", "--grader", "human:ann",
        "--plot", f"differences={figure!s}", "--format", "json", "-o", str(output), "--seed", "1",
    ])  # fmt: skip
    rows = {table["title"]: table["rows"] for table in json.loads(output.read_text())["tables"]}

    assert rows["Rank correlation"][0]["ratings"] == 10
    assert "Differences: gpt − human:ann, accuracy" in figure.read_text()


def test_no_figure_without_common_items(
    write_jsonl: WriteLines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_jsonl("rated.jsonl", [["q", [answer("q", "RAG", {"gpt": {"a": 1}, "human:ann": {"b": 1}})]]])
    figure = tmp_path / "differences.svg"
    main(["analyze", "graders", str(path), "--by", "criterion", "--plot", f"differences={figure!s}"])

    assert not figure.exists()
    assert "is not written: the graders have no common items" in capsys.readouterr().err


def test_kappa_of_each_criterion(rated: Path) -> None:
    """The pooled κ has a row of its own."""
    result = criteria_graders(rated)
    table = tables_of(graders_report(result))["Every two graders"]
    kappas = {row[2]: row[4] for row in table.rows}
    assert list(kappas) == ["all", "accuracy", "completeness"]
    for place, criterion in enumerate(("accuracy", "completeness")):
        assert kappas[criterion] == cohen_kappa(confusion_counts(flat(MODEL, place), flat(HUMAN, place)))
    assert "pool the criteria" in notes_of(graders_report(result))
