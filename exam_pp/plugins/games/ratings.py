"""Ratings of systems by their games: Elo and Bradley-Terry, with intervals, and the win matrix."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import binomtest

from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import AnswerFilter
from exam_pp.metrics.entry_values import Floats, Ints
from exam_pp.metrics.leaderboard import Standing
from exam_pp.metrics.measures import MeasureName
from exam_pp.metrics.significance import holm, rating_ranks
from exam_pp.metrics.uncertainty import (
    FEW_UNITS,
    FEWEST_UNITS,
    Interval,
    intervals,
    query_counts,
    share_interval,
)
from exam_pp.phases.evaluation.leaderboards import Standings, Statistics, SystemUncertainty, Uncertainty
from exam_pp.phases.evaluation.result import Evaluation, counted_names, joined_notes
from exam_pp.plugins.games import TOURNAMENTS
from exam_pp.plugins.games.biases import bias_notes
from exam_pp.plugins.games.elo_bradley_terry import (
    EloRules,
    bradley_terry,
    bradley_terry_samples,
    elo,
    elo_samples,
    errors_of_mean,
    has_maximum,
)
from exam_pp.plugins.games.from_scores import ScoredGames
from exam_pp.plugins.games.outcomes import JudgedGames, Outcome, Outcomes, judged_games
from exam_pp.provenance import Provenance, combined
from exam_pp.results import ALL_QUERIES, Score
from exam_pp.store.families import Families
from exam_pp.text.wording import counted, in_one_line, listed

Method = Literal["elo", "bradley-terry"]
NAMES: dict[Method, str] = {"elo": "Elo", "bradley-terry": "Bradley-Terry"}
"""Method to the name of its ratings in tables."""
_GAMES_OF_SAMPLES = 25_000_000
"""Number of games in all bootstrap samples, beyond which few queries have no more samples than asked for."""


@dataclass(frozen=True)
class RatingOptions:
    """Options of ratings."""

    methods: Sequence[Method] = ("elo",)
    rules: EloRules = field(default_factory=EloRules)
    tournaments: int = TOURNAMENTS
    statistics: Statistics = field(default_factory=lambda: Statistics("queries", samples=1000))


@dataclass(frozen=True)
class Ratings:
    """Ratings of systems by the games of one judge.

    ``records``: System, games, games that it won, tied and lost, and the spread of its Elo rating over
    tournaments (None without Elo), in the order of the leaderboard. ``matrix``: The win matrix, in the same
    order. ``unrated``: Systems without played games.
    """

    standings: Standings
    records: list[tuple[str, int, int, int, int, float | None]]
    matrix: WinMatrix
    outcomes: Outcomes
    unrated: list[str]


def rate(
    games: JudgedGames,
    options: RatingOptions | None = None,
    *,
    families: Families | None = None,
    notes: Sequence[str] = (),
    provenance: Provenance | None = None,
) -> Ratings:
    """Rate the systems of the games of a judge, with notes on the games and on biases of the judge.

    ``provenance``: The origin of the games. None: the judge and the number of queries.
    """
    options = options or RatingOptions()
    if not games.outcomes:
        raise SelectionError(
            f"{listed(games.sources)}: all {counted(games.ungraded, 'game')} are ungraded, or the game in "
            "the other order is missing, so systems cannot be rated."
        )
    if provenance is None:
        prompts = (games.judge.prompt_class,) if games.judge.prompt_class else ()
        queries = len({outcome.query_id for outcome in games.outcomes})
        provenance = Provenance((games.judge.model,), prompts, queries=queries)
    return ratings(
        games.outcomes,
        options,
        systems=games.systems,
        notes=[*notes, *_game_notes(games), *bias_notes(games, families, options.statistics)],
        provenance=provenance,
    )


def rate_scored(
    scored: ScoredGames,
    options: RatingOptions | None = None,
    *,
    systems: Collection[str] = (),
    families: Families | None = None,
) -> Ratings:
    """Rate systems by games from scores, with the notes and the provenance of the scores.

    ``systems``: Only games between these systems; empty for all.
    """
    games = judged_games(scored.queries, AnswerFilter(systems=systems))
    measure = in_one_line(str(games.judge.prompt_class))
    note = f"Games are made from scores ({measure}): for each query, the higher score of two systems wins."
    return rate(games, options, families=families, notes=[note, *scored.notes], provenance=scored.provenance)


def ratings(
    outcomes: Sequence[Outcome],
    options: RatingOptions | None = None,
    *,
    systems: Sequence[str] = (),
    notes: Sequence[str] = (),
    provenance: Provenance | None = None,
) -> Ratings:
    """Rate systems by the outcomes of games, from any source.

    ``systems``: All systems; those without games are listed, but not ranked.
    """
    options = options or RatingOptions()
    games = Outcomes.of(outcomes)
    statistics = options.statistics
    counts = None
    if statistics.intervals is not None and len(games.query_ids) >= FEWEST_UNITS:
        counts = query_counts(len(games.query_ids), statistics.samples, statistics.seed)
        # Few queries have more samples than asked for, but not if there are very many games.
        counts = counts[: max(statistics.samples, _GAMES_OF_SAMPLES // len(games))]
    methods = list(dict.fromkeys(options.methods))
    rows: dict[tuple[str, str], Standing] = {}
    spreads: Floats | None = None
    uncertain = Uncertainty()
    for method in methods:
        name = NAMES[method]
        if method == "elo":
            values, spreads, samples = _elo(games, counts, options)
        else:
            values, samples, notes_of_samples = _bradley_terry(games, counts)
            uncertain.notes.extend(notes_of_samples)
        for system, value in zip(games.systems, values.tolist(), strict=True):
            # A rating is no mean over queries: it has no standard error and no number of queries.
            rows[system, name] = Standing(system, name, value, None, 0)
        if samples is not None:
            _add_intervals(uncertain, name, games, values, samples, statistics.confidence)
    flat = list(dict.fromkeys(system for (system, _), row in uncertain.systems.items() if row.low is None))
    if flat:
        uncertain.notes.append(
            f"No interval for {listed(flat)}: the same outcomes on all queries, or only wins or only losses, "
            f"say too little about other queries, or {statistics.samples} samples are too few for this "
            "confidence."
        )
    if statistics.intervals is not None:
        uncertain.notes.append(_interval_note(statistics, methods, len(games.query_ids), counts))
    order = sorted(games.systems, key=lambda system: (-rows[system, NAMES[methods[0]]].mean, system))
    unrated = [system for system in systems if system not in games.systems]
    all_notes = [*notes, *_method_notes(options), *_limits(games, methods)]
    if unrated:
        all_notes.append(f"Not ranked: {counted_names(unrated, 'system', 'systems')} without played games.")
    names = [MeasureName(NAMES[method]) for method in methods]
    standings = Standings(names, order, rows, statistics, uncertain, all_notes, provenance)
    return Ratings(
        standings, _records(games, order, spreads), count_wins(games).ordered(order), games, unrated
    )


def scores_of(standings: Standings) -> Evaluation:
    """Ratings as scores of all queries, for comparisons with other leaderboards."""
    scores = [Score(row.system, ALL_QUERIES, row.metric, row.mean) for row in standings.rows.values()]
    return Evaluation(scores, list(standings.notes), provenance=standings.provenance)


def compare_pairs(result: Ratings, confidence: float = CONFIDENCE) -> list[HeadToHead]:
    """Compare all pairs of systems that met by their games against each other, better systems first."""
    matrix = result.matrix
    place = {system: number for number, system in enumerate(matrix.systems)}
    met = [pair for pair in combinations(matrix.systems, 2) if matrix.games[place[pair[0]], place[pair[1]]]]
    return head_to_head(result.outcomes, met, confidence=confidence)


def together(boards: Mapping[str, Ratings]) -> Standings:
    """The leaderboards of several judges as columns ``Elo[JUDGE]``; the first judge orders the systems."""
    (first, *_) = boards.values()
    if len(boards) == 1:
        return first.standings
    rows: dict[tuple[str, str], Standing] = {}
    uncertain = Uncertainty()
    metrics: list[MeasureName] = []
    for judge, board in boards.items():
        standings = board.standings
        names: dict[str, MeasureName] = {of: MeasureName(f"{of}[{judge}]") for of in standings.metrics}
        metrics += names.values()
        rows |= {
            (system, names[of]): row._replace(metric=names[of])
            for (system, of), row in standings.rows.items()
        }
        uncertain.systems.update(
            {(system, names[of]): row for (system, of), row in standings.uncertainty.systems.items()}
        )
    each = [(judge, board.standings) for judge, board in boards.items()]
    shared = joined_notes([(judge, [*of.uncertainty.notes, *of.notes]) for judge, of in each])
    systems = dict.fromkeys(system for board in boards.values() for system in board.standings.systems)
    provenance = combined(board.standings.provenance for board in boards.values())
    return Standings(metrics, list(systems), rows, first.standings.statistics, uncertain, shared, provenance)


def _elo(
    games: Outcomes, counts: Ints | None, options: RatingOptions
) -> tuple[Floats, Floats, Floats | None]:
    """Ratings, their spread over tournaments, and the ratings in bootstrap samples."""
    seed = options.statistics.seed
    played = elo(games, options.rules, tournaments=options.tournaments, seed=seed)
    values = played.mean(axis=0)
    # A single tournament has a spread of 0 instead of NaN.
    spreads = played.std(axis=0, ddof=min(1, len(played) - 1))
    if counts is None:
        return values, spreads, None
    samples = elo_samples(games, counts, values, options.rules, seed=seed)
    # The mean of a limited number of tournaments has an error of its own, which intervals contain, too.
    return values, spreads, samples + errors_of_mean(played, len(samples), seed=seed)


def _bradley_terry(games: Outcomes, counts: Ints | None) -> tuple[Floats, Floats | None, list[str]]:
    """Ratings, those in bootstrap samples, and a note on samples without a maximum."""
    values = bradley_terry(games.half_wins())
    if counts is None:
        return values, None, []
    samples, missing = bradley_terry_samples(games, counts)
    if not missing:
        return values, samples, []
    note = (
        f"Bradley-Terry: {missing} of {len(samples)} bootstrap samples have no maximum of the likelihood, "
        "and use an additional tie of every system."
    )
    return values, samples, [note]


def _add_intervals(
    uncertain: Uncertainty, name: str, games: Outcomes, ratings: Floats, samples: Floats, confidence: float
) -> None:
    queries = len(games.query_ids)
    ranks = rating_ranks(ratings, samples, queries, confidence)
    bounds = intervals(samples, queries, confidence)
    unknown = _without_spread(games)
    for system, interval, (first, last) in zip(games.systems, bounds, ranks, strict=True):
        low, high = (None, None) if system in unknown else interval or (None, None)
        uncertain.systems[system, name] = SystemUncertainty(low, high, first, last)


def _without_spread(games: Outcomes) -> set[str]:
    """The systems that won or lost all games, or have the same outcomes on all queries."""
    results: dict[int, dict[int, list[tuple[int, float]]]] = {}
    columns = (games.query.tolist(), games.a.tolist(), games.b.tolist(), games.score.tolist())
    for query, a, b, score in zip(*columns, strict=True):
        for system, other, won in ((a, b, score), (b, a, 1 - score)):
            results.setdefault(system, {}).setdefault(query, []).append((other, won))
    found = set()
    for system, of_query in results.items():
        scores = {won for played in of_query.values() for _, won in played}
        if scores in ({0.0}, {1.0}) or len({tuple(sorted(played)) for played in of_query.values()}) == 1:
            found.add(games.systems[system])
    return found


def _interval_note(
    statistics: Statistics, methods: Collection[Method], queries: int, counts: Ints | None
) -> str:
    if counts is None:
        return f"Intervals need games on at least {FEWEST_UNITS} queries; here are {queries}."
    and_tournaments = ", for Elo also of tournaments" if "elo" in methods else ""
    few = f" With {queries} queries, they are approximate." if queries < FEW_UNITS else ""
    return (
        f"Intervals of ratings: {100 * statistics.confidence:g} %, {len(counts)} bootstrap samples of "
        f"queries{and_tournaments} (seed {statistics.seed}).{few} Ranks: those that differences of ratings "
        "leave open (Student's t over the samples, Holm over all pairs)."
    )


def _records(
    games: Outcomes, order: Sequence[str], spreads: Floats | None
) -> list[tuple[str, int, int, int, int, float | None]]:
    won, tied = games.wins(), games.ties().sum(axis=1)
    rows = []
    for system in order:
        place = games.systems.index(system)
        results = int(won[place].sum()), int(tied[place]), int(won[:, place].sum())
        rows.append((system, sum(results), *results, None if spreads is None else float(spreads[place])))
    return rows


def _game_notes(games: JudgedGames) -> list[str]:
    notes = []
    if games.ungraded:
        notes.append(f"{counted(games.ungraded, 'ungraded game')} not played.")
    if games.copies:
        notes.append(f"Not counted: {counted(games.copies, 'copy', 'copies')} of games with the same reply.")
    if games.both_orders:
        notes.append(
            f"{counted(games.both_orders, 'pair of answers', 'pairs of answers')} with verdicts in both "
            f"orders, each as one game: {games.flips} with different verdicts as ties."
        )
    return notes


def _method_notes(options: RatingOptions) -> list[str]:
    notes = []
    rules = options.rules
    if "elo" in options.methods:
        truncated = ", truncated to integers after every game" if rules.integer else ""
        notes.append(
            f"Elo: mean over {counted(options.tournaments, 'tournament')} in random orders (seed "
            f"{options.statistics.seed}), K {rules.k:g}, first rating {rules.start:g}{truncated}."
        )
    if "bradley-terry" in options.methods:
        notes.append("Bradley-Terry: maximum likelihood with ties as half wins; the mean rating is 1000.")
    return notes


def _limits(games: Outcomes, methods: Sequence[Method]) -> list[str]:
    """Notes on games from which no finite or comparable ratings follow."""
    table = games.half_wins()
    notes = []
    if len(groups := games.groups()) > 1:
        notes.append(
            f"{len(groups)} groups of systems without games between them, whose ratings cannot be compared: "
            f"{'; '.join(map(listed, groups))}."
        )
    for axis, verb, side in ((0, "won", "upper"), (1, "lost", "lower")):
        extreme = [s for s, other in zip(games.systems, table.sum(axis=axis), strict=True) if other == 0]
        if extreme:
            systems = counted_names(extreme, "system", "systems")
            notes.append(f"{systems} {verb} all games: the games give no {side} limit of the rating.")
    if "bradley-terry" in methods and not has_maximum(table[None])[0]:
        notes.append(
            "Bradley-Terry: the likelihood of these games has no maximum, so every system got an additional "
            "tie with an imaginary system of rating 1000."
        )
    return notes


@dataclass(frozen=True)
class WinMatrix:
    """Shares of games that systems won against each other.

    ``shares``: Share of the games between row and column that the row's system won; NaN without games. The
    rest of both shares are ties.
    """

    systems: list[str]
    shares: Floats
    games: Floats

    @property
    def averages(self) -> list[float]:
        """The mean share of each row over the opponents that it met, at least one."""
        met = self.games > 0
        totals, opponents = np.nansum(self.shares, axis=1), met.sum(axis=1)
        return [float(mean) for mean in totals / opponents]

    def ordered(self, systems: Sequence[str]) -> WinMatrix:
        """The matrix of these systems, in this order."""
        places = [self.systems.index(system) for system in systems]
        cells = np.ix_(places, places)
        return WinMatrix(list(systems), self.shares[cells], self.games[cells])


def count_wins(outcomes: Outcomes) -> WinMatrix:
    """The win matrix of all games.

    Source: Rackauckas et al., "Evaluating RAG-Fusion with RAGElo" (2024), table 5.
    """
    wins, ties = outcomes.wins(), outcomes.ties()
    games = wins + wins.T + ties
    shares = np.divide(wins, games, out=np.full_like(wins, np.nan), where=games > 0)
    return WinMatrix(outcomes.systems, shares, games)


class HeadToHead(NamedTuple):
    """The games of two systems against each other.

    ``won``, ``lost`` and ``tied`` are shares with their intervals over queries.
    """

    system_a: str
    system_b: str
    games: int
    queries: int
    won: tuple[float, Interval]
    lost: tuple[float, Interval]
    tied: tuple[float, Interval]
    p: float
    adjusted_p: float


def head_to_head(
    outcomes: Outcomes,
    pairs: Sequence[tuple[str, str]],
    *,
    confidence: float = CONFIDENCE,
) -> list[HeadToHead]:
    """Compare pairs of systems by their games against each other.

    A query counts in the sign test for the system that won more of its games; queries without a difference
    count for neither system. Intervals are those of
    :func:`~exam_pp.metrics.uncertainty.share_interval`, with queries as groups.

    Source: sign test with ties dropped, as Conover, "Practical Nonparametric Statistics" (1999), section
    3.4; Holm's correction, see :func:`~exam_pp.metrics.significance.holm`.
    """
    rows = [_compare(outcomes, *pair, confidence) for pair in pairs]
    adjusted = holm([row.p for row in rows])
    return [row._replace(adjusted_p=p) for row, p in zip(rows, adjusted, strict=True)]


def _compare(outcomes: Outcomes, system_a: str, system_b: str, confidence: float) -> HeadToHead:
    first, second = outcomes.systems.index(system_a), outcomes.systems.index(system_b)
    forwards = (outcomes.a == first) & (outcomes.b == second)
    met = forwards | ((outcomes.a == second) & (outcomes.b == first))
    score = np.where(forwards, outcomes.score, 1 - outcomes.score)[met]
    _, query = np.unique(outcomes.query[met], return_inverse=True)
    counts = np.zeros((int(query.max()) + 1, 3))  # queries × won, lost, tied
    np.add.at(counts, (query, np.where(score == 1, 0, np.where(score == 0, 1, 2))), 1)
    won, lost, tied = (
        (
            float(column.sum() / counts.sum()),
            Interval(*share_interval(column, counts.sum(axis=1), confidence)),
        )
        for column in counts.T
    )
    better, worse = (counts[:, 0] > counts[:, 1]).sum(), (counts[:, 0] < counts[:, 1]).sum()
    p = float(binomtest(int(better), int(better + worse)).pvalue) if better + worse else 1.0
    return HeadToHead(system_a, system_b, len(score), len(counts), won, lost, tied, p, p)
