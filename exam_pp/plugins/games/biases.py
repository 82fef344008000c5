"""Biases of a judge of games: place, length of the answer, own family, and the order of the answers.

A bias is a share of decided games that differs from one half. Queries are the units of the intervals and
tests, because games of a query are not independent.

Sources: Zheng et al., "Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena", NeurIPS 2023, section 3.3
(position, verbosity and self-enhancement bias); Wang et al., "Large Language Models are not Fair Evaluators",
ACL 2024 (both orders).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import SelectionError
from exam_pp.games import Game, QueryGames
from exam_pp.grade_filter import GradeKey
from exam_pp.metrics.bounded_mean import share_interval
from exam_pp.metrics.uncertainty import Interval
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.plugins.games.outcomes import JudgedGames, distinct_games
from exam_pp.provenance import Provenance
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.roles import System
from exam_pp.store.families import Families, known_families
from exam_pp.text.wording import counted, listed

LENGTH_STEPS = (0.1, 0.25, 0.5, 1.0)
"""Upper limits of the difference in length, as a share of the longer answer."""

_BY_RULE = ("empty answer", "same text")


class Tally(NamedTuple):
    """Decided games of one query: how many were won by the side in question, and how many by the other."""

    won: int = 0
    lost: int = 0

    def plus(self, won: bool) -> Tally:
        """The tally after another game."""
        return Tally(self.won + won, self.lost + (not won))


class Orders(NamedTuple):
    """Pairs of answers that were compared in both orders, by what the two verdicts have in common."""

    same: int = 0
    first: int = 0
    second: int = 0
    one_tie: int = 0

    @property
    def flipped(self) -> int:
        """The pairs whose verdicts differ."""
        return self.reversed + self.one_tie

    @property
    def reversed(self) -> int:
        """The pairs in which the other answer wins if the places are swapped."""
        return self.first + self.second


@dataclass
class QueryTally:
    """Counts of the games of one query by one judge.

    ``ungraded``: Games without a verdict. ``by_rule``: Games that a rule decided without a judge: an empty
    answer, or the same text twice.
    """

    games: int = 0
    ungraded: int = 0
    by_rule: int = 0
    ties: int = 0
    place_a: Tally = field(default_factory=Tally)
    longer: list[Tally] = field(default_factory=lambda: [Tally()] * len(LENGTH_STEPS))
    own_family: Tally = field(default_factory=Tally)
    orders: Orders = field(default_factory=Orders)


@dataclass(frozen=True)
class Share:
    """A share of games or pairs.

    ``interval``: Confidence interval of the share; None without games, or if it was not asked for.
    ``p_value``: Two-sided p-value for the share one half; None if that is no sensible expectation.
    """

    count: int
    total: int
    interval: Interval | None = None
    p_value: float | None = None

    @property
    def share(self) -> float | None:
        """The share in 0..1; None without games."""
        return self.count / self.total if self.total else None


@dataclass(frozen=True)
class Biases:
    """The biases of a judge over all queries.

    ``ungraded``: Games without a verdict. ``by_rule``: Games that a rule decided without the judge.
    ``flipped``: Flip rate: the share of these pairs whose verdicts differ.
    """

    games: int
    ungraded: int
    by_rule: int
    ties: int
    place_a: Share
    longer: Share
    longer_by_difference: Sequence[Share]
    own_family: Share
    orders: Orders
    flipped: Share
    reversed: Share


def tally(games: Iterable[Game], is_own: Callable[[str], bool] | None = None) -> QueryTally:
    """Count the games of one query by one judge.

    ``is_own``: Whether a system belongs to the family of the judge. None: the judge has no family. Returns
    the counts. A game that a rule decided counts only as such. Two games of the same answers with swapped
    places are one pair in both orders.
    """
    counts = QueryTally()
    longer = counts.longer
    judged: list[Game] = []
    for game in games:
        counts.games += 1
        if game.decided_by in _BY_RULE:
            counts.by_rule += 1
            continue
        if game.winner is None:
            counts.ungraded += 1
            continue
        if game.decided_by != "ratings":
            judged.append(game)
        if game.winner == "C":
            counts.ties += 1
            continue
        a_won = game.winner == "A"
        if game.decided_by != "ratings":
            counts.place_a = counts.place_a.plus(a_won)
        if game.words_a is not None and game.words_b is not None and game.words_a != game.words_b:
            step = _length_step(game.words_a, game.words_b)
            longer[step] = longer[step].plus(a_won == (game.words_a > game.words_b))
        if is_own is not None and (own_a := is_own(game.system_a)) != is_own(game.system_b):
            counts.own_family = counts.own_family.plus(a_won == own_a)
    counts.orders = orders_of(judged)
    return counts


def _length_step(words_a: int, words_b: int) -> int:
    """Index of the first of :data:`LENGTH_STEPS` that is at least the difference."""
    difference = abs(words_a - words_b) / max(words_a, words_b)
    return next(index for index, limit in enumerate(LENGTH_STEPS) if difference <= limit)


def orders_of(games: Iterable[Game]) -> Orders:
    """Compare the verdicts of games of the same two answers with swapped places; others do not count."""
    by_answers: dict[frozenset[System], tuple[list[Game], list[Game]]] = {}
    for game in games:
        straight, swapped = by_answers.setdefault(game.pair, ([], []))
        (straight if game.a < game.b else swapped).append(game)
    counts = Counter(
        _orders_kind(first, second)
        for straight, swapped in by_answers.values()
        for first, second in zip(straight, swapped, strict=False)
    )
    return Orders(**counts)


def _orders_kind(first: Game, second: Game) -> str:
    verdicts = {first.winner, second.winner}
    if verdicts in ({"A", "B"}, {"C"}):
        return "same"
    if "C" in verdicts:
        return "one_tie"
    return "first" if verdicts == {"A"} else "second"


def biases(
    queries: Collection[QueryTally], *, intervals: bool = True, confidence: float = CONFIDENCE
) -> Biases:
    """Sum up the counts of all queries of a judge, with intervals and tests."""

    def share(tallies: Iterable[Tally], *, tested: bool = True) -> Share:
        return share_of(list(tallies), tested=tested, intervals=intervals, confidence=confidence)

    orders = [query.orders for query in queries]
    return Biases(
        sum(query.games for query in queries),
        sum(query.ungraded for query in queries),
        sum(query.by_rule for query in queries),
        sum(query.ties for query in queries),
        share(query.place_a for query in queries),
        share(Tally(*map(sum, zip(*query.longer, strict=True))) for query in queries),
        [share(query.longer[step] for query in queries) for step in range(len(LENGTH_STEPS))],
        share(query.own_family for query in queries),
        Orders(*(sum(column) for column in zip(*orders, strict=True))) if orders else Orders(),
        share((Tally(pairs.flipped, pairs.same) for pairs in orders), tested=False),
        share((Tally(pairs.reversed, sum(pairs) - pairs.reversed) for pairs in orders), tested=False),
    )


def share_of(
    tallies: Iterable[Tally],
    *,
    tested: bool = True,
    intervals: bool = True,
    confidence: float = CONFIDENCE,
) -> Share:
    """Share of won games over all queries, with its interval and, if ``tested``, its p-value.

    The interval is that of :func:`~exam_pp.metrics.bounded_mean.share_interval`, with queries as groups.
    """
    played = [query for query in tallies if sum(query)]
    won, lost = (sum(column) for column in zip(*played, strict=True)) if played else (0, 0)
    interval = None
    if intervals and played:
        counts = np.array(played, dtype=float)
        interval = Interval(*share_interval(counts[:, 0], counts.sum(axis=1), confidence))
    return Share(won, won + lost, interval, sign_flip_test(played) if tested and played else None)


def sign_flip_test(queries: Iterable[Tally]) -> float:
    """Exact two-sided p-value of the randomisation test for as many won as lost games.

    Under the null hypothesis, won and lost games of a query are exchangeable. With one decided game per query
    it is the sign test.

    >>> sign_flip_test([Tally(1, 0)] * 5), sign_flip_test([Tally(2, 0), Tally(0, 1)])
    (0.0625, 1.0)
    """
    differences = [won - lost for won, lost in queries]
    distribution = np.ones(1)
    for size, count in Counter(abs(difference) for difference in differences if difference).items():
        steps = np.zeros(2 * size * count + 1)
        steps[:: 2 * size] = binom.pmf(np.arange(count + 1), count, 0.5)
        distribution = np.convolve(distribution, steps)
    centre = len(distribution) // 2
    beyond = abs(sum(differences))
    if not beyond:
        return 1.0
    return min(1.0, float(2 * distribution[centre + beyond :].sum()))


@dataclass(frozen=True)
class JudgeBiases:
    """The biases of one judge.

    ``family``: Its family; None if it has none, or without a families file.
    """

    judge: GradeKey
    family: str | None
    queries: int
    biases: Biases


@dataclass(frozen=True)
class GameBiases:
    """The biases of all judges of games.

    ``notes``: Sentences on judges without a family and on games without lengths.
    """

    judges: Sequence[JudgeBiases]
    confidence: float = CONFIDENCE
    notes: Sequence[str] = ()
    provenance: Provenance = field(default_factory=Provenance)

    def report(self, decimals: int = 3) -> Report:
        """Tables of the games, the biases, the longer answer by difference in length, and both orders."""
        return biases_report(self, decimals)


def game_biases(
    games: Iterable[PathLike | QueryGames],
    *,
    families: PathLike | Families | None = None,
    confidence: float = CONFIDENCE,
) -> GameBiases:
    """Measure the biases of all judges of games.

    ``families``: Families file, or families, for the share of the judge's own family. Default: this share is
    not computed.
    """
    known = known_families(families)
    played: dict[GradeKey, dict[str, list[Game]]] = {}
    for query_id, of_judge, game, is_first in distinct_games(games):
        if is_first:
            of_query = played.setdefault(of_judge.judge, {}).setdefault(query_id, [])
            of_query.append(game.model_copy(update={"answer": None}))
    if not played:
        raise SelectionError("The input has no games.")
    summed = partial(biases, confidence=confidence)
    rows = [_judge_biases(judge, of_judge, known, summed) for judge, of_judge in played.items()]
    provenance = Provenance(
        tuple(dict.fromkeys(judge.model for judge in played)),
        tuple(dict.fromkeys(judge.prompt_class for judge in played if judge.prompt_class)),
        queries=len({query_id for of_judge in played.values() for query_id in of_judge}),
    )
    notes = list(_notes(rows, with_families=known is not None))
    return GameBiases(rows, confidence, notes, provenance)


def _judge_biases(
    judge: GradeKey,
    played: Mapping[str, Sequence[Game]],
    families: Families | None,
    summed: Callable[[list[QueryTally]], Biases],
) -> JudgeBiases:
    family = None if families is None else families.of_model(judge.model)
    is_own = None
    if families is not None and family is not None:
        games = chain.from_iterable(played.values())
        systems = {name for game in games for name in (game.system_a, game.system_b)}
        own = {name for name in systems if families.of_system(name) == family}
        is_own = own.__contains__
    counts = [tally(of_query, is_own) for of_query in played.values()]
    return JudgeBiases(judge, family, len(counts), summed(counts))


def _notes(rows: Sequence[JudgeBiases], *, with_families: bool) -> Iterator[str]:
    found = [row.biases for row in rows]
    if any(row.longer.total < row.games - row.ungraded - row.by_rule - row.ties for row in found):
        yield (
            "Games with answers of equal or unknown length do not count for the share of the longer answer."
        )
    if by_rule := sum(row.by_rule for row in found):
        have = counted(by_rule, "game was", "games were")
        yield f"{have} decided by a rule without a judge (empty answer, same text): counted in no share."
    without = [row.judge.model for row in rows if row.family is None]
    if with_families and without:
        have = counted(len(without), "judge has", "judges have")
        yield f"{have} no family in the families file ({listed(without)}): no share of the own family."


def bias_notes(result: GameBiases) -> list[str]:
    """The biases as sentences, to show beside a leaderboard made from the games.

    Returns for each judge at most four sentences: place A, the longer answer, the judge's own family, and the
    order of the answers. Biases without games have no sentence.
    """
    level = f"{100 * result.confidence:.4g} % interval"
    prompts = len({row.judge.model for row in result.judges}) < len(result.judges)
    notes = []
    for row in result.judges:
        model, prompt_class = row.judge
        name = f"{model} ({prompt_class}): " if prompts else f"{model}: "
        notes += [f"{name if len(result.judges) > 1 else ''}{text}" for text in _sentences(row, level)]
    return notes


def bias_notes_of(games: JudgedGames, families: Families | None, statistics: Statistics) -> list[str]:
    """The biases of the judge of games as sentences, with intervals if the statistics have some."""
    with_intervals = statistics.intervals is not None
    summed = partial(biases, intervals=with_intervals, confidence=statistics.confidence)
    row = _judge_biases(games.judge, games.games, families, summed)
    notes = bias_notes(GameBiases([row], statistics.confidence))
    played = [game for of_query in games.games.values() for game in of_query if game.decided_by != "ratings"]
    places = Counter((game.system_a, game.system_b) for game in played)
    # Six games of two systems rarely all have the same places by chance.
    fixed = sum(number > 5 and (b, a) not in places for (a, b), number in places.items())
    if fixed:
        notes.append(
            f"In all games of {counted(fixed, 'pair of systems', 'pairs of systems')} one system has place "
            "A, so the ratings contain the judge's preference for a place, which no interval contains."
        )
    if families is not None and row.family is None:
        notes.append(f"The judge {row.judge.model} has no family in the families file.")
    return notes


def _sentences(row: JudgeBiases, level: str) -> Iterator[str]:
    found = row.biases
    if found.place_a.total:
        yield f"Place A wins {_share(found.place_a, level)} of the decided games."
    if found.longer.total:
        yield f"The longer answer wins {_share(found.longer, level)} of the games with different lengths."
    if found.own_family.total:
        yield (
            f"The judge's own family ({row.family}) wins {_share(found.own_family, level)} of the games "
            "against other systems."
        )
    if found.flipped.total:
        yield (
            f"Flip rate: the verdicts differ in {_share(found.flipped, level)} of the pairs of answers in "
            "both orders."
        )


def _share(share: Share, level: str) -> str:
    assert share.share is not None
    details = [f"{share.count} of {share.total}"]
    if share.interval is not None:
        low, high = share.interval
        details.append(f"{level} {100 * low:.1f} to {100 * high:.1f}")
    if share.p_value is not None:
        details.append(f"p = {share.p_value:.2g}")
    return f"{100 * share.share:.1f} % ({', '.join(details)})"


_JUDGE = ("judge", "prompt class")


def biases_report(result: GameBiases, decimals: int = 3) -> Report:
    """Tables of the games, the biases, the longer answer by difference in length, and both orders."""
    found = [(row, row.biases) for row in result.judges]
    games = Table(
        [*_JUDGE, "family", "queries", "games", "ungraded", "by rule", "ties"],
        [
            [*row.judge, row.family or "", row.queries, of.games, of.ungraded, of.by_rule, of.ties]
            for row, of in found
        ],
        title="Games",
    )
    shares = [
        (row, name, share)
        for row, of in found
        for name, share in (
            ("place A", of.place_a), ("longer answer", of.longer), ("own family", of.own_family)
        )
    ]  # fmt: skip
    percent = [round(100 * limit) for limit in LENGTH_STEPS]
    steps = [
        f"{low} to {high} %" if low else f"up to {high} %"
        for low, high in zip([0, *percent], percent, strict=False)
    ]
    lengths = [
        (row, step, share)
        for row, of in found
        for step, share in zip(steps, of.longer_by_difference, strict=True)
    ]
    orders = Table(
        [*_JUDGE, "pairs", "same", "A twice", "B twice", "one tie", "flip rate", "low", "high", "reversed"],
        [
            [*row.judge, of.flipped.total, *of.orders, of.flipped.share, *_ends(of.flipped),
             of.reversed.share]
            for row, of in found
            if of.flipped.total
        ],
        title="Pairs in both orders",
        decimals=decimals,
    )  # fmt: skip
    tables = [
        _share_table("Biases", "bias", shares, decimals),
        _share_table(
            "Wins of the longer answer, by the difference in words", "difference", lengths, decimals
        ),
        orders,
    ]
    blocks: list[Block] = [games, *(table for table in tables if table.rows)]
    blocks += [Paragraph(note) for note in [*_bias_notes(result), *result.notes]]
    return Report("Biases of judges", blocks, result.provenance)


def _share_table(
    title: str, column: str, shares: Iterable[tuple[JudgeBiases, str, Share]], decimals: int
) -> Table:
    """A row for each share with games."""
    rows: list[list[Cell]] = [
        [
            *row.judge,
            name,
            share.count,
            share.total,
            share.share,
            *_ends(share),
            share.p_value,
        ]
        for row, name, share in shares
        if share.total
    ]
    columns = [*_JUDGE, column, "wins", "games", "share", "low", "high", "p"]
    return Table(columns, rows, title=title, decimals=decimals)


def _ends(share: Share) -> tuple[float | None, float | None]:
    return share.interval or (None, None)


def _bias_notes(result: GameBiases) -> Iterator[str]:
    yield (
        f"low and high: {100 * result.confidence:.4g} % intervals by Gaffke's bound, with queries as the "
        "units; other queries are assumed to have no more games than the largest here. p: exact "
        "randomisation test over queries, for a share of one half."
    )
    if any(row.biases.longer.total for row in result.judges):
        yield (
            "A longer answer can also be better. A share that grows with the difference in length suggests a "
            "judge that rewards length."
        )
    if any(row.biases.own_family.total for row in result.judges):
        yield "Systems of the judge's family can also be better: compare with judges of other families."
    if any(row.biases.flipped.total for row in result.judges):
        yield (
            "Pairs in both orders: flip rate is the share of pairs whose verdicts differ; reversed is the "
            "share in which the other answer wins if the places are swapped (A twice, B twice)."
        )
