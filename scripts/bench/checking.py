"""How often equal systems are called better or worse, by the way in which a person checks the judge's grades.

Usage: python -m scripts.bench.checking [--samples 400]

Systems with the same chance to cover an entry are judged with errors, the same for all, or fewer misses for
the first one. A person, who makes no errors, rates some of the pairs of a passage and an entry. Every claim
is false; the table has the share of boards with one that rests on these ratings, and in parentheses the share
if corrected scores were tested as they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from exam_pp.metrics.fair_sample import DecidedUnits, looks, sample_order
from exam_pp.metrics.significance import better
from exam_pp.metrics.uncertainty import score_matrices
from exam_pp.phases.evaluation.leaderboards import Basis, basis_of_claims
from exam_pp.phases.evaluation.result import Corrections, Evaluation
from exam_pp.results import Score

Pairs = NDArray[np.bool_]
"""Systems × queries × passages of a system × entries."""
ALPHA = 0.05
FALSE_ALARM = 0.1
JUDGES: Mapping[str, tuple[float, float]] = {"the same for all": (0.3, 0.3), "prefers the first": (0.1, 0.4)}
"""Errors of the judge: its misses of the first system, and of the others."""


@dataclass(frozen=True)
class World:
    """What passages cover in truth and by the judge."""

    truth: Pairs
    judged: Pairs

    @classmethod
    def of(
        cls, rng: np.random.Generator, shape: tuple[int, int, int, int], misses: tuple[float, float]
    ) -> World:
        """Equal systems; queries differ in how easy they are."""
        easy = rng.normal(size=(1, shape[1], 1, 1))
        truth = rng.random(shape) < expit(easy + 0.4 - np.log(shape[2]))
        missed = np.full((shape[0], 1, 1, 1), misses[1])
        missed[0] = misses[0]
        judged = np.where(truth, rng.random(shape) >= missed, rng.random(shape) < FALSE_ALARM)
        return cls(truth, judged)

    def evaluation(self, rated: Pairs) -> Evaluation:
        """The scores with the person's ratings in place of the judge's, and what the person decided."""
        _, queries, passages, entries = self.truth.shape
        covered = np.asarray((rated & self.truth).any(axis=2))
        known = np.asarray(covered | rated.all(axis=2))
        by_judge = np.asarray(self.judged.any(axis=2))

        def units(_metric: str) -> list[DecidedUnits]:
            people, weights = np.where(known, covered, np.nan), [1.0] * entries
            names, checked = [*map(str, range(entries))], [(0, passages * entries)] * len(known)
            return [
                DecidedUnits.drawn(str(query), names, weights, by_judge[:, query], people[:, query], checked)
                for query in range(queries)
            ]

        systems = [*map(str, range(len(known)))]
        corrected = np.where(rated, self.truth, self.judged)
        return Evaluation(
            _scores(corrected),
            corrections=Corrections("", systems, lambda: Evaluation(_scores(self.judged)), units),
        )

    def first(self, entries: int) -> Pairs:
        """The pairs of the first entries of the sample."""
        rated = np.zeros_like(self.truth)
        every = [*map(str, range(self.truth.shape[3]))]
        for query in range(self.truth.shape[1]):
            rated[:, query, :, [int(e) for e in sample_order(str(query), every)[:entries]]] = True
        return rated


def _scores(pairs: Pairs) -> list[Score]:
    values = pairs.any(axis=2).mean(axis=2)
    return [Score(str(s), str(q), "Cover@1", float(value)) for (s, q), value in np.ndenumerate(values)]


def _only(world: World, chosen: Pairs | NDArray[np.bool_]) -> Iterator[Pairs]:
    yield np.broadcast_to(chosen, world.truth.shape).copy()


def _axis(world: World, axis: int, first: int) -> Pairs:
    """The first systems, queries or passages."""
    number = np.arange(world.truth.shape[axis]).reshape([-1 if a == axis else 1 for a in range(4)])
    return np.asarray(number < first)


def _lost(world: World) -> Pairs:
    """The queries on which the judge sees the first system behind."""
    scores = world.judged.any(axis=2).mean(axis=2)
    return np.asarray(scores[0] < scores[1:].max(axis=0)).reshape(1, -1, 1, 1)


def _some_look(world: World, rng: np.random.Generator) -> Iterator[Pairs]:
    yield world.first(int(rng.choice(looks(world.truth.shape[3]))))


WAYS: Mapping[str, Callable[[World, np.random.Generator], Iterator[Pairs]]] = {
    "one system only": lambda world, _: _only(world, _axis(world, 0, 1)),
    "half of the queries": lambda world, _: _only(world, _axis(world, 1, world.truth.shape[1] // 2)),
    "first passages": lambda world, _: _only(world, _axis(world, 2, 1)),
    "everything": lambda world, _: _only(world, np.ones(1, dtype=np.bool_)),
    "queries that the first system loses": lambda world, _: _only(world, _lost(world)),
    "pairs that the judge missed": lambda world, _: _only(world, ~world.judged),
    "the page's order, to some look": _some_look,
    "the page's order, until there is a claim": lambda world, _: map(
        world.first, looks(world.truth.shape[3])
    ),
}
"""A way of checking to the pairs that are rated, after each of which the scores are looked at."""


def claims(basis: Basis) -> bool:
    """Whether any system is called better than another one."""
    (matrix,) = score_matrices(basis.evaluation.scores).values()
    return bool(better(matrix.values, alpha=basis.alpha).any())


def false_claims(
    way: str,
    misses: tuple[float, float],
    systems: int,
    samples: int,
    shape: tuple[int, int, int] = (20, 2, 5),
) -> tuple[float, float]:
    """The share of worlds with a claim that rests on ratings, and if corrected scores were tested."""
    rng = np.random.default_rng(5)
    found = np.zeros(2)
    for _ in range(samples):
        world = World.of(rng, (systems, *shape), misses)
        rests, tested = False, False
        for rated in WAYS[way](world, rng):
            evaluation = world.evaluation(rated)
            basis = basis_of_claims(evaluation, ALPHA)
            assert basis is not None
            rests = rests or (basis.kind != "judge" and claims(basis))
            tested = tested or claims(Basis("people", "", evaluation, ALPHA, 0, 0, {}))
            if rests:
                break
        found += (rests, tested)
    return float(found[0] / samples), float(found[1] / samples)


def main() -> None:
    """Print a Markdown table, in percent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--samples", type=int, default=400)
    samples = parser.parse_args().samples
    boards = [(judge, systems) for judge in JUDGES for systems in (2, 5, 12)]
    print("| checked |", " | ".join(f"{judge}, {systems} systems" for judge, systems in boards), "|")
    print("|---|", "|".join("---:" for _ in boards), "|")
    for way in WAYS:
        cells = [false_claims(way, JUDGES[judge], systems, samples) for judge, systems in boards]
        print(
            f"| {way} |",
            " | ".join(f"{100 * rests:.1f} ({100 * tested:.0f})" for rests, tested in cells),
            "|",
        )


if __name__ == "__main__":
    main()
