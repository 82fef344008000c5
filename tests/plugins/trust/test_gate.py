"""The gate: outcomes computed by hand and with scipy, missing queries, and refused inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exam_pp.errors import DataError, SelectionError
from exam_pp.phases.evaluation.cover import cover
from exam_pp.plugins.trust.gate import Gate, QueryDrop, gate_sentence
from exam_pp.plugins.trust.gate import gate as gate_of
from exam_pp.reports.evaluation.leaderboards import PARTLY, marked
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM, Score
from exam_pp.store.trec.scores import write_score_rows, write_scores
from tests.phases.evaluation.test_corrections import WriteLines, file_of

gate = partial(gate_of, undecided="estimate")


def scores(values: Sequence[float | None], system: str = "s", measure: str = "F1") -> list[Score]:
    return [Score(system, f"q{n}", measure, value) for n, value in enumerate(values) if value is not None]


def dropped(drops: Sequence[float], max_drop: float = 0.02, **options: Any) -> Gate:
    """The gate of a new version with these drops on the queries."""
    new = scores([0.5 - drop for drop in drops])
    return gate(scores([0.5] * len(drops)), new, max_drop=max_drop, **options)


def test_an_undecided_drop_by_hand() -> None:
    """Drops 0.1, 0, 0.05 and −0.05, mean 0.025, against the cumulative distribution by simulation.

    Only the unseen query, which drops by 1, is above 0.1. So the probability of a mean above m ≥ 0.1 is
    Π (1 − m) / (1 − dᵢ), the formula of the module's source.
    """
    drops = [0.1, 0.0, 0.05, -0.05]
    (row,) = dropped(drops).measures
    high = row.bounds.high

    assert (row.queries, row.baseline, row.new) == pytest.approx((4, 0.5, 0.475))
    assert row.drop == pytest.approx(0.025)
    assert math.prod((1 - high) / (1 - drop) for drop in drops) == pytest.approx(0.05)
    assert row.outcome == "undecided"
    assert row.largest == [
        QueryDrop("q0", 0.5, 0.4, 0.4), QueryDrop("q2", 0.5, 0.45, 0.45),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shift", "outcome"), [(-0.1, "passed"), (0.0, "undecided"), (0.02, "undecided"), (0.2, "failed")]
)
def test_outcomes(shift: float, outcome: str) -> None:
    """Drops between −0.01 and 0.01, shifted; the limit is 0.02."""
    drops = np.linspace(-0.01, 0.01, 50) + shift
    result = dropped(drops.tolist())

    assert result.outcome == outcome
    assert result.passes is (shift <= 0.02)


def test_an_undecided_gate_follows_the_option() -> None:
    worse, better = [0.3, -0.2, 0.1, 0.0], [0.3, -0.3, 0.1, -0.1]
    passes = {
        (name, undecided): dropped(drops, undecided=undecided).passes
        for name, drops in (("worse", worse), ("better", better))
        for undecided in ("estimate", "pass", "fail")
    }

    assert dropped(worse).outcome == dropped(better).outcome == "undecided"
    assert passes == {
        ("worse", "estimate"): False, ("worse", "pass"): True, ("worse", "fail"): False,
        ("better", "estimate"): True, ("better", "pass"): True, ("better", "fail"): False,
    }  # fmt: skip


@pytest.mark.parametrize(("queries", "outcome"), [(1, "undecided"), (148, "undecided"), (149, "passed")])
def test_the_same_scores_pass_only_on_enough_queries(queries: int, outcome: str) -> None:
    """The rule of three: 0.98¹⁴⁸ is above 0.05, and 0.98¹⁴⁹ is below it."""
    result = dropped([0.0] * queries, undecided="fail")

    assert (result.outcome, result.passes) == (outcome, outcome == "passed")
    assert (result.measures[0].is_unchanged, result.measures[0].largest) == (True, [])
    assert result.measures[0].needed == (149, 149, 149)


def test_two_queries_that_are_perfect_before_and_after_are_undecided() -> None:
    result = gate(scores([1, 1], measure="RR"), scores([1, 1], measure="RR"), max_drop=0.02)

    assert (result.outcome, result.passes) == ("undecided", True)
    sentence = gate_sentence(result)
    assert "RR: unchanged on these 2 queries; up to 77.6 % could break unseen." in sentence
    assert "at least 149 are needed" in sentence
    assert "95" not in sentence


def test_a_limit_of_zero_needs_scores_that_rise() -> None:
    same, better = dropped([0.0] * 500, max_drop=0), dropped([-0.1] * 50, max_drop=0)

    assert (same.outcome, better.outcome) == ("undecided", "passed")
    assert same.measures[0].needed is None
    assert "cannot be shown unless scores rise" in gate_sentence(same)


def test_several_measures_need_smaller_p_values_to_fail_but_not_to_pass() -> None:
    """Holm: the smallest of three p-values is multiplied by 3, the next by 2."""
    drops = {"a": [1.0] * 7 + [0.0] * 43, "b": [-0.2] * 50, "c": [1.0] * 4 + [0.0] * 46}
    start = {"a": 1.0, "b": 0.5, "c": 1.0}
    old = [score for name in drops for score in scores([start[name]] * 50, measure=name)]
    new = [score for name in drops for score in scores([start[name] - d for d in drops[name]], measure=name)]
    together = gate(old, new, max_drop=0.02, measures=["a", "b", "c"])
    alone = {name: gate(old, new, max_drop=0.02, measures=[name]).measures[0] for name in drops}
    p_values = {name: row.bounds.p_above for name, row in alone.items()}

    assert p_values["a"] < p_values["c"] < p_values["b"]
    first, second, third = together.measures
    assert first.p_above == pytest.approx(3 * p_values["a"])
    assert third.p_above == pytest.approx(min(1, 2 * p_values["c"]))
    assert (alone["a"].outcome, first.outcome) == ("failed", "undecided")
    assert (alone["b"].outcome, second.outcome) == ("passed", "passed")
    assert second.bounds == alone["b"].bounds
    assert together.outcome == "undecided"


def test_all_measures_must_pass() -> None:
    old = [*scores([0.5] * 150, measure="a"), *scores([0.5] * 150, measure="b")]
    new = [*scores([0.5] * 150, measure="a"), *scores([0.1] * 150, measure="b")]
    result = gate(old, new, max_drop=0.02, measures=["a", "b", "a"])

    assert [(row.measure, row.outcome) for row in result.measures] == [("a", "passed"), ("b", "failed")]
    assert (result.outcome, result.passes) == ("failed", False)


def test_queries_that_a_version_lacks() -> None:
    """The means are over the queries of the baseline; a missing new score is 0, or left out."""
    old, new = scores([0.6, 0.6, 0.6, None]), scores([0.6, None, 0.6, 0.9])
    (zero,) = gate(old, new, max_drop=0.02).measures
    (skip,) = gate(old, new, max_drop=0.02, missing_queries="skip").measures

    assert (zero.queries, zero.baseline, zero.new) == pytest.approx((3, 0.6, 0.4))
    assert (skip.queries, skip.baseline, skip.new) == pytest.approx((2, 0.6, 0.6))
    assert (zero.missing, zero.unmatched, zero.largest) == (["q1"], ["q3"], [QueryDrop("q1", 0.6, None, 0.0)])
    assert list(gate(old, new, max_drop=0.02).notes) == [
        "1 query (q1) without a score of the new version: each counts as 0.",
        "1 query (q3) without a score of the baseline: left out.",
    ]
    skipped = gate(old, new, max_drop=0.02, missing_queries="skip")
    assert skipped.notes[0] == "1 query (q1) without a score of the new version: left out."
    assert skipped.provenance.queries == 2


def test_missing_queries_of_one_measure_name_it() -> None:
    old = [*scores([0.5] * 3, measure="a"), *scores([0.5] * 3, measure="b")]
    new = [*scores([0.5] * 3, measure="a"), *scores([0.5, 0.5], measure="b")]

    notes = gate(old, new, max_drop=0.02, measures=["a", "b"]).notes
    assert "b: 1 query (q2) without a score of the new version: each counts as 0." in notes


@pytest.mark.parametrize("scale", [1, 0.01])
def test_missing_queries_are_no_reward_where_scores_are_below_zero(scale: float) -> None:
    """Seven of ten queries are missing; as 0, they would raise the mean by 0.7."""
    old, new = scores([-scale] * 10), scores([-scale] * 3)
    result = gate(old, new, max_drop=0.02, worst_drop=2)

    assert (result.outcome, result.passes) == ("failed", False)
    assert result.measures[0].drop == pytest.approx(1.4)
    assert "each counts as 0, or as a drop by 2 for a measure with scores below 0." in result.notes[0]
    with pytest.raises(SelectionError, match=r"^F1 has scores from -.* is not 0 to 1; name .* --worst-drop"):
        gate(old, new, max_drop=0.02)


@pytest.mark.parametrize(
    ("measure", "value"), [("F1", 1.5), ("F1", -0.5), ("MeanLabel@10", 0.5), ("NumRel", 0), ("num_ret", 1)]
)
def test_a_measure_with_another_range_needs_the_worst_drop(measure: str, value: float) -> None:
    values = scores([value] * 3, measure=measure)

    with pytest.raises(SelectionError, match=rf"^{measure} has scores from .* with --worst-drop\."):
        gate(values, values, max_drop=0.1)
    assert gate(values, values, max_drop=0.1, worst_drop=3).measures[0].bounds.high == pytest.approx(
        3 * (1 - 0.05 ** (1 / 3))
    )


def test_a_smaller_worst_drop_needs_fewer_queries_and_is_named() -> None:
    """0.92³⁶ is below 0.05 for a limit of 0.02 and a worst drop of 0.25."""
    drops = [0.0] * 36
    result = dropped(drops, worst_drop=0.25)

    assert (dropped(drops).outcome, result.outcome) == ("undecided", "passed")
    assert gate_sentence(result).endswith("0.02, if no query changes by more than 0.25.")
    for drop, verb in ((0.3, "drops"), (-0.3, "rises")):
        with pytest.raises(
            SelectionError, match=rf"^F1 of the query q1 {verb} by 0\.3, more than the 0\.25 of"
        ):
            dropped([0, drop], worst_drop=0.25)
    with pytest.raises(SelectionError, match=r"q1, which has no score of the new version, drops by 0\.5,"):
        gate(scores([0.5, 0.5]), scores([0.5]), max_drop=0.02, worst_drop=0.25)


def test_files_in_several_formats(tmp_path: Path) -> None:
    """`--per-query` tables with means and the upper bound, JSON lines, and output of trec_eval."""
    old, new = [0.4, 0.6, 0.8], [0.5, 0.6, 0.4]
    table, rows, text = tmp_path / "old.tsv", tmp_path / "new.jsonl", tmp_path / "new.txt"
    extra = [Score("s", ALL_QUERIES, "F1", 0.1), Score(OVERALL_SYSTEM, "q0", "F1", 1.0)]
    write_scores([*scores(old), *extra], table)
    write_score_rows([*scores(new), Score("s", ALL_QUERIES, "F1", 0.1)], rows)
    text.write_text("".join(f"F1                    \tq{n}\t{value:.4f}\n" for n, value in enumerate(new)))
    expected = gate(scores(old), scores(new), max_drop=0.02)

    for path in (rows, text):
        found = gate(table, str(path), max_drop=0.02)
        assert found.measures == expected.measures
        assert (found.baseline, found.new) == ("s", "s" if path is rows else "new")
        assert found.provenance.leaderboards == ("old.tsv", path.name)
        assert found.provenance.queries == 3


def test_two_systems_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    write_score_rows([*scores([0.4, 0.6], "a"), *scores([0.5, 0.6], "b")], path)

    result = gate(path, path, max_drop=0.02, system="a", system_after="b")
    assert (result.baseline, result.new) == ("a", "b")
    assert result.measures[0].drop == pytest.approx(-0.05)


@pytest.mark.parametrize(
    ("new", "options", "message"),
    [
        (None, {"system": "a"}, r"is the baseline and the new version; name two"),
        (None, {"system": "a", "system_after": "a"}, r"is the baseline and the new version; name two"),
        (None, {"system_after": "b"}, r"jsonl has scores of 2 systems; choose one with --sys.*: a, b"),
        (None, {"system": "a", "system_after": "c"}, r"no scores of the system 'c' .* with --system\."),
        # The name of the baseline is also expected in the new version.
        (scores([0.1], "b"), {"system": "a"}, r"^the new version has no scores of the system 'a' "),
    ],
)
def test_refused_systems(tmp_path: Path, new: Any, options: dict[str, Any], message: str) -> None:
    path = tmp_path / "scores.jsonl"
    write_score_rows([*scores([0.4, 0.6], "a"), *scores([0.5, 0.6], "b")], path)
    with pytest.raises(SelectionError, match=message):
        gate(path, new or path, max_drop=0.02, **options)


ONE, TWO = scores([0.5, 0.4]), [*scores([0.5, 0.4]), *scores([0.5, 0.3], measure="RR")]


def test_the_common_measure_is_compared() -> None:
    assert gate(TWO, ONE, max_drop=0.02).measures[0].measure == "F1"


@pytest.mark.parametrize(
    ("old", "new", "options", "message"),
    [
        (TWO, TWO, {}, r"have 2 measures; choose one with -m: F1, RR\."),
        (TWO, ONE, {"measures": ["RR"]}, r"do not both have the measure 'RR' \(measures of both: F1\)"),
        (ONE, scores([0.5, 0.4], measure="AP"), {}, r"no measure in common \(F1; AP\)"),
        *((ONE, ONE, {"max_drop": drop}, r"^--max-drop is .*; expected a number of at least 0\.")
          for drop in (-0.1, math.inf, math.nan)),
        *((ONE, ONE, {"worst_drop": drop}, r"^--worst-drop is .*; expected a number above 0\.")
          for drop in (0, -1, math.inf, math.nan)),
        (scores([0.5, None]), scores([None, 0.5]), {}, r"no query of F1 in common"),
        ([], ONE, {}, r"the baseline has no scores of single queries"),
    ],
)  # fmt: skip
def test_refused_scores_and_limits(old: Any, new: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        gate(old, new, **{"max_drop": 0.02, **options})


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_scores_are_numbers(value: float) -> None:
    with pytest.raises(DataError, match=r"^the new version: .*, the F1 of the query q1, is not a sc"):
        gate(scores([0.5, 0.5]), scores([0.5, value]), max_drop=0.02)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("system\tF1\na\t0.5\n", r"s\.tsv has no scores of single queries; write them with"),
        ("system\tquery\tmeasure\tvalue\na\tq0\tF1\tnan\n", r"s\.tsv, line 2, value: 'nan' is not a number"),
    ],
)
def test_refused_files(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "s.tsv").write_text(content)
    with pytest.raises((SelectionError, DataError), match=message):
        gate(tmp_path / "s.tsv", scores([0.5]), max_drop=0.02)


def test_gate_refuses_scores_that_were_checked_in_part(write_jsonl: WriteLines) -> None:
    evaluation = marked(cover(file_of(write_jsonl, lambda system, *_: system == "good")))
    metric = "Cover(min_grade=4)@2"

    def passes(measure: str) -> bool:
        scores = evaluation.scores
        found = gate_of(
            scores, scores, max_drop=0.02, undecided="estimate", measures=[measure],
            system="good", system_after="poor",
        )  # fmt: skip
        return found.passes

    with pytest.raises(SelectionError, match=r"-m 'Cover\(min_grade=4\)@2\[judge\]'"):
        passes(f"{metric}{PARTLY}")
    assert passes(f"{metric}[judge]")
