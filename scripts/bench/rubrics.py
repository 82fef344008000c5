"""How often intervals and claims on scores of rubrics are right, where a third of the criteria are mistakes.

Usage: python -m scripts.bench.rubrics [--samples 1000]

Made-up queries have 6 to 24 criteria with weights from 1 to 5, of which a third are negative. Systems of
different skill meet the right ones more often and the mistakes less often. Intervals use the range of the
bank at hand, as leaderboards do, and should contain the mean of very many queries. False claims are those on
boards of five interchangeable systems.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from exam_pp.metrics.entry_values import Floats
from exam_pp.metrics.measures import RUBRIC_MEASURES, Weights
from exam_pp.metrics.significance import better
from exam_pp.metrics.uncertainty import mean_interval

MEASURES = RUBRIC_MEASURES[:3]
"""Rubric, Rubric_strict and Rubric_clipped."""
QUERIES = (5, 15, 30, 100)
SKILLS = {"weak": -1.0, "even": 0.0, "strong": 1.5}
BOARD = 5


class Drawn(NamedTuple):
    """Scores, measures × systems × queries, and the lowest possible score of each measure."""

    scores: Floats
    lowest: tuple[float, ...]


def draw(rng: np.random.Generator, skills: Floats, queries: int) -> Drawn:
    """Draw rubrics, and the scores of systems by them."""
    scores = np.zeros((len(MEASURES), len(skills), queries))
    lowest = 0.0
    for query in range(queries):
        number = int(rng.integers(2, 9)) * 3
        of_entries = rng.integers(1, 6, number) * np.repeat([1, 1, -1], number // 3)
        weights = Weights(of_entries.astype(float).tolist())
        lowest = min(lowest, weights.lowest)
        ease = rng.normal(0, 1) + rng.normal(0, 1, number)
        own = rng.normal(0, 0.5, len(skills))
        likely = expit((skills + own)[:, None] * np.sign(of_entries) + ease)
        chance = rng.random(likely.shape)
        for system in range(len(skills)):
            reached = {
                2: _mask(chance[system] < 0.7 * likely[system]),
                1: _mask(chance[system] < likely[system]),
            }
            for row, measure in enumerate(MEASURES):
                share = measure.share(reached, weights, weights.whole(-1))
                scores[row, system, query] = 0.0 if share is None else share
    return Drawn(scores, tuple(0.0 if measure.clip else lowest for measure in MEASURES))


def _mask(met: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> int:
    return sum(1 << int(position) for position in np.flatnonzero(met))


def coverage(samples: int, queries: int, truth: Floats, seed: int = 0) -> tuple[Floats, Floats]:
    """The shares of intervals that contain the true mean, and their mean width; measures × systems."""
    rng = np.random.default_rng([1, seed, queries])
    inside = np.zeros((samples, *truth.shape))
    width = np.zeros_like(inside)
    for sample in range(samples):
        drawn = draw(rng, np.array(list(SKILLS.values())), queries)
        for place in np.ndindex(truth.shape):
            found = mean_interval(drawn.scores[place].tolist(), (drawn.lowest[place[0]], 1.0))
            assert found is not None
            inside[sample][place] = found.low <= truth[place] <= found.high
            width[sample][place] = found.high - found.low
    return inside.mean(axis=0), width.mean(axis=0)


def false_claims(samples: int, queries: int, seed: int = 0) -> Floats:
    """The share of boards of interchangeable systems on which one is called better, of each measure."""
    rng = np.random.default_rng([2, seed, queries])
    boards = (draw(rng, np.zeros(BOARD), queries).scores for _ in range(samples))
    claims = [[better(values).any() for values in scores] for scores in boards]
    return np.asarray(np.array(claims).mean(axis=0))


def true_means(queries: int = 20_000) -> Floats:
    """The means of very many queries; measures × systems."""
    means = draw(np.random.default_rng(0), np.array(list(SKILLS.values())), queries).scores.mean(axis=-1)
    return np.asarray(means)


def table(samples: int) -> Iterator[str]:
    """A Markdown table of coverage with widths, and of false claims."""
    truth = true_means()
    yield f"| | {' | '.join(f'n = {queries}' for queries in QUERIES)} |"
    yield "|---|" + "---:|" * len(QUERIES)
    cells = [coverage(samples, queries, truth) for queries in QUERIES]
    for row, measure in enumerate(MEASURES):
        for column, name in enumerate(SKILLS):
            shown = (f"{inside[row, column]:.1%}, {width[row, column]:.2f}" for inside, width in cells)
            yield f"| {measure.name}, {name} ({truth[row, column]:.2f}) | {' | '.join(shown)} |"
    claims = [false_claims(samples, queries) for queries in QUERIES]
    for row, measure in enumerate(MEASURES):
        yield f"| {measure.name}, false claims | {' | '.join(f'{of[row]:.1%}' for of in claims)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000)
    for line in table(parser.parse_args().samples):
        print(line, flush=True)


if __name__ == "__main__":
    main()
