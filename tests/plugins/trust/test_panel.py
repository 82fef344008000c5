"""A panel of graders: agreement, leaderboards, and systems that change places, counted by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.evaluation.cover import cover
from exam_pp.plugins.trust.consensus import consensus
from exam_pp.plugins.trust.panel import PanelAnalysis, analyze_panel, panel_report
from exam_pp.records import replace
from exam_pp.rendering.render import REPORT_FORMATS, render
from exam_pp.store.passages.graded_file import read_passages
from tests.conftest import passage, rubric
from tests.tables import tables_of

WriteLines = Callable[[str, list[Any]], Path]
Ratings = Mapping[str, tuple[int, int]]
"""System to the ratings of its only passage for two entries."""

GOOD, HALF, BAD = (5, 5), (5, 0), (0, 0)
X: Ratings = {"a": GOOD, "b": HALF, "c": BAD}
Z: Ratings = {"a": BAD, "b": HALF, "c": GOOD}


def lines(graders: Mapping[str, Ratings], queries: int = 2, **keys: Any) -> list[Any]:
    """Every system has one passage for every query, with the same ratings in all queries."""
    return [
        [
            query,
            [
                passage(
                    f"{query}-{system}",
                    paragraph_data={
                        "judgments": [],
                        "rankings": [
                            {"method": system, "paragraphId": f"{query}-{system}", "queryId": query,
                             "rank": 1, "score": 1.0}
                        ],
                    },
                    exam_grades=[
                        rubric({f"{query}/{n}": rating for n, rating in enumerate(ratings[system])}, llm=name)
                        for name, ratings in graders.items()
                        if system in ratings
                    ],
                )
                for system in "abc"
            ],
        ]
        for query in [f"q{number}" for number in range(1, queries + 1)]
    ]  # fmt: skip


@pytest.fixture
def disputed(write_jsonl: WriteLines) -> Path:
    """Two graders agree, and the third has the reverse order."""
    return write_jsonl("disputed.jsonl", lines({"x": X, "y": X, "z": Z}))


def grader(result: PanelAnalysis, name: str) -> Any:
    return next(grader for grader in result.graders if grader.name == name)


def test_leaderboards_and_the_consensus_of_the_others(disputed: Path) -> None:
    result = analyze_panel(disputed)

    assert result.consensus.means == {"a": 1.0, "b": 0.5, "c": 0.0}
    assert grader(result, "x").leaderboard.means == {"a": 1.0, "b": 0.5, "c": 0.0}
    assert grader(result, "z").leaderboard.means == {"a": 0.0, "b": 0.5, "c": 1.0}
    # Without x, the median of y and z is the lower rating: a and c get 0. So with x, (a, b) is discordant,
    # (b, c) concordant, and (a, c) tied on one side.
    assert [(g.name, g.kendall) for g in result.graders] == [("x", 0.0), ("y", 0.0), ("z", -1.0)]


def test_a_grader_that_is_far_from_the_rest(write_jsonl: WriteLines) -> None:
    """Without w, x or y, the median is that of the other two, who outvote z."""
    result = analyze_panel(write_jsonl("graded.jsonl", lines({"w": X, "x": X, "y": X, "z": Z})), cutoff=1)
    assert [of_grader.kendall for of_grader in result.graders] == [1.0, 1.0, 1.0, -1.0]


def test_places(disputed: Path) -> None:
    """Two queries show no order, as the smallest p-value is 1/2."""
    result = analyze_panel(disputed)
    rows = tables_of(panel_report(result))["Places of the systems"].rows
    assert [list(row) for row in rows] == [
        ["a", 1, 1, 3, 1, 3, 1, 1, 3], ["b", 2, 1, 3, 2, 2, 2, 2, 2], ["c", 3, 1, 3, 1, 3, 3, 3, 1],
    ]  # fmt: skip


@pytest.mark.parametrize(("queries", "places"), [(6, [(1, 3)] * 3), (7, [(1, 1), (2, 2), (3, 3)])])
def test_places_need_significant_differences(
    write_jsonl: WriteLines, queries: int, places: list[tuple[int, int]]
) -> None:
    """Equal differences on n queries have p = 2 / 2^n, three times that for three pairs: .094, then .047."""
    result = analyze_panel(write_jsonl("disputed.jsonl", lines({"x": X, "y": X, "z": Z}, queries)))
    assert list(result.places.values()) == places


def test_agreement_of_leaderboards(disputed: Path) -> None:
    rows = tables_of(panel_report(analyze_panel(disputed)))["Agreement of every two graders"].rows
    assert [list(row) for row in rows] == [["x", "y", 1.0], ["x", "z", -1.0], ["y", "z", -1.0]]


def test_the_order_of_graders_has_no_effect(disputed: Path, write_jsonl: WriteLines) -> None:
    other = write_jsonl("other.jsonl", lines({"z": Z, "y": X, "x": X}))
    first, second = (
        render(panel_report(analyze_panel(path, cutoff=1)), "json") for path in (disputed, other)
    )
    assert first == second


def test_identical_graders_agree(write_jsonl: WriteLines) -> None:
    for names in ("xy", "xyz"):
        result = analyze_panel(write_jsonl("same.jsonl", lines(dict.fromkeys(names, X))), cutoff=1)
        for of_grader in result.graders:
            assert of_grader.leaderboard == result.consensus
            assert of_grader.kendall == 1
        assert result.notes == []


@pytest.mark.parametrize("rule", ["median", "mean", "majority"])
def test_the_consensus_is_that_of_the_command(disputed: Path, tmp_path: Path, rule: Any) -> None:
    """Also a stored consensus is no member of the panel."""
    stored = tmp_path / "stored.jsonl"
    consensus(disputed, stored, rule=rule)
    result = analyze_panel(stored, rule=rule)
    scores = cover(stored, grade_filter=GradeFilter(model=f"panel:{rule}")).scores
    means: dict[str, list[float]] = {}
    for score in scores:
        if score.metric.startswith("Cover") and score.system != "_overall_":
            means.setdefault(score.system, []).append(score.value)
    assert result.consensus.means == {system: sum(of) / len(of) for system, of in means.items()}
    assert [of_grader.name for of_grader in result.graders] == ["x", "y", "z"]


def test_a_reviewer_with_few_pairs(write_jsonl: WriteLines) -> None:
    """Models come before reviewers; the consensus needs ratings of two graders."""
    graders = {"human:ann": {"c": GOOD}, "x": X, "low": dict.fromkeys("abc", (1, 1))}
    result = analyze_panel(write_jsonl("graded.jsonl", lines(graders)))
    assert [of_grader.name for of_grader in result.graders] == ["low", "x", "human:ann"]
    assert [of_grader.rated for of_grader in result.graders] == [12, 12, 4]
    assert result.consensus.means == {"a": 0.0, "b": 0.0, "c": 0.0}


def test_pairs_of_one_grader_and_queries_of_one_grader(write_jsonl: WriteLines) -> None:
    values = [*lines({"x": X, "y": X}, 1), *lines({"x": X}, 2)[1:]]
    result = analyze_panel(write_jsonl("graded.jsonl", values))
    assert "6 pairs were rated by fewer than 2 graders" in " ".join(result.notes)
    assert "different numbers of queries (1, 2)" in " ".join(result.notes)
    assert [of_grader.leaderboard.queries for of_grader in result.graders] == [2, 1]
    # A single query shows no difference.
    assert set(result.places.values()) == {(1, len(result.places))}


def test_entries_of_the_bank_are_the_denominator(tiny_passages: Path, tiny_bank: Path) -> None:
    """With a bank, each leaderboard is that of `evaluate cover`."""
    queries = list(read_passages(tiny_passages))
    for query in queries:
        for of_passage in query.passages:
            sets = of_passage.rubric_grades or []
            copies = [replace(grades, model="other") for grades in sets[:1]]
            of_passage.take(rubric_grades=[*sets, *copies])
    result = analyze_panel(queries, tiny_bank, cutoff=1)
    expected = cover(tiny_passages, tiny_bank, cutoff=1).scores
    assert len(result.graders) == 2
    for of_grader in result.graders:
        means = {
            system: [s.value for s in expected if s.system == system and s.metric.startswith("Cover")]
            for system in of_grader.leaderboard.means
        }
        assert of_grader.leaderboard.means == {name: sum(of) / len(of) for name, of in means.items()}


def test_files_without_rankings_have_no_leaderboards(write_jsonl: WriteLines) -> None:
    values = lines({"x": X, "y": Z})
    for _, passages in values:
        for of_passage in passages:
            of_passage["paragraph_data"]["rankings"] = []
    path = write_jsonl("graded.jsonl", values)
    with pytest.raises(SelectionError, match=r"has no rankings, .* `exam-pp analyze graders --by entry`"):
        analyze_panel(path)


def test_mistakes(disputed: Path) -> None:
    with pytest.raises(SelectionError, match=r"A panel needs two graders, but .* has the grades of one"):
        analyze_panel(disputed, graders=["x"])
    with pytest.raises(SelectionError, match="no grades by --grader 'w'"):
        analyze_panel(disputed, graders=["w", "x"])
    with pytest.raises(SelectionError, match=r"No pair in .* was rated by 4 graders"):
        analyze_panel(disputed, min_graders=4)


def test_report(disputed: Path) -> None:
    report = panel_report(analyze_panel(disputed))
    tables = tables_of(report)
    assert [list(row) for row in tables["Graders"].rows][2] == ["z", 12, 2, 2.5, -1.0]
    assert (report.provenance.models, report.provenance.min_grades) == (("x", "y", "z"), (4,))  # type: ignore[union-attr]


@pytest.mark.parametrize("form", REPORT_FORMATS)
def test_all_formats(disputed: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["analyze", "panel", str(disputed), "--format", form])
    assert "Places of the systems" in capsys.readouterr().out or form == "json"
