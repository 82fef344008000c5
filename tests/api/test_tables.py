"""Tables as pandas data frames and Arrow arrays: values, types, and missing values."""

from __future__ import annotations

import sys

import duckdb
import pandas
import pytest

from exam_pp.errors import MissingExtraError
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.results import Grades, Leaderboard, LeaderboardRow, Score, Scores

LEADERBOARD = Leaderboard(
    [
        LeaderboardRow("a", "Cover", 0.75, 0.1, 4, low=0.5, high=1.0, rank_low=1, rank_high=2),
        LeaderboardRow("_overall_", "Cover", 1.0, None, 4, low=1.0, high=1.0),
        LeaderboardRow("a", "RR", 0.5, None, 1),
    ],
    ["A note."],
)


def test_rows_are_a_sequence() -> None:
    assert len(LEADERBOARD) == 3
    assert LEADERBOARD[0].system == "a"
    assert [row.metric for row in LEADERBOARD[1:]] == ["Cover", "RR"]
    assert LEADERBOARD.notes == ["A note."]
    assert repr(Grades()) == "Grades([])"


def test_means_of_a_metric_lack_the_upper_bound() -> None:
    assert LEADERBOARD.metrics == ["Cover", "RR"]
    assert LEADERBOARD.means() == {"a": 0.75}
    assert LEADERBOARD.means("RR") == {"a": 0.5}
    with pytest.raises(KeyError, match="AP"):
        LEADERBOARD.means("AP")


def test_a_leaderboard_as_a_data_frame() -> None:
    frame = LEADERBOARD.to_pandas()
    assert list(frame.columns) == list(LeaderboardRow._fields)
    assert frame["system"].tolist() == ["a", "a"], "the upper bound is no system"
    assert frame["mean"].tolist() == [0.75, 0.5]
    assert [str(frame[name].dtype) for name in ("mean", "queries", "rank_low", "order_open")] == [
        "float64", "int64", "Int64", "bool",
    ]  # fmt: skip
    assert frame["rank_low"].isna().tolist() == [False, True]
    assert frame["stderr"].isna().tolist() == [False, True]
    assert frame["letters"].isna().all()


def test_a_leaderboard_as_arrow() -> None:
    array = LEADERBOARD.to_arrow()
    assert [tuple(row.values()) for row in array.to_pylist()] == [
        tuple(row) for row in LEADERBOARD if row.system != "_overall_"
    ]
    assert str(array.schema).startswith(
        "<Schema> struct<system: string, metric: string, mean: double, stderr: double, queries: int64, "
    )
    means = duckdb.from_arrow(array).aggregate("metric, max(mean) AS best", "metric").order("metric")
    assert means.fetchall() == [("Cover", 0.75), ("RR", 0.5)]


def test_scores_and_evaluations_are_the_same_table() -> None:
    rows = [Score("a", "q1", "RR", 1.0), Score("é", "q2", "RR", 0.5)]
    frame = Scores(rows).to_pandas()
    pandas.testing.assert_frame_equal(frame, pandas.DataFrame(rows))
    pandas.testing.assert_frame_equal(frame, Evaluation(rows).to_pandas())
    assert Evaluation(rows).to_arrow().to_pylist() == [row._asdict() for row in rows]


def test_without_pandas_the_error_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        MissingExtraError, match=r"^to_pandas\(\) needs .* 'pandas': in a checkout of exam_pp, run "
    ):
        Leaderboard().to_pandas()
