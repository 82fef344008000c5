"""Analysis of a panel of graders: agreement, leaderboards of each grader, and places of systems."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple

from exam_pp.data_model import Role
from exam_pp.decided_grades import ConsensusRule, consensus_ratings
from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, grader_names
from exam_pp.metrics.agreement import Coefficients, coefficients
from exam_pp.metrics.correlation import kendall
from exam_pp.metrics.cover import Cover
from exam_pp.metrics.grade_masks import GradedFile, GradedPassage, GradedQuery, gather, ratings_of_pairs
from exam_pp.metrics.leaderboard import exact_mean
from exam_pp.metrics.qrels import rubric_qrels
from exam_pp.metrics.significance import better, rank_intervals
from exam_pp.metrics.uncertainty import ScoreMatrix, score_matrices
from exam_pp.phases.analysis.graders import Alphas, Ratings, alphas_of
from exam_pp.phases.evaluation.inputs import Bank, Passages, bank_of, loaded, name_of, views
from exam_pp.phases.evaluation.panel_members import MIN_GRADERS, panel_members
from exam_pp.phases.evaluation.score_runs import score_rankings
from exam_pp.phases.evaluation.selected_grades import depth_notes, threshold
from exam_pp.provenance import Provenance, file_names, graded_by
from exam_pp.results import OVERALL_SYSTEM, Score
from exam_pp.text.wording import counted, listed

FAR = 0.5
"""A grader with a lower τ with the others is far from the rest: more than a quarter of pairs are swapped."""
FEW = 0.5
"""A grader with a smaller share of the pairs of the panel has rated few pairs."""
_DECIMALS = 12
"""Means are rounded to this number of decimals, so that rounding errors do not break ties."""


class PairAgreement(NamedTuple):
    """Agreement of two graders on their ``common`` pairs, and Kendall's τ-b of their leaderboards."""

    first: str
    second: str
    common: int
    coefficients: Coefficients
    kendall: float | None


@dataclass(frozen=True)
class PanelLeaderboard:
    """The leaderboard of a grader or a consensus.

    ``means``: System to its mean score over the queries; empty without rankings. ``ranks``: System to its
    rank; 1 is best, and tied systems share the best rank.
    """

    means: Mapping[str, float]
    ranks: Mapping[str, int]
    queries: int


@dataclass(frozen=True)
class PanelGrader:
    """A grader of the panel.

    ``kendall``: Kendall's τ-b of its leaderboard and ``without``; None if it is undefined.
    ``kendall_without``: Kendall's τ-b of ``without`` and the consensus of all graders. ``moved``: Number of
    systems whose rank differs between ``without`` and the consensus of all graders.
    """

    name: str
    rated: int
    mean: float
    levels: int
    reaching: int
    leaderboard: PanelLeaderboard
    without: PanelLeaderboard
    kendall: float | None
    kendall_without: float | None
    moved: int


class SystemPlaces(NamedTuple):
    """The places of a system.

    ``first`` and ``last`` are the ranks by the consensus that significant differences on the queries of all
    systems leave possible. ``best`` and ``worst`` are its best and worst rank by a single grader, and
    ``ranks`` its ranks by the graders of the panel, in their order; None without a score.
    """

    system: str
    score: float
    rank: int
    first: int
    last: int
    best: int | None
    worst: int | None
    ranks: Sequence[int | None]


@dataclass(frozen=True)
class PanelAnalysis:
    """A panel of graders, compared by their ratings and by their leaderboards.

    ``consensus``: The leaderboard of the consensus; None without rankings.
    """

    graders: Sequence[PanelGrader]
    pairs: Sequence[PairAgreement]
    shared: int
    alphas: Alphas
    measure: str
    rule: ConsensusRule
    min_graders: int
    consensus: PanelLeaderboard | None
    systems: Sequence[SystemPlaces] = ()
    confidence: float = CONFIDENCE
    notes: Sequence[str] = ()
    provenance: Provenance = field(default_factory=Provenance)


def analyze_panel(
    graded: Passages,
    bank: Bank | None = None,
    *,
    rule: ConsensusRule = "median",
    min_graders: int = MIN_GRADERS,
    grade_filter: GradeFilter | None = None,
    graders: Collection[str] = (),
    prompt_classes: Collection[str] = (),
    min_grade: int | None = None,
    cutoff: int | None = None,
    measure: str | None = None,
    role: Role | None = None,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> PanelAnalysis:
    """Compare the graders of a file: their ratings, their leaderboards, and the consensus of the others.

    The consensus is computed in memory. Without a grader, ``min_graders`` − 1 ratings suffice for a pair (at
    least one), so that the same pairs have a consensus.

    Args:
        graded: Graded passages with rankings: a file, or queries.
        bank: Test bank, whose entries count. Default: the entries that any grader rated.
        rule: How ratings become one rating, as for :func:`exam_pp.phases.trust.consensus.consensus`.
        min_graders: Number of graders that must have rated a pair.
        grade_filter: Further criteria for the grades.
        graders: Only these models and reviewers. Default: all but stored consensuses.
        prompt_classes: Only these prompt classes. Default: all; they must have the same scale.
        min_grade: Lowest grade at which an entry is covered. Default as for :func:`exam_pp.cover`.
        cutoff: Number of ranks of each system that Rubric-Cover evaluates. Default as for
            :func:`exam_pp.cover`.
        measure: A measure of ir-measures, by which the rankings are scored with the best rating of a passage
            as its label (Rubric-Qrels). Default: Rubric-Cover.
        role: As for :func:`exam_pp.cover`.
        confidence: Level of the intervals.
        seed: Seed of the tests behind the places.

    Returns:
        The analysis.

    Raises:
        SelectionError: There are fewer than two graders, or their prompt classes have different scales.
        DataError: A file is not in its format.
    """
    source = name_of(graded, "the passages")
    passages = loaded(graded)
    lines = views(passages, role)
    criteria = grade_filter or GradeFilter()
    members = panel_members(lines, criteria, source, graders=graders, prompt_classes=prompt_classes)
    if len(members.keys) < 2:
        raise SelectionError(
            f"A panel needs two graders, but {source} has the grades of one: {members.keys[0]}."
        )
    test_bank = None if bank is None or members.kind == "direct" else bank_of(bank)
    name = grader_names(members.keys)
    files = {
        name(key): gather(lines, selector, test_bank, kind=members.entry_kind)
        for key, selector in members.selectors.items()
    }
    ratings: dict[str, Ratings] = {of: ratings_of_pairs(file) for of, file in files.items()}
    empty = [of for of, rated in ratings.items() if not rated]
    if empty:
        raise SelectionError(f"{empty[0]} has rated no entry of the bank in {source}.")
    min_grade = threshold(next(iter(members.selectors.values())), min_grade)
    # All leaderboards have the same rankings, entries and threshold.
    base = next(iter(files.values()))
    cutoff = cutoff or base.cutoff
    cover = Cover(min_grade, cutoff)
    entries = (
        {query_id: query.entries for query_id, query in base.queries.items()}
        if test_bank is not None
        else _entries(ratings.values())
    )

    def scored(rated: Ratings) -> ScoreMatrix | None:
        """The scores of all systems on the queries with ratings; None without rankings or ratings."""
        if not base.first_ranks or not rated:
            return None
        queries = _rated_queries(base, rated, entries)
        scores: Iterable[Score]
        if measure is None:
            scores = (score for query in queries for score in cover(query, base.first_ranks))
        else:
            least = cover.min_grade
            labels = [label for query in queries for label in rubric_qrels(query, "max", least)]
            scores = score_rankings(labels, passages, [measure], default_min_grade=least, role=role).scores
        scores = (score for score in scores if score.system != OVERALL_SYSTEM)
        return next(iter(score_matrices(scores).values()), None)

    together = consensus_ratings(ratings.values(), rule, min_graders)
    matrix = scored(together)
    board = _leaderboard(matrix)
    compared = []
    for of, rated in ratings.items():
        others = [ratings[other] for other in ratings if other != of]
        rest = consensus_ratings(others, rule, max(1, min_graders - 1))
        own = _leaderboard(scored(rated))
        without = _leaderboard(scored({unit: rest[unit] for unit in rest if unit in together}))
        compared.append(
            PanelGrader(
                of,
                len(rated),
                sum(rated.values()) / len(rated),
                len(set(rated.values())),
                sum(rating >= min_grade for rating in rated.values()),
                own,
                without,
                _kendall(own, without),
                _kendall(without, board),
                sum(without.ranks.get(system, rank) != rank for system, rank in board.ranks.items()),
            )
        )
    units, alphas = alphas_of(ratings.values())
    notes = []
    if len(together) < len(units):
        have = counted(len(units) - len(together), "pair was", "pairs were")
        notes.append(f"{have} rated by fewer than {min_graders} graders: not rated by the consensus.")
    notes += _notes(compared, min_grade, has_rankings=bool(base.first_ranks))
    depth = depth_notes(base, cutoff, source) if measure is None else []
    return PanelAnalysis(
        compared,
        list(_pairs(compared, ratings)),
        sum(number > 1 for number in units.values()),
        alphas,
        measure or str(cover),
        rule,
        min_graders,
        None if matrix is None else board,
        [] if matrix is None else _places(matrix, board, compared, 1 - confidence, seed),
        confidence,
        [*notes, *depth],
        replace(
            graded_by(members.keys),
            banks=file_names(bank) if test_bank is not None else (),
            cutoff=cutoff if measure is None else None,
            min_grades=(min_grade,),
            queries=len({unit[0] for unit in units}),
        ),
    )


def _entries(rated: Iterable[Ratings]) -> dict[str, dict[str, int]]:
    """Query to the positions of the entries that any grader rated."""
    entries: dict[str, dict[str, int]] = {}
    for query_id, _, entry_id in (unit for ratings in rated for unit in ratings):
        of_query = entries.setdefault(query_id, {})
        of_query.setdefault(entry_id, len(of_query))
    return entries


def _rated_queries(
    base: GradedFile, ratings: Ratings, entries: Mapping[str, dict[str, int]]
) -> Iterator[GradedQuery]:
    """The queries with these ratings in place of those of the base file."""
    by_query: dict[str, dict[str, dict[str, int]]] = {}
    for (query_id, passage_id, entry_id), rating in ratings.items():
        by_query.setdefault(query_id, {}).setdefault(passage_id, {})[entry_id] = rating
    for query_id, of_base in base.queries.items():
        if query_id in by_query:
            query = GradedQuery(query_id, entries[query_id], of_base.weights, rankings=of_base.rankings)
            for passage in of_base.passages:
                graded = GradedPassage(passage.passage_id)
                graded.grade(by_query[query_id].get(passage.passage_id, {}), query.entries)
                query.passages.append(graded)
            yield query


def _pairs(graders: Sequence[PanelGrader], ratings: Mapping[str, Ratings]) -> Iterator[PairAgreement]:
    for a, b in combinations(graders, 2):
        left, right = ratings[a.name], ratings[b.name]
        common = [unit for unit in left if unit in right]
        agreeing = coefficients([left[unit] for unit in common], [right[unit] for unit in common])
        tau = _kendall(a.leaderboard, b.leaderboard)
        yield PairAgreement(a.name, b.name, len(common), agreeing, tau)


def _leaderboard(matrix: ScoreMatrix | None) -> PanelLeaderboard:
    """Means and ranks; empty without scores."""
    if matrix is None:
        return PanelLeaderboard({}, {}, 0)
    means = {system: exact_mean(list(of.values())) for system, of in matrix.by_system().items()}
    falling = sorted((round(mean, _DECIMALS) for mean in means.values()), reverse=True)
    ranks = {system: falling.index(round(mean, _DECIMALS)) + 1 for system, mean in means.items()}
    return PanelLeaderboard(means, ranks, len(matrix.query_ids))


def _kendall(a: PanelLeaderboard, b: PanelLeaderboard) -> float | None:
    """Kendall's τ-b of the systems on both leaderboards; None if it is undefined."""
    systems = [system for system in a.means if system in b.means]
    return kendall(*([round(board.means[system], _DECIMALS) for system in systems] for board in (a, b)))


def _places(
    matrix: ScoreMatrix,
    board: PanelLeaderboard,
    graders: Sequence[PanelGrader],
    alpha: float,
    seed: int,
) -> list[SystemPlaces]:
    """The places of the systems, best first; systems without scores of a grader have no rank by it."""
    ends = rank_intervals(better(matrix.values[:, matrix.everywhere], alpha=alpha, seed=seed))
    rows = []
    for system, (first, last) in zip(matrix.systems, ends, strict=True):
        ranks = [grader.leaderboard.ranks.get(system) for grader in graders]
        known = [rank for rank in ranks if rank is not None]
        rows.append(
            SystemPlaces(
                system, board.means[system], board.ranks[system], first, last,
                min(known, default=None), max(known, default=None), ranks,
            )
        )  # fmt: skip
    return sorted(rows, key=lambda row: (row.rank, row.system))


def _notes(graders: Sequence[PanelGrader], min_grade: int, *, has_rankings: bool) -> Iterator[str]:
    most = max(grader.rated for grader in graders)
    for grader in graders:
        if grader.rated < FEW * most:
            yield (
                f"{grader.name} rated {grader.rated:,} pairs, another grader {most:,}: its leaderboard "
                "counts all other pairs as not covered, so its ranks say little."
            )
        if grader.levels == 1:
            yield f"All ratings of {grader.name} are equal: its agreement with other graders is undefined."
        elif not grader.reaching:
            yield f"No rating of {grader.name} reaches --min-grade {min_grade}."
    if not has_rankings:
        yield "The file has no rankings, so there are no leaderboards; import runs with `exam-pp import`."
        return
    queries = {grader.leaderboard.queries for grader in graders}
    if len(queries) > 1:
        yield (
            f"The graders graded different numbers of queries ({listed([str(n) for n in sorted(queries)])}): "
            "a leaderboard has the queries of its grader only."
        )
    far = [
        (grader, grader.kendall) for grader in graders if grader.kendall is not None and grader.kendall < FAR
    ]
    if len(far) == len(graders):
        taus = listed([f"{grader.name} {tau:.2f}" for grader, tau in far])
        yield (
            f"No leaderboard is close to the consensus of the other graders (τ: {taus}; all below {FAR}): "
            "the order of the systems depends on the grader."
        )
        return
    for grader, tau in far:
        yield (
            f"{grader.name} is far from the rest: τ {tau:.2f} of its leaderboard with the consensus of the "
            f"other graders (below {FAR})."
        )
