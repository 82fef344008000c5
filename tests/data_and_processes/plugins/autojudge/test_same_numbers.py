"""Our correlation of leaderboards and that of auto-judge-evaluate (docs/how-to/autojudge.md)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.metrics.correlation import correlation_samples, kendall
from exam_pp.phases.analysis.correlation import correlation

RUNS = 14
METHODS = ["kendall", "spearman", "tauap_b", "kendall@5", "kendall@10"]


def write_board(path: Path, measures: Mapping[str, Sequence[float]]) -> Path:
    """Write a leaderboard of AutoJudge with one topic and means."""
    path.write_text(
        "".join(
            f"run{run:02d}\t{topic}\t{measure}\t{value}\n"
            for measure, values in measures.items()
            for run, value in enumerate(values)
            for topic in ("1", "all")
        ),
        encoding="utf-8",
    )
    return path


def boards(folder: Path) -> tuple[Path, Path, dict[str, list[float]], list[float]]:
    """A judge's leaderboard with and without ties, and a truth without ties."""
    rng = random.Random(5)
    truth = [rng.random() for _ in range(RUNS)]
    noisy = [value + rng.gauss(0, 0.3) for value in truth]
    measures = {"noisy": noisy, "tied": [round(value * 4) / 4 for value in noisy]}
    return (
        write_board(folder / "judge.eval.txt", measures),
        write_board(folder / "truth.txt", {"official": truth}),
        measures,
        truth,
    )


def theirs(judge: Path, truth: Path) -> dict[str, dict[str, float]]:
    from autojudge_evaluate.evaluation import LeaderboardEvaluator

    evaluator = LeaderboardEvaluator(truth, correlation_methods=METHODS)
    return {measure: values for (_, measure), values in evaluator.evaluate(judge).items()}


def tau_ap(estimated: Sequence[float], truth: Sequence[float]) -> float | None:
    """Our τ-AP of two lists of scores of the same systems; None if one is all tied."""
    value = float(correlation_samples(np.array([estimated], dtype=float), truth)[0, 2])
    return None if np.isnan(value) else value


def tied_above(scores: Sequence[float], other: Sequence[float]) -> float:
    """Mean share of the systems above a system in ``scores`` that ``other`` ties with it."""
    shares = []
    for value, tied in zip(scores, other, strict=True):
        above = [position for position, score in enumerate(scores) if score > value]
        if above:
            shares.append(sum(other[position] == tied for position in above) / len(above))
    return sum(shares) / len(shares)


def test_kendall_and_spearman_are_equal_also_with_ties(tmp_path: Path) -> None:
    judge, truth, measures, _ = boards(tmp_path)
    expected = theirs(judge, truth)
    ours = correlation(judge, truth)
    assert [row.measure for row in ours.measures] == list(measures)
    for row in ours.measures:
        assert row.correlation.systems == RUNS
        assert row.correlation.kendall == pytest.approx(expected[row.measure]["kendall"], abs=1e-12)
        assert row.correlation.spearman == pytest.approx(expected[row.measure]["spearman"], abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=12))
def test_the_relations_hold_for_any_ties(pairs: list[tuple[int, int]]) -> None:
    from autojudge_evaluate.evaluation import correlation as of_pandas
    from autojudge_evaluate.evaluation import tauap_b

    scores, official = [[float(pair[side]) for pair in pairs] for side in (0, 1)]
    forward, backward, own = tau_ap(scores, official), tau_ap(official, scores), kendall(scores, official)
    if own is None or forward is None or backward is None:
        assert len(set(scores)) == 1 or len(set(official)) == 1
        return
    assert own == pytest.approx(of_pandas(official, scores, "kendall"), abs=1e-12)
    ties = tied_above(scores, official) + tied_above(official, scores)
    assert tauap_b(official, scores) == pytest.approx((forward + backward - ties) / 2, abs=1e-12)
