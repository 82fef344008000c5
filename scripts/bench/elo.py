"""Benchmark of ratings with intervals: 10,000 games, beside the loop of RAGElo.

Usage: python -m scripts.bench.elo [--games 10000] [--samples 1000] [--json FILE]

The games are those of six systems with known strengths, a third of them ties. RAGElo rates them in a Python
loop: for each tournament it shuffles the list of games and updates a dictionary of ratings after each game.
The loop here is written from that description. It runs 500 tournaments once, since it has no intervals; its
time for the same intervals is that of one bootstrap sample after another, with four tournaments in each, as
exam_pp plays them, estimated from 500 tournaments. Seconds are CPU seconds of this process.
"""

from __future__ import annotations

import argparse
import json
import random
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.plugins.games.elo_bradley_terry import elo
from exam_pp.plugins.games.outcomes import Outcome, Outcomes
from exam_pp.plugins.games.ratings import NAMES, RatingOptions, ratings
from scripts.bench.ways import measured

SYSTEMS = {"A": 1080, "B": 1045, "C": 1000, "D": 980, "E": 960, "F": 935}
TOURNAMENTS = 500
ORDERS = 4
"""Tournaments of a bootstrap sample in exam_pp, for 10,000 games and 1,000 samples."""
LIMIT = 5.0


def make_games(number: int, seed: int = 0) -> list[Outcome]:
    """Games of all pairs on each query, until there are enough."""
    rng = random.Random(seed)
    pairs = list(combinations(SYSTEMS, 2))
    games = []
    for place in range(number):
        a, b = pairs[place % len(pairs)]
        expected = 1 / (1 + 10 ** ((SYSTEMS[b] - SYSTEMS[a]) / 400))
        score = 0.5 if rng.random() < 1 / 3 else float(rng.random() < expected)
        games.append(Outcome(f"q{place // len(pairs)}", a, b, score))
    return games


def plain_loop(games: list[Outcome], tournaments: int, seed: int = 0) -> dict[str, float]:
    """Mean ratings of tournaments, one game after the other."""
    rng = random.Random(seed)
    totals = dict.fromkeys(SYSTEMS, 0.0)
    order = [(game.system_a, game.system_b, game.score) for game in games]
    for _ in range(tournaments):
        rng.shuffle(order)
        rated = dict.fromkeys(SYSTEMS, 1000.0)
        for a, b, score in order:
            expected = 1 / (1 + 10 ** ((rated[b] - rated[a]) / 400))
            rated[a] += 32 * (score - expected)
            rated[b] += 32 * ((1 - score) - (1 - expected))
        for system, rating in rated.items():
            totals[system] += rating
    return {system: total / tournaments for system, total in totals.items()}


def main() -> None:
    """Measure, compare the ratings, print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--games", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    games = make_games(arguments.games)
    columns = Outcomes.of(games)
    statistics = Statistics("queries", samples=arguments.samples)

    loop = measured(lambda: plain_loop(games, TOURNAMENTS))
    alone = measured(lambda: elo(columns, tournaments=TOURNAMENTS).mean(axis=0))
    board = {
        method: measured(partial(ratings, games, RatingOptions((method,), statistics=statistics)))
        for method in NAMES
    }
    found = dict(zip(columns.systems, alone["result"].tolist(), strict=True))
    error = max(abs(found[system] - rating) for system, rating in loop["result"].items())
    if error > 10:  # both are means of 500 random tournaments, with a standard deviation of about 40
        raise SystemExit(f"The ratings differ by {error:.1f}.")
    estimate = loop["cpu"] * (1 + arguments.samples * ORDERS / TOURNAMENTS)
    seconds = {
        f"plain loop, {TOURNAMENTS} tournaments": loop["cpu"],
        f"exam_pp, {TOURNAMENTS} tournaments": alone["cpu"],
        f"plain loop, with {arguments.samples} samples (estimated)": estimate,
        f"exam_pp, Elo with {arguments.samples} samples": board["elo"]["cpu"],
        f"exam_pp, Bradley-Terry with {arguments.samples} samples": board["bradley-terry"]["cpu"],
    }
    print(f"{arguments.games} games; the largest difference of two ratings is {error:.1f}.\n")
    print("| way | CPU (s) |\n|---|---:|")
    print("\n".join(f"| {way} | {cpu:.2f} |" for way, cpu in seconds.items()))
    whole = board["elo"]["cpu"]
    print(f"\nElo with intervals in under {LIMIT:g} s: {'met' if whole < LIMIT else 'not met'}.")
    standings = board["elo"]["result"].standings
    widths = [row.high - row.low for row in standings.uncertainty.systems.values()]
    print(f"Mean width of the intervals: {np.mean(widths):.1f} points.")
    if arguments.json:
        arguments.json.write_text(json.dumps(seconds, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
