"""How often intervals, verdicts of the gate and places are right, for made-up scores whose truth is known.

Usage: python -m scripts.bench.coverage means [--samples 2000] [--processes 1]
       python -m scripts.bench.coverage gate [--samples 2000] [--processes 1]
       python -m scripts.bench.coverage ranks [--samples 300] [--processes 1]
       python -m scripts.bench.coverage correlation [--samples 200] [--processes 1]
       python -m scripts.bench.coverage plan [--processes 1]
       python -m scripts.bench.coverage pairs [--samples 300] [--processes 1]

``means`` are intervals of the mean of scores from 0 to 1. Whether one misses the true mean takes a single
value of the distribution function; the width takes two root searches, so it is a mean over the first tenth of
the samples. ``gate`` are the shares of changes that pass at a limit of 0.02. ``ranks`` are the places and
letters of ten systems. ``correlation`` are intervals over queries of the correlation of systems with official
ranks; ``plan`` is the power of leaderboards with the planned number of queries. ``pairs`` are false and true
claims on pairs and on the best system.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations
from multiprocessing import Pool
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from exam_pp.defaults import CONFIDENCE
from exam_pp.metrics.correlation import correlation_samples
from exam_pp.metrics.entry_values import Floats
from exam_pp.metrics.noninferiority import drop_bounds
from exam_pp.metrics.planning import DIFFERENCE, plan_queries
from exam_pp.metrics.significance import (
    _REACHED,
    _assignments,
    _scaled,
    better,
    holm,
    letters,
    paired_test,
    rank_intervals,
)
from exam_pp.metrics.uncertainty import ScoreMatrix, dirichlet_cdf, mean_interval
from exam_pp.phases.analysis.correlation import coefficient_intervals

Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]

TAIL = 0.025
LOWEST_COVERAGE, HIGHEST_TAIL, HIGHEST_FALSE, LOWEST_JOINT = 0.93, 0.036, 0.06, 0.92
"""What the tables must show; with 2,000 samples, simulation adds up to about 1 % to an error of 5 %."""
FEW = 5
"""From this number of queries on, the lowest coverage is judged."""


class Law(NamedTuple):
    """A distribution of scores or drops."""

    name: str
    mean: float
    draw: Draw


def _some(share: float, draw: Draw, otherwise: float | Draw = 0.0) -> Draw:
    """Draws a value with a probability, else another one."""

    def mixed(rng: np.random.Generator, size: tuple[int, int]) -> Floats:
        other = rng.random(size) < 1 - share
        rest = otherwise(rng, size) if callable(otherwise) else otherwise
        return np.where(other, rest, draw(rng, size))

    return mixed


def _beta(a: float, b: float, *, sign: int = 1, shift: float = 0.0) -> Draw:
    return lambda rng, size: shift + sign * rng.beta(a, b, size)


def _normal(mean: float, deviation: float) -> Draw:
    return lambda rng, size: rng.normal(mean, deviation, size)


def _always(value: float) -> Draw:
    return lambda _, size: np.full(size, value)


def _binary(share: float) -> Draw:
    return lambda rng, size: (rng.random(size) < share).astype(float)


_RANKS = np.append(1 / np.arange(1, 11), 0)
_OF_RANKS = np.array([0.3, 0.14, 0.09, 0.055, 0.05, 0.04, 0.03, 0.025, 0.025, 0.02, 0.225])

LAWS = (
    Law("Beta(.5, 2)", 0.2, _beta(0.5, 2)),
    Law("Beta(2, .5)", 0.8, _beta(2, 0.5)),
    Law("Beta(5, 5)", 0.5, _beta(5, 5)),
    Law("50 % zeros, else Beta(2, 3)", 0.2, _some(0.5, _beta(2, 3))),
    Law("85 % zeros, else Beta(2, 2)", 0.075, _some(0.15, _beta(2, 2))),
    Law(
        "reciprocal ranks",
        float(_RANKS @ _OF_RANKS),
        lambda rng, size: rng.choice(_RANKS, size, p=_OF_RANKS),
    ),
    Law("tenths, binomial", 0.25, lambda rng, size: rng.binomial(10, rng.beta(1, 3, size)) / 10),
    Law("50 % ones", 0.5, _binary(0.5)),
    Law("10 % ones", 0.1, _binary(0.1)),
)
QUERIES = (2, 3, 5, 8, 12, 25, 50, 100)


class Means(NamedTuple):
    """Shares of intervals above and below the true mean, and the mean width."""

    above: float
    below: float
    width: float


def means_of(law: int, queries: int, samples: int, widths: int) -> Means:
    """Draw samples of scores of a law, and compare their intervals of 95 % with its mean."""
    mean = LAWS[law].mean
    scores = LAWS[law].draw(np.random.default_rng([1, law, queries]), (samples, queries))
    above = sum(dirichlet_cdf(np.append(row, 0), mean) < TAIL for row in scores)
    below = sum(dirichlet_cdf(np.append(row, 1), mean) > 1 - TAIL for row in scores)
    intervals = np.array([mean_interval(row, (0, 1)) for row in scores[:widths]])
    return Means(above / samples, below / samples, float(np.ptp(intervals, axis=1).mean()))


def _means_row(law: int, samples: int) -> list[Means]:
    return [means_of(law, queries, samples, samples // 10) for queries in QUERIES]


def means_table(rows: Iterable[list[Means]]) -> Iterator[str]:
    """A Markdown table of coverage, then the worst tails and the mean widths."""
    yield from _header("scores", QUERIES)
    cells = []
    for law, row in zip(LAWS, rows, strict=True):
        cells.append(row)
        yield _line(law.name, (_percent(1 - cell.above - cell.below) for cell in row))
    found = np.array(cells)
    yield _line("intervals above the mean, worst law", map(_percent, found[..., 0].max(axis=0)))
    yield _line("intervals below the mean, worst law", map(_percent, found[..., 1].max(axis=0)))
    yield _line("mean width", (f"{width:.2f}" for width in found[..., 2].mean(axis=0)))
    enough = found[:, [queries >= FEW for queries in QUERIES]]
    holds = bool((1 - enough[..., :2].sum(axis=-1) >= LOWEST_COVERAGE).all())
    small = bool((found[..., :2] <= HIGHEST_TAIL).all())
    yield ""
    yield f"At least {LOWEST_COVERAGE:.0%} from {FEW} queries on: {_verdict(holds)}"
    yield f"No tail above {HIGHEST_TAIL:.1%}: {_verdict(small)}"


LIMIT = 0.02
CHANGES = (
    Law("10 % break", 0.1, _binary(0.1)),
    Law("10 % break, rest N(0, .02)", 0.1, _some(0.1, _always(1), _normal(0, 0.02))),
    Law("10 % break, rest gain .05", 0.055, _some(0.1, _always(1), -0.05)),
    Law("5 % break", 0.05, _binary(0.05)),
    Law("2 % break (limit)", 0.02, _binary(0.02)),
    Law("5 % break, rest gain (limit)", 0.02, _some(0.05, _always(1), -0.03 / 0.95)),
    Law("N(.02, .1) (limit)", 0.02, _normal(0.02, 0.1)),
    Law("N(.05, .1)", 0.05, _normal(0.05, 0.1)),
    Law("N(.02, .005) (limit)", 0.02, _normal(0.02, 0.005)),
    Law(".22 − Beta(.5, 2) (limit)", 0.02, _beta(0.5, 2, sign=-1, shift=0.22)),
    Law("Beta(.5, 2) − .18 (limit)", 0.02, _beta(0.5, 2, shift=-0.18)),
    Law("unchanged", 0, _always(0)),
    Law("N(0, .02)", 0, _normal(0, 0.02)),
    Law("N(0, .05)", 0, _normal(0, 0.05)),
    Law("N(0, .1)", 0, _normal(0, 0.1)),
    Law("90 % tie, else ±.2", 0, _some(0.1, lambda rng, size: rng.choice([-0.2, 0.2], size))),
    Law("N(−.02, .1)", -0.02, _normal(-0.02, 0.1)),
)
"""Drops of changes; the gate should stop those with a mean of at least the limit."""
GATE_QUERIES = (2, 5, 10, 20, 25, 30, 50, 100, 148, 149, 150, 200, 400)
_COMPARED = 3
"""Samples of a cell whose verdict is also computed by the bounds, which takes much longer."""


def passed(change: int, queries: int, samples: int) -> float:
    """The share of samples of a change that pass the gate."""
    drops = CHANGES[change].draw(np.random.default_rng([2, change, queries]), (samples, queries))
    verdicts = [1 - dirichlet_cdf(np.append(row, 1), LIMIT) <= 2 * TAIL for row in drops]
    by_bounds = [drop_bounds(row, LIMIT).high <= LIMIT for row in drops[:_COMPARED]]
    if verdicts[:_COMPARED] != by_bounds:
        raise AssertionError(f"{CHANGES[change].name}, {queries} queries: bounds and p-values disagree")
    return sum(verdicts) / samples


def _gate_row(change: int, samples: int) -> list[float]:
    return [passed(change, queries, samples) for queries in GATE_QUERIES]


def gate_table(rows: Iterable[list[float]]) -> Iterator[str]:
    """A Markdown table of the shares that pass."""
    yield from _header("change", GATE_QUERIES)
    worst = 0.0
    for change, row in zip(CHANGES, rows, strict=True):
        if change.mean >= LIMIT:
            worst = max(worst, *row)
        yield _line(change.name, map(_percent, row))
    yield ""
    verdict = _verdict(worst <= HIGHEST_FALSE)
    yield f"At most {HIGHEST_FALSE:.0%} of drops of at least the limit pass: {verdict} ({worst:.1%})"


SYSTEMS = 10
SKILLS = {
    "equal": np.zeros(SYSTEMS),
    "even steps": -0.15 * np.arange(SYSTEMS),
    "3 groups": np.repeat([0, -0.75, -1.5], [3, 3, 4]),
    "one best": np.eye(SYSTEMS)[0],
}
SCORES: dict[str, Callable[[np.random.Generator, Floats], Floats]] = {
    "tenths": lambda rng, chance: rng.binomial(10, chance) / 10,
    "binary": lambda rng, chance: (rng.random(chance.shape) < chance).astype(float),
    "reciprocal ranks": lambda rng, chance: _reciprocal(rng.geometric(chance)),
    "dense": lambda _, chance: chance,
}
RANK_QUERIES = (12, 25, 50)


class Places(NamedTuple):
    """Shares of runs in which all true places are inside, and with a contradiction, and the mean width."""

    all_inside: float
    contradicted: float
    width: float


def _reciprocal(ranks: NDArray[np.int64]) -> Floats:
    return np.where(ranks <= SYSTEMS, 1 / ranks, 0.0)


def places(scores: str, skills: str, queries: int, samples: int) -> Places:
    """Draw scores of ten systems, and compare their places with the true ones."""
    number = list(SCORES).index(scores), list(SKILLS).index(skills)
    rng = np.random.default_rng([3, *number, queries])
    found = np.array([_one_run(rng, scores, SKILLS[skills], queries) for _ in range(samples)], dtype=float)
    return Places(*found.mean(axis=0).tolist())


def _one_run(rng: np.random.Generator, scores: str, skill: Floats, queries: int) -> tuple[bool, bool, float]:
    difficulty = rng.normal(-0.5, 1.3, queries)
    own = rng.normal(0, 0.5, (SYSTEMS, queries))
    values = SCORES[scores](rng, expit(skill[:, None] + difficulty + own))
    order = np.argsort(-values.mean(axis=1), kind="stable")
    values, skill = values[order], skill[order]
    relation = better(values, alpha=0.05)
    ranks = rank_intervals(relation)
    higher = (skill > skill[:, None]).sum(axis=1)
    lower = (skill < skill[:, None]).sum(axis=1)
    inside = all(
        low <= 1 + above and high >= SYSTEMS - below
        for (low, high), above, below in zip(ranks, higher, lower, strict=True)
    )
    width = float(np.mean([high - low + 1 for low, high in ranks]))
    return inside, contradicts(letters(relation), ranks), width


def contradicts(names: Sequence[str], ranks: Sequence[tuple[int, int]]) -> bool:
    """Whether letters and places of systems, better ones first, contradict each other.

    Two systems that share a letter need places in common; without one, both limits of the first are better.
    """
    for i, j in combinations(range(len(names)), 2):
        (low, high), (other_low, other_high) = ranks[i], ranks[j]
        agree = other_low < high if set(names[i]) & set(names[j]) else low < other_low and high < other_high
        if not agree:
            return True
    return False


def _places_row(key: tuple[str, str], samples: int) -> list[Places]:
    return [places(*key, queries, samples) for queries in RANK_QUERIES]


def places_table(rows: Iterable[list[Places]]) -> Iterator[str]:
    """A Markdown table of the share of runs in which all places hold, and the mean number of places."""
    yield from _header("scores, true means", RANK_QUERIES)
    cells: list[Places] = []
    for (scores, skills), row in zip(_kinds(), rows, strict=True):
        cells += row
        yield _line(
            f"{scores}, {skills}", (f"{_percent(cell.all_inside)} / {cell.width:.1f}" for cell in row)
        )
    yield ""
    worst = min(cell.all_inside for cell in cells)
    verdict = _verdict(worst >= LOWEST_JOINT)
    yield f"All ten places hold in at least {LOWEST_JOINT:.0%}: {verdict} ({worst:.1%})"
    yield f"No contradiction in any run: {_verdict(not any(cell.contradicted for cell in cells))}"


def _kinds() -> list[tuple[str, str]]:
    return [(scores, skills) for scores in SCORES for skills in SKILLS]


BOARDS = ((6, 20), (12, 5), (12, 20), (37, 43))
"""Numbers of systems and of queries."""
WORLDS = {
    "dense, small differences": ("dense", 0.5, 0.15),
    "tenths, small differences": ("tenths", 0.5, 0.15),
    "tenths, large differences": ("tenths", 1.5, 0.15),
    "binary": ("binary", 1.0, 0.15),
    "tenths, judge equals ranks": ("tenths", 0.7, 0.0),
    "tenths, weak judge": ("tenths", 0.7, 0.6),
    "tenths, judge without skill": ("tenths", 0.7, 5.0),
}
"""Kind of scores, spread of the systems, and deviation of their skill from the official scores."""
FEW_OF_CORRELATIONS = 8
_ALL_QUERIES = 10_000


class Correlations(NamedTuple):
    """Mean true Kendall's τ-b, mean τ-b of the sample, share of intervals with the true one, mean width."""

    true: float
    shown: float
    inside: float
    width: float


def correlations(world: str, systems: int, queries: int, samples: int) -> Correlations:
    """Draw skills and scores, and compare intervals over queries with the τ-b of 10,000 queries."""
    scores, scale, deviation = WORLDS[world]
    rng = np.random.default_rng([4, list(WORLDS).index(world), systems, queries])
    names = [f"s{number}" for number in range(systems)]
    ranks = {name: float(systems - number) for number, name in enumerate(names)}
    official = np.linspace(-1, 1, systems)
    rows = []
    for _ in range(samples):
        skill = scale * (official + deviation * rng.standard_normal(systems))
        difficulty = rng.normal(-0.5, 1.3, _ALL_QUERIES)
        own = rng.normal(0, 0.5, (systems, _ALL_QUERIES))
        values = SCORES[scores](rng, expit(skill[:, None] + difficulty + own))
        matrix = ScoreMatrix("m", names, [str(number) for number in range(queries)], values[:, :queries])
        means = np.array([values.mean(axis=1), matrix.values.mean(axis=1).round(12)])
        true, shown = correlation_samples(means, official)[:, 1]
        found = coefficient_intervals(matrix, ranks, samples=1000)[1]
        low, high = found or (-1.0, 1.0)
        rows.append((true, shown, low - 1e-9 <= true <= high + 1e-9, high - low))
    return Correlations(*np.mean(rows, axis=0).tolist())


def _correlations_row(world: str, samples: int) -> list[Correlations]:
    return [correlations(world, *board, samples) for board in BOARDS]


def correlation_table(rows: Iterable[list[Correlations]]) -> Iterator[str]:
    """A Markdown table of true and shown τ-b, the share of intervals that hold, and their mean width."""
    yield _line("scores", (f"{systems} systems, {queries} queries" for systems, queries in BOARDS))
    yield "|---|" + "---:|" * len(BOARDS)
    cells: list[Correlations] = []
    for world, row in zip(WORLDS, rows, strict=True):
        cells += row
        shown = (f"{c.true:.2f} / {c.shown:.2f} / {_percent(c.inside)} / {c.width:.2f}" for c in row)
        yield _line(world, shown)
    yield ""
    queries = [queries for _ in WORLDS for _, queries in BOARDS]
    worst = min(cell.inside for cell, n in zip(cells, queries, strict=True) if n >= FEW_OF_CORRELATIONS)
    verdict = _verdict(worst >= LOWEST_COVERAGE)
    yield f"At least {LOWEST_COVERAGE:.0%} from {FEW_OF_CORRELATIONS} queries on: {verdict} ({worst:.1%})"


PLANNED, PLANNED_LAWS = (2, 5, 12), (0, 2, 4, 6)
"""Numbers of systems, and of laws whose scores are scaled to paired differences of .2."""


def simulated_power(pilot: Floats, queries: int, seed: int = 0) -> float:
    """The probability that a leaderboard shows a true difference, by 200 simulated leaderboards.

    All systems of the pilot (systems × queries) get the mean 0, and each in turn the difference of plans.
    Queries are drawn with replacement, and tested by :func:`~exam_pp.metrics.significance.better`.

    Returns the mean share of the other systems that the system is shown to be better than.
    """
    rng = np.random.default_rng(seed)
    centred = pilot - pilot.mean(axis=1, keepdims=True)
    shown = []
    for run in range(200):
        drawn = centred[:, rng.integers(0, centred.shape[1], queries)]
        drawn[run % len(pilot)] += DIFFERENCE
        shown.append(better(drawn, alpha=1 - CONFIDENCE, seed=seed)[run % len(pilot)].sum())
    return float(np.mean(shown)) / (len(pilot) - 1)


def power(law: int, systems: int, queries: int) -> float:
    """The power of leaderboards of systems whose scores follow a law, with as many queries."""
    pilot = LAWS[law].draw(np.random.default_rng([5, law, systems]), (systems, 400))
    return simulated_power(pilot * 0.2 / (2**0.5 * pilot.std()), queries, seed=law)


def _power_row(law: int) -> list[tuple[float, float]]:
    planned = (plan_queries(systems).needed.queries for systems in PLANNED)
    return [(power(law, k, 128), power(law, k, n)) for k, n in zip(PLANNED, planned, strict=True)]


def power_table(rows: Iterable[list[tuple[float, float]]]) -> Iterator[str]:
    """A Markdown table of the power with the queries for a pair, and with the planned number."""
    yield _line("scores", (f"{systems} systems" for systems in PLANNED))
    yield "|---|" + "---:|" * len(PLANNED)
    for law, row in zip(PLANNED_LAWS, rows, strict=True):
        yield _line(LAWS[law].name, (f"{_percent(pair)} / {_percent(all_pairs)}" for pair, all_pairs in row))


# The statement "The best is one of ..." is not made: with skewed scores or rare breaks it is wrong too often.
def best_tests(values: Floats, *, samples: int = 10_000, seed: int = 0) -> list[float]:
    """For each system the p-value of being the best one: small if another one is better.

    The statistic is the largest Σ d / √Σ d² of the differences of other systems to it, with signs flipped as
    in :func:`step_down_tests`. The best system is among those with p > α with a probability of 1 − α; no
    correction for the number of systems is needed, since only the test of the best one can be wrong.

    Source: Hsu, "Constrained simultaneous confidence intervals for multiple comparisons with the best",
    Annals of Statistics 12 (1984); Hansen, Lunde and Nason, "The model confidence set", Econometrica 79
    (2011).
    """
    reached = np.zeros(len(values), dtype=np.int64)
    others = [_scaled(np.delete(values, row, axis=0) - values[row]) for row in range(len(values))]
    blocks, number, drawn = _assignments(values.shape[1], samples, seed)
    for block in blocks:
        for row, scaled in enumerate(others):
            observed = scaled.sum(axis=1).max(initial=-np.inf)
            reached[row] += ((scaled @ block.T).max(axis=0, initial=-np.inf) >= observed - _REACHED).sum()
    return [float(p) for p in (reached + drawn) / (number + drawn)]


PAIR_BOARDS = ((5, 12), (12, 20), (12, 50))
"""Numbers of systems and of queries."""
RARE = "a rival breaks rarely"
PAIR_SKILLS = {
    "interchangeable": np.zeros(1),
    "one best": np.array([1.0]),
    "even steps": np.array([]),
    RARE: np.zeros(1),
}


class Pairs(NamedTuple):
    """Shares of boards with a false claim, and without a best system in the set of possible ones.

    ``found`` and ``by_holm`` are shares of the true pairs that are shown, by step-down maxT and by Holm's
    correction of single tests; ``likely`` and ``leaders`` are mean numbers of systems.
    """

    false: float
    missed: float
    found: float
    by_holm: float
    likely: float
    leaders: float


def pairs(scores: str, skills: str, systems: int, queries: int, samples: int) -> Pairs:
    """Draw scores, and compare the shown pairs and the possible best systems with the true ones."""
    rng = np.random.default_rng([6, list(PAIR_SKILLS).index(skills), systems, queries])
    skill = -0.3 * np.arange(systems) if skills == "even steps" else np.zeros(systems)
    skill[: len(PAIR_SKILLS[skills])] = PAIR_SKILLS[skills]
    rows = []
    for _ in range(samples):
        difficulty = rng.normal(-0.5, 1.3, queries)
        values = SCORES[scores](
            rng, expit(skill[:, None] + difficulty + rng.normal(0, 0.5, (systems, queries)))
        )
        if skills == RARE:  # equal means, but on most queries the last system seems better
            values[-1] = values[0] + np.where(rng.random(queries) < 0.1, -0.9, 0.1)
        shown = better(values)
        single = np.ones((systems, systems))
        of_pairs = list(combinations(range(systems), 2))
        adjusted = holm([paired_test(values[i], values[j]) for i, j in of_pairs])
        for (i, j), p_value in zip(of_pairs, adjusted, strict=True):
            single[i, j] = single[j, i] = p_value
        is_better = skill[:, None] > skill
        by_holm = (single <= 0.05) & (values.mean(axis=1)[:, None] > values.mean(axis=1))
        likely = np.array(best_tests(values)) > 0.05
        true = max(1, int(is_better.sum()))
        rows.append(
            (
                bool((shown & ~is_better).any()),
                not likely[skill == skill.max()].all() if skills == RARE else not likely[skill.argmax()],
                (shown & is_better).sum() / true,
                (by_holm & is_better).sum() / true,
                likely.sum(),
                (~shown.any(axis=0)).sum(),
            )
        )
    return Pairs(*np.mean(rows, axis=0).tolist())


def _pairs_row(key: tuple[str, str], samples: int) -> list[Pairs]:
    return [pairs(*key, *board, samples) for board in PAIR_BOARDS]


def pairs_table(rows: Iterable[list[Pairs]]) -> Iterator[str]:
    """A Markdown table: false claims, missed best systems, true pairs shown by maxT and Holm, sizes."""
    yield _line("scores", (f"{systems} systems, {queries} queries" for systems, queries in PAIR_BOARDS))
    yield "|---|" + "---:|" * len(PAIR_BOARDS)
    for (scores, skills), row in zip(_pair_kinds(), rows, strict=True):
        cells = (
            f"{_percent(c.false)} / {_percent(c.missed)}; {_percent(c.found)} / {_percent(c.by_holm)}; "
            f"{c.likely:.1f} / {c.leaders:.1f}"
            for c in row
        )
        yield _line(f"{scores}, {skills}", cells)


def _pair_kinds() -> list[tuple[str, str]]:
    return [(scores, skills) for scores in ("tenths", "dense") for skills in PAIR_SKILLS]


def _header(first: str, numbers: Sequence[int]) -> Iterator[str]:
    yield _line(first, (f"n = {number}" for number in numbers))
    yield "|---|" + "---:|" * len(numbers)


def _line(first: str, cells: Iterable[str]) -> str:
    return f"| {' | '.join([first, *cells])} |"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _verdict(met: bool) -> str:
    return "met" if met else "**not met**"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("table", choices=["means", "gate", "ranks", "correlation", "plan", "pairs"])
    parser.add_argument("--samples", type=int, help="2,000, for ranks and pairs 300, for correlation 200")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    samples = options.samples or {"ranks": 300, "pairs": 300, "correlation": 200}.get(options.table, 2000)
    with Pool(options.processes) as pool:
        if options.table == "means":
            lines = means_table(pool.imap(partial(_means_row, samples=samples), range(len(LAWS))))
        elif options.table == "gate":
            lines = gate_table(pool.imap(partial(_gate_row, samples=samples), range(len(CHANGES))))
        elif options.table == "correlation":
            lines = correlation_table(pool.imap(partial(_correlations_row, samples=samples), WORLDS))
        elif options.table == "pairs":
            lines = pairs_table(pool.imap(partial(_pairs_row, samples=samples), _pair_kinds()))
        elif options.table == "plan":
            lines = power_table(pool.imap(_power_row, PLANNED_LAWS))
        else:
            lines = places_table(pool.imap(partial(_places_row, samples=samples), _kinds()))
        for line in lines:
            print(line, flush=True)


if __name__ == "__main__":
    main()
