"""Python API for scores of rankings, leaderboards, correlation, agreement and tables of grades."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from exam_pp.data_model import PassageView, Role
from exam_pp.defaults import CONFIDENCE
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
from exam_pp.phases.evaluation.judgments import judgment_provenance
from exam_pp.phases.evaluation.leaderboards import Statistics, SystemUncertainty
from exam_pp.phases.evaluation.result import Evaluation, PathLike, matched_names, renamed
from exam_pp.phases.evaluation.rubric_qrels import RubricQrels
from exam_pp.phases.evaluation.score_runs import Runs
from exam_pp.phases.evaluation.verdict import verdict
from exam_pp.prompts.base import with_aliases
from exam_pp.provenance import Provenance, with_thresholds
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
from exam_pp.text.wording import counted

Labels = PathLike | RubricQrels[Any] | Iterable[Qrel | SubtopicQrel]
"""A qrels file, the result of :func:`exam_pp.rubric_qrels`, or lines of qrels."""


def score_runs(
    labels: Labels,
    runs: Runs,
    measures: Sequence[str] = ("nDCG@10",),
    *,
    min_grade: int | Sequence[int] | None = None,
    method: MethodName = "stem",
) -> Evaluation:
    """Score runs with relevance labels, with the measures of ir-measures.

    Args:
        labels: Qrels file, lines of qrels, or the result of :func:`exam_pp.rubric_qrels`. With the result of
            ``rubric_qrels``, the scores also get bounds for ungraded passages.
        runs: Run file, folder of run files, or lines of runs.
        measures: Names of measures in ir-measures or trec_eval, such as ``nDCG@10``, ``RR`` or ``P_20``.
        min_grade: Lowest label of a relevant passage, for measures with binary relevance, or several such
            thresholds, each with its own scores. None: with the result of ``rubric_qrels`` its ``level``,
            otherwise the default of each measure (usually 1).
        method: Source of the system's name: the name of the file (``stem``) or the ``tag`` in its lines.

    Returns:
        Scores by system and query of the labels. A query without passages of a system scores 0.

    Raises:
        SelectionError: A measure is unknown, or runs and labels have no query in common.
        DataError: A file cannot be read or has the wrong format.
    """
    lines, ungraded, notes, level = _labels(labels)
    evaluation = runs_scored.score_runs(
        lines,
        runs,
        measures,
        min_grade=min_grade,
        default_min_grade=level,
        method=method,
        ungraded=ungraded,
    )
    return _with_origin(evaluation, labels, notes)


def score_rankings(
    labels: Labels,
    passages: Passages,
    measures: Sequence[str] = ("nDCG@10",),
    *,
    min_grade: int | Sequence[int] | None = None,
    facets: Facets = "title",
    role: Role | None = None,
    canaries: bool = False,
) -> Evaluation:
    """Score the rankings in passages, including generated answers, with the measures of ir-measures.

    Args:
        labels: Labels as in :func:`exam_pp.score_runs`.
        passages: Passages file, or queries with passages. Missing ranks count as passages without a label.
        measures: Names of measures in ir-measures or trec_eval.
        min_grade: Lowest label of a relevant passage, for measures with binary relevance, or several such
            thresholds, each with its own scores. None: with the result of ``rubric_qrels`` its ``level``,
            otherwise the default of each measure (usually 1).
        facets: ``title`` (labels of queries), or ``facet`` for labels of facets (``query/facet``), where the
            ranking of a query counts for each of its facets.
        role: Score only what systems ``retrieved``, or only each ``answer``. None: as for
            :func:`exam_pp.cover`.
        canaries: Whether canaries are systems of the evaluation, like any other.

    Returns:
        Scores by system and query of the labels.

    Raises:
        SelectionError: A measure is unknown, or the passages have no rankings.
        DataError: A file cannot be read, has the wrong format, or has ranks above 100,000.
    """
    lines, ungraded, notes, level = _labels(labels)
    evaluation = runs_scored.score_rankings(
        lines,
        passages,
        measures,
        min_grade=min_grade,
        default_min_grade=level,
        facets=facets,
        ungraded=ungraded,
        role=role,
        canaries=canaries,
    )
    return _with_origin(evaluation, labels, notes)


def leaderboard(
    scores: Evaluation | Iterable[Score],
    *,
    intervals: Literal["queries"] | None = "queries",
    significance: bool = False,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Leaderboard:
    """Means of all systems, with standard errors, intervals, and significance letters.

    Args:
        scores: An evaluation, such as the result of :func:`exam_pp.cover`, or score rows.
        intervals: Over ``queries`` (Gaffke's bound), or None for no intervals.
        significance: Whether to add significance letters (paired randomisation tests, step-down maxT).
        confidence: Confidence level of the intervals, between 0 and 1. Tests use α = 1 - ``confidence``.
        seed: Random seed of the tests.

    Returns:
        A row for each metric and system, best system first.

    Raises:
        DataError: A score is outside of the range of its metric.
    """
    evaluation = scores if isinstance(scores, Evaluation) else Evaluation(list(scores))
    result = leaderboards.leaderboard(evaluation, Statistics(intervals, significance, confidence, seed=seed))
    return leaderboard_of(result)


def leaderboard_of(result: leaderboards.Standings) -> Leaderboard:
    """The rows of a leaderboard, by metric and rank, with its notes."""
    order: dict[str, int] = {metric: number for number, metric in enumerate(result.metrics)}
    rows = sorted(
        result.rows.values(),
        key=lambda row: (order[row.metric], row.system == OVERALL_SYSTEM, -row.mean, row.system),
    )
    uncertainty, unknown = result.uncertainty, SystemUncertainty()
    said = verdict(result) if result.statistics.intervals is not None else None
    return Leaderboard(
        (_row(row, uncertainty.systems.get((row.system, row.metric), unknown)) for row in rows),
        [*uncertainty.remarks, *uncertainty.notes, *result.notes],
        said.sentence if said is not None else "",
    )


def _row(standing: Standing, uncertainty: SystemUncertainty) -> LeaderboardRow:
    return LeaderboardRow(
        *standing,
        low=uncertainty.low,
        high=uncertainty.high,
        rank_low=uncertainty.first,
        rank_high=uncertainty.last,
        letters=uncertainty.letters,
        worst_case=uncertainty.worst,
        best_case=uncertainty.best,
        order_open=uncertainty.order_open,
    )


def correlate(
    scores: Leaderboard | Mapping[str, float],
    official: PathLike | Mapping[str, float],
    *,
    metric: str | None = None,
    top: int = 5,
) -> Correlation:
    """Correlation of a leaderboard with official ranks, over the systems of both.

    Args:
        scores: A leaderboard, or a mapping of system to score (higher is better).
        official: File of official ranks (JSON or TSV), or a mapping of system to rank (1 is best, ties are
            allowed). Names shortened with ``...`` match the full names.
        metric: Metric of the leaderboard. None: its first metric.
        top: k of the top-k overlap.

    Returns:
        Number of systems, Spearman's ρ, Kendall's τ-b and τ-AP (-1 to 1), and top-k overlap (0 to 1).
        Undefined values are None.

    Raises:
        SelectionError: Leaderboard and official ranks have fewer than two systems in common.
        KeyError: The leaderboard does not have the metric.
        DataError: The file cannot be read or has the wrong format.
    """
    means = scores.means(metric) if isinstance(scores, Leaderboard) else scores
    ranks = read_ranks(official) if isinstance(official, PathLike) else official
    ranks = renamed(ranks, matched_names(means, ranks))
    common = means.keys() & ranks.keys()
    if len(common) < 2:
        systems = counted(len(common), "system")
        raise SelectionError(
            f"The leaderboard and {name_of(official, 'the official ranks')} have {systems} in common, but a "
            "correlation needs at least 2. Check that both use the same names."
        )
    return correlation.correlate(means, ranks, top)


def agreement(first: Labels, second: Labels) -> LabelAgreement:
    """Agreement of two sets of labels, over the passages that have a label in both.

    Args:
        first: Qrels file, lines of qrels, or the result of :func:`exam_pp.rubric_qrels`.
        second: Labels to compare with, such as the result of :func:`exam_pp.judgments`. Fractions of
            labels are cut off.

    Returns:
        The number of passages in common, Cohen's κ, κ with linear and with quadratic weights, and
        Krippendorff's α for ordinal labels. Undefined values are None.

    Raises:
        SelectionError: The two sets of labels have no passage in common.
        DataError: A file cannot be read or has the wrong format.
    """
    a, b = (
        {(line.query_id, line.passage_id): int(line.relevance) for line in _labels(labels)[0]}
        for labels in (first, second)
    )
    common = [passage for passage in a if passage in b]
    if not common:
        raise SelectionError("The two sets of labels have no passage in common.")
    return LabelAgreement(
        len(common), *coefficients([a[passage] for passage in common], [b[passage] for passage in common])
    )


def grade_table(passages: Passages, grade_filter: GradeFilter | None = None) -> Grades:
    """All ratings of passages as a table.

    Grades of the same model and prompt class are merged; the last rating of an entry counts.

    Args:
        passages: Graded file, or queries with graded passages.
        grade_filter: Selects the grades. None: grades of all models and prompts.

    Returns:
        A row for each rating of a passage, in file order. Ungraded pairs have no row.

    Raises:
        SelectionError: No grades match the filter.
        DataError: The file cannot be read or has the wrong format.
    """
    selector = GradeSelector(with_aliases(grade_filter or GradeFilter()))
    table = Grades(
        Grade(query.query_id, passage.passage_id, *row)
        for query in views(passages, mixed=True)
        for passage in query.passages
        for row in _ratings(passage, selector)
    )
    selector.check_any(str(name_of(passages, "The list of passages")))
    return table


def _ratings(
    passage: PassageView, selector: GradeSelector
) -> Iterator[tuple[str, str, str, int, float | None]]:
    merged: dict[GradeKey, dict[str, tuple[int, float | None]]] = {}
    for grades in selector.select(passage):
        soft = {
            entry: sum(grade * probability for grade, probability in enumerate(probabilities))
            for entry, probabilities in grades.distributions().items()
        }
        ratings = merged.setdefault(GradeKey.of(grades, selector.filter), {})
        ratings |= {entry: (rating, soft.get(entry)) for entry, rating in grades.entry_ratings().items()}
    for key, ratings in merged.items():
        for entry, rated in ratings.items():
            yield entry, key.model, key.prompt_class, *rated


def _with_origin(evaluation: Evaluation, labels: Labels, notes: Sequence[str]) -> Evaluation:
    """Return the evaluation with the notes and the provenance of its labels."""
    return replace(
        evaluation,
        notes=[*notes, *evaluation.notes],
        provenance=_provenance(labels, evaluation),
    )


def _provenance(labels: Labels, evaluation: Evaluation) -> Provenance:
    if isinstance(labels, RubricQrels):
        return with_thresholds(labels.provenance, evaluation.provenance)
    return judgment_provenance(labels, evaluation)


def _labels(
    labels: Labels,
) -> tuple[Iterable[Qrel | SubtopicQrel], Callable[[], Ungraded] | None, Sequence[str], int | None]:
    """The lines of labels, the function for bounds of ungraded passages (or None), notes, and level."""
    if isinstance(labels, RubricQrels):
        return labels.qrels, labels.ungraded, labels.notes, labels.level
    return (read_qrels(labels) if isinstance(labels, PathLike) else labels), None, (), None
