"""How often the alternative annotator test rejects falsely, exactly.

Usage: python -m scripts.bench.annotators [--short]

A judge and a person are compared on n items, each of which the judge loses (1), ties (0) or wins (−1). Every
law has a mean loss of ε, so the null hypothesis is true, and a rejection is false. All counts of losses and
wins are gone through with their probabilities, so the shares have no error of a simulation.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from scipy.stats import multinomial

from exam_pp.metrics.noninferiority import drop_bounds
from exam_pp.plugins.trust.alternative_annotator import COSTS

WINS = (0.0, 0.05, 0.2, 0.4)
"""Probabilities that the judge wins; it loses ε more often than that."""
LEVEL = 0.05


def false_rejections(items: int, epsilon: float, wins: float) -> float:
    """The probability that the null hypothesis of one person is rejected although it is true."""
    law = multinomial(items, [wins + epsilon, wins, 1 - epsilon - 2 * wins])
    total = 0.0
    for lost in range(items + 1):
        for won in range(items - lost + 1 if wins else 1):
            losses = np.repeat([1.0, -1.0, 0.0], [lost, won, items - lost - won])
            # Only a mean loss below ε can be rejected.
            if losses.mean() < epsilon and drop_bounds(losses, epsilon).p_within <= LEVEL:
                total += float(law.pmf([lost, won, items - lost - won]))
    return total


def table(counts: tuple[int, ...]) -> Iterator[str]:
    """A line of a Markdown table for each law and ε, in percent."""
    yield f"| wins | ε | {' | '.join(f'{items} items' for items in counts)} |"
    yield f"|---|---|{'---:|' * len(counts)}"
    for wins in WINS:
        for epsilon in sorted(COSTS.values()):
            shares = [f"{100 * false_rejections(items, epsilon, wins):.1f}" for items in counts]
            yield f"| {wins:.0%} | {epsilon} | {' | '.join(shares)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--short", action="store_true", help="few numbers of items")
    counts = (5, 15) if parser.parse_args().short else (5, 8, 10, 15, 20, 25, 29, 30, 35, 40)
    for line in table(counts):
        print(line, flush=True)


if __name__ == "__main__":
    main()
