"""The gate: outcomes computed by hand and with scipy, missing queries, and refused inputs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_rel

from exam_pp import rubric_qrels, score_runs
from exam_pp.errors import DataError, SelectionError
from exam_pp.phases.trust.gate import Gate, QueryDrop, gate
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM, Score
from exam_pp.store.trec.score_rows import write_score_rows
from exam_pp.store.trec.scores import write_scores


def scores(values: Sequence[float | None], system: str = "s", measure: str = "F1") -> list[Score]:
    return [Score(system, f"q{n}", measure, value) for n, value in enumerate(values) if value is not None]


def dropped(drops: Sequence[float], max_drop: float = 0.02, **options: Any) -> Gate:
    """The gate of a new version with these drops on the queries."""
    new = scores([0.5 - drop for drop in drops])
    return gate(scores([0.5] * len(drops)), new, max_drop=max_drop, **options)


def test_an_undecided_drop_by_hand() -> None:
    """Drops 0.1, 0, 0.05 and −0.05: mean 0.025, standard deviation √(0.0125 / 3), divided by √4.

    Tables of t: 2.3534 for 3 degrees of freedom and 95 %.
    """
    (row,) = dropped([0.1, 0.0, 0.05, -0.05]).measures
    error = math.sqrt(0.0125 / 3) / 2

    assert (row.queries, row.baseline, row.new) == pytest.approx((4, 0.5, 0.475))
    assert row.drop == pytest.approx(0.025)
    assert row.bounds.low == pytest.approx(0.025 - 2.3534 * error, abs=1e-5)
    assert row.bounds.high == pytest.approx(0.025 + 2.3534 * error, abs=1e-5)
    assert row.outcome == "undecided"
    assert row.largest == [
        QueryDrop("q0", 0.5, 0.4), QueryDrop("q2", 0.5, 0.45),
    ]  # fmt: skip


@pytest.mark.parametrize("test", ["t", "randomisation"])
@pytest.mark.parametrize(
    ("shift", "outcome"), [(-0.1, "passed"), (0.0, "passed"), (0.02, "undecided"), (0.1, "failed")]
)
def test_outcomes(shift: float, outcome: str, test: str) -> None:
    """Drops between −0.01 and 0.01, shifted; the limit is 0.02."""
    drops = np.linspace(-0.01, 0.01, 11) + shift
    result = dropped(drops.tolist(), test=test)

    assert result.outcome == outcome
    assert result.passes is (outcome == "passed" or shift <= 0.02)


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


def test_the_same_scores_pass() -> None:
    result = gate(scores([0.1, 0.9]), scores([0.1, 0.9]), max_drop=0)

    assert (result.outcome, result.passes) == ("passed", True)
    assert result.measures[0].largest == []
    assert "drop by the same amount" in result.notes[0]


def test_a_single_query_decides_nothing() -> None:
    for test in ("t", "randomisation"):
        result = dropped([0.4], test=test)
        assert (result.outcome, result.passes) == ("undecided", False)
        assert result.measures[0].detectable is None
        assert result.measures[0].needed is None
        assert "a single query cannot show" in result.notes[0]


def test_several_measures_need_smaller_p_values_to_fail_but_not_to_pass() -> None:
    """Holm: the smallest of three p-values is multiplied by 3, the next by 2. Scipy gives the p-values."""
    rng = np.random.default_rng(15)
    drops = {name: rng.normal(mean, 0.1, 30).tolist() for name, mean in (("a", 0.055), ("b", 0), ("c", 0.02))}
    old = [score for name in drops for score in scores([0.5] * 30, measure=name)]
    new = [score for name in drops for score in scores([0.5 - d for d in drops[name]], measure=name)]
    together = gate(old, new, max_drop=0.02, measures=["a", "b", "c"])
    p_values = [ttest_1samp(drops[name], 0.02, alternative="greater").pvalue for name in drops]

    assert p_values[0] < 0.05 < 3 * p_values[0]
    assert p_values[0] < p_values[2] < p_values[1]
    first, second, third = together.measures
    assert first.p_above == pytest.approx(3 * p_values[0])
    assert third.p_above == pytest.approx(min(1, max(3 * p_values[0], 2 * p_values[2])))
    assert first.outcome == "undecided"
    assert gate(old, new, max_drop=0.02, measures=["a"]).outcome == "failed"
    assert second.bounds.p_within == pytest.approx(1 - p_values[1])
    assert together.outcome == "undecided"
    assert not together.passes


def test_all_measures_must_pass() -> None:
    old = [*scores([0.5] * 4, measure="a"), *scores([0.5] * 4, measure="b")]
    new = [*scores([0.5] * 4, measure="a"), *scores([0.1] * 4, measure="b")]
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
    assert (zero.missing, zero.unmatched, zero.largest) == (["q1"], ["q3"], [QueryDrop("q1", 0.6, None)])
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


def test_detectable_difference_and_queries_needed() -> None:
    """R, ``power.t.test(n = 27, sd = 1, power = 0.8, type = "paired", alternative = "one.sided")``: 0.4915.

    Drops with a standard deviation of 0.1 therefore detect 0.04915, and 0.05 on the same 27 queries.
    """
    values = np.random.default_rng(1).normal(size=27)
    drops = 0.1 * (values - values.mean()) / values.std(ddof=1)
    (row,) = dropped(drops.tolist(), max_drop=0.05).measures

    assert row.detectable == pytest.approx(0.04915, abs=1e-5)
    assert row.needed == 27
    assert dropped(drops.tolist(), max_drop=0).measures[0].needed is None


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
    for system_after in (None, "a"):
        with pytest.raises(SelectionError, match=r"is the baseline and the new version; choose two"):
            gate(path, path, max_drop=0.02, system="a", system_after=system_after)
    with pytest.raises(
        SelectionError, match=r"jsonl has scores of 2 systems \(a, b\); choose one with --sys"
    ):
        gate(path, path, max_drop=0.02, system_after="b")
    with pytest.raises(SelectionError, match=r"no scores of the system 'c' .* with --system-after\."):
        gate(path, path, max_drop=0.02, system="a", system_after="c")
    # The name of the baseline is also expected in the new version.
    with pytest.raises(SelectionError, match=r"^the new version has no scores of the system 'a' "):
        gate(path, scores([0.1], "b"), max_drop=0.02, system="a")


def test_refused_measures() -> None:
    one, two = scores([0.5, 0.4]), [*scores([0.5, 0.4]), *scores([0.5, 0.3], measure="RR")]

    assert gate(two, one, max_drop=0.02).measures[0].measure == "F1"
    with pytest.raises(SelectionError, match=r"have 2 measures; choose with -m: F1, RR\."):
        gate(two, two, max_drop=0.02)
    with pytest.raises(SelectionError, match=r"do not both have the measure 'RR' \(measures of both: F1\)"):
        gate(two, one, max_drop=0.02, measures=["RR"])
    with pytest.raises(SelectionError, match=r"no measure in common \(F1; AP\)"):
        gate(one, scores([0.5, 0.4], measure="AP"), max_drop=0.02)


@pytest.mark.parametrize("max_drop", [-0.1, math.inf, math.nan])
def test_refused_limits(max_drop: float) -> None:
    with pytest.raises(SelectionError, match=r"^--max-drop is .*; expected a number from 0 to 1e100\."):
        dropped([0.1, 0.0], max_drop)


def test_a_note_on_too_few_queries_for_the_randomisation_test() -> None:
    """Of the 2⁴ signs of four queries, the most extreme have a share of 0.0625, which is above 0.05."""
    assert [*dropped([0.1, 0.0, 0.1, 0.2], test="randomisation").notes] == [
        "F1: 4 queries are too few for a randomisation test at this confidence level; use --test t."
    ]
    assert not dropped([0.1, 0.0, 0.1, 0.2, 0.1], test="randomisation").notes


def test_refused_scores(tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match=r"no query of F1 in common"):
        gate(scores([0.5, None]), scores([None, 0.5]), max_drop=0.02)
    with pytest.raises(SelectionError, match=r"the baseline has no scores of single queries"):
        gate([], scores([0.5]), max_drop=0.02)
    for value in (math.nan, math.inf, -1e101):
        with pytest.raises(DataError, match=r"^the new version: .*, the F1 of the query q1, is not a sc"):
            gate(scores([0.5, 0.5]), scores([0.5, value]), max_drop=0.02)
    means = tmp_path / "means.tsv"
    means.write_text("system\tF1\na\t0.5\n")
    with pytest.raises(SelectionError, match=r"means\.tsv has no scores of single queries; write them with"):
        gate(means, scores([0.5]), max_drop=0.02)
    (tmp_path / "nan.tsv").write_text("system\tquery\tmeasure\tvalue\na\tq0\tF1\tnan\n")
    with pytest.raises(DataError, match=r"nan\.tsv, line 2, value: 'nan' is not a number"):
        gate(tmp_path / "nan.tsv", scores([0.5]), max_drop=0.02)


@pytest.mark.integration
def test_six_real_retrievers_equal_scipy(shared_data: Path) -> None:
    """Every two systems in both orders, and the counts that docs/how-to/gate.md shows."""
    folder = shared_data / "dl19-gpt4"
    runs = score_runs(rubric_qrels(folder / "dl19-graded.jsonl.gz"), folder / "runs", ["nDCG@10"])
    table = {(score.system, score.query_id): score.value for score in runs.scores}
    query_ids = list(dict.fromkeys(query_id for _, query_id in table))
    counts: Counter[tuple[str, bool]] = Counter()
    for old, new in permutations(runs.systems, 2):
        result = gate(runs.scores, runs.scores, max_drop=0.02, system=old, system_after=new)
        values = [np.array([table[system, query_id] for query_id in query_ids]) for system in (old, new)]
        above = ttest_rel(values[0], values[1] + 0.02, alternative="greater").pvalue
        assert result.measures[0].p_above == pytest.approx(above)
        counts[result.outcome, result.passes] += 1

    assert counts == {
        ("passed", True): 12, ("undecided", True): 8, ("undecided", False): 2, ("failed", False): 8,
    }  # fmt: skip
