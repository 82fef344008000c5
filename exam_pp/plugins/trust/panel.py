"""Analysis of a panel of graders: leaderboards of each grader and of the consensus, places of systems."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from exam_pp.data_model import Role
from exam_pp.decided_grades import ConsensusRule, consensus_ratings
from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, grader_names
from exam_pp.metrics.correlation import kendall
from exam_pp.metrics.cover import Cover
from exam_pp.metrics.grade_masks import GradedFile, GradedPassage, GradedQuery, gather, ratings_of_pairs
from exam_pp.metrics.leaderboard import exact_mean
from exam_pp.metrics.significance import better, rank_intervals
from exam_pp.metrics.uncertainty import ScoreMatrix, score_matrices
from exam_pp.phases.evaluation.inputs import Bank, Passages, bank_of, loaded, name_of, views
from exam_pp.phases.evaluation.selected_grades import depth_notes, threshold
from exam_pp.plugins.trust.graders import Ratings
from exam_pp.plugins.trust.panel_members import MIN_GRADERS, panel_members
from exam_pp.provenance import Provenance, file_names, graded_by
from exam_pp.rendering.document import Block, Paragraph, Report, Table
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.text.wording import counted, listed

_DECIMALS = 12
"""Means are rounded to this number of decimals, so that rounding errors do not break ties."""


@dataclass(frozen=True)
class PanelLeaderboard:
    """The leaderboard of a grader or a consensus.

    ``means``: System to its mean score over the queries. ``ranks``: System to its rank; 1 is best, and tied
    systems share the best rank.
    """

    means: Mapping[str, float]
    ranks: Mapping[str, int]
    queries: int


@dataclass(frozen=True)
class PanelGrader:
    """A grader of the panel.

    ``kendall``: Kendall's τ-b of its leaderboard and that of the consensus of the others; None if it is
    undefined.
    """

    name: str
    rated: int
    mean: float
    leaderboard: PanelLeaderboard
    kendall: float | None


@dataclass(frozen=True)
class PanelAnalysis:
    """A panel of graders, compared by their leaderboards.

    ``consensus``: The leaderboard of the consensus. ``places``: System, best first, to the ranks by the
    consensus that significant differences on the queries of all systems leave possible.
    """

    graders: Sequence[PanelGrader]
    measure: str
    rule: ConsensusRule
    min_graders: int
    consensus: PanelLeaderboard
    places: Mapping[str, tuple[int, int]]
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
        rule: How ratings become one rating, as for :func:`exam_pp.plugins.trust.consensus.consensus`.
        min_graders: Number of graders that must have rated a pair.
        grade_filter: Further criteria for the grades.
        graders: Only these models and reviewers. Default: all but stored consensuses.
        prompt_classes: Only these prompt classes. Default: all; they must have the same scale.
        min_grade: Lowest grade at which an entry is covered. Default as for :func:`exam_pp.cover`.
        cutoff: Number of ranks of each system that Rubric-Cover evaluates. Default as for
            :func:`exam_pp.cover`.
        role: As for :func:`exam_pp.cover`.
        confidence: Level of the intervals.
        seed: Seed of the tests behind the places.

    Returns:
        The analysis.

    Raises:
        SelectionError: There are fewer than two graders, their prompt classes have different scales, the
            passages have no rankings, or no pair has a consensus.
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
    if not base.first_ranks:
        raise SelectionError(
            f"{source} has no rankings, so there are no leaderboards; import runs with `exam-pp import`, or "
            "compare the ratings with `exam-pp analyze graders --by entry`."
        )
    cutoff = cutoff or base.cutoff
    cover = Cover(min_grade, cutoff)
    entries = (
        {query_id: query.entries for query_id, query in base.queries.items()}
        if test_bank is not None
        else _entries(ratings.values())
    )

    def scored(rated: Ratings) -> ScoreMatrix:
        """The scores of all systems on the queries with ratings."""
        queries = _rated_queries(base, rated, entries)
        scores = (score for query in queries for score in cover(query, base.first_ranks))
        (matrix,) = score_matrices(score for score in scores if score.system != OVERALL_SYSTEM).values()
        return matrix

    together = consensus_ratings(ratings.values(), rule, min_graders)
    if not together:
        raise SelectionError(f"No pair in {source} was rated by {min_graders} graders (-S min-graders).")
    matrix = scored(together)
    board = _leaderboard(matrix)
    compared = []
    for of, rated in ratings.items():
        others = [ratings[other] for other in ratings if other != of]
        rest = consensus_ratings(others, rule, max(1, min_graders - 1))
        own = _leaderboard(scored(rated))
        without = _leaderboard(scored({unit: rest[unit] for unit in rest if unit in together}))
        mean = sum(rated.values()) / len(rated)
        compared.append(PanelGrader(of, len(rated), mean, own, _kendall(own, without)))
    notes = []
    if unrated := len(set().union(*ratings.values()) - together.keys()):
        have = counted(unrated, "pair was", "pairs were")
        notes.append(f"{have} rated by fewer than {min_graders} graders: not rated by the consensus.")
    queries = {grader.leaderboard.queries for grader in compared}
    if len(queries) > 1:
        numbers = listed([str(number) for number in sorted(queries)])
        notes.append(
            f"The graders graded different numbers of queries ({numbers}): a leaderboard has the queries of "
            "its grader only."
        )
    return PanelAnalysis(
        compared,
        str(cover),
        rule,
        min_graders,
        board,
        _places(matrix, board, 1 - confidence, seed),
        confidence,
        [*notes, *depth_notes(base, cutoff, source)],
        replace(
            graded_by(members.keys),
            banks=file_names(bank) if test_bank is not None else (),
            cutoff=cutoff,
            min_grades=(min_grade,),
            queries=len({unit[0] for rated in ratings.values() for unit in rated}),
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


def _leaderboard(matrix: ScoreMatrix) -> PanelLeaderboard:
    means = {system: exact_mean(list(of.values())) for system, of in matrix.by_system().items()}
    falling = sorted((round(mean, _DECIMALS) for mean in means.values()), reverse=True)
    ranks = {system: falling.index(round(mean, _DECIMALS)) + 1 for system, mean in means.items()}
    return PanelLeaderboard(means, ranks, len(matrix.query_ids))


def _kendall(a: PanelLeaderboard, b: PanelLeaderboard) -> float | None:
    """Kendall's τ-b of the systems on both leaderboards; None if it is undefined."""
    systems = [system for system in a.means if system in b.means]
    return kendall(*([round(board.means[system], _DECIMALS) for system in systems] for board in (a, b)))


def _places(
    matrix: ScoreMatrix, board: PanelLeaderboard, alpha: float, seed: int
) -> dict[str, tuple[int, int]]:
    """System, best first, to its first and last possible rank."""
    ends = rank_intervals(better(matrix.values[:, matrix.everywhere], alpha=alpha, seed=seed))
    rows = zip(matrix.systems, ends, strict=True)
    return dict(sorted(rows, key=lambda row: (board.ranks[row[0]], row[0])))


_RULES = {
    "median": "the median, of an even number the lower of the two in the middle",
    "mean": "the mean, halves rounded down",
    "majority": "the most frequent rating, of several the lowest",
}


def panel_report(result: PanelAnalysis, *, decimals: int = 3) -> Report:
    """Tables of the graders, all leaderboards, and the systems that change places.

    ``decimals`` are those of all tables.
    """
    graders, names, board = result.graders, [grader.name for grader in result.graders], result.consensus
    ranks = {system: [of.leaderboard.ranks.get(system) for of in graders] for system in result.places}
    known = {system: [rank for rank in of if rank is not None] for system, of in ranks.items()}
    tables = [
        Table(
            ["grader", "pairs", "queries", "mean rating", "τ with the others"],
            [[of.name, of.rated, of.leaderboard.queries, of.mean, of.kendall] for of in graders],
            title="Graders",
            decimals=decimals,
        ),
        Table(
            ["grader", "other grader", "τ of leaderboards"],
            [[a.name, b.name, _kendall(a.leaderboard, b.leaderboard)]
             for a, b in combinations(graders, 2)],
            title="Agreement of every two graders",
            decimals=decimals,
        ),
        Table(
            ["system", "consensus", *names],
            [[system, board.means[system], *(of.leaderboard.means.get(system) for of in graders)]
             for system in ranks],
            title=f"Leaderboards: {result.measure}",
            decimals=decimals,
        ),
        Table(
            ["system", "rank", "low", "high", "best", "worst", *(f"rank by {name}" for name in names)],
            [
                [system, board.ranks[system], *result.places[system], min(known[system], default=None),
                 max(known[system], default=None), *of]
                for system, of in ranks.items()
            ],
            title="Places of the systems",
            decimals=decimals,
        ),
    ]  # fmt: skip
    notes = [
        f"Consensus: the rating of a pair is {_RULES[result.rule]}, if at least {result.min_graders} graders "
        "rated it. τ: Kendall's τ-b.",
        "τ with the others: the leaderboard of the grader with the consensus of the other graders.",
        "Places: rank by the consensus, the ranks that significant differences on the queries of all systems "
        f"leave possible (paired randomisation tests, step-down maxT, α = {1 - result.confidence:.2g}), best "
        "and worst rank by a single grader. Tied systems share the best rank.",
        *result.notes,
    ]
    blocks: list[Block] = [*tables, *map(Paragraph, notes)]
    return Report("Panel of graders", blocks, result.provenance, result.notes)
