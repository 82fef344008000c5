"""Scores of rankings, leaderboards, correlation, agreement and tables of grades from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from exam_pp.data_model import PassageView
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector
from exam_pp.metrics import correlation
from exam_pp.metrics.agreement import coefficients
from exam_pp.metrics.correlation import Correlation
from exam_pp.metrics.gains import Ungraded
from exam_pp.metrics.leaderboard import Standing
from exam_pp.metrics.qrels import Facets
from exam_pp.phases.evaluation import leaderboards
from exam_pp.phases.evaluation import score_runs as runs_scored
from exam_pp.phases.evaluation.inputs import Passages, name_of, views
from exam_pp.phases.evaluation.result import Evaluation, PathLike
from exam_pp.phases.evaluation.rubric import RubricQrels
from exam_pp.phases.evaluation.score_runs import Runs
from exam_pp.phases.evaluation.system_names import matched_names, renamed
from exam_pp.phases.evaluation.uncertainty import Resampled, Statistics, SystemUncertainty
from exam_pp.prompts.base import under_all_names
from exam_pp.results import (
    OVERALL_SYSTEM,
    Grade,
    Grades,
    LabelAgreement,
    Leaderboard,
    LeaderboardRow,
    Qrel,
    Score,
    SubtopicQrel,
)
from exam_pp.store.trec.ranks import read_ranks
from exam_pp.store.trec.runs import MethodName, read_qrels

Labels = PathLike | RubricQrels | Iterable[Qrel | SubtopicQrel]
"""A qrels file, what :func:`exam_pp.rubric_qrels` returns, or lines of qrels."""


def score_runs(
    labels: Labels,
    runs: Runs,
    measures: Sequence[str] = ("nDCG@10",),
    *,
    min_grade: int | None = None,
    method: MethodName = "stem",
) -> Evaluation:
    """Scores of runs under relevance labels, by the measures of ir-measures.

    Args:
        labels: Qrels file, lines of qrels, or what :func:`exam_pp.rubric_qrels` returns (then with bounds for
            ungraded passages).
        runs: Folder of run files, one run file, or lines of runs.
        measures: Names of ir-measures or trec_eval, such as ``nDCG@10``, ``RR`` or ``P_20``.
        min_grade: Label from which a passage is relevant, for measures that have such a level.
        method: A file's system is named by the file (``stem``) or by the ``tag`` in its lines.

    Returns:
        Scores by system and query of the labels; a query that a system returned nothing for scores 0.

    Raises:
        SelectionError: The measure is unknown, or runs and labels have no query in common.
        DataError: A file is not in its format.
    """
    lines, ungraded, notes = _labels(labels)
    evaluation = runs_scored.score_runs(
        lines, runs, measures, min_grade=min_grade, method=method, ungraded=ungraded
    )
    return replace(evaluation, notes=[*notes, *evaluation.notes])


def score_rankings(
    labels: Labels,
    passages: Passages,
    measures: Sequence[str] = ("nDCG@10",),
    *,
    min_grade: int | None = None,
    facets: Facets = "title",
) -> Evaluation:
    """As :func:`exam_pp.score_runs`, of the rankings that passages hold, generated answers included.

    Args:
        labels: As :func:`exam_pp.score_runs`.
        passages: A passages file, or queries; ranks that they lack stay empty places.
        measures: Names of ir-measures or trec_eval.
        min_grade: Label from which a passage is relevant, for measures that have such a level.
        facets: ``facet``: the labels are of facets (``query/facet``), and a ranking of the query counts for
            each of its facets.

    Returns:
        Scores by system and query of the labels.

    Raises:
        SelectionError: The measure is unknown, or the passages have no rankings.
        DataError: A file is not in its format, or has ranks beyond 100,000.
    """
    lines, ungraded, notes = _labels(labels)
    evaluation = runs_scored.score_rankings(
        lines, passages, measures, min_grade=min_grade, facets=facets, ungraded=ungraded
    )
    return replace(evaluation, notes=[*notes, *evaluation.notes])


def leaderboard(
    scores: Evaluation | Iterable[Score],
    *,
    intervals: Resampled | None = "queries",
    significance: bool = False,
    confidence: float = 0.95,
    samples: int = 2000,
    seed: int = 0,
) -> Leaderboard:
    """Means of all systems with standard errors, intervals, and significance letters.

    Args:
        scores: What a function above returned, or score rows.
        intervals: Bootstrap over ``queries``, or ``nested``: over queries and bank entries (only for
            :func:`exam_pp.cover`); None for no intervals.
        significance: Also letters: systems that share one do not differ (paired randomisation tests, Holm).
        confidence: Of the intervals; tests use 1 minus it as α.
        samples: Number of bootstrap samples.
        seed: Of samples and tests; the same seed gives the same numbers.

    Returns:
        A row for each metric and system, best system first.

    Raises:
        SelectionError: Nested intervals of a metric that is not a mean over bank entries.
    """
    evaluation = scores if isinstance(scores, Evaluation) else Evaluation(list(scores))
    found = leaderboards.leaderboard(
        evaluation, Statistics(intervals, significance, confidence, samples, seed)
    )
    place = {metric: number for number, metric in enumerate(found.metrics)}
    rows = sorted(
        found.rows.values(),
        key=lambda row: (place[row.metric], row.system == OVERALL_SYSTEM, -row.mean, row.system),
    )
    doubts, nothing = found.uncertainty, SystemUncertainty()
    return Leaderboard(
        (_row(row, doubts.systems.get((row.system, row.metric), nothing)) for row in rows),
        [*doubts.notes, *found.notes],
    )


def _row(standing: Standing, doubt: SystemUncertainty) -> LeaderboardRow:
    return LeaderboardRow(
        *standing,
        low=doubt.low,
        high=doubt.high,
        rank_low=doubt.first,
        rank_high=doubt.last,
        letters=doubt.letters,
        worst_case=doubt.worst,
        best_case=doubt.best,
        order_open=doubt.order_open,
    )


def correlate(
    scores: Leaderboard | Mapping[str, float],
    official: PathLike | Mapping[str, float],
    *,
    metric: str | None = None,
    top: int = 5,
) -> Correlation:
    """How a leaderboard agrees with official ranks, over the systems of both.

    Args:
        scores: A leaderboard, or system to score (higher is better).
        official: File of official ranks (JSON or TSV), or system to rank (1 is best; ties are allowed).
            Names that one side cut with ``...`` are matched.
        metric: Metric of the leaderboard; by default its first.
        top: k of the top-k overlap.

    Returns:
        Number of systems, Spearman's ρ, Kendall's τ-b, τ-AP (in -1..1) and top-k overlap (0..1); None where a
        figure is undefined.

    Raises:
        SelectionError: Fewer than two systems are on both sides.
        KeyError: The leaderboard has no such metric.
        DataError: The file is not in its format.
    """
    means = scores.means(metric) if isinstance(scores, Leaderboard) else scores
    ranks = read_ranks(official) if isinstance(official, PathLike) else official
    ranks = renamed(ranks, matched_names(means, ranks))
    common = means.keys() & ranks.keys()
    if len(common) < 2:
        raise SelectionError(
            f"The leaderboard and {name_of(official, 'the official ranks')} have {len(common)} systems in "
            "common; a correlation needs two (are they named alike?)."
        )
    return correlation.correlate(means, ranks, top)


def agreement(first: Labels, second: Labels) -> LabelAgreement:
    """How much two sets of labels agree, over the passages that both have.

    Args:
        first: Labels of one grader: what :func:`exam_pp.rubric_qrels` returns, lines of qrels, or a file.
        second: Labels of another one, such as the :func:`exam_pp.judgments` of people.

    Returns:
        The number of passages in common, Cohen's κ, κ with linear and with quadratic weights, and
        Krippendorff's α of ordinal grades; None where one is undefined.

    Raises:
        SelectionError: No passage has a label in both.
        DataError: A file is not in its format.
    """
    sides = [_by_passage(_labels(labels)[0]) for labels in (first, second)]
    common = [passage for passage in sides[0] if passage in sides[1]]
    if not common:
        raise SelectionError("No passage has a label in both sets of labels.")
    ours, theirs = ([side[passage] for passage in common] for side in sides)
    return LabelAgreement(len(common), *coefficients(ours, theirs))


def grade_table(passages: Passages, grade_filter: GradeFilter | None = None) -> Grades:
    """All grades of passages as one table.

    Grades of equal model and prompt class are united: the later rating of an entry counts.

    Args:
        passages: Graded passages: a file, or queries.
        grade_filter: Which grades to take; by default those of all models and prompts.

    Returns:
        A row for each rating of a passage, in file order; ungraded pairs have no row.

    Raises:
        SelectionError: No grades pass the filter.
        DataError: The file is not in its format.
    """
    selector = GradeSelector(under_all_names(grade_filter or GradeFilter()))
    table = Grades(
        Grade(query.query_id, passage.passage_id, *row)
        for query in views(passages)
        for passage in query.passages
        for row in _ratings(passage, selector)
    )
    selector.check_any(str(name_of(passages, "The list of passages")))
    return table


def _ratings(
    passage: PassageView, selector: GradeSelector
) -> Iterator[tuple[str, str, str, int, float | None]]:
    united: dict[GradeKey, dict[str, tuple[int, float | None]]] = {}
    for grades in selector.select(passage):
        soft = {entry: _expected(shares) for entry, shares in grades.distributions().items()}
        ratings = united.setdefault(GradeKey.of(grades, selector.filter), {})
        ratings |= {entry: (rating, soft.get(entry)) for entry, rating in grades.entry_ratings().items()}
    for key, ratings in united.items():
        for entry, rated in ratings.items():
            yield entry, key.model, key.prompt_class, *rated


def _expected(probabilities: Sequence[float]) -> float:
    return sum(grade * share for grade, share in enumerate(probabilities))


def _labels(
    labels: Labels,
) -> tuple[Iterable[Qrel | SubtopicQrel], Callable[[], Ungraded] | None, Sequence[str]]:
    """The lines, how to bound them by what is ungraded, and notes."""
    if isinstance(labels, RubricQrels):
        return labels.qrels, labels.ungraded, labels.notes
    return (read_qrels(labels) if isinstance(labels, PathLike) else labels), None, ()


def _by_passage(labels: Iterable[Qrel | SubtopicQrel]) -> dict[tuple[str, str], int]:
    return {(line.query_id, line.passage_id): line.relevance for line in labels}
