"""Biases of judges of games: place, length of the answer, own family, and the order of the answers.

A bias is a share of decided games that differs from one half. Queries are the units of the intervals and
tests, because games of a query are not independent.

Sources: Zheng et al., "Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena", NeurIPS 2023, section 3.3
(position, verbosity and self-enhancement bias); Wang et al., "Large Language Models are not Fair Evaluators",
ACL 2024 (both orders).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import SelectionError
from exam_pp.games import Game, QueryGames
from exam_pp.grade_filter import GradeKey
from exam_pp.metrics.uncertainty import Interval, share_interval
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.plugins.games.outcomes import JudgedGames, distinct_games
from exam_pp.provenance import Provenance
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.roles import System
from exam_pp.store.families import Families, known_families
from exam_pp.text.wording import counted, listed

BIASES = ("place A", "longer answer", "own family")
"""The sides that a judge may prefer."""
FLIPPED, REVERSED = "flip rate", "reversed"
"""Shares of the pairs in both orders: with different verdicts, and with the other answer as the winner."""
GAMES = ("games", "ungraded", "by rule", "ties")
"""What is counted of games: all, those without a verdict, those that a rule decided, and ties."""

IsOwn = Callable[[str], bool]
"""Whether a system belongs to the family of the judge."""


class QueryTally(NamedTuple):
    """What one judge did with the games of one query.

    ``counts``: The numbers of :data:`GAMES`. ``shares``: Name of a share to its games or
    pairs, and to the others that were decided.
    """

    counts: Counter[str]
    shares: Mapping[str, Sequence[int]]


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


def tally(games: Iterable[Game], is_own: IsOwn | None = None) -> QueryTally:
    """Count the games of one query by one judge.

    ``is_own``: None if the judge has no family. A game that a rule decided counts only as such. Two games of
    the same answers with swapped places are one pair in both orders.
    """
    counts: Counter[str] = Counter()
    shares: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    pairs: dict[frozenset[System], tuple[list[Game], list[Game]]] = {}
    for game in games:
        counts["games"] += 1
        has_places = game.decided_by != "ratings"
        if game.decided_by in ("empty answer", "same text"):
            counts["by rule"] += 1
        elif game.winner is None:
            counts["ungraded"] += 1
        else:
            if has_places:
                pairs.setdefault(game.pair, ([], []))[game.a > game.b].append(game)
            if game.winner == "C":
                counts["ties"] += 1
            else:
                for name, is_a in _preferred(game, is_own, has_places=has_places):
                    shares[name][(game.winner == "A") != is_a] += 1
    for straight, swapped in pairs.values():
        for first, second in zip(straight, swapped, strict=False):
            verdicts = {first.winner, second.winner}
            is_same = verdicts in ({"A", "B"}, {"C"})
            shares[FLIPPED][is_same] += 1
            shares[REVERSED][is_same or "C" in verdicts] += 1
    return QueryTally(counts, shares)


def _preferred(game: Game, is_own: IsOwn | None, *, has_places: bool) -> Iterator[tuple[str, bool]]:
    """The biases that count for a decided game, each with whether its side has place A."""
    if has_places:
        yield "place A", True
    if game.words_a is not None and game.words_b is not None and game.words_a != game.words_b:
        yield "longer answer", game.words_a > game.words_b
    if is_own is not None and (own_a := is_own(game.system_a)) != is_own(game.system_b):
        yield "own family", own_a


def shares_of(
    queries: Collection[QueryTally], *, intervals: bool = True, confidence: float = CONFIDENCE
) -> dict[str, Share]:
    """The shares over all queries of a judge by name, with intervals, and tests of biases."""
    names = (*BIASES, FLIPPED, REVERSED)
    each = {name: [query.shares[name] for query in queries if name in query.shares] for name in names}
    return {
        name: share_of(
            of_name, tested=name not in (FLIPPED, REVERSED), intervals=intervals, confidence=confidence
        )
        for name, of_name in each.items()
    }


def share_of(
    tallies: Iterable[Sequence[int]],
    *,
    tested: bool = True,
    intervals: bool = True,
    confidence: float = CONFIDENCE,
) -> Share:
    """Share of won games over all queries, with its interval and, if ``tested``, its p-value.

    ``tallies``: The numbers of won and of lost games, by query. The interval is that of
    :func:`~exam_pp.metrics.uncertainty.share_interval`, with queries as groups.
    """
    played = np.array([query for query in tallies if sum(query)], dtype=float).reshape(-1, 2)
    won, lost = map(int, played.sum(axis=0))
    if not won + lost:
        return Share(0, 0)
    interval = Interval(*share_interval(played[:, 0], played.sum(axis=1), confidence)) if intervals else None
    return Share(won, won + lost, interval, sign_flip_test(played[:, 0] - played[:, 1]) if tested else None)


def sign_flip_test(differences: Iterable[float]) -> float:
    """Exact two-sided p-value of the randomisation test for as many won as lost games.

    ``differences``: The number of won games less that of lost ones, by query. Under the null hypothesis, won
    and lost games of a query are exchangeable. With one decided game per query it is the sign test.

    >>> sign_flip_test([1] * 5), sign_flip_test([2, -1])
    (0.0625, 1.0)
    """
    sizes = [int(difference) for difference in differences if difference]
    distribution = np.ones(1)
    for size, count in Counter(map(abs, sizes)).items():
        steps = np.zeros(2 * size * count + 1)
        steps[:: 2 * size] = binom.pmf(np.arange(count + 1), count, 0.5)
        distribution = np.convolve(distribution, steps)
    beyond = abs(sum(sizes))
    if not beyond:
        return 1.0
    return min(1.0, float(2 * distribution[len(distribution) // 2 + beyond :].sum()))


@dataclass(frozen=True)
class JudgeBiases:
    """The biases of one judge.

    ``family``: Its family; None if it has none, or without a families file. ``counts`` and ``shares`` are
    those of :class:`QueryTally`, over all queries.
    """

    judge: GradeKey
    family: str | None
    queries: int
    counts: Counter[str]
    shares: Mapping[str, Share]


def judge_biases(
    judge: GradeKey,
    played: Mapping[str, Sequence[Game]],
    families: Families | None = None,
    *,
    intervals: bool = True,
    confidence: float = CONFIDENCE,
) -> JudgeBiases:
    """Measure the biases of a judge in its games by query."""
    family, is_own = None, None
    if families is not None and (family := families.of_model(judge.model)) is not None:
        is_own = lambda system: families.of_system(system) == family  # noqa: E731 - a value
    counts = [tally(of_query, is_own) for of_query in played.values()]
    summed = sum((query.counts for query in counts), Counter[str]())
    shares = shares_of(counts, intervals=intervals, confidence=confidence)
    return JudgeBiases(judge, family, len(counts), summed, shares)


@dataclass(frozen=True)
class GameBiases:
    """The biases of all judges of games.

    ``notes``: Sentences on judges without a family and on games without lengths.
    """

    judges: Sequence[JudgeBiases]
    confidence: float
    notes: Sequence[str]
    provenance: Provenance

    def report(self, decimals: int = 3) -> Report:
        """Tables of the games, the biases, and the pairs in both orders."""
        judge = ("judge", "prompt class")
        games: list[list[Cell]] = [
            [*row.judge, row.family or "", row.queries, *(row.counts[name] for name in GAMES)]
            for row in self.judges
        ]
        biases: list[list[Cell]] = [
            [*row.judge, name, share.count, share.total, share.share, *_ends(share), share.p_value]
            for row in self.judges
            for name in BIASES
            if (share := row.shares[name]).total
        ]
        orders: list[list[Cell]] = [
            [*row.judge, flipped.total, flipped.share, *_ends(flipped), row.shares[REVERSED].share]
            for row in self.judges
            if (flipped := row.shares[FLIPPED]).total
        ]
        tables = [
            Table([*judge, "family", "queries", *GAMES], games, title="Games"),
            Table(
                [*judge, "bias", "wins", "games", "share", "low", "high", "p"], biases,
                title="Biases", decimals=decimals,
            ),
            Table(
                [*judge, "pairs", FLIPPED, "low", "high", REVERSED], orders,
                title="Pairs in both orders", decimals=decimals,
            ),
        ]  # fmt: skip
        notes = map(Paragraph, [*self._explained(), *self.notes])
        blocks: list[Block] = [*(table for table in tables if table.rows), *notes]
        return Report("Biases of judges", blocks, self.provenance)

    def _explained(self) -> Iterator[str]:
        yield (
            f"low and high: {100 * self.confidence:.4g} % intervals by Gaffke's bound, with queries as the "
            "units; other queries are assumed to have no more games than the largest here. p: exact "
            "randomisation test over queries, for a share of one half."
        )
        known = {name for row in self.judges for name, share in row.shares.items() if share.total}
        if "longer answer" in known:
            yield "A longer answer can also be better."
        if "own family" in known:
            yield "Systems of the judge's family can also be better: compare with judges of other families."
        if FLIPPED in known:
            yield (
                "Pairs in both orders: flip rate is the share of pairs whose verdicts differ; reversed is "
                "the share in which the other answer wins if the places are swapped."
            )


def _ends(share: Share) -> tuple[float | None, float | None]:
    return share.interval or (None, None)


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
    rows = [judge_biases(judge, of_judge, known, confidence=confidence) for judge, of_judge in played.items()]
    provenance = Provenance(
        tuple(dict.fromkeys(judge.model for judge in played)),
        tuple(dict.fromkeys(judge.prompt_class for judge in played if judge.prompt_class)),
        queries=len({query_id for of_judge in played.values() for query_id in of_judge}),
    )
    return GameBiases(rows, confidence, list(_notes(rows, with_families=known is not None)), provenance)


def _notes(rows: Sequence[JudgeBiases], *, with_families: bool) -> Iterator[str]:
    if any(
        row.shares["longer answer"].total + sum(row.counts[name] for name in GAMES[1:]) < row.counts["games"]
        for row in rows
    ):
        yield (
            "Games with answers of equal or unknown length do not count for the share of the longer answer."
        )
    if by_rule := sum(row.counts["by rule"] for row in rows):
        have = counted(by_rule, "game was", "games were")
        yield f"{have} decided by a rule without a judge (empty answer, same text): counted in no share."
    without = [row.judge.model for row in rows if row.family is None]
    if with_families and without:
        have = counted(len(without), "judge has", "judges have")
        yield f"{have} no family in the families file ({listed(without)}): no share of the own family."


def bias_notes(games: JudgedGames, families: Families | None, statistics: Statistics) -> Iterator[str]:
    """The biases of the judge of games as sentences, to show beside a leaderboard made from the games.

    They have intervals if the statistics have some. Biases without games have no sentence.
    """
    row = judge_biases(
        games.judge, games.games, families,
        intervals=statistics.intervals is not None, confidence=statistics.confidence,
    )  # fmt: skip
    for name, side, games_of_share in (
        ("place A", "Place A wins", "of the decided games"),
        ("longer answer", "The longer answer wins", "of the games with different lengths"),
        ("own family", f"The judge's own family ({row.family}) wins", "of the games against other systems"),
        (FLIPPED, "Flip rate: the verdicts differ in", "of the pairs of answers in both orders"),
    ):
        if row.shares[name].total:
            yield f"{side} {_with_details(row.shares[name], statistics.confidence)} {games_of_share}."
    played = [game for of_query in games.games.values() for game in of_query if game.decided_by != "ratings"]
    places = Counter((game.system_a, game.system_b) for game in played)
    # Six games of two systems rarely all have the same places by chance.
    fixed = sum(number > 5 and (b, a) not in places for (a, b), number in places.items())
    if fixed:
        yield (
            f"In all games of {counted(fixed, 'pair of systems', 'pairs of systems')} one system has place "
            "A, so the ratings contain the judge's preference for a place, which no interval contains."
        )
    if families is not None and row.family is None:
        yield f"The judge {row.judge.model} has no family in the families file."


def _with_details(share: Share, confidence: float) -> str:
    details = [f"{share.count} of {share.total}"]
    if share.interval is not None:
        low, high = share.interval
        details.append(f"{100 * confidence:.4g} % interval {100 * low:.1f} to {100 * high:.1f}")
    if share.p_value is not None:
        details.append(f"p = {share.p_value:.2g}")
    return f"{100 * share.count / share.total:.1f} % ({', '.join(details)})"
