"""Coverage of the intervals of corrected scores, in made-up worlds.

Usage: python -m scripts.bench.corrected [--draws 300] [--short]
       python -m scripts.bench.corrected --graded FILE [--bank FILE] --judge lexical --reviewer gpt-4
                                         -m pair-share --sample even:500 [--cutoff 20] [--draws 100]

In a made-up world, every query has entries of different difficulty and a pool of passages of different
quality; systems of different skill rank the passages. Three judges err: ``flips`` on a random 4 % of the
pairs; ``lenient`` covers up to 12 % of the pairs that people do not cover, more in longer passages; ``own``
covers a quarter of the wrong pairs of passages that only the last system found. Intervals of ``labels``
should contain the true scores of the world's queries, those of ``queries`` those of very many queries.

With ``--graded``, samples are drawn from the grades of a judge in a file, and a second grader stands for
people, whose grades of all pairs are the truth. Intervals are those of ``labels``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import nan
from pathlib import Path
from typing import Literal, NamedTuple, cast

import numpy as np

from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.entry_values import Bools, Floats
from exam_pp.metrics.uncertainty import ROUNDING
from exam_pp.plugins.trust.corrected import CorrectedMeasure, corrected_scores
from exam_pp.plugins.trust.corrected_estimates import Estimate, Interval, Sampling, Source, estimates
from exam_pp.plugins.trust.corrected_pairs import PairGroups, group_scores
from exam_pp.plugins.trust.pair_sample import SampledBy
from exam_pp.plugins.trust.sample_pairs import sample_pairs
from exam_pp.store.passages.graded_file import read_passages

Judge = Literal["flips", "lenient", "own"]
Measure = Literal["cover", "mean"]
JUDGES: tuple[Judge, ...] = ("flips", "lenient", "own")
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Size:
    """The size of a made-up world; ``mistakes``: a third of the entries have the weight -1."""

    queries: int = 50
    systems: int = 4
    entries: int = 8
    passages: int = 24
    cutoff: int = 10
    mistakes: bool = False


class World(NamedTuple):
    """What people cover (queries × entries × passages), the passages of systems, and weights of entries."""

    people: Bools
    members: Bools
    length: Floats
    weights: Floats


def make_world(rng: np.random.Generator, size: Size) -> World:
    """A world of random queries."""
    shape = (size.queries, size.entries, size.passages)
    quality = rng.normal(size=(size.queries, 1, size.passages))
    logit = -2.6 + 1.2 * rng.normal(size=(size.queries, size.entries, 1)) + quality
    people = rng.random(shape) < 1 / (1 + np.exp(-logit))
    skill = np.linspace(0.3, 1.5, size.systems)[:, None]
    scores = quality * skill + rng.normal(size=(size.queries, size.systems, size.passages))
    members = (-scores).argsort(axis=-1).argsort(axis=-1) < size.cutoff
    signs = np.where(size.mistakes & (np.arange(size.entries) % 3 == 2), -1, 1)
    weights = signs / signs.clip(min=0).sum()
    return World(people, members, rng.random((size.queries, 1, size.passages)), weights)


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
    return as_groups(world, judge, drawn, probability, measure)


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
    weights = world.weights if measure == "cover" else np.full(entries, 1 / entries)
    return PairGroups(
        by_judge[:, None],
        ((of_entries(world.people) - by_judge) * drawn)[:, None],
        np.full((queries, entries, systems), probability),
        np.broadcast_to(np.eye(systems, dtype=bool)[:, None, :], (queries, systems, 1, systems)),
        np.broadcast_to(weights, (queries, systems, entries)),
        np.ones(1),
        together=True,
        labelled=np.repeat(drawn, systems, axis=2),
    )


def as_groups(world: World, judge: Bools, drawn: Bools, probability: Floats, measure: Measure) -> PairGroups:
    """The pairs as the groups of Cover, or of the mean over all pairs of a system."""
    errors = (world.people.astype(float) - judge) * drawn
    queries, entries, passages = judge.shape
    systems = world.members.shape[1]
    if measure == "cover":
        weights = np.broadcast_to(world.weights, (queries, systems, entries))
        return PairGroups(
            judge[:, None].astype(float), errors[:, None], probability,
            world.members[:, :, None, :], weights, np.ones(1), labelled=drawn,
        )  # fmt: skip
    members = np.repeat(world.members[:, :, None, :], entries, axis=2).reshape(queries, systems, -1, 1)
    flat = (queries, 1, entries * passages, 1)
    weights = members[..., 0] / members[..., 0].sum(axis=-1, keepdims=True)
    return PairGroups(
        judge.astype(float).reshape(flat), errors.reshape(flat), probability.reshape(queries, -1, 1),
        members, weights, np.ones(1), labelled=drawn.reshape(queries, -1, 1),
    )  # fmt: skip


def true_scores(world: World, measure: Measure) -> Floats:
    """The scores by people, queries × systems."""
    everything = np.ones(world.people.shape)
    pairs = as_groups(world, world.people, everything > 0, everything, measure)
    return np.asarray(group_scores(pairs, pairs.judged).sum(axis=-1))


@cache
def population_scores(size: Size, measure: Measure) -> Floats:
    """The true scores of the systems over very many queries."""
    rng, many = np.random.default_rng(1), replace(size, queries=1000)
    means = [true_scores(make_world(rng, many), measure).mean(axis=0) for _ in range(20)]
    return np.asarray(np.mean(means, axis=0))


class Coverage(NamedTuple):
    """The share of intervals that contain the true score, half their mean width, and the share with a ``?``.

    All are means over draws and systems; ``unmarked`` is the coverage of the intervals without a ``?``.
    ``alone`` and ``difference`` are coverage and half width of the labels alone, and of differences to the
    first system, without those with a ``?``; NaN without any.
    """

    coverage: float
    half_width: float
    marked: float
    unmarked: float
    alone: tuple[float, float]
    difference: tuple[float, float]


Row = tuple[bool, float, bool]
"""Whether an interval contains the truth, half its width, and whether it is marked."""


def coverage(
    size: Size, judge: Judge, labels: int, by: SampledBy, measure: Measure, *, draws: int, seed: int = 0
) -> dict[Source, Coverage]:
    """The coverage of both kinds of intervals that exam_pp reports, over draws of worlds and samples."""
    rng = np.random.default_rng(seed)
    found: dict[Source, tuple[list[Row], list[Row], list[Row]]] = {
        "labels": ([], [], []), "queries": ([], [], [])
    }  # fmt: skip
    for _ in range(draws):
        world = make_world(rng, size)
        pairs = draw_groups(rng, world, judged(rng, world, judge), labels, by, measure)
        truths = true_scores(world, measure).mean(axis=0), population_scores(size, measure)
        for (source, kinds), truth in zip(found.items(), truths, strict=True):
            for estimate, score in zip(estimates_of(pairs, source), truth, strict=True):
                intervals = estimate.corrected, estimate.alone, estimate.difference
                for rows, interval, true in zip(
                    kinds, intervals, (score, score, score - truth[0]), strict=True
                ):
                    if interval is not None and (interval.low is not None or rows is kinds[0]):
                        thin = estimate.too_thin or (rows is kinds[2] and estimate.difference_too_thin)
                        rows.append(_row(interval, float(true), thin))
    return {source: _coverage(*(np.array(rows, dtype=float) for rows in of)) for source, of in found.items()}


def _row(interval: Interval, truth: float, thin: bool) -> Row:
    low, high = interval.low or 0.0, interval.high or 0.0
    # Equal sums in another order differ in their last digit.
    inside = low - ROUNDING <= truth <= high + ROUNDING
    return inside, (high - low) / 2, thin or interval.few is not None


def _coverage(scores: Floats, alone: Floats, differences: Floats) -> Coverage:
    inside, half_width, marked = scores.mean(axis=0).tolist()

    def of_unmarked(rows: Floats) -> tuple[float, float]:
        without = rows[rows[:, 2] == 0] if rows.size else rows
        return (float(without[:, 0].mean()), float(without[:, 1].mean())) if without.size else (nan, nan)

    unmarked, _ = of_unmarked(scores)
    return Coverage(inside, half_width, marked, unmarked, of_unmarked(alone), of_unmarked(differences))


def estimates_of(pairs: PairGroups, source: Source) -> list[Estimate]:
    """The estimates of all systems by the groups of all queries."""
    chances = pairs.probability[pairs.labelled].tolist()
    sampling = Sampling(source, CONFIDENCE, chances, lowest=float(pairs.probability.min()))
    arrays = (pairs.judged, pairs.errors, pairs.probability, pairs.members, pairs.weights, pairs.labelled)
    queries = [
        replace(
            pairs, judged=judged, errors=errors, probability=chance, members=members, weights=weights,
            labelled=labelled,
        )
        for judged, errors, chance, members, weights, labelled in zip(*arrays, strict=True)
    ]  # fmt: skip
    return estimates(queries, sampling, 0)


SETTINGS: tuple[tuple[SampledBy, int], ...] = (
    ("even", 1000),
    ("rating", 500),
    ("rating", 1000),
    ("rating", 2000),
    ("entry", 500),
    ("entry", 1000),
    ("entry", 2000),
)


SHORT: tuple[tuple[SampledBy, int], ...] = (("even", 1000), ("entry", 1000))


def simulated(
    draws: int, settings: Sequence[tuple[SampledBy, int]] = SETTINGS, size: Size | None = None
) -> Iterator[str]:
    """A line of a Markdown table for each judge, sample, measure and kind of interval."""
    yield "| measure | sample | judge | intervals | corrected | labels alone | difference | ? | without ? |"
    yield "|---|---|---|---|---|---|---|---|---|"
    measures: tuple[Measure, ...] = ("cover", "mean")
    for measure in measures:
        for by, labels in settings:
            for judge in JUDGES:
                for source, of in coverage(size or Size(), judge, labels, by, measure, draws=draws).items():
                    pairs = (of.coverage, of.half_width), of.alone, of.difference
                    cells = [f"{100 * share:.1f} % (± {width:.3f})" for share, width in pairs]
                    cells += [f"{100 * of.marked:.0f} %", f"{100 * of.unmarked:.1f} %"]
                    yield f"| {' | '.join([measure, f'{labels}, {by}', judge, source, *cells])} |"


def of_file(
    graded: Path, bank: Path | None, judge: GradeFilter, reviewer: str, measure: CorrectedMeasure,
    samples: Sequence[str], cutoff: int | None, draws: int,
) -> Iterator[str]:  # fmt: skip
    """A line of a Markdown table for each sample, over draws with different seeds."""
    queries = list(read_passages(graded))

    def results(by: SampledBy, count: int, seed: int) -> dict[str, Estimate]:
        drawn = sample_pairs(
            graded, bank=bank, grade_filter=judge, budget=count, by=by, cutoff=cutoff, seed=seed
        )
        found = corrected_scores(
            queries, drawn.sample, bank, reviewer=reviewer, measure=measure, intervals="labels"
        )
        return {row.system: row.scores for row in found.boards[0].systems}

    truth = {system: of.corrected.value for system, of in results("even", sys.maxsize, 0).items()}
    yield "| sample | corrected | error | labels alone | error | difference | error | of the judge |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for sample in samples:
        by, _, count = sample.partition(":")
        rows: dict[str, list[tuple[bool, float, float]]] = {"corrected": [], "alone": [], "difference": []}
        errors = []
        for seed in range(draws):
            scores = results(cast("SampledBy", by), int(count), seed)
            (base,) = (system for system, of in scores.items() if of.difference is None)
            for system, of in scores.items():
                errors.append(abs(of.judged - truth[system]))
                change = truth[system] - truth[base]
                for kind, interval, true in (
                    ("corrected", of.corrected, truth[system]), ("alone", of.alone, truth[system]),
                    ("difference", of.difference, change),
                ):  # fmt: skip
                    if interval is not None and interval.low is not None:
                        inside, half, _ = _row(interval, true, of.too_thin)
                        rows[kind].append((inside, half, abs(interval.value - true)))
        means = [np.mean(of, axis=0) if of else np.full(3, nan) for of in rows.values()]
        cells = [f"{100 * inside:.0f} % (± {half:.3f}) | {error:.3f}" for inside, half, error in means]
        yield f"| {count}, {by} | {' | '.join(cells)} | {np.mean(errors):.3f} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--mistakes", action="store_true", help="a third of the entries have the weight -1")
    parser.add_argument("--short", action="store_true", help="two samples and ten draws")
    parser.add_argument("--graded", type=Path)
    parser.add_argument("--bank", type=Path)
    parser.add_argument("--judge")
    parser.add_argument("--reviewer", default="judgments")
    parser.add_argument("-m", "--measure", default="pair-share")
    parser.add_argument("--sample", action="append", help="such as even:500; repeated", default=[])
    parser.add_argument("--cutoff", type=int)
    options = parser.parse_args()
    if options.graded:
        judge = GradeFilter(options.judge, kind="direct" if options.measure == "label-mean" else None)
        lines = of_file(
            options.graded, options.bank, judge, options.reviewer, options.measure, options.sample,
            options.cutoff, options.draws,
        )  # fmt: skip
    else:
        draws, settings = (10, SHORT) if options.short else (options.draws, SETTINGS)
        lines = simulated(draws, settings, Size(mistakes=options.mistakes))
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
