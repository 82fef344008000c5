"""Correlation of leaderboard files: all layouts of leaderboards, intervals, correlation by query."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

from exam_pp.errors import DataError, SelectionError
from exam_pp.metrics.correlation import true_means
from exam_pp.metrics.uncertainty import score_matrices
from exam_pp.phases.analysis.correlation import (
    coefficient_intervals,
    correlation,
    query_correlation,
    read_official,
    scores_by_measure,
)
from exam_pp.phases.evaluation.leaderboards import leaderboard
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.rendering.document import Paragraph
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.correlation import correlation_report, query_correlation_report
from exam_pp.reports.evaluation.leaderboards import (
    leaderboard_report,
    per_query_report,
    published_leaderboard,
    unmatched_notes,
)
from exam_pp.results import OVERALL_SYSTEM, Score
from tests.conftest import written
from tests.tables import rows_of

VALUES = {"a": (0.9, 0.1), "b": (0.5, 0.3), "c": (0.1, 0.2), OVERALL_SYSTEM: (1.0, 1.0)}
EVALUATION = Evaluation(
    [
        Score(system, query_id, metric, value + noise)
        for system, values in VALUES.items()
        for metric, value in zip(("Cover(min_grade=4)@20", "RR"), values, strict=True)
        for query_id, noise in (("1", 0.05), ("2", -0.05))
    ]
)


@pytest.fixture
def official(tmp_path: Path) -> Path:
    return written(tmp_path / "official.json", '{"a": 1, "b": 2, "c": 3, "absent": 4}')


@pytest.mark.parametrize("layout", ["tsv", "json", "per-query tsv", "per-query json"])
def test_leaderboards_of_exam_pp_are_read(layout: str, official: Path, tmp_path: Path) -> None:
    *per_query, form = layout.split()
    report = (
        per_query_report(EVALUATION, "")
        if per_query
        else leaderboard_report(leaderboard(EVALUATION), "", audience="scripts")
    )
    path = written(tmp_path / "board", render(report, form))
    rows = rows_of(correlation_report(correlation(path, official)))

    assert [row["measure"] for row in rows] == ["Cover(min_grade=4)@20", "RR"]
    assert [row["systems"] for row in rows] == [3, 3]
    assert rows[0]["Kendall tau-b"] == pytest.approx(1)
    assert rows[1]["Spearman"] == pytest.approx(-0.5)


def test_published_leaderboards_are_read(official: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "board.tsv", published_leaderboard(EVALUATION))

    assert [row["measure"] for row in rows_of(correlation_report(correlation(path, official)))] == [
        "ExamCover"
    ]


def test_the_published_leaderboard_of_nine_columns_is_read(official: Path, tmp_path: Path) -> None:
    path = tmp_path / "board.tsv"
    header = (
        "method exam +/- exam-std n-exam +/- n-exam-std orig_TREC_leaderboard_rank orig_EXAM_leaderboard_rank"
    )
    lines = [header, *(f"{s} 0.{9 - i} +/- 0.1 0.{i} +/- 0.1 {i} {i}" for i, s in enumerate("abc", 1))]
    lines += ["spearman 1.0", "kendall 1.0"]
    path.write_text("\n".join(lines).replace(" ", "\t"))
    rows = rows_of(correlation_report(correlation(path, official)))

    assert [(row["measure"], row["Spearman"]) for row in rows] == [("exam", 1.0), ("n-exam", -1.0)]


def test_systems_on_one_side_only_are_listed(official: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "board.csv", "system,RR\na,0.5\nb,0.4\nextra,0.1\n")
    notes = [
        block.text
        for block in correlation_report(correlation(path, official)).blocks
        if isinstance(block, Paragraph)
    ]

    assert notes == [f"Only in {path}: extra.", f"Only in {official}: absent, c."]
    assert unmatched_notes(list("zyxwvut"), [], "us", "them") == ["Only in us: t, u, v, w, x, y, z."]


@pytest.mark.parametrize(
    "official",
    ["system\tRR\tRR stderr\na\t0.5\t0.1\nb\t0.4\t0.1\nc\t0.4\t0.1\n",
     "system\tofficial_rank\na\t1\nb\t2\n"],
)  # fmt: skip
def test_an_official_leaderboard_holds_scores_or_ranks(official: str, tmp_path: Path) -> None:
    """Scores read as ranks would reverse the sign of the correlation."""
    path, ranks = tmp_path / "board.tsv", tmp_path / "ranks.tsv"
    path.write_text("system\tRR\tRR stderr\na\t0.5\t0.1\nb\t0.4\t0.1\nc\t0.4\t0.1\n")
    ranks.write_text(official)
    assert rows_of(correlation_report(correlation(path, ranks)))[0]["Kendall tau-b"] == pytest.approx(1)


@pytest.mark.parametrize("separator", ["\t", ","])
def test_ranks_without_a_header_are_not_read_as_scores(separator: str, tmp_path: Path) -> None:
    """Ranks read as scores would reverse the order of the systems."""
    path = written(
        tmp_path / "ranks", "".join(f"{system}{separator}{rank}\n" for rank, system in enumerate("abc", 1))
    )

    actual = read_official(path)
    assert (actual.ranks, actual.measure) == ({"a": 1.0, "b": 2.0, "c": 3.0}, "")
    with pytest.raises(DataError, match=r"ranks.* official ranks"):
        scores_by_measure(path)


@pytest.mark.parametrize(
    ("text", "place", "word"),
    [
        ("", (None, None), "empty"),
        ('{"a": 1}', (None, None), "official ranks"),
        ("system\tRR\na\t0.5\nb\tx\n", (3, "RR"), "'x'"),
        ("system\tRR\na\t0.5\nb\t0.4\t0.1\n", (3, None), "3 columns"),
        ("system\tRR\na\t0.5\na\t0.4\n", (3, None), "'a'"),
        ("system\tofficial_rank\na\t1\n", (None, None), "scores of systems"),
        ("[1, 2", (None, None), "JSON"),
    ],
)
def test_a_file_that_is_not_a_leaderboard_is_refused(
    text: str, place: tuple[int | None, str | None], word: str, official: Path, tmp_path: Path
) -> None:
    path = written(tmp_path / "board", text)

    with pytest.raises(DataError, match=word) as error:
        correlation(path, official)
    assert (error.value.file, error.value.line, error.value.field) == (str(path), *place)


def test_leaderboards_of_other_systems_are_refused(official: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "board.tsv", "system\tRR\na\t0.5\nother\t0.4\n")

    with pytest.raises(SelectionError, match=r"board\.tsv \(a, other\) and .*official\.json \(a.*1 system"):
        correlation(path, official)


def test_a_measure_of_systems_without_ranks_has_no_interval(official: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "gaps.csv", "system,m1,m2\na,1,\nb,2,\nother,,3\n")
    first, second = rows_of(correlation_report(correlation(path, official, intervals="systems", samples=100)))

    assert (first["systems"], first["Spearman interval"]) == (2, "")
    assert (second["systems"], second["Spearman"], second["Spearman interval"]) == (0, None, "")


def test_numbers_of_topics_are_no_ranks(tmp_path: Path) -> None:
    """A leaderboard of AutoJudge has no header, and its second field is often a number."""
    path = tmp_path / "truth.txt"
    rows = [("a", 0.9), ("b", 0.5), ("c", 0.7)]
    path.write_text("".join(f"{run}\t28\tF1\t{value}\n{run}\tall\tF1\t{value}\n" for run, value in rows))
    ranks = read_official(path)
    assert (ranks.measure, ranks.ranks) == ("F1", {"a": 1.0, "c": 2.0, "b": 3.0})


def test_the_upper_bound_is_not_a_system(tmp_path: Path) -> None:
    """`_overall_` is left out of scores and official ranks, for means and for single queries."""
    scores_file = written(tmp_path / "board.tsv", render(per_query_report(EVALUATION, ""), "tsv"))

    assert (
        scores_by_measure(scores_file)["RR"].keys()
        == read_official(scores_file).ranks.keys()
        == {"a", "b", "c"}
    )
    assert {
        row["systems"]
        for row in rows_of(query_correlation_report(query_correlation(scores_file, scores_file)))
    } == {
        3,
        None,
    }


def test_an_undefined_correlation_has_one_note(official: Path, tmp_path: Path) -> None:
    """An undefined top-5 overlap, of three systems, has no note."""
    path = tmp_path / "board.tsv"
    note = "A correlation is undefined (empty) if all systems are tied on one side."
    for scores, expected in (("321", 0), ("111", 1)):
        path.write_text("system\tm\n" + "".join(f"{s}\t{v}\n" for s, v in zip("abc", scores, strict=True)))
        for intervals in (None, "systems"):
            actual = correlation(path, official, intervals=intervals, samples=100)
            assert list(correlation_report(actual).blocks).count(Paragraph(note)) == expected


def test_intervals_over_queries_are_those_of_the_true_means() -> None:
    """A system without an official rank, and a query that a system was not scored for, do not count."""
    values = np.random.default_rng(2).random((7, 9)).round(2)
    scores = [
        Score(f"s{row}", str(query), "m", float(values[row, query])) for row, query in np.ndindex(7, 9)
        if (row, query) != (3, 4)
    ]  # fmt: skip
    ranks = {f"s{row}": float(rank) for row, rank in enumerate([2, 1, 3, 5, 4, 6])}
    found = coefficient_intervals(score_matrices(scores)["m"], ranks, samples=300, seed=5)
    official = [-rank for rank in ranks.values()]
    means = true_means(np.delete(values[:6], 4, axis=1), official, samples=300, seed=5)
    taus = sorted(kendalltau(row, official).statistic for row in means)

    assert found[1] == pytest.approx((taus[7], taus[-8]), abs=0.03)
    assert found[3] is not None


def test_intervals_over_queries_need_the_queries(official: Path, tmp_path: Path) -> None:
    scores_file, queries = tmp_path / "board.tsv", tmp_path / "queries.tsv"
    scores_file.write_text(render(leaderboard_report(leaderboard(EVALUATION), "", audience="scripts"), "tsv"))
    queries.write_text(render(per_query_report(EVALUATION, ""), "tsv"))

    row = rows_of(correlation_report(correlation(queries, official, intervals="queries", samples=200)))[0]
    assert row["Kendall tau-b interval"] == ""  # too few queries
    with pytest.raises(SelectionError, match="--per-query"):
        correlation(scores_file, official, intervals="queries")


def test_correlation_by_query(tmp_path: Path) -> None:
    """Two queries, one in the same order as official and one reversed: the mean is 0."""

    def write(name: str, first: list[float], second: list[float]) -> Path:
        scores = [
            Score(system, query, "m", values[i])
            for query, values in (("1", first), ("2", second))
            for i, system in enumerate("abc")
        ]
        return written(tmp_path / name, render(per_query_report(Evaluation(scores), ""), "tsv"))

    computed = write("ours.tsv", [0.3, 0.2, 0.1], [0.3, 0.2, 0.1])
    reference = write("theirs.tsv", [0.9, 0.8, 0.7], [0.7, 0.8, 0.9])
    rows = rows_of(query_correlation_report(query_correlation(computed, reference)))

    assert [(row["query"], row["Kendall tau-b"]) for row in rows] == [
        ("1", pytest.approx(1)), ("2", pytest.approx(-1)), ("all", pytest.approx(0)),
    ]  # fmt: skip
    scores_file = written(tmp_path / "means.tsv", "system\tm\na\t1\nb\t2\n")
    with pytest.raises(SelectionError, match="--per-query"):
        query_correlation(computed, scores_file)
