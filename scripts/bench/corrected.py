"""Coverage of the intervals of corrected scores, in made-up worlds.

Usage: python -m scripts.bench.corrected [--draws 1000]

In a made-up world, every query has entries of different difficulty and a pool of passages of different
quality; systems of different skill rank the passages. Three judges err: ``flips`` on a random 4 % of the
pairs; ``lenient`` covers up to 12 % of the pairs that people do not cover, more in longer passages; ``own``
covers a quarter of the wrong pairs of passages that only the last system found. For intervals of ``labels``,
the world is fixed and only the sample is drawn again; for those of ``queries``, the queries are drawn again,
too, and the true scores are those of very many queries.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from exam_pp.metrics.corrected import (
    Bools,
    Evidence,
    Floats,
    PairGroups,
    evidence,
    group_scores,
    label_covariance,
    label_half_width,
    most_errors,
    query_half_width,
)
from exam_pp.pair_sample import SampledBy

Judge = Literal["flips", "lenient", "own"]
Measure = Literal["cover", "mean"]
JUDGES: tuple[Judge, ...] = ("flips", "lenient", "own")
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Size:
    """The size of a made-up world."""

    queries: int = 50
    systems: int = 4
    entries: int = 8
    passages: int = 24
    cutoff: int = 10


class World(NamedTuple):
    """What people cover (queries × entries × passages), and which passages a system has."""

    people: Bools
    members: Bools
    length: Floats


def make_world(rng: np.random.Generator, size: Size) -> World:
    """A world of random queries."""
    shape = (size.queries, size.entries, size.passages)
    quality = rng.normal(size=(size.queries, 1, size.passages))
    logit = -2.6 + 1.2 * rng.normal(size=(size.queries, size.entries, 1)) + quality
    people = rng.random(shape) < 1 / (1 + np.exp(-logit))
    skill = np.linspace(0.3, 1.5, size.systems)[:, None]
    scores = quality * skill + rng.normal(size=(size.queries, size.systems, size.passages))
    members = (-scores).argsort(axis=-1).argsort(axis=-1) < size.cutoff
    return World(people, members, rng.random((size.queries, 1, size.passages)))


def judged(rng: np.random.Generator, world: World, judge: Judge) -> Bools:
    """What a judge with errors covers."""
    chance = rng.random(world.people.shape)
    if judge == "flips":
        return world.people ^ (chance < 0.04)
    if judge == "lenient":
        return world.people | (chance < 0.12 * world.length)
    own: Bools = np.logical_and(world.members[:, -1], ~world.members[:, :-1].any(axis=1))
    flipped = world.people ^ (chance < 0.02)
    found: Bools = np.where(own[:, None, :], world.people | (chance < 0.25), flipped)
    return found


def draw_groups(
    rng: np.random.Generator, world: World, judge: Bools, labels: int, by: SampledBy, measure: Measure
) -> PairGroups:
    """A sample of pairs, with the labels of people, as the groups of a measure."""
    found: Bools = np.any(world.members, axis=1, keepdims=True)
    pool = np.broadcast_to(found, judge.shape)
    if by == "entry":
        return draw_entries(rng, world, judge, min(1.0, labels / pool.sum()), measure)
    strata = [judge & pool, ~judge & pool] if by == "rating" else [pool]
    probability = np.ones(judge.shape)
    left = float(labels)
    for number, stratum in enumerate(sorted(strata, key=np.count_nonzero)):
        count = int(stratum.sum())
        expected = min(float(count), left / (len(strata) - number))
        probability[stratum] = expected / max(1, count)
        left -= expected
    drawn = (rng.random(judge.shape) < probability) & pool
    return as_groups(world, judge, (world.people.astype(float) - judge) * drawn, probability, measure)


def draw_entries(
    rng: np.random.Generator, world: World, judge: Bools, probability: float, measure: Measure
) -> PairGroups:
    """A sample of entries with all their pairs, as the groups of a measure."""
    queries, systems, _ = world.members.shape
    entries = judge.shape[1]

    def of_entries(values: Bools) -> Floats:
        of_systems = world.members[:, None] & values[:, :, None, :]
        if measure == "cover":
            return of_systems.any(axis=-1).astype(float)
        return np.asarray(of_systems.sum(axis=-1) / world.members.sum(axis=-1)[:, None])

    drawn = rng.random((queries, entries, 1)) < probability
    by_judge = of_entries(judge)
    return PairGroups(
        by_judge[:, None],
        ((of_entries(world.people) - by_judge) * drawn)[:, None],
        np.full((queries, entries, systems), probability),
        np.eye(systems, dtype=bool)[:, None, :],
        np.full((queries, systems, entries), 1 / entries),
        np.ones(1),
        together=True,
    )


def as_groups(
    world: World, judge: Bools, errors: Floats, probability: Floats, measure: Measure
) -> PairGroups:
    """The pairs as the groups of Cover, or of the mean over all pairs of a system."""
    queries, entries, passages = judge.shape
    systems = world.members.shape[1]
    if measure == "cover":
        weights = np.full((queries, systems, entries), 1 / entries)
        return PairGroups(
            judge[:, None].astype(float), errors[:, None], probability,
            world.members[:, :, None, :], weights, np.ones(1),
        )  # fmt: skip
    members = np.repeat(world.members[:, :, None, :], entries, axis=2).reshape(queries, systems, -1, 1)
    flat = (queries, 1, entries * passages, 1)
    weights = members[..., 0] / members[..., 0].sum(axis=-1, keepdims=True)
    return PairGroups(
        judge.astype(float).reshape(flat), errors.reshape(flat), probability.reshape(queries, -1, 1),
        members, weights, np.ones(1),
    )  # fmt: skip


def true_scores(world: World, measure: Measure) -> Floats:
    """The scores by people, queries × systems."""
    pairs = as_groups(world, world.people, np.zeros(world.people.shape), np.ones(world.people.shape), measure)
    return group_scores(pairs, pairs.judged)


class Coverage(NamedTuple):
    """The share of intervals that contain the true score, their mean width, and the share marked thin.

    All are means over the systems; ``lowest`` is the coverage of the system with the lowest one.
    """

    coverage: float
    lowest: float
    width: float
    thin: float


def label_coverage(
    size: Size, judge: Judge, labels: int, by: SampledBy, measure: Measure, *, draws: int, seed: int = 0
) -> Coverage:
    """The coverage of intervals for fixed queries, over draws of the sample."""
    rng = np.random.default_rng(seed)
    world = make_world(rng, size)
    grades = judged(rng, world, judge)
    truth = true_scores(world, measure).mean(axis=0)
    every = np.arange(size.systems)
    single = measure == "cover" or by == "entry"
    weight = 1 / (size.queries * size.entries * (1 if single else size.cutoff))

    def once() -> tuple[Floats, Floats, Bools]:
        pairs = draw_groups(rng, world, grades, labels, by, measure)
        estimate = group_scores(pairs, pairs.corrected).mean(axis=0)
        variances = label_covariance(pairs, every, every) / size.queries**2
        bound = most_errors(float(pairs.probability.min()), CONFIDENCE) * weight
        half = [label_half_width(column, bound, CONFIDENCE).value for column in variances.T]
        return abs(estimate - truth) <= half, 2 * np.array(half), _thin(pairs, measure)

    return _coverage(once, draws)


def query_coverage(
    size: Size, judge: Judge, labels: int, by: SampledBy, measure: Measure, *, draws: int, seed: int = 0
) -> Coverage:
    """The coverage of intervals for random queries, over draws of queries and sample."""
    rng = np.random.default_rng(seed)
    many = replace(size, queries=1000)
    worlds = max(5, min(30, draws // 30))
    truth = np.mean([true_scores(make_world(rng, many), measure).mean(axis=0) for _ in range(worlds)], axis=0)

    def once() -> tuple[Floats, Floats, Bools]:
        world = make_world(rng, size)
        pairs = draw_groups(rng, world, judged(rng, world, judge), labels, by, measure)
        scores = group_scores(pairs, pairs.corrected)
        half = np.array([query_half_width(column, CONFIDENCE) or 0.0 for column in scores.T])
        return abs(scores.mean(axis=0) - truth) <= half, 2 * half, _thin(pairs, measure)

    return _coverage(once, draws)


def _thin(pairs: PairGroups, measure: Measure) -> Bools:
    if measure == "mean" or pairs.together:
        return np.zeros(pairs.weights.shape[1], dtype=bool)
    return Evidence(*(counts.sum(axis=0) for counts in evidence(pairs))).too_thin


def _coverage(once: Callable[[], tuple[Floats, Floats, Bools]], draws: int) -> Coverage:
    hits, widths, thin = (np.array(rows) for rows in zip(*(once() for _ in range(draws)), strict=True))
    by_system = hits.mean(axis=0)
    return Coverage(float(by_system.mean()), float(by_system.min()), float(widths.mean()), float(thin.mean()))


SETTINGS: tuple[tuple[SampledBy, int], ...] = (
    ("even", 1000),
    ("rating", 500),
    ("rating", 1000),
    ("rating", 2000),
    ("entry", 500),
    ("entry", 1000),
    ("entry", 2000),
)


def simulated(draws: int) -> Iterator[str]:
    """A line of a Markdown table for each judge, sample, measure and kind of interval."""
    yield "| measure | sample | judge | coverage `labels` | coverage `queries` | marked ? |"
    yield "|---|---|---|---|---|---|"
    measures: tuple[Measure, ...] = ("cover", "mean")
    for measure in measures:
        for by, labels in SETTINGS:
            for judge in JUDGES:
                fixed = label_coverage(Size(), judge, labels, by, measure, draws=draws)
                redrawn = query_coverage(Size(), judge, labels, by, measure, draws=draws)
                yield (
                    f"| {measure} | {labels}, {by} | {judge} | {_percent(fixed)} | {_percent(redrawn)} "
                    f"| {100 * fixed.thin:.0f} % |"
                )


def _percent(found: Coverage) -> str:
    return f"{100 * found.coverage:.1f} % (± {found.width / 2:.3f})"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000)
    for line in simulated(parser.parse_args().draws):
        print(line, flush=True)


if __name__ == "__main__":
    main()
