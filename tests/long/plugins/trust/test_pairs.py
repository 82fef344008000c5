"""Samples of pairs for people to label: population, probabilities, independence of the order of the file."""

from __future__ import annotations

from collections import Counter
from math import sqrt
from pathlib import Path

import pytest

from exam_pp.plugins.trust import sample_pairs as trust_pairs
from exam_pp.plugins.trust.pair_sample import SampledBy
from tests.plugins.trust.test_pairs import Key, _once, drawn, graded, keys, probabilities  # noqa: F401 - a fixture


@pytest.mark.parametrize("by", ["even", "rating", "disagreement"])
def test_the_frequency_of_a_pair_is_its_probability(
    graded: Path, by: SampledBy, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = probabilities(graded, 5, by)
    for name in ("read_selected", "_other_graders", "file_sha256"):  # the file is read once, for speed
        monkeypatch.setattr(trust_pairs, name, _once(getattr(trust_pairs, name)))
    seeds = 2000
    counts: Counter[Key] = Counter()
    sizes = []
    for seed in range(seeds):
        sample = keys(drawn(graded, 5, by, seed=seed))
        counts.update(sample)
        sizes.append(len(sample))
    for key, probability in expected.items():
        # Four standard deviations of a binomial share: exceeded once in 15,000 times.
        error = sqrt(probability * (1 - probability) / seeds)
        assert counts[key] / seeds == pytest.approx(probability, abs=4 * error + 1e-9)
    variance = sum(probability * (1 - probability) for probability in expected.values())
    assert sum(sizes) / seeds == pytest.approx(5, abs=4 * sqrt(variance / seeds))
    # The number of drawn pairs has the variance of independent draws.
    mean = sum(sizes) / seeds
    assert sum((size - mean) ** 2 for size in sizes) / seeds == pytest.approx(variance, rel=0.2)
